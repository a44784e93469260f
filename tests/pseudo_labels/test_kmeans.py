"""The first labels."""

from __future__ import annotations

import numpy as np
import pytest

from rstc.pseudo_labels import initial
from rstc.pseudo_labels.initial import kmeans_labels


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
    monkeypatch.setattr(initial, "TEXTS_TO_COMPETE_ON", 50)
    found = kmeans_labels(E, 3, np.random.default_rng(0), starts=5)
    assert [len(set(found.labels[i : i + 200])) for i in (0, 200, 400)] == [1, 1, 1]
    for label in range(3):
        assert found.centres[label] == pytest.approx(E[found.labels == label].mean(0), abs=1e-4), "moved on all texts"
