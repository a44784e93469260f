"""Average linkage of groups of points in cosine similarity, and operations on the tree of merges.

For groups of unit-length points, the mean similarity between two groups is the dot product of their mean vectors. The
similarity of a merged group to a third group is the mean of the similarities of its parts, weighted by their sizes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from rstc.errors import InputError
from rstc.runtime.distributed import SINGLE_PROCESS, ProcessGroup

# (n - 1, 4), in the format of scipy.cluster.hierarchy.linkage: two nodes, their distance, their number of leaves.
# Row i creates node n + i.
Tree = NDArray[np.float64]


class Merge(NamedTuple):
    """A merge of two groups; the merged group has the number of `kept`."""

    kept: int
    absorbed: int
    similarity: float


def cluster_means(
    points: NDArray[np.float32], labels: NDArray[np.int64], n: int, processes: ProcessGroup = SINGLE_PROCESS
) -> NDArray[np.float32]:
    """Compute the mean of the points (N, D) of each of n groups, (n, D); zeros for an empty group.

    The points may be distributed over processes.
    """
    N = len(labels)
    membership = csr_matrix((np.ones(N, dtype=np.float32), (labels, np.arange(N))), shape=(n, N))
    sums = np.asarray(membership @ points, dtype=np.float32)
    sizes = processes.all_reduce_array(np.bincount(labels, minlength=n))
    return np.asarray(processes.all_reduce_array(sums) / np.maximum(sizes, 1)[:, None], dtype=np.float32)


def average_linkage(means: NDArray[np.float32], sizes: NDArray[np.float64]) -> list[Merge]:
    """Merge groups by average linkage, with the nearest-neighbour chain algorithm.

    scipy's and scikit-learn's average linkage start from single points; here groups start with given sizes, so that a
    micro-cluster of many points has a larger weight than one of few.

    Parameters
    ----------
    means : (n, D) array
        Mean vectors of groups of points of length one.
    sizes : (n,) array
        Number of points of each group.

    Returns
    -------
    list of Merge
        All n - 1 merges, in the order of the chains, not of similarity.
    """
    similarity = means @ means.T  # (n, n)
    if not np.isfinite(similarity).all():  # the chains would never end
        raise InputError(
            "clusters cannot be compared, because some of their means are not finite; is there enough memory?"
        )
    np.fill_diagonal(similarity, -np.inf)
    sizes, active = np.maximum(sizes, 1e-9), np.ones(len(sizes), dtype=bool)
    merges: list[Merge] = []
    chain: list[int] = []
    while len(merges) < len(sizes) - 1:
        if not chain:
            chain = [int(active.argmax())]
        a, b = chain[-1], int(similarity[chain[-1]].argmax())
        previous = chain[-2] if len(chain) > 1 else None
        if previous is None or similarity[a, previous] < similarity[a, b]:
            chain.append(b)
            continue
        del chain[-2:]
        merges.append(Merge(a, previous, float(similarity[a, previous])))
        row = (sizes[a] * similarity[a] + sizes[previous] * similarity[previous]) / (sizes[a] + sizes[previous])
        row[a] = -np.inf
        similarity[a], similarity[:, a] = row, row
        similarity[previous], similarity[:, previous] = -np.inf, -np.inf
        active[previous] = False
        sizes[a] += sizes[previous]
    return merges


def build_tree(points: NDArray[np.float32], labels: NDArray[np.int64], n: int) -> Tree:
    """Build the tree of average linkage over n groups of points.

    Parameters
    ----------
    points : (N, D) array
        Points of length one.
    labels : (N,) array
        Group of each point, 0 to n - 1.
    n : int
        Number of groups, the leaves of the tree.

    Returns
    -------
    (n - 1, 4) array
        As `scipy.cluster.hierarchy.linkage` returns it; the distance of two groups is 1 minus the mean cosine
        similarity of their points.

    >>> points = np.array([[1, 0], [1, 0], [0.8, 0.6], [-1, 0]], dtype=np.float32)
    >>> build_tree(points, np.array([0, 0, 1, 2]), 3).round(2).tolist()
    [[0.0, 1.0, 0.2, 2.0], [2.0, 3.0, 1.93, 3.0]]
    """
    return build_tree_from_means(cluster_means(points, labels, n), np.bincount(labels, minlength=n).astype(np.float64))


def build_tree_from_means(means: NDArray[np.float32], sizes: NDArray[np.float64]) -> Tree:
    """Build the tree over groups that are given by their means (n, D) and sizes (n,); see `build_tree`."""
    n = len(sizes)
    merges = sorted(average_linkage(means, sizes), key=lambda merge: -merge.similarity)
    node, n_leaves = np.arange(n), np.ones(n)
    tree = np.empty((n - 1, 4))
    for i, (kept, absorbed, similarity) in enumerate(merges):
        n_leaves[kept] += n_leaves[absorbed]
        tree[i] = *sorted((node[kept], node[absorbed])), max(1 - similarity, 0.0), n_leaves[kept]
        node[kept] = n + i
    return tree


def cut_tree(tree: Tree, k: int) -> NDArray[np.int64]:
    """Cut a tree into exactly k groups by undoing its last k - 1 merges.

    scipy cuts by distance instead. Where distances are equal, as with duplicate points, its `fcluster` returns fewer
    groups than requested, and its `cut_tree` may undo a merge other than the last.

    Parameters
    ----------
    tree : (n - 1, 4) array
        Merges in the order in which they are made.
    k : int
        Number of groups, 1 to n.

    Returns
    -------
    (n,) array
        Group of each leaf; groups are numbered in the order of their first leaves.

    >>> cut_tree(np.array([[0, 1, 0.2, 2], [2, 3, 1.8, 3]]), 2).tolist()
    [0, 0, 1]
    """
    n = len(tree) + 1
    leaves_below = {leaf: [leaf] for leaf in range(n)}
    for i, (a, b, *_) in enumerate(tree[: n - k].tolist()):
        leaves_below[n + i] = leaves_below.pop(int(a)) + leaves_below.pop(int(b))
    groups = np.empty(n, dtype=np.int64)
    for group, leaves in enumerate(sorted(leaves_below.values(), key=min)):
        groups[leaves] = group
    return groups


def collapse_tree(tree: Tree, groups: NDArray[np.int64]) -> Tree:
    """Reduce a tree over n leaves to a tree over groups of its leaves.

    Parameters
    ----------
    tree : (n - 1, 4) array
        Merges of leaves.
    groups : (n,) array
        Group of each leaf, 0 to k - 1, from `cut_tree` or elsewhere; groups need not be subtrees.

    Returns
    -------
    (k - 1, 4) array
        Merges of groups.

    >>> collapse_tree(np.array([[0, 1, 0.2, 2], [2, 3, 1.8, 3]]), np.array([1, 1, 0])).tolist()
    [[0.0, 1.0, 1.8, 2.0]]
    """
    k = int(groups.max()) + 1
    groups_below = {leaf: {int(group)} for leaf, group in enumerate(groups)}  # groups of the leaves below each node
    node = {group: group for group in range(k)}  # node of the new tree that holds each group
    merges: list[list[float]] = []
    for i, (a, b, distance, _) in enumerate(tree.tolist()):
        both = groups_below[len(groups) + i] = groups_below[int(a)] | groups_below[int(b)]
        first, second = node[min(groups_below[int(a)])], node[min(groups_below[int(b)])]
        if first == second:
            continue
        merged = {group for group in range(k) if node[group] in (first, second)} | both
        for group in merged:
            node[group] = k + len(merges)
        merges.append([min(first, second), max(first, second), distance, len(merged)])
    return np.array(merges, dtype=np.float64).reshape(-1, 4)
