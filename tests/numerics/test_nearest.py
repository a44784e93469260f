"""The nearest texts of each text."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.preprocessing import normalize

from rstc.numerics import nearest as module
from rstc.numerics.nearest import NOBODY, by_words, nearest, proposals
from rstc.pseudo_labels.words import read_words


def test_neighbours_are_those_of_a_full_sort(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    E = normalize(rng.normal(size=(50, 6))).astype(np.float32)
    X = csr_matrix(normalize(rng.random((50, 9)) * (rng.random((50, 9)) > 0.5)).astype(np.float32))
    similarity = 0.75 * E @ E.T + 0.25 * (X @ X.T).toarray()
    np.fill_diagonal(similarity, np.inf)
    expected = np.argsort(-similarity, axis=1)[:, :5]
    assert np.array_equal(nearest(E, X, 5, share=0.25), expected)
    monkeypatch.setattr(module, "NUMBERS_A_PIECE", 200)  # four rows at a time
    assert np.array_equal(nearest(E, X, 5, share=0.25), expected)


def _many(N: int = 3000) -> tuple[np.ndarray, csr_matrix]:
    """Texts of twenty topics, seen by an encoder and by words."""
    rng = np.random.default_rng(0)
    topic = rng.integers(20, size=N)
    E = normalize(rng.normal(size=(20, 32))[topic] + rng.normal(size=(N, 32))).astype(np.float32)
    texts = [" ".join(f"word{t}x{w}" for w in rng.integers(30, size=6)) for t in topic]
    return E, read_words(texts, rng).X


@pytest.mark.parametrize("with_words", [True, False])
def test_an_index_finds_almost_the_same_neighbours(monkeypatch: pytest.MonkeyPatch, with_words: bool) -> None:
    pytest.importorskip("faiss")
    E, X = _many()
    exact = nearest(E, X if with_words else None, 10)
    monkeypatch.setattr(module, "TEXTS_TO_COMPARE_ALL", 1000)
    monkeypatch.setattr(module, "SHARE_TO_VISIT", 0.25)
    found = nearest(E, X if with_words else None, 10)
    assert np.array_equal(found[:, 0], np.arange(len(E)))
    assert all(len(set(row)) == 10 for row in found)
    common = np.mean([len(set(a) & set(b)) for a, b in zip(found.tolist(), exact.tolist(), strict=True)])
    assert common > 9


def test_many_texts_do_without_an_index(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    E, X = _many(300)
    exact = nearest(E, X, 10)
    monkeypatch.setattr(module, "TEXTS_TO_COMPARE_ALL", 100)
    monkeypatch.setattr(module, "faiss_if_there", lambda: None)
    with caplog.at_level("INFO", logger="rstc"):
        assert np.array_equal(nearest(E, X, 10), exact)
    assert "rstc[large]" in caplog.text


def test_a_text_is_its_own_first_neighbour_even_among_duplicates() -> None:
    E = np.ones((4, 2), dtype=np.float32) / np.float32(np.sqrt(2))
    assert nearest(E, None, 2)[:, 0].tolist() == [0, 1, 2, 3]


def test_no_more_neighbours_than_texts() -> None:
    assert nearest(np.eye(3, dtype=np.float32), None, 10).shape == (3, 3)


def test_words_propose_those_that_share_most() -> None:
    X = csr_matrix(np.array([[0.8, 0.6, 0], [0.8, 0, 0.6], [0.6, 0.8, 0], [0, 0, 1]], dtype=np.float32))
    assert [set(row) for row in by_words(X, 2).tolist()] == [{0, 2}, {0, 1}, {0, 2}, {1, 3}]


def test_common_words_propose_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TEXTS_A_WORD", 2)
    X = csr_matrix(np.ones((3, 1), dtype=np.float32))
    assert (by_words(X, 2) == NOBODY).all()


@pytest.mark.parametrize("N", [1, 3, 500])
def test_each_is_among_its_own_and_none_comes_twice(N: int) -> None:
    faiss = pytest.importorskip("faiss")
    E = normalize(np.random.default_rng(0).normal(size=(N, 8))).astype(np.float32)
    E[: N // 2] = E[0]  # more equal texts than are proposed
    for own, row in enumerate(proposals(faiss, E, csr_matrix(np.abs(E)), 20).tolist()):
        somebody = [text for text in row if text != NOBODY]
        assert own in somebody
        assert len(set(somebody)) == len(somebody)
