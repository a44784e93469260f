"""Refit a model to other clusters of its texts, such as corrected ones: a new head on the present embeddings."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.preprocessing import normalize
from torch import Tensor

from rstc.io.predictions import NO_CLUSTER
from rstc.numerics.hierarchy import build_tree
from rstc.persistence.fitted_model import FittedModel
from rstc.representation.head_training import fit_head
from rstc.representation.heads import NEVER_PREDICTED_LOGIT, ClusteringNetwork
from rstc.representation.network import Network
from rstc.runtime.device import fork_rng

Ints = NDArray[np.int64]


def refit_network(network: Network, E: Tensor, clusters: Ints, n_clusters: int, dropout: float) -> Network:
    """Return a network with a new clustering head, fitted to clusters (N,) of embeddings (N, D) other than noise.

    Clusters that hold no text are never predicted.
    """
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


def replace_clusters(
    model: FittedModel,
    network: Network,
    E: Tensor,
    clusters: Ints,
    classes: list[Any] | None,
    names: list[str | None] | None,
) -> FittedModel:
    """Return a model with a network that predicts other clusters, and what follows from these clusters.

    Parameters
    ----------
    model : FittedModel
        The model.
    network : Network
        Predicts C clusters.
    E : Tensor of shape (N, D)
        Embeddings of the texts.
    clusters : ndarray of shape (N,)
        Their clusters, `NO_CLUSTER` for outliers.
    classes, names : list of length C or None
        The given class and the name of each cluster.

    Returns
    -------
    FittedModel
    """
    n_clusters, clustered = network.cluster_head.n_clusters, clusters != NO_CLUSTER
    labels = clusters[clustered]
    counts = np.bincount(labels, minlength=n_clusters)
    U = np.asarray(normalize(E.numpy()[clustered]), dtype=np.float32)
    return model.with_clusters(
        network,
        counts / counts.sum(),
        build_tree(U, labels, n_clusters),
        classes,
        names,
        model.confidence_model and model.confidence_model.refit_clusters(U, labels),
    )
