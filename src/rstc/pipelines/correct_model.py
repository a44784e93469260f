"""The merges that reduce a run's clusters to a number, and a model that predicts a run's corrected clusters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.preprocessing import normalize
from torch import Tensor

from rstc.io.predictions import NO_CLUSTER
from rstc.numerics.hierarchy import build_tree, cut_tree
from rstc.persistence.fitted_model import FittedModel, merge_network_clusters
from rstc.representation.head_training import fit_head
from rstc.representation.heads import NEVER_PREDICTED_LOGIT, ClusteringNetwork
from rstc.representation.network import Network
from rstc.results.corrected_run import CorrectedRun
from rstc.results.edits import ClusterState, Edit, common_label
from rstc.runtime.device import fork_rng


def find_merges(run: CorrectedRun, E: Tensor, n_clusters: int) -> list[Edit]:
    """Return the corrections that merge a run to `n_clusters` clusters, by the embeddings (N, D) of its texts."""
    rows = np.flatnonzero(run.clusters != NO_CLUSTER)
    clusters, labels, sizes = np.unique(run.clusters[rows], return_inverse=True, return_counts=True)
    U = np.asarray(normalize(E.numpy()[rows]), dtype=np.float32)
    groups = cut_tree(build_tree(U, labels, len(clusters)), n_clusters)
    edits: list[Edit] = []
    corrected, renamed = run.clusters.copy(), []
    for group in range(n_clusters):
        parts = np.flatnonzero(groups == group)
        parts = parts[np.argsort(-sizes[parts], kind="stable")]
        into, *others = (int(cluster) for cluster in clusters[parts])
        corrected[np.isin(corrected, others)] = into
        edits += [{"do": "merge", "cluster": cluster, "into": into, "name": None} for cluster in others]
        if others and not run.has_given_name(into):
            renamed.append(into)
    for into, name in zip(renamed, run.suggest_names(corrected, renamed), strict=True):
        last = max(i for i, edit in enumerate(edits) if edit["into"] == into)
        edits[last] = {**edits[last], "name": name}
    return edits


def correct_model(model: FittedModel, E: Tensor, run: CorrectedRun) -> FittedModel:
    """Return a model that predicts a run's corrected clusters, by the embeddings (N, D) of the run's texts.

    Clusters that hold no text any more keep their number and are never predicted.
    """
    n_clusters, clustered = run.state.next_cluster, run.clusters != NO_CLUSTER
    labels = run.clusters[clustered]
    counts = np.bincount(labels, minlength=n_clusters)
    U = np.asarray(normalize(E.numpy()), dtype=np.float32)
    classes = None if model.classes is None else correct_classes(model.classes, run.state)
    return model.with_clusters(
        _correct_network(model.network, E, run, model.config.dropout),
        counts / counts.sum(),
        build_tree(U[clustered], labels, n_clusters),
        classes,
        [run.state.names.get(cluster) for cluster in range(n_clusters)],
        model.confidence_model and model.confidence_model.refit_clusters(U[clustered], labels),
    )


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
        return _refit_head(network, E, run.clusters, run.state.next_cluster, dropout)
    return merge_network_clusters(network, groups, run.state.next_cluster)


def _refit_head(network: Network, E: Tensor, clusters: NDArray[np.int64], n_clusters: int, dropout: float) -> Network:
    """Return a network with a new clustering head, fitted to clusters (N,) of embeddings (N, D) other than noise."""
    rows = np.flatnonzero(clusters != NO_CLUSTER)
    with fork_rng(network.encoder.device, 0):
        head = ClusteringNetwork(E.shape[1], n_clusters, dropout).to(network.encoder.device)
        labels = torch.from_numpy(clusters[rows])
        fit_head(head, E[torch.from_numpy(rows)], labels, np.random.default_rng(0))
    last, empty = head[-1], np.setdiff1d(np.arange(n_clusters), clusters[rows])
    assert isinstance(last, torch.nn.Linear)
    with torch.no_grad():
        last.weight[empty], last.bias[empty] = 0.0, NEVER_PREDICTED_LOGIT
    return Network(network.encoder, head, network.projector).eval()
