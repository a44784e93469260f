"""k-means, alone and improved by swaps."""

from __future__ import annotations

import numpy as np
import pytest

from rstc.pseudo_labels import kmeans
from rstc.pseudo_labels.kmeans import _run_lloyd_distributed, fit_kmeans, fit_kmeans_with_swaps, run_lloyd
from rstc.runtime.distributed import SINGLE_PROCESS


def _make_three_blobs(n: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    return np.concatenate([rng.normal(centre, 0.1, (n, 3)) for centre in (0, 5, 9)]).astype(np.float32)


def test_separate_groups_are_found_with_their_centres() -> None:
    clustering = fit_kmeans(_make_three_blobs(20), 3, np.random.default_rng(0), starts=5)
    assert [len(set(clustering.labels[i : i + 20])) for i in (0, 20, 40)] == [1, 1, 1]
    assert sorted(clustering.centres.mean(1).round()) == [0, 5, 9]


def test_same_generator_state_gives_the_same_labels() -> None:
    E = np.random.default_rng(0).normal(size=(200, 8)).astype(np.float32)
    first, second = (fit_kmeans(E, 7, np.random.default_rng(3), starts=2).labels for _ in range(2))
    assert np.array_equal(first, second)


def test_centres_from_a_sample_are_moved_on_all_points(monkeypatch: pytest.MonkeyPatch) -> None:
    E = _make_three_blobs(200)
    monkeypatch.setattr(kmeans, "SAMPLE_SIZE", 50)
    clustering = fit_kmeans(E, 3, np.random.default_rng(0), starts=5)
    assert [len(set(clustering.labels[i : i + 200])) for i in (0, 200, 400)] == [1, 1, 1]
    for label in range(3):
        assert clustering.centres[label] == pytest.approx(E[clustering.labels == label].mean(0), abs=1e-4)


def test_swaps_end_in_about_the_same_inertia_from_every_seed() -> None:
    """With many touching blobs, a single k-means++ run often gives two of them one centre and splits another."""
    rng = np.random.default_rng(0)
    centres = np.array([[10 * x, 10 * y] for x in range(5) for y in range(4)])
    points = np.concatenate([rng.normal(centre, 2.5, (60, 2)) for centre in centres]).astype(np.float32)
    generators = [np.random.default_rng(seed) for seed in range(10)]
    plain = [fit_kmeans(points, 20, generator, starts=1).inertia for generator in generators]
    swapped = [fit_kmeans_with_swaps(points, 20, generator, starts=1).inertia for generator in generators]
    assert max(plain) > 1.02 * min(plain)
    assert max(swapped) < 1.005 * min(plain + swapped)


def test_swaps_never_raise_the_inertia() -> None:
    points = np.random.default_rng(1).normal(size=(300, 5)).astype(np.float32)
    for seed in range(3):
        plain = fit_kmeans(points, 6, np.random.default_rng(seed), starts=1)
        assert fit_kmeans_with_swaps(points, 6, np.random.default_rng(seed), starts=1).inertia <= plain.inertia


def test_best_run_with_swaps_is_kept_and_many_clusters_get_fewer_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    inertias = iter([5.0, 3.0, 4.0, 9.0])

    def run(points: np.ndarray, n_clusters: int, *_: object) -> kmeans.Clustering:
        return kmeans.Clustering(np.zeros(len(points), np.int64), points[:n_clusters], next(inertias))

    monkeypatch.setattr(kmeans, "_run_with_swaps", run)
    points = np.zeros((300, 2), np.float32)
    assert fit_kmeans_with_swaps(points, 30, np.random.default_rng(0), starts=10).inertia == 3, "of 3 runs"
    assert fit_kmeans_with_swaps(points, 150, np.random.default_rng(0), starts=10).inertia == 9, "of 1 run"


def test_duplicates_can_be_clustered_with_swaps() -> None:
    points = np.repeat(np.array([[0.0, 0.0], [1.0, 1.0]], dtype=np.float32), 20, axis=0)
    assert np.bincount(fit_kmeans_with_swaps(points, 2, np.random.default_rng(0), starts=3).labels).tolist() == [20, 20]


def test_swaps_on_a_sample_cluster_all_points(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kmeans, "SAMPLE_SIZE", 50)
    clustering = fit_kmeans_with_swaps(_make_three_blobs(200), 3, np.random.default_rng(0), starts=2)
    assert np.bincount(clustering.labels).tolist() == [200, 200, 200]


def test_distributed_lloyd_fills_empty_clusters_as_scikit_learn_does() -> None:
    rng = np.random.default_rng(0)
    groups = 10 * np.arange(8)[:, None] + np.zeros((8, 3))
    points = (groups[rng.integers(8, size=400)] + rng.normal(size=(400, 3))).astype(np.float32)
    centres = points[[0, 0, 0, *range(5)]]  # of three equal centres, the first gets the points
    expected = run_lloyd(points, centres, 20)
    found = _run_lloyd_distributed(points, centres, 20, SINGLE_PROCESS)
    assert len(set(found.labels.tolist())) == len(set(expected.labels.tolist())) == 8
    assert found.inertia == pytest.approx(expected.inertia, rel=1e-5)


def test_distributed_lloyd_gives_duplicates_one_cluster() -> None:
    points = np.repeat(np.random.default_rng(0).normal(size=(40, 50)).astype(np.float32), 3, axis=0)
    labels = _run_lloyd_distributed(points, points[:60], 5, SINGLE_PROCESS).labels.reshape(40, 3)
    assert (labels == labels[:, :1]).all()
