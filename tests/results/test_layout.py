"""The map of the texts."""

from __future__ import annotations

import numpy as np
import pytest

from rstc.results import layout
from rstc.results.layout import MAX_COORDINATE, compute_layout


def groups(sizes: list[int], seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(len(sizes)), sizes)
    centres = rng.normal(size=(len(sizes), 32))
    return (centres[labels] + 0.2 * rng.normal(size=(len(labels), 32))).astype(np.float32), labels


def share_with_nearest_neighbour_of_their_group(coordinates: np.ndarray, labels: np.ndarray) -> float:
    distances = ((coordinates[:, None].astype(float) - coordinates[None]) ** 2).sum(2)
    np.fill_diagonal(distances, np.inf)
    return float((labels[distances.argmin(1)] == labels).mean())


def test_texts_of_a_group_are_near_each_other() -> None:
    E, labels = groups([60, 30, 20, 10])
    coordinates = compute_layout(E)
    assert (coordinates.min(), coordinates.max()) == (0, MAX_COORDINATE)
    assert share_with_nearest_neighbour_of_their_group(coordinates, labels) > 0.97


def test_texts_outside_the_subsample_are_placed_in_their_group(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layout, "TSNE_TEXTS", 100)
    E, labels = groups([300, 150, 100, 50])
    assert share_with_nearest_neighbour_of_their_group(compute_layout(E), labels) > 0.95


def test_layout_is_deterministic() -> None:
    E, _ = groups([40, 20])
    assert (compute_layout(E) == compute_layout(E.copy())).all()


@pytest.mark.parametrize("n", [1, 2, 9, 10, 11])
def test_few_texts_have_a_layout(n: int) -> None:
    assert compute_layout(np.random.default_rng(0).normal(size=(n, 8)).astype(np.float32)).shape == (n, 2)


def test_equal_and_zero_embeddings_have_a_layout() -> None:
    assert compute_layout(np.ones((50, 8), dtype=np.float32)).shape == (50, 2)
    assert compute_layout(np.zeros((50, 8), dtype=np.float32)).shape == (50, 2)
