"""Coarse groups of clusters, and sub-clusters."""

from __future__ import annotations

import numpy as np
import pytest

from rstc.numerics.hierarchy import build_tree
from rstc.pseudo_labels.cluster_count import ClusterCount
from rstc.pseudo_labels.levels import choose_coarse_groups
from rstc.pseudo_labels.subclusters import MIN_SIZE, find_subclusters


@pytest.fixture
def blobs() -> tuple[np.ndarray, np.ndarray]:
    """Return points of two clusters: one dense region, and three regions; and their clusters."""
    rng = np.random.default_rng(0)
    centres = np.array([[0, 0, 9], [9, 0, 0], [9, 4, 0], [9, -4, 0]])
    points = np.concatenate([centre + rng.normal(size=(40, 3)) * 0.5 for centre in centres]).astype(np.float32)
    return points, np.repeat([0, 1], [40, 120])


def test_a_cluster_of_three_regions_is_divided_and_one_of_a_single_region_is_not(
    blobs: tuple[np.ndarray, np.ndarray],
) -> None:
    found = find_subclusters(*blobs, 2, np.random.default_rng(0))
    assert found.parents.tolist() == [0, 1, 1, 1]
    assert [len(set(region.tolist())) for region in np.split(found.labels, 4)] == [1, 1, 1, 1]
    assert (found.halves == found.labels).all()
    assert np.bincount(found.labels).min() >= MIN_SIZE


def test_given_clusters_are_not_divided(blobs: tuple[np.ndarray, np.ndarray]) -> None:
    found = find_subclusters(*blobs, 2, np.random.default_rng(0), undivided=np.array([1]))
    assert found.labels.tolist() == blobs[1].tolist()


def test_points_of_another_cluster_are_placed_in_its_nearest_part(blobs: tuple[np.ndarray, np.ndarray]) -> None:
    found = find_subclusters(*blobs, 2, np.random.default_rng(0))
    assert np.array_equal(found.place(blobs[1]), found.labels)
    assert set(found.parents[found.place(np.zeros_like(blobs[1]))].tolist()) == {0}


def test_empty_and_small_clusters_are_kept() -> None:
    points = np.random.default_rng(0).normal(size=(12, 3)).astype(np.float32)
    found = find_subclusters(points, np.repeat([0, 2], 6), 3, np.random.default_rng(0))
    assert found.parents.tolist() == [0, 1, 2]
    assert found.labels.tolist() == [0] * 6 + [2] * 6


def test_without_repeats_the_tree_is_cut_at_its_largest_gap() -> None:
    angles = np.deg2rad([0, 4, 8, 90, 94, 98, 180, 184, 188])  # three groups of three
    points = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
    groups = choose_coarse_groups(build_tree(points, np.arange(9), 9), None, np.ones(9))
    assert groups.tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2]


def test_two_clusters_have_no_coarser_level_and_a_known_number_is_taken() -> None:
    tree = np.array([[0, 1, 0.2, 2.0], [2, 4, 0.3, 3.0], [3, 5, 0.9, 4.0]])
    assert choose_coarse_groups(tree[-1:] * [0, 0, 1, 1] + [0, 1, 0, 0], None, np.ones(2)).tolist() == [0, 1]
    assert choose_coarse_groups(tree, None, np.ones(4), n_groups=3).tolist() == [0, 0, 1, 2]


def test_a_weak_estimate_has_a_coarser_number_and_others_have_none() -> None:
    for certainty in ("clear", "fair"):
        assert ClusterCount(9, 8, 9, certainty, (4,), ()).coarser is None
    assert ClusterCount(9, 8, 9, "weak", (20, 4, 6), ()).coarser == 4
    assert ClusterCount(9, 8, 9, "weak", (20,), ()).coarser == 8
    assert ClusterCount(9, 9, 12, "weak", (), ()).coarser is None
