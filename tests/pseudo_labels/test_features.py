"""Feature sets: TF-IDF and its truncated SVD, mixes, neighbours and points."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from scipy.sparse import random as random_matrix
from sklearn.decomposition import TruncatedSVD
from sklearn.preprocessing import normalize

from rstc.pseudo_labels.features import (
    TextFeatures,
    WordFeatures,
    compute_lsa,
    compute_tfidf,
    project_on_singular_vectors,
    reduce_dimensions,
)
from rstc.runtime.distributed import SINGLE_PROCESS

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


@pytest.mark.parametrize("shape", [(300, 120), (120, 300), (120, 120)])
@pytest.mark.parametrize("rank", [120, 20])
def test_rows_are_projected_as_by_truncated_svd(shape: tuple[int, int], rank: int) -> None:
    """Also where the subspace has not converged: a matrix of noise has no gaps between its singular values."""
    rng = np.random.default_rng(0)
    factors = (random_matrix(*size, density=0.2, random_state=rng) for size in ((shape[0], rank), (rank, shape[1])))
    A = csr_matrix(next(factors) @ next(factors), dtype=np.float32)
    expected = TruncatedSVD(30, random_state=7).fit_transform(A)
    found = project_on_singular_vectors(A, 30, 7, SINGLE_PROCESS)
    assert found @ found.T == pytest.approx(expected @ expected.T, abs=1e-4 * float(np.abs(expected).max()) ** 2)


def _make_features() -> TextFeatures:
    E = np.array([[1, 0], [1, 0], [0, 1]], dtype=np.float32)
    static = np.array([[1, 0], [0, 1], [1, 0]], dtype=np.float32)
    lsa = np.array([[1], [0], [1]], dtype=np.float32)
    return TextFeatures({"embedding": E, "static": static}, WordFeatures(csr_matrix(lsa), lsa))


def test_points_weigh_feature_sets_beside_the_embedding() -> None:
    features = _make_features()
    assert features.build_points({"words": 0.75}, None)[0] == pytest.approx([0.8, 0.0, 0.6])
    assert features.build_points({"static": 1.0}, None)[0] == pytest.approx([0.5**0.5, 0, 0.5**0.5, 0])
    assert features.build_points({}, None) is features.embedding


def test_points_are_averaged_over_neighbours() -> None:
    points = _make_features().build_points({}, np.array([[0, 2], [1, 0], [2, 2]]))
    assert points == pytest.approx(np.array([[0.5**0.5, 0.5**0.5], [1, 0], [0, 1]]))


@pytest.mark.parametrize(("mix", "expected"), [({}, 1), ({"static": 2.0}, 2), ({"words": 2.0}, 2)])
def test_neighbours_follow_the_weights(mix: dict[str, float], expected: int) -> None:
    assert _make_features().find_neighbours(mix, 2)[0].tolist() == [0, expected]


def test_selection_keeps_the_rows_of_all_feature_sets() -> None:
    selected = _make_features().select(np.array([2]))
    assert selected.names == ("embedding", "static", "words")
    assert selected.embedding.tolist() == [[0, 1]]
    assert selected.dense["static"].tolist() == [[1, 0]]
    assert selected.words is not None
    assert selected.words.lsa.tolist() == [[1]]


def test_reduced_points_keep_their_inner_products() -> None:
    rng = np.random.default_rng(0)
    points = normalize(rng.normal(size=(400, 60)) @ rng.normal(size=(60, 300))).astype(np.float32)  # of rank 60
    reduced = reduce_dimensions(points)
    assert reduced.shape == (400, 128)
    assert np.allclose(reduced @ reduced.T, points @ points.T, atol=1e-4)


def test_tfidf_of_german_texts_leaves_german_stop_words_out() -> None:
    texts = ["Wo ist die Rechnung und das Paket?", "Die Rechnung ist nicht da", "Wann kommt das Paket an?"]
    assert compute_tfidf(texts).shape == (3, 2)  # rechnung, paket


def test_tfidf_finds_what_chinese_texts_share() -> None:
    tfidf = compute_tfidf(["我要退款", "什么时候退款", "忘记密码怎么办", "如何修改密码"])
    similarity = (tfidf @ tfidf.T).toarray()
    assert similarity[0, 1] > 0 < similarity[2, 3]
    assert similarity[0, 2] == 0
