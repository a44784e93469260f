"""Trees of average linkage: building, cutting and collapsing them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.cluster.hierarchy import is_valid_linkage, linkage
from scipy.spatial.distance import pdist
from sklearn.preprocessing import normalize

from rstc.errors import InputError
from rstc.numerics.hierarchy import build_tree, collapse_tree, cut_tree


def points(n: int = 12) -> np.ndarray:
    return normalize(np.random.default_rng(0).standard_normal((n, 5))).astype(np.float32)


def test_tree_over_single_points_is_that_of_scipy() -> None:
    tree, expected = build_tree(points(), np.arange(12), 12), linkage(pdist(points(), "cosine"), "average")
    assert np.allclose(tree, expected, atol=1e-5)


def test_groups_without_a_finite_mean_are_refused() -> None:
    """The chains of nearest neighbours would go in circles."""
    with pytest.raises(InputError, match="not finite"):
        build_tree(np.full((4, 5), np.nan, dtype=np.float32), np.arange(4), 4)


def test_distance_of_groups_is_the_mean_distance_of_their_points() -> None:
    labels = np.array([0] * 5 + [1] * 4 + [2] * 3)
    tree = build_tree(points(), labels, 3)
    a, b = int(tree[0, 0]), int(tree[0, 1])
    distances = 1 - points()[labels == a] @ points()[labels == b].T
    assert np.isclose(tree[0, 2], distances.mean(), atol=1e-5)
    assert tree[:, 3].tolist() == [2, 3]


def test_cutting_in_two_steps_equals_cutting_once() -> None:
    tree = build_tree(points(), np.arange(12), 12)
    fine = cut_tree(tree, 6)
    twice = cut_tree(collapse_tree(tree, fine), 3)[fine]
    once = cut_tree(tree, 3)
    assert len(set(zip(twice.tolist(), once.tolist(), strict=True))) == 3


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 12), st.integers(0, 2**16))
def test_cuts_have_k_nested_groups_even_if_distances_are_equal(n: int, seed: int) -> None:
    duplicates = normalize(np.random.default_rng(seed).integers(-1, 2, (n, 2)).astype(np.float32))
    tree = build_tree(duplicates, np.arange(n), n)
    finer = np.arange(n)
    for k in range(n, 0, -1):
        groups = cut_tree(tree, k)
        assert len(set(groups)) == k
        assert len(set(zip(finer.tolist(), groups.tolist(), strict=True))) == len(set(finer)), "no group is split"
        finer = groups


def test_an_empty_group_gives_a_finite_tree() -> None:
    tree = build_tree(points(4), np.array([0, 0, 2, 2]), 3)
    assert np.isfinite(tree).all()
    assert tree[-1, 3] == 3


def test_groups_that_are_no_subtrees_collapse_to_a_valid_tree() -> None:
    tree = build_tree(points(), np.arange(12), 12)
    groups = np.arange(12) % 4  # as merges by hand may have made them
    collapsed = collapse_tree(tree, groups)
    assert collapsed.shape == (3, 4)
    assert collapsed[-1, 3] == 4
    assert is_valid_linkage(collapsed)
    assert is_valid_linkage(tree)
