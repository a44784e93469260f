"""Centring: a vector that all rows share is removed, and clusters alone are not taken for one."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import normalize

from rstc.pseudo_labels.centring import center_if_alike, measure_negative_share
from rstc.pseudo_labels.features import TextFeatures
from rstc.pseudo_labels.linkage import cluster_by_linkage
from rstc.runtime.distributed import SINGLE_PROCESS
from rstc.runtime.distributed_rows import DistributedRows


def make_blobs(sizes: list[int], common: float, spread: float = 0.3) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Draw rows of length one around as many orthogonal centres, and add a vector that all rows share."""
    rng, D = np.random.default_rng(0), 40
    truth = np.repeat(np.arange(len(sizes)), sizes)
    rows = np.eye(D)[truth] + spread * rng.standard_normal((len(truth), D)) + common * np.ones(D) / D**0.5
    return np.asarray(normalize(rows), dtype=np.float32), truth


def rows_of(X: NDArray[np.float32]) -> DistributedRows:
    return DistributedRows.from_local_count(len(X), SINGLE_PROCESS)


@pytest.mark.parametrize("sizes", [[50] * 4, [300, 20, 20, 20], [30] * 2])
def test_clusters_without_a_common_vector_are_left_as_they_are(sizes: list[int]) -> None:
    X, _ = make_blobs(sizes, common=0.0)
    assert center_if_alike(X, rows_of(X)) is X


@pytest.mark.parametrize("sizes", [[50] * 4, [200, 60, 20]])
def test_a_common_vector_is_removed_and_clusters_remain(sizes: list[int]) -> None:
    X, truth = make_blobs(sizes, common=4.0)
    centred = center_if_alike(X, rows_of(X))
    assert measure_negative_share(X, rows_of(X)) < 0.01
    assert measure_negative_share(centred, rows_of(X)) > 0.25
    labels = cluster_by_linkage(centred, len(sizes), np.random.default_rng(0))
    before = cluster_by_linkage(X, len(sizes), np.random.default_rng(0))
    assert adjusted_rand_score(truth, labels) > adjusted_rand_score(truth, before)


def test_rows_keep_their_lengths() -> None:
    X, _ = make_blobs([40, 40], common=4.0)
    X *= np.linspace(0, 3, len(X), dtype=np.float32)[:, None]
    centred = center_if_alike(X, rows_of(X))
    assert centred is not X
    np.testing.assert_allclose(np.linalg.norm(centred, axis=1), np.linalg.norm(X, axis=1), atol=1e-5)
    assert not centred[0].any()


def test_few_texts_are_left_as_they_are() -> None:
    X = np.ones((9, 3), dtype=np.float32)
    assert center_if_alike(X, rows_of(X)) is X


def test_neighbours_and_points_are_those_of_centred_features_and_the_embedding_remains() -> None:
    X, truth = make_blobs([60, 60, 60], common=4.0)
    features = TextFeatures({"embedding": X, "features": X})
    assert features.texts_look_alike
    assert features.embedding is X
    same = truth[features.find_neighbours({"features": 1.0}, 10)] == truth[:, None]
    assert same.mean() > 0.7
    points = features.build_points({"features": 1.0}, None)
    assert points.shape == (180, 80)
    assert np.abs(points.mean(0)).max() < 0.05


def test_a_sample_is_centred_at_its_own_mean() -> None:
    X, _ = make_blobs([60, 60], common=4.0)
    sample = TextFeatures({"embedding": X}).select(np.arange(60, 120))
    assert np.abs(sample.build_points({}, None).mean(0)).max() < 0.1
