"""Texts that may be near a text."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.preprocessing import normalize

from rstc.pseudo_labels.proposals import NOBODY, by_words, proposals


def test_words_propose_those_that_share_most() -> None:
    X = csr_matrix(np.array([[0.8, 0.6, 0], [0.8, 0, 0.6], [0.6, 0.8, 0], [0, 0, 1]], dtype=np.float32))
    assert [set(row) for row in by_words(X, 2).tolist()] == [{0, 2}, {0, 1}, {0, 2}, {1, 3}]


def test_common_words_propose_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rstc.pseudo_labels.proposals.TEXTS_A_WORD", 2)
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
