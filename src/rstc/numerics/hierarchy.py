"""Average linkage of groups of points: which two to merge next, and the tree that comes of it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

# (n - 1, 4), as scipy's linkage: two nodes, their distance, how many leaves are below; row i makes node n + i
Tree = NDArray[np.float64]


class Merge(NamedTuple):
    """Two groups that become one, which goes by the number of the first, and how similar they are."""

    kept: int
    gone: int
    similarity: float


def group_means(points: NDArray[np.float32], labels: NDArray[np.int64], n: int) -> NDArray[np.float32]:
    """Return the mean of the points (N, D) of each of n groups, (n, D); zeros where a group is empty."""
    means = np.zeros((n, points.shape[1]), dtype=np.float32)
    np.add.at(means, labels, points)
    return np.asarray(means / np.maximum(np.bincount(labels, minlength=n), 1)[:, None], dtype=np.float32)


def average_merges(means: NDArray[np.float32], sizes: NDArray[np.float64]) -> list[Merge]:
    """Return all merges of average linkage in cosine, in no order, found along chains of nearest neighbours.

    The mean similarity of two groups of points of length one is the product of their mean vectors (n, D), and that of
    a merged one is the mean of its parts', weighted by their sizes (n,). scipy's linkage has no weights to begin with.
    """
    similarity = means @ means.T
    np.fill_diagonal(similarity, -np.inf)
    sizes, alive = np.maximum(sizes, 1e-9), np.ones(len(sizes), dtype=bool)
    merges: list[Merge] = []
    chain: list[int] = []
    while len(merges) < len(sizes) - 1:
        if not chain:
            chain = [int(alive.argmax())]
        a, b = chain[-1], int(similarity[chain[-1]].argmax())
        before = chain[-2] if len(chain) > 1 else None
        if before is None or similarity[a, before] < similarity[a, b]:
            chain.append(b)
            continue
        del chain[-2:]
        merges.append(Merge(a, before, float(similarity[a, before])))
        row = (sizes[a] * similarity[a] + sizes[before] * similarity[before]) / (sizes[a] + sizes[before])
        row[a] = -np.inf
        similarity[a], similarity[:, a] = row, row
        similarity[before], similarity[:, before] = -np.inf, -np.inf
        alive[before] = False
        sizes[a] += sizes[before]
    return merges


def tree_over(points: NDArray[np.float32], labels: NDArray[np.int64], n: int) -> Tree:
    """Return the tree over n groups of points of length one (N, D), the most similar merged first.

    Distances are 1 minus the mean cosine of the texts of one and of the other.

    >>> points = np.array([[1, 0], [1, 0], [0.8, 0.6], [-1, 0]], dtype=np.float32)
    >>> tree_over(points, np.array([0, 0, 1, 2]), 3).round(2).tolist()
    [[0.0, 1.0, 0.2, 2.0], [2.0, 3.0, 1.93, 3.0]]
    """
    return tree_over_means(group_means(points, labels, n), np.bincount(labels, minlength=n).astype(np.float64))


def tree_over_means(means: NDArray[np.float32], sizes: NDArray[np.float64]) -> Tree:
    """Return the tree over groups of which the means (n, D) and the sizes (n,) are known."""
    n = len(sizes)
    merges = sorted(average_merges(means, sizes), key=lambda merge: -merge.similarity)
    node, leaves = np.arange(n), np.ones(n)
    tree = np.empty((n - 1, 4))
    for i, (kept, gone, similarity) in enumerate(merges):
        leaves[kept] += leaves[gone]
        tree[i] = *sorted((node[kept], node[gone])), max(1 - similarity, 0.0), leaves[kept]
        node[kept] = n + i
    return tree


def groups_of(tree: Tree, k: int) -> NDArray[np.int64]:
    """Return which of k groups each leaf of a tree is in, (n,), numbered by their first leaves.

    >>> groups_of(np.array([[0, 1, 0.2, 2], [2, 3, 1.8, 3]]), 2).tolist()
    [0, 0, 1]
    """
    n = len(tree) + 1
    below = {leaf: [leaf] for leaf in range(n)}
    for i, (a, b, *_) in enumerate(tree[: n - k].tolist()):
        below[n + i] = below.pop(int(a)) + below.pop(int(b))
    groups = np.empty(n, dtype=np.int64)
    for group, leaves in enumerate(sorted(below.values(), key=min)):
        groups[leaves] = group
    return groups


def tree_above(tree: Tree, groups: NDArray[np.int64]) -> Tree:
    """Return what is left of a tree when its leaves are merged into groups (n,), from `groups_of` or any others.

    >>> tree_above(np.array([[0, 1, 0.2, 2], [2, 3, 1.8, 3]]), np.array([1, 1, 0])).tolist()
    [[0.0, 1.0, 1.8, 2.0]]
    """
    k = int(groups.max()) + 1
    below = {leaf: {int(group)} for leaf, group in enumerate(groups)}  # of each node of the tree, the groups
    node = {group: group for group in range(k)}  # of each group, the node that it is in by now
    left: list[list[float]] = []
    for i, (a, b, distance, _) in enumerate(tree.tolist()):
        both = below[len(groups) + i] = below[int(a)] | below[int(b)]
        one, other = node[min(below[int(a)])], node[min(below[int(b)])]
        if one == other:
            continue
        joined = {group for group in range(k) if node[group] in (one, other)} | both
        for group in joined:
            node[group] = k + len(left)
        left.append([min(one, other), max(one, other), distance, len(joined)])
    return np.array(left, dtype=np.float64).reshape(-1, 4)
