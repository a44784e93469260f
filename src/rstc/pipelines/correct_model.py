"""A model that predicts a run's corrected clusters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from torch import Tensor

from rstc.io.predictions import NO_CLUSTER
from rstc.persistence.fitted_model import FittedModel, merge_network_clusters, refit_network
from rstc.persistence.refit import replace_clusters
from rstc.representation.network import Network
from rstc.results.corrected_run import CorrectedRun
from rstc.results.edits import ClusterState, common_label


def correct_model(model: FittedModel, E: Tensor, run: CorrectedRun) -> FittedModel:
    """Return a model that predicts a run's corrected clusters, by the embeddings (N, D) of the run's texts.

    Clusters that hold no text any more keep their number and are never predicted.
    """
    classes = None if model.classes is None else correct_classes(model.classes, run.state)
    n_clusters = run.state.next_cluster
    names = [run.state.names.get(cluster) for cluster in range(n_clusters)]
    described = run.state.descriptions
    descriptions = [described.get(cluster) for cluster in range(n_clusters)] if described else None
    network = _correct_network(model.network, E, run, model.config.dropout)
    return replace_clusters(model, network, E, run.clusters, classes, names, descriptions)


def correct_classes(classes: Sequence[Any], state: ClusterState) -> list[Any]:
    """Return the class of each corrected cluster, by the classes of the original clusters (`common_label`).

    >>> state = ClusterState(np.array([0, 0, 2]), {0: "a", 2: "c"}, 4, {0: frozenset({0, 1})})
    >>> correct_classes(["late", None, "lost"], state)
    ['late', None, 'lost', None]
    """
    original = dict(enumerate(classes))
    present = set(state.clusters.tolist())
    return [
        common_label(original.get(part) for part in state.parts(cluster)) if cluster in present else None
        for cluster in range(state.next_cluster)
    ]


def _correct_network(network: Network, E: Tensor, run: CorrectedRun, dropout: float) -> Network:
    """Return a network that predicts the corrected clusters: merged if all corrections are merges, else refitted."""
    groups = np.full(network.cluster_head.n_clusters, -1, dtype=np.int64)
    was_clustered = run.points.clusters != NO_CLUSTER
    original, corrected = run.points.clusters[was_clustered], run.clusters[was_clustered]
    groups[original] = corrected
    outliers_moved = (run.clusters[~was_clustered] != NO_CLUSTER).any()
    if outliers_moved or (groups[original] != corrected).any() or (groups < 0).any():
        return refit_network(network, E, run.clusters, run.state.next_cluster, dropout)
    return merge_network_clusters(network, groups, run.state.next_cluster)
