"""Average linkage of groups, and trees that are cut."""

from __future__ import annotations

import numpy as np
from scipy.cluster.hierarchy import is_valid_linkage, linkage
from scipy.spatial.distance import pdist
from sklearn.preprocessing import normalize

from rstc.numerics.hierarchy import groups_of, tree_above, tree_over


def points(n: int = 12) -> np.ndarray:
    return normalize(np.random.default_rng(0).standard_normal((n, 5))).astype(np.float32)


def test_of_single_points_the_tree_is_scipys() -> None:
    found, expected = tree_over(points(), np.arange(12), 12), linkage(pdist(points(), "cosine"), "average")
    assert np.allclose(found, expected, atol=1e-5)


def test_the_distance_of_groups_is_the_mean_distance_of_their_points() -> None:
    labels = np.array([0] * 5 + [1] * 4 + [2] * 3)
    tree = tree_over(points(), labels, 3)
    one, other = int(tree[0, 0]), int(tree[0, 1])
    apart = 1 - points()[labels == one] @ points()[labels == other].T
    assert np.isclose(tree[0, 2], apart.mean(), atol=1e-5)
    assert tree[:, 3].tolist() == [2, 3]


def test_cutting_in_two_steps_is_cutting_once() -> None:
    tree = tree_over(points(), np.arange(12), 12)
    fine = groups_of(tree, 6)
    twice = groups_of(tree_above(tree, fine), 3)[fine]
    once = groups_of(tree, 3)
    assert len(set(zip(twice.tolist(), once.tolist(), strict=True))) == 3


def test_an_empty_group_does_no_harm() -> None:
    tree = tree_over(points(4), np.array([0, 0, 2, 2]), 3)
    assert np.isfinite(tree).all()
    assert tree[-1, 3] == 3


def test_groups_across_the_tree_leave_a_tree_over_the_groups() -> None:
    tree = tree_over(points(), np.arange(12), 12)
    groups = np.arange(12) % 4  # as somebody may have merged by hand
    left = tree_above(tree, groups)
    assert left.shape == (3, 4)
    assert left[-1, 3] == 4
    assert is_valid_linkage(left)
    assert is_valid_linkage(tree)
