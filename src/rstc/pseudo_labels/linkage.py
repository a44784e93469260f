"""Average linkage from micro-clusters: the start for imbalanced data, where few clusters hold most texts.

k-means splits a large cluster before it gives a small one its own centre, whereas average linkage merges the most
similar groups, whatever their sizes. It starts from micro-clusters of k-means instead of single texts, so that it takes
O(N) memory and single outliers do not become clusters.
"""

from __future__ import annotations

import logging

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from rstc.numerics.hierarchy import build_tree_from_means, cluster_means, cut_tree
from rstc.pseudo_labels.features import reduce_dimensions
from rstc.pseudo_labels.kmeans import fit_single_threaded

logger = logging.getLogger("rstc")

MIN_MICRO_CLUSTERS = 1500
MICRO_CLUSTERS_PER_CLUSTER = 4
STABLE_ARI = 0.945  # of linkage on two samples
STABILITY_SAMPLES = 3
STABILITY_SHARE = 0.8
LLOYD_STEPS = 10  # micro-clusters need not be good, only small


def cluster_by_linkage(points: NDArray[np.float32], n_clusters: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Cluster points by average linkage in cosine similarity, starting from micro-clusters.

    Parameters
    ----------
    points : (N, D) array
        Points of length one.
    n_clusters : int
        Number of clusters.
    rng : numpy.random.Generator
        Seeds the k-means that makes the micro-clusters.

    Returns
    -------
    (N,) array
        Cluster of each point.

    >>> points = np.array([[1, 0], [1, 0.01], [1, 0.02], [0, 1], [0.01, 1], [-1, 0]], dtype=np.float32)
    >>> labels = cluster_by_linkage(points, 3, np.random.default_rng(0))
    >>> len(set(labels)), bool(labels[3] == labels[4])
    (3, True)
    """
    N = len(points)
    n_micro = min(max(MIN_MICRO_CLUSTERS, MICRO_CLUSTERS_PER_CLUSTER * n_clusters), max(N // 2, n_clusters))
    micro = _fit_micro_clusters(points, n_micro, rng)  # (N,)
    sizes = np.bincount(micro)
    tree = build_tree_from_means(cluster_means(points, micro, len(sizes)), sizes.astype(np.float64))
    return cut_tree(tree, min(n_clusters, len(sizes)))[micro]


def is_linkage_stable(points: NDArray[np.float32], n_clusters: int, rng: np.random.Generator) -> bool:
    """Whether average linkage finds the same clusters in random samples of points (N, D)."""
    size = int(STABILITY_SHARE * len(points))
    if size <= n_clusters:
        return False
    for _ in range(STABILITY_SAMPLES):
        first, second = (np.sort(rng.choice(len(points), size, replace=False)) for _ in range(2))
        _, in_first, in_second = np.intersect1d(first, second, return_indices=True)
        labels = [cluster_by_linkage(points[rows], n_clusters, rng) for rows in (first, second)]
        ari = adjusted_rand_score(labels[0][in_first], labels[1][in_second])
        logger.info("linkage of two samples agrees at ARI %.3f", ari)
        if ari <= STABLE_ARI:
            return False
    return True


def _fit_micro_clusters(points: NDArray[np.float32], n: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Cluster points into at most n micro-clusters by a short k-means, numbered without gaps."""
    points = reduce_dimensions(points)
    kmeans = KMeans(n, init="random", n_init=1, max_iter=LLOYD_STEPS, random_state=int(rng.integers(2**31)))
    labels = fit_single_threaded(kmeans, points).labels_
    return np.asarray(np.unique(labels, return_inverse=True)[1], dtype=np.int64)
