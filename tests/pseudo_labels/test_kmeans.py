"""k-means and its repair by swaps."""

from __future__ import annotations

import numpy as np
import pytest

from rstc.pseudo_labels import kmeans
from rstc.pseudo_labels.kmeans import kmeans_labels, swapped_kmeans


def test_separate_groups_are_found_with_their_centres() -> None:
    rng = np.random.default_rng(0)
    E = np.concatenate([rng.normal(centre, 0.1, (20, 3)) for centre in (0, 5, 9)]).astype(np.float32)
    found = kmeans_labels(E, 3, np.random.default_rng(0), starts=5)
    assert [len(set(found.labels[i : i + 20])) for i in (0, 20, 40)] == [1, 1, 1]
    assert sorted(found.centres.mean(1).round()) == [0, 5, 9]


def test_same_generator_state_gives_the_same_labels() -> None:
    E = np.random.default_rng(0).normal(size=(200, 8)).astype(np.float32)
    first, second = (kmeans_labels(E, 7, np.random.default_rng(3), starts=2).labels for _ in range(2))
    assert np.array_equal(first, second)


def test_with_many_texts_a_sample_decides_between_the_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    E = np.concatenate([rng.normal(centre, 0.1, (200, 3)) for centre in (0, 5, 9)]).astype(np.float32)
    monkeypatch.setattr(kmeans, "TEXTS_TO_COMPETE_ON", 50)
    found = kmeans_labels(E, 3, np.random.default_rng(0), starts=5)
    assert [len(set(found.labels[i : i + 200])) for i in (0, 200, 400)] == [1, 1, 1]
    for label in range(3):
        assert found.centres[label] == pytest.approx(E[found.labels == label].mean(0), abs=1e-4), "moved on all texts"


def test_swaps_end_in_the_same_clusters_from_every_seed() -> None:
    """Of many crowds that touch, a single k-means++ start often gives two one centre and cuts another in two."""
    rng = np.random.default_rng(0)
    centres = np.array([[10 * x, 10 * y] for x in range(5) for y in range(4)])
    points = np.concatenate([rng.normal(centre, 2.5, (60, 2)) for centre in centres]).astype(np.float32)
    generators = [np.random.default_rng(seed) for seed in range(10)]
    once = [kmeans_labels(points, 20, generator, starts=1).inertia for generator in generators]
    swapped = [swapped_kmeans(points, 20, generator, starts=1).inertia for generator in generators]
    assert max(once) > 1.02 * min(once)
    assert max(swapped) < 1.002 * min(once + swapped)


def test_swaps_end_no_worse_than_they_began() -> None:
    points = np.random.default_rng(1).normal(size=(300, 5)).astype(np.float32)
    for seed in range(3):
        once = kmeans_labels(points, 6, np.random.default_rng(seed), starts=1)
        assert swapped_kmeans(points, 6, np.random.default_rng(seed), starts=1).inertia <= once.inertia


def test_of_several_runs_with_swaps_the_best_stays_and_many_clusters_get_fewer(monkeypatch: pytest.MonkeyPatch) -> None:
    ends = iter([5.0, 3.0, 4.0, 9.0])

    def run(points: np.ndarray, n_clusters: int, rng: np.random.Generator) -> kmeans.Clustering:
        return kmeans.Clustering(np.zeros(len(points), np.int64), points[:n_clusters], next(ends))

    monkeypatch.setattr(kmeans, "_without_helpful_swap", run)
    points = np.zeros((300, 2), np.float32)
    assert swapped_kmeans(points, 30, np.random.default_rng(0), starts=10).inertia == 3, "3 runs for 30 clusters"
    assert swapped_kmeans(points, 150, np.random.default_rng(0), starts=10).inertia == 9, "1 run for 150"


def test_swaps_bear_duplicates_and_two_clusters() -> None:
    points = np.repeat(np.array([[0.0, 0.0], [1.0, 1.0]], dtype=np.float32), 20, axis=0)
    assert np.bincount(swapped_kmeans(points, 2, np.random.default_rng(0), starts=3).labels).tolist() == [20, 20]


def test_with_many_texts_swaps_happen_on_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    points = np.concatenate([rng.normal(centre, 0.1, (200, 3)) for centre in (0, 5, 9)]).astype(np.float32)
    monkeypatch.setattr(kmeans, "TEXTS_TO_COMPETE_ON", 50)
    found = swapped_kmeans(points, 3, np.random.default_rng(0), starts=2)
    assert np.bincount(found.labels).tolist() == [200, 200, 200]
