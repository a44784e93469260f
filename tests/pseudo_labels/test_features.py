"""The words of the texts."""

from __future__ import annotations

import numpy as np
import pytest

from rstc.pseudo_labels.words import tfidf, topics

TEXTS = ["late parcel", "parcel lost", "parcel where", "refund wanted", "refund now", "money refund"]


def test_rows_have_length_one_or_zero() -> None:
    X = tfidf([*TEXTS, "hello"])
    lengths = np.sqrt(X.multiply(X).sum(1)).A1
    assert lengths[:6] == pytest.approx(np.ones(6))
    assert lengths[6] == 0, "no word of it comes twice"


def test_texts_that_share_no_word_are_no_error() -> None:
    X = tfidf(["one", "two", "three"])
    assert X.shape == (3, 1)
    assert X.nnz == 0
    assert topics(X, np.random.default_rng(0)).tolist() == [[0.0], [0.0], [0.0]]


def test_texts_of_nothing_but_stop_words_are_no_error() -> None:
    assert tfidf(["the of", "and the", "of and"]).nnz == 0


def test_topics_bring_texts_of_the_same_words_together() -> None:
    T = topics(tfidf(TEXTS * 3), np.random.default_rng(0))
    similarity = T @ T.T
    assert similarity[:3, :3].min() > similarity[:3, 3:6].max()
