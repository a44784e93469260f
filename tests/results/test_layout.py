"""Places on the map."""

from __future__ import annotations

import numpy as np
import pytest

from rstc.results import layout as flat
from rstc.results.layout import FURTHEST, places


def groups(sizes: list[int], seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(len(sizes)), sizes)
    centres = rng.normal(size=(len(sizes), 32))
    return (centres[labels] + 0.2 * rng.normal(size=(len(labels), 32))).astype(np.float32), labels


def share_with_a_neighbour_of_their_own(at: np.ndarray, labels: np.ndarray) -> float:
    distances = ((at[:, None].astype(float) - at[None]) ** 2).sum(2)
    np.fill_diagonal(distances, np.inf)
    return float((labels[distances.argmin(1)] == labels).mean())


def test_texts_of_a_group_stand_together() -> None:
    E, labels = groups([60, 30, 20, 10])
    at = places(E)
    assert (at.min(), at.max()) == (0, FURTHEST)
    assert share_with_a_neighbour_of_their_own(at, labels) > 0.97


def test_of_many_texts_some_are_laid_out_and_the_others_stand_with_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flat, "TEXTS_TO_LAY_OUT", 100)
    E, labels = groups([300, 150, 100, 50])
    assert share_with_a_neighbour_of_their_own(places(E), labels) > 0.95


def test_the_same_texts_have_the_same_places() -> None:
    E, _ = groups([40, 20])
    assert (places(E) == places(E.copy())).all()


@pytest.mark.parametrize("n", [1, 2, 9, 10, 11])
def test_few_texts_have_places_too(n: int) -> None:
    assert places(np.random.default_rng(0).normal(size=(n, 8)).astype(np.float32)).shape == (n, 2)


def test_equal_texts_and_texts_without_direction_have_places() -> None:
    assert places(np.ones((50, 8), dtype=np.float32)).shape == (50, 2)
    assert places(np.zeros((50, 8), dtype=np.float32)).shape == (50, 2)
