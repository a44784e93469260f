"""Levels of detail of one clustering: coarse, medium and fine, each nested in the one before it.

    medium  the clusters themselves
    coarse  clusters merged along their tree, at the cut whose groups repeated searches find again best
    fine    clusters divided into their stable sub-clusters (`subclusters`)

Without repeated searches, the tree is cut at its largest gap: where the next merge is relatively most distant.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import adjusted_rand_score

from rstc.numerics.hierarchy import Tree, cut_tree
from rstc.pseudo_labels.features import EMBEDDING, TextFeatures
from rstc.pseudo_labels.repeats import Repeats

MIN_SHARE, MAX_SHARE = 1 / 4, 2 / 3  # of the clusters that the coarse level has
MIN_CLUSTERS = 2  # of the coarse level
MAX_CUTS = 12  # of the tree that are compared
SAMPLE_SIZE = 8_000  # of more texts, sub-clusters are found in a random sample of this size
N_NEIGHBOURS = 10  # that points are averaged over, the text itself included

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]


def choose_coarse_groups(
    tree: Tree, repeats: Repeats | None, sizes: NDArray[np.floating], n_groups: int | None = None
) -> Ints:
    """Choose the groups of clusters of the coarse level.

    Parameters
    ----------
    tree : (C - 1, 4) array
        The tree over the clusters.
    repeats : Repeats or None
        Repeated searches.
    sizes : (C,) array
        Number of texts or share of each cluster.
    n_groups : int, optional
        The number of groups, if it is known.

    Returns
    -------
    (C,) array
        Group of each cluster, the largest group first; each cluster is its own if there are too few clusters.

    >>> tree = np.array([[0, 1, 0.2, 2], [2, 4, 0.8, 3], [3, 5, 0.9, 4]])
    >>> choose_coarse_groups(tree, None, np.array([5.0, 4.0, 3.0, 2.0])).tolist()
    [0, 0, 1, 2]
    """
    C = len(tree) + 1
    if n_groups is None:
        low, high = max(MIN_CLUSTERS, round(MIN_SHARE * C)), int(MAX_SHARE * C)
        numbers = np.unique(np.geomspace(low, high, MAX_CUTS).round().astype(int)).tolist() if low <= high else []
        score = _find_gap if repeats is None else _compare_with_repeats
        scores = {k: score(tree, cut_tree(tree, k), repeats) for k in numbers}
        n_groups = max(scores, key=lambda k: (round(scores[k], 6), k), default=C)
    groups = cut_tree(tree, n_groups)
    order = np.argsort(-np.bincount(groups, weights=sizes, minlength=n_groups), kind="stable")
    return np.asarray(np.argsort(order)[groups], dtype=np.int64)


def _compare_with_repeats(tree: Tree, groups: Ints, repeats: Repeats | None) -> float:
    """Return the mean adjusted Rand index of the groups in the run and in each repeated search."""
    assert repeats is not None
    run = groups[repeats.run_labels]
    return float(np.mean([adjusted_rand_score(run, groups[labels]) for labels in repeats.labels]))


def _find_gap(tree: Tree, groups: Ints, repeats: Repeats | None) -> float:
    """Return by how much the merge that follows the groups is relatively more distant than the last one in them."""
    C, k, distances = len(tree) + 1, int(groups.max()) + 1, tree[:, 2]
    return float((distances[C - k] - distances[C - k - 1]) / max(distances[C - k], 1e-12))


def average_points(U: Floats) -> Floats:
    """Return embeddings (n, D) of length one averaged over neighbours, where no search has averaged points."""
    features = TextFeatures({EMBEDDING: U})
    return features.build_points({}, features.find_neighbours({}, min(N_NEIGHBOURS, len(U))))
