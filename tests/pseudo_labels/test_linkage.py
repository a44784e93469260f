"""Average linkage from micro-clusters."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.cluster.hierarchy import fcluster, linkage
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import normalize

from rstc.numerics.hierarchy import build_tree_from_means, cut_tree
from rstc.pseudo_labels.linkage import cluster_by_linkage, is_collapsed


def test_clusters_of_single_points_are_those_of_scipy() -> None:
    rng = np.random.default_rng(0)
    points = normalize(rng.normal(size=(60, 5))).astype(np.float32)
    expected = fcluster(linkage(points, "average", "cosine"), 7, "maxclust")
    labels = cut_tree(build_tree_from_means(points, np.ones(60)), 7)
    assert adjusted_rand_score(expected, labels) == 1


def test_sizes_count_as_repeated_points() -> None:
    rng = np.random.default_rng(1)
    points, sizes = normalize(rng.normal(size=(12, 4))).astype(np.float32), rng.integers(1, 6, 12)
    repeated = cut_tree(build_tree_from_means(np.repeat(points, sizes, axis=0), np.ones(sizes.sum())), 4)
    weighted = cut_tree(build_tree_from_means(points, sizes.astype(np.float64)), 4)
    assert adjusted_rand_score(repeated, np.repeat(weighted, sizes)) == 1


def test_a_rare_cluster_is_found_beside_large_ones() -> None:
    """k-means would rather split the cluster of 300."""
    rng = np.random.default_rng(0)
    sizes = [300, 100, 6]
    points = np.concatenate([rng.normal(10 * axis, 1.0, (n, 3)) for axis, n in zip(np.eye(3), sizes, strict=True)])
    labels = cluster_by_linkage(normalize(points).astype(np.float32), 3, rng)
    assert adjusted_rand_score(np.repeat([0, 1, 2], sizes), labels) == 1


@pytest.mark.parametrize("n_clusters", [1, 2, 5, 10])
def test_there_are_n_clusters(n_clusters: int) -> None:
    points = normalize(np.random.default_rng(0).normal(size=(10, 4))).astype(np.float32)
    assert len(set(cluster_by_linkage(points, n_clusters, np.random.default_rng(0)))) == n_clusters


@pytest.mark.parametrize(("sizes", "collapsed"), [([64, 24, 9, 3], False), ([90, 4, 3, 3], True), ([50, 50], False)])
def test_one_large_cluster_and_remnants_are_a_collapse(sizes: list[int], collapsed: bool) -> None:
    assert is_collapsed(np.repeat(np.arange(len(sizes)), sizes), len(sizes)) is collapsed


def test_empty_clusters_count_as_remnants() -> None:
    assert is_collapsed(np.repeat([0, 1], [95, 5]), 5)
