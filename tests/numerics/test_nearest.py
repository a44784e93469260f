"""Nearest neighbours: the exact search, the search by an index, and its candidates."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.preprocessing import normalize

from rstc.numerics import nearest
from rstc.numerics.nearest import (
    NO_NEIGHBOUR,
    TextVectors,
    find_candidates,
    find_candidates_by_words,
    nearest_neighbours,
)
from rstc.pseudo_labels.features import build_word_features


def test_neighbours_are_those_of_a_full_sort(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    E = normalize(rng.normal(size=(50, 6))).astype(np.float32)
    X = csr_matrix(normalize(rng.random((50, 9)) * (rng.random((50, 9)) > 0.5)).astype(np.float32))
    similarity = 0.75 * E @ E.T + 0.25 * (X @ X.T).toarray()
    np.fill_diagonal(similarity, np.inf)
    expected = np.argsort(-similarity, axis=1)[:, :5]
    assert np.array_equal(nearest_neighbours(E, X, 5, word_weight=0.25), expected)
    monkeypatch.setattr(nearest, "BLOCK_VALUES", 200)  # four rows at a time
    assert np.array_equal(nearest_neighbours(E, X, 5, word_weight=0.25), expected)


def _make_topics(N: int = 3000) -> tuple[np.ndarray, csr_matrix]:
    """Return embeddings and TF-IDF of texts of twenty topics."""
    rng = np.random.default_rng(0)
    topic = rng.integers(20, size=N)
    E = normalize(rng.normal(size=(20, 32))[topic] + rng.normal(size=(N, 32))).astype(np.float32)
    texts = [" ".join(f"word{t}x{w}" for w in rng.integers(30, size=6)) for t in topic]
    return E, build_word_features(texts, rng).tfidf


@pytest.mark.parametrize("with_words", [True, False])
def test_index_finds_almost_the_exact_neighbours(monkeypatch: pytest.MonkeyPatch, with_words: bool) -> None:
    pytest.importorskip("faiss")
    E, X = _make_topics()
    exact = nearest_neighbours(E, X if with_words else None, 10)
    monkeypatch.setattr(nearest, "MAX_EXACT_TEXTS", 1000)
    monkeypatch.setattr(nearest, "PROBE_FRACTION", 0.25)
    approximate = nearest_neighbours(E, X if with_words else None, 10)
    assert np.array_equal(approximate[:, 0], np.arange(len(E)))
    assert all(len(set(row)) == 10 for row in approximate)
    overlap = [len(set(a) & set(b)) for a, b in zip(approximate.tolist(), exact.tolist(), strict=True)]
    assert np.mean(overlap) > 9


def test_without_faiss_many_texts_are_compared_exactly(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    E, X = _make_topics(300)
    exact = nearest_neighbours(E, X, 10)
    monkeypatch.setattr(nearest, "MAX_EXACT_TEXTS", 100)
    monkeypatch.setattr(nearest, "import_faiss", lambda: None)
    with caplog.at_level("INFO", logger="rstc"):
        assert np.array_equal(nearest_neighbours(E, X, 10), exact)
    assert "rstc[large]" in caplog.text


def test_text_is_its_own_first_neighbour_even_among_duplicates() -> None:
    E = np.ones((4, 2), dtype=np.float32) / np.float32(np.sqrt(2))
    assert nearest_neighbours(E, None, 2)[:, 0].tolist() == [0, 1, 2, 3]


def test_there_are_no_more_neighbours_than_texts() -> None:
    assert nearest_neighbours(np.eye(3, dtype=np.float32), None, 10).shape == (3, 3)


def test_candidates_by_words_share_most_of_them() -> None:
    X = csr_matrix(np.array([[0.8, 0.6, 0], [0.8, 0, 0.6], [0.6, 0.8, 0], [0, 0, 1]], dtype=np.float32))
    assert [set(row) for row in find_candidates_by_words(X, X, 2).tolist()] == [{0, 2}, {0, 1}, {0, 2}, {1, 3}]


def test_frequent_words_give_no_candidates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nearest, "MAX_DOCUMENT_FREQUENCY", 2)
    X = csr_matrix(np.ones((3, 1), dtype=np.float32))
    assert (find_candidates_by_words(X, X, 2) == NO_NEIGHBOUR).all()


@pytest.mark.parametrize("N", [1, 3, 500])
def test_candidates_are_distinct_and_include_the_text_itself(N: int) -> None:
    faiss = pytest.importorskip("faiss")
    E = normalize(np.random.default_rng(0).normal(size=(N, 8))).astype(np.float32)
    E[: N // 2] = E[0]  # more duplicates than candidates
    texts = TextVectors(E, csr_matrix(np.abs(E)))
    for own, row in enumerate(find_candidates(faiss, texts, texts, 0, 20).tolist()):
        candidates = [text for text in row if text != NO_NEIGHBOUR]
        assert own in candidates
        assert len(set(candidates)) == len(candidates)
