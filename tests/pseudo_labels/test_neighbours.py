"""The nearest texts, and what they tell."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.preprocessing import normalize

from rstc.pseudo_labels import neighbours
from rstc.pseudo_labels.neighbours import nearest, smoothed, told_by_neighbours


def test_neighbours_are_those_of_a_full_sort(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    E = normalize(rng.normal(size=(50, 6))).astype(np.float32)
    X = csr_matrix(normalize(rng.random((50, 9)) * (rng.random((50, 9)) > 0.5)).astype(np.float32))
    similarity = 0.75 * E @ E.T + 0.25 * (X @ X.T).toarray()
    np.fill_diagonal(similarity, np.inf)
    expected = np.argsort(-similarity, axis=1)[:, :5]
    assert np.array_equal(nearest(E, X, 5, share=0.25), expected)
    monkeypatch.setattr(neighbours, "NUMBERS_A_PIECE", 200)  # four rows at a time
    assert np.array_equal(nearest(E, X, 5, share=0.25), expected)


def test_a_text_is_its_own_first_neighbour_even_among_duplicates() -> None:
    E = np.ones((4, 2), dtype=np.float32) / np.float32(np.sqrt(2))
    assert nearest(E, None, 2)[:, 0].tolist() == [0, 1, 2, 3]


def test_no_more_neighbours_than_texts() -> None:
    assert nearest(np.eye(3, dtype=np.float32), None, 10).shape == (3, 3)


def test_smoothing_averages_and_keeps_length_one() -> None:
    points = np.array([[1.0, 0.0], [0.0, 1.0]], dtype=np.float32)
    half = np.float32(np.sqrt(0.5))
    assert smoothed(points, np.array([[0, 1], [1, 0]])) == pytest.approx(np.full((2, 2), half))
    assert smoothed(points, np.array([[0], [1]])) == pytest.approx(points)


def test_a_clustering_along_the_crowds_tells_more_than_one_across_them() -> None:
    rng = np.random.default_rng(0)
    E = normalize(np.concatenate([rng.normal(centre, 0.2, (60, 3)) for centre in np.eye(3)])).astype(np.float32)
    near = nearest(E, None, 10)
    crowds, across = np.repeat([0, 1, 2], 60), np.tile([0, 1, 2], 60)
    one_for_most = np.where(np.arange(180) == 7, 1, 0)
    assert told_by_neighbours(crowds, near) > 0.95
    assert told_by_neighbours(across, near) < 0.1
    assert told_by_neighbours(one_for_most, near) < 0.5
    assert told_by_neighbours(np.zeros(180, dtype=np.int64), near) == 0
