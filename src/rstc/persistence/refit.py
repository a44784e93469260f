"""Refit a model to other clusters of its texts, such as corrected ones: a new head on the present embeddings."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import normalize
from torch import Tensor

from rstc.io.predictions import NO_CLUSTER
from rstc.numerics.hierarchy import build_tree
from rstc.persistence.fitted_model import FittedModel
from rstc.representation.network import Network

Ints = NDArray[np.int64]


def replace_clusters(
    model: FittedModel,
    network: Network,
    E: Tensor,
    clusters: Ints,
    classes: list[Any] | None,
    names: list[str | None] | None,
    descriptions: list[str | None] | None = None,
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
    classes, names, descriptions : list of length C or None
        The given class, the name and the description of each cluster.

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
        descriptions,
    )
