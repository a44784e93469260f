"""Average linkage from micro-clusters: the start for imbalanced data, where few clusters hold most texts.

k-means splits a large cluster before it gives a small one its own centre, whereas average linkage merges the most
similar groups, whatever their sizes. It starts from micro-clusters of k-means instead of single texts, so that it takes
O(N) memory and single outliers do not become clusters.
"""

from __future__ import annotations

import logging

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr
from sklearn.metrics import adjusted_rand_score

from rstc.numerics.hierarchy import build_tree_from_means, cluster_means, cut_tree
from rstc.pseudo_labels.features import reduce_dimensions
from rstc.pseudo_labels.kmeans import run_lloyd
from rstc.runtime.distributed import SINGLE_PROCESS, ProcessGroup
from rstc.runtime.distributed_rows import DistributedRows

logger = logging.getLogger("rstc")

MIN_MICRO_CLUSTERS = 1500
MICRO_CLUSTERS_PER_CLUSTER = 4
STABLE_ARI = 0.945  # of linkage on two samples
STABILITY_SAMPLES = 3
STABILITY_SHARE = 0.8
MIN_EFFECTIVE_SHARE = 0.4  # effective number of clusters of linkage, relative to their number
LLOYD_STEPS = 10  # micro-clusters need not be good, only small

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]


def cluster_by_linkage(
    points: Floats, n_clusters: int, rng: np.random.Generator, processes: ProcessGroup = SINGLE_PROCESS
) -> Ints:
    """Cluster points by average linkage in cosine similarity, starting from micro-clusters.

    Points may be distributed over processes: the micro-clusters are found by sums over all points, and the first
    process links their means.

    Parameters
    ----------
    points : (n, D) array
        Points of length one, of this process.
    n_clusters : int
        Number of clusters.
    rng : numpy.random.Generator
        Seeds the k-means that makes the micro-clusters; the same in all processes.
    processes : ProcessGroup
        The processes that the points are distributed over.

    Returns
    -------
    (n,) array
        Cluster of each point.

    >>> points = np.array([[1, 0], [1, 0.01], [1, 0.02], [0, 1], [0.01, 1], [-1, 0]], dtype=np.float32)
    >>> labels = cluster_by_linkage(points, 3, np.random.default_rng(0))
    >>> len(set(labels)), bool(labels[3] == labels[4])
    (3, True)
    """
    N = int(processes.total(len(points)))
    n_micro = min(max(MIN_MICRO_CLUSTERS, MICRO_CLUSTERS_PER_CLUSTER * n_clusters), max(N // 2, n_clusters))
    micro, sizes = _fit_micro_clusters(points, n_micro, rng, processes)
    means = cluster_means(points, micro, len(sizes), processes)
    groups = processes.run_on_first(
        lambda: cut_tree(build_tree_from_means(means, sizes.astype(np.float64)), min(n_clusters, len(sizes)))
    )
    return np.asarray(groups[micro])


def is_linkage_stable(points: Floats, n_clusters: int, rng: np.random.Generator) -> bool:
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


def is_collapsed(labels: Ints, n_clusters: int) -> bool:
    """Whether one of the clusters holds so many texts that the others are remnants.

    The effective number of clusters, exp(H) for the entropy H of their sizes, is then less than 0.4 times their
    number. It is 0.65 times for sizes that fall geometrically from 20 to 1, whatever the number of clusters.

    >>> [is_collapsed(np.repeat([0, 1, 2, 3], sizes), 4) for sizes in ([64, 24, 9, 3], [97, 1, 1, 1])]
    [False, True]
    """
    shares = np.bincount(labels, minlength=n_clusters) / len(labels)
    return bool(np.exp(entr(shares).sum()) < MIN_EFFECTIVE_SHARE * n_clusters)


def _fit_micro_clusters(points: Floats, n: int, rng: np.random.Generator, processes: ProcessGroup) -> tuple[Ints, Ints]:
    """Cluster points into at most n micro-clusters by a short k-means; return the one of each point, and their sizes.

    They are numbered without gaps.
    """
    points = reduce_dimensions(points, processes)
    rows = DistributedRows.from_local_count(len(points), processes)
    seed = int(rng.integers(2**31))
    # Drawn as by scikit-learn's init="random".
    uniform = np.ones(rows.n_rows, dtype=np.float32) / rows.n_rows
    first = np.random.RandomState(seed).choice(rows.n_rows, n, replace=False, p=uniform)
    labels = run_lloyd(points, rows.fetch(points, first), LLOYD_STEPS, processes).labels
    sizes = processes.all_reduce_array(np.bincount(labels, minlength=n))
    new_ids = np.cumsum(sizes > 0) - 1
    return new_ids[labels], sizes[sizes > 0]
