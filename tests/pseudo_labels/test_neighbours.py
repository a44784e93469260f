"""The nearest texts, and what they tell."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.preprocessing import normalize

from rstc.pseudo_labels import neighbours, proposals
from rstc.pseudo_labels.neighbours import nearest, smoothed, told_by_neighbours
from rstc.pseudo_labels.words import Words, read_words


def test_neighbours_are_those_of_a_full_sort(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    E = normalize(rng.normal(size=(50, 6))).astype(np.float32)
    X = csr_matrix(normalize(rng.random((50, 9)) * (rng.random((50, 9)) > 0.5)).astype(np.float32))
    similarity = 0.75 * E @ E.T + 0.25 * (X @ X.T).toarray()
    np.fill_diagonal(similarity, np.inf)
    expected = np.argsort(-similarity, axis=1)[:, :5]
    words = Words(X, X.toarray())
    assert np.array_equal(nearest(E, words, 5, share=0.25), expected)
    monkeypatch.setattr(neighbours, "NUMBERS_A_PIECE", 200)  # four rows at a time
    assert np.array_equal(nearest(E, words, 5, share=0.25), expected)


def _many(N: int = 3000) -> tuple[np.ndarray, Words]:
    """Texts of twenty topics, seen by an encoder and by words."""
    rng = np.random.default_rng(0)
    topic = rng.integers(20, size=N)
    E = normalize(rng.normal(size=(20, 32))[topic] + rng.normal(size=(N, 32))).astype(np.float32)
    texts = [" ".join(f"word{t}x{w}" for w in rng.integers(30, size=6)) for t in topic]
    return E, read_words(texts, rng)


@pytest.mark.parametrize("by_words", [True, False])
def test_an_index_finds_almost_the_same_neighbours(monkeypatch: pytest.MonkeyPatch, by_words: bool) -> None:
    pytest.importorskip("faiss")
    E, words = _many()
    exact = nearest(E, words if by_words else None, 10)
    monkeypatch.setattr(neighbours, "TEXTS_TO_COMPARE_ALL", 1000)
    monkeypatch.setattr(proposals, "SHARE_TO_VISIT", 0.25)
    found = nearest(E, words if by_words else None, 10)
    assert np.array_equal(found[:, 0], np.arange(len(E)))
    assert all(len(set(row)) == 10 for row in found)
    common = np.mean([len(set(a) & set(b)) for a, b in zip(found.tolist(), exact.tolist(), strict=True)])
    assert common > 9


def test_many_texts_do_without_an_index(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    E, words = _many(300)
    exact = nearest(E, words, 10)
    monkeypatch.setattr(neighbours, "TEXTS_TO_COMPARE_ALL", 100)
    monkeypatch.setattr(neighbours, "faiss_if_there", lambda: None)
    with caplog.at_level("INFO", logger="rstc"):
        assert np.array_equal(nearest(E, words, 10), exact)
    assert "rstc[large]" in caplog.text


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
