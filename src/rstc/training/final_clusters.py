"""The clusters after training: each text's label, the clusters' sizes, their tree, and the outlier detector."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.preprocessing import normalize

from rstc.io.predictions import NO_CLUSTER
from rstc.numerics.hierarchy import Tree, build_tree_from_means, cluster_means
from rstc.pseudo_labels.outliers import OutlierDetector, fit_outlier_detector
from rstc.representation.network import Prediction
from rstc.runtime.distributed import ProcessGroup
from rstc.runtime.progress import Progress

BLOCK_ROWS = 65_536

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class FinalClusters:
    """The clusters after training.

    Attributes
    ----------
    labels : ndarray of shape (N,)
        Cluster of each text, also of outliers: its given cluster if it has one, else the predicted one.
    sizes : ndarray of shape (C,)
        Number of texts predicted for each cluster, over all processes.
    hierarchy : ndarray of shape (C - 1, 4)
        The tree over the clusters.
    outlier_detector : OutlierDetector or None
        Finds texts that belong to no cluster; None unless `noise` is set.
    """

    labels: Ints
    sizes: Ints
    hierarchy: Tree
    outlier_detector: OutlierDetector | None


def find_final_clusters(
    prediction: Prediction,
    texts: list[str],
    given_clusters: Ints | None,
    noise: float,
    progress: Progress,
    processes: ProcessGroup,
) -> FinalClusters:
    """Derive the final clusters from the predictions of the trained network.

    Parameters
    ----------
    prediction : Prediction
        log P (N, C) and E (N, D).
    texts : list of str
        The N texts.
    given_clusters : ndarray of shape (N,) or None
        Cluster of each text with a partial label, NO_CLUSTER for the others.
    noise : float
        Share of outliers that may remain among the clustered texts; 0 disables outlier detection.
    progress : Progress
        Measures the time of the stage "noise".
    processes : ProcessGroup
        The processes that share the run.

    Returns
    -------
    FinalClusters
    """
    E, labels = prediction.E.numpy(), prediction.clusters.numpy()
    if given_clusters is not None:
        labels = np.where(given_clusters == NO_CLUSTER, labels, given_clusters)
    sizes = processes.all_reduce(prediction.clusters.bincount(minlength=prediction.log_p.shape[1])).numpy()
    detector = None
    if noise:
        with progress.stage("noise"):
            detector = fit_outlier_detector(E, labels, texts, noise)
    return FinalClusters(labels, sizes, _build_hierarchy(E, labels, sizes, processes), detector)


def _build_hierarchy(E: Floats, labels: Ints, sizes: Ints, processes: ProcessGroup) -> Tree:
    """Return the tree over the clusters, by embeddings (N, D) at unit length and the sizes (C,) over all processes."""
    C, sums = len(sizes), np.zeros((len(sizes), E.shape[1]))
    for start in range(0, len(E), BLOCK_ROWS):  # a copy of all embeddings at unit length would take much memory
        block = slice(start, start + BLOCK_ROWS)
        membership = np.bincount(labels[block], minlength=C)[:, None]
        sums += cluster_means(normalize(E[block]), labels[block], C) * membership
    means = processes.all_reduce(torch.from_numpy(sums)).numpy() / np.maximum(sizes, 1)[:, None]
    return build_tree_from_means(means.astype(np.float32), sizes.astype(np.float64))
