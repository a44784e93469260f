"""Sub-clusters: clusters whose texts divide into smaller groups that are found again in random halves of them.

Within one cluster, halves of its points are divided by Ward's linkage into k groups, all points are assigned to the
nearest group mean of either half, and the two assignments are compared by the adjusted Rand index. The cluster is
divided into the k for which halves agree best, if they agree well enough and no group is too small.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import linkage
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score

from rstc.numerics.hierarchy import Tree, cluster_means, cut_tree
from rstc.pseudo_labels.matching import match_labels
from rstc.runtime.threads import draw_generators, limit_library_threads, parallel_map

NUMBERS = (2, 3, 4, 5, 6, 8)  # of sub-clusters that are tried
N_SPLITS = 5  # into halves
MIN_AGREEMENT = 0.7  # adjusted Rand index of two halves
MIN_SIZE = 5  # texts of a sub-cluster
TEXTS_PER_SUBCLUSTER = 8  # on average, at least
MAX_LINKED = 500  # points of a half; linkage takes the square of their number
DIMENSIONS = 32  # to which points are reduced

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Subclusters:
    """The sub-clusters of n points; a cluster that is not divided is its own only one.

    Attributes
    ----------
    parents : (F,) array
        Cluster of each sub-cluster.
    labels : (n,) array
        Sub-cluster of each point.
    halves : (B, n) array
        Sub-cluster of each point by each half, within the point's cluster.
    points, means : (n, D) and (F, D) arrays
        The reduced points, and the mean of each sub-cluster.
    """

    parents: Ints
    labels: Ints
    halves: Ints
    points: Floats
    means: Floats

    @property
    def n(self) -> int:
        """The number of sub-clusters, F."""
        return len(self.parents)

    def place(self, clusters: Ints) -> Ints:
        """Return the sub-cluster with the nearest mean of each point, among those of a given cluster (n,)."""
        return place_in_groups(self.points, self.means, self.parents, clusters)


def place_in_groups(points: Floats, means: Floats, parents: Ints, clusters: Ints) -> Ints:
    """Return the group with the nearest mean of each point, among the groups of the point's cluster.

    Parameters
    ----------
    points : (n, D) array
        Points.
    means : (F, D) array
        Means of groups.
    parents : (F,) array
        Cluster of each group; each cluster has one.
    clusters : (n,) array
        Cluster of each point.

    Returns
    -------
    (n,) array

    >>> means = np.array([[0.0], [1.0], [0.4]], dtype=np.float32)
    >>> points = np.array([[0.3], [0.8], [0.3]], dtype=np.float32)
    >>> place_in_groups(points, means, np.array([0, 0, 1]), np.array([0, 0, 1])).tolist()
    [0, 1, 2]
    """
    groups = np.empty(len(clusters), dtype=np.int64)
    for cluster in np.unique(clusters):
        rows, own = np.flatnonzero(clusters == cluster), np.flatnonzero(parents == cluster)
        groups[rows] = own[0] if len(own) == 1 else own[_find_nearest(points[rows], means[own])]
    return groups


@limit_library_threads("blas")
def find_subclusters(
    points: Floats, labels: Ints, n_clusters: int, rng: np.random.Generator, undivided: Ints | None = None
) -> Subclusters:
    """Divide the clusters that have stable sub-clusters.

    Parameters
    ----------
    points : (n, D) array
        The points that clusters are found in.
    labels : (n,) array
        Cluster of each point.
    n_clusters : int
        C.
    rng : numpy.random.Generator
        Draws the halves.
    undivided : array, optional
        Clusters that are not to be divided.

    Returns
    -------
    Subclusters
        Ordered by cluster, and by size within a cluster.
    """
    dimensions = min(DIMENSIONS, *points.shape)
    if points.shape[1] > dimensions:
        pca = PCA(dimensions, svd_solver="randomized", random_state=int(rng.integers(2**31)))
        points = np.ascontiguousarray(pca.fit_transform(points), dtype=np.float32)
    members = [np.flatnonzero(labels == cluster) for cluster in range(n_clusters)]
    kept = set() if undivided is None else set(undivided.tolist())
    generators = draw_generators(rng, n_clusters)
    divisions = parallel_map(
        lambda cluster: None if cluster in kept else _divide(points[members[cluster]], generators[cluster]),
        list(range(n_clusters)),
    )
    fine, halves = np.empty(len(labels), dtype=np.int64), np.empty((2 * N_SPLITS, len(labels)), dtype=np.int64)
    parents: list[int] = []
    for cluster, division in enumerate(divisions):
        rows, first = members[cluster], len(parents)
        fine[rows] = first if division is None else first + division[0]
        halves[:, rows] = first if division is None else first + division[1:]
        parents += [cluster] * (1 if division is None else int(division[0].max()) + 1)
    return Subclusters(np.array(parents), fine, halves, points, cluster_means(points, fine, len(parents)))


def _divide(points: Floats, rng: np.random.Generator) -> Ints | None:
    """Divide the points (m, D) of one cluster; return the labels (1 + B, m) of the division and of the halves.

    None if the points do not divide into stable groups.
    """
    m = len(points)
    numbers = [k for k in NUMBERS if k * TEXTS_PER_SUBCLUSTER <= m]
    if not numbers:
        return None
    halves: dict[int, list[Ints]] = {k: [] for k in numbers}
    for _ in range(N_SPLITS):
        order = rng.permutation(m)
        for half in (order[: m // 2][:MAX_LINKED], order[m // 2 :][:MAX_LINKED]):
            tree = linkage(points[half], "ward")
            for k in numbers:
                halves[k].append(_assign(points, points[half], tree, k))
    agreement = {k: np.mean([adjusted_rand_score(a, b) for a, b in _pairs(halves[k])]) for k in numbers}
    sample = rng.permutation(m)[: 2 * MAX_LINKED]
    tree = linkage(points[sample], "ward")
    for k in sorted(numbers, key=lambda k: -agreement[k]):
        if agreement[k] < MIN_AGREEMENT:
            return None
        labels = _assign(points, points[sample], tree, k)
        sizes = np.bincount(labels, minlength=k)
        if sizes.min() >= MIN_SIZE:
            labels = np.argsort(np.argsort(-sizes, kind="stable"))[labels]
            return np.stack([labels, *(match_labels(half, labels, k)[half] for half in halves[k])])
    return None


def _pairs(labels: list[Ints]) -> list[tuple[Ints, Ints]]:
    """Return the two assignments of each split."""
    return list(zip(labels[::2], labels[1::2], strict=True))


def _assign(points: Floats, linked: Floats, tree: Tree, k: int) -> Ints:
    """Cut the tree over some points into k groups; return the group with the nearest mean of each of all points."""
    return _find_nearest(points, cluster_means(linked, cut_tree(tree, k), k))


def _find_nearest(points: Floats, means: Floats) -> Ints:
    """Return the nearest mean of each point."""
    return np.asarray((points @ means.T - (means**2).sum(1) / 2).argmax(1), dtype=np.int64)
