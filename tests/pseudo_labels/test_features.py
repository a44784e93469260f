"""Word features: TF-IDF and its truncated SVD."""

from __future__ import annotations

import numpy as np
import pytest

from rstc.pseudo_labels.features import combine_features, compute_lsa, compute_tfidf

TEXTS = ["late parcel", "parcel lost", "parcel where", "refund wanted", "refund now", "money refund"]


def test_tfidf_rows_have_length_one_or_zero() -> None:
    tfidf = compute_tfidf([*TEXTS, "hello"])
    lengths = np.sqrt(tfidf.multiply(tfidf).sum(1)).A1
    assert lengths[:6] == pytest.approx(np.ones(6))
    assert lengths[6] == 0, "its only word occurs in no other text"


def test_texts_without_a_shared_word_give_zeros() -> None:
    tfidf = compute_tfidf(["one", "two", "three"])
    assert tfidf.shape == (3, 1)
    assert tfidf.nnz == 0
    assert compute_lsa(tfidf, np.random.default_rng(0)).tolist() == [[0.0], [0.0], [0.0]]


def test_texts_of_stop_words_give_zeros() -> None:
    assert compute_tfidf(["the of", "and the", "of and"]).nnz == 0


def test_lsa_brings_texts_that_share_words_together() -> None:
    lsa = compute_lsa(compute_tfidf(TEXTS * 3), np.random.default_rng(0))
    similarity = lsa @ lsa.T
    assert similarity[:3, :3].min() > similarity[:3, 3:6].max()


def test_combined_features_weigh_words_beside_embeddings() -> None:
    E, lsa = np.array([[1.0, 0.0]], dtype=np.float32), np.array([[1.0]], dtype=np.float32)
    assert combine_features(E, lsa, 0.75, None) == pytest.approx(np.array([[0.8, 0.0, 0.6]]))
    assert combine_features(E, None, 0.75, None) is E
