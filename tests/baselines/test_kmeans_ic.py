"""k-means that is enhanced by iterative classification."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.base import clone

from rstc.baselines import kmeans_ic
from rstc.baselines.kmeans_ic import KMeansIC, outliers, reassign, size_change, texts_to_learn
from rstc.baselines.tfidf import TFIDF
from rstc.baselines.bag_of_words import tfidf_matrix
from rstc.errors import InputError
from rstc.metrics import evaluate

Data = tuple[list[str], list[str]]


@pytest.fixture
def topic_codes(texts_and_topics: Data) -> NDArray[np.int64]:
    return np.unique(texts_and_topics[1], return_inverse=True)[1].astype(np.int64)


def spoilt(labels: NDArray[np.int64], count: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return labels of which some are wrong, and where."""
    rng = np.random.default_rng(0)
    wrong = rng.choice(len(labels), count, replace=False)
    out = labels.copy()
    out[wrong] = (out[wrong] + rng.integers(1, 4, count)) % 4
    return out, wrong


def test_wrong_texts_that_are_set_aside_are_put_right_by_those_that_stay() -> None:
    texts = ["late parcel", "parcel van", "late van", "onion soup", "soup pan", "onion pan"] * 5
    right = np.array([0, 0, 0, 1, 1, 1] * 5)
    labels, stay = right.copy(), np.ones(30, dtype=np.bool_)
    labels[[0, 4, 9, 20, 23, 29]] = 1 - labels[[0, 4, 9, 20, 23, 29]]
    stay[[0, 4, 9, 20, 23, 29]] = False
    assert np.array_equal(reassign(tfidf_matrix(texts), labels, stay, np.random.default_rng(0)), right)


def test_texts_that_stay_keep_their_cluster_even_a_wrong_one(
    texts_and_topics: Data, topic_codes: NDArray[np.int64]
) -> None:
    labels, wrong = spoilt(topic_codes, 10)
    stay = np.zeros(len(labels), dtype=np.bool_)
    stay[wrong] = stay[:80] = True
    renewed = reassign(tfidf_matrix(texts_and_topics[0]), labels, stay, np.random.default_rng(0))
    assert np.array_equal(renewed[stay], labels[stay])


def test_when_all_texts_stay_nothing_is_reassigned(topic_codes: NDArray[np.int64], texts_and_topics: Data) -> None:
    stay = np.ones(len(topic_codes), dtype=np.bool_)
    renewed = reassign(tfidf_matrix(texts_and_topics[0]), topic_codes, stay, np.random.default_rng(0))
    assert np.array_equal(renewed, topic_codes)


@pytest.mark.parametrize("seed", range(3))
def test_the_text_of_other_words_is_the_outlier(seed: int) -> None:
    X = tfidf_matrix(["late parcel", "parcel late late", "late parcel parcel"] * 7 + ["onion soup garlic"])
    found = outliers(X, 0.05, 50, np.random.default_rng(seed))
    assert np.flatnonzero(found).tolist() == [21]


def test_a_cluster_too_small_for_the_share_has_no_outlier() -> None:
    X = tfidf_matrix(["late parcel", "parcel", "onion soup"])
    assert not outliers(X, 0.1, 5, np.random.default_rng(0)).any()


def test_a_cluster_of_texts_without_words_has_no_outlier() -> None:
    X = tfidf_matrix(["soup pan", *["🙂"] * 20])
    assert not outliers(X[1:], 0.1, 5, np.random.default_rng(0)).any()


def test_large_clusters_are_cut_to_the_cap_and_small_ones_lose_outliers_only(
    texts_and_topics: Data, topic_codes: NDArray[np.int64]
) -> None:
    sizes = np.bincount(topic_codes)
    assert sorted(sizes) == [10, 20, 30, 60]
    stay = texts_to_learn(tfidf_matrix(texts_and_topics[0]), topic_codes, 22.9, 0.1, 5, np.random.default_rng(0))
    learned = np.bincount(topic_codes[stay], minlength=4)
    assert dict(zip(sizes.tolist(), learned.tolist(), strict=True)) == {10: 9, 20: 18, 30: 22, 60: 22}


def test_each_cluster_keeps_a_text_whatever_the_cap(texts_and_topics: Data, topic_codes: NDArray[np.int64]) -> None:
    stay = texts_to_learn(tfidf_matrix(texts_and_topics[0]), topic_codes, 0.3, 0.1, 5, np.random.default_rng(0))
    assert np.bincount(topic_codes[stay]).tolist() == [1, 1, 1, 1]


def test_the_rounds_mend_first_clusters_with_wrong_texts(
    monkeypatch: pytest.MonkeyPatch, texts_and_topics: Data, topic_codes: NDArray[np.int64]
) -> None:
    labels, wrong = spoilt(topic_codes, 24)
    monkeypatch.setattr(kmeans_ic, "sparse_kmeans", lambda *_: labels)
    model = KMeansIC(4, random_state=0, tolerance=0, max_rounds=20).fit(texts_and_topics[0])
    still_wrong = int((model.labels_ != topic_codes).sum())
    assert still_wrong <= len(wrong) / 2
    assert evaluate(topic_codes, model.labels_).acc > evaluate(topic_codes, labels).acc


def test_without_rounds_it_is_kmeans_on_tfidf(texts_and_topics: Data) -> None:
    model = KMeansIC(4, random_state=5, max_rounds=0).fit(texts_and_topics[0])
    assert np.array_equal(model.labels_, TFIDF(4, random_state=5).fit_predict(texts_and_topics[0]))
    assert (model.n_iter_, model.history_) == (0, [])


def test_the_rounds_end_when_the_sizes_settle(texts_and_topics: Data) -> None:
    model = KMeansIC(4, random_state=0, tolerance=0.02).fit(texts_and_topics[0])
    changes = [entry["size_change"] for entry in model.history_]
    assert [entry["round"] for entry in model.history_] == list(range(1, model.n_iter_ + 1))
    assert changes[-1] <= 0.02
    assert all(change > 0.02 for change in changes[:-1])


def test_the_rounds_end_at_their_limit(monkeypatch: pytest.MonkeyPatch, texts_and_topics: Data) -> None:
    monkeypatch.setattr(kmeans_ic, "size_change", lambda *_: 1.0)
    assert KMeansIC(4, random_state=0, max_rounds=3).fit(texts_and_topics[0]).n_iter_ == 3


def test_moves_that_cancel_out_leave_the_sizes_unchanged() -> None:
    assert size_change(np.array([0, 0, 1, 1]), np.array([1, 0, 0, 1])) == 0
    assert size_change(np.array([0, 0, 0, 2]), np.array([1, 1, 0, 2])) == 1, "two leave a cluster, two enter another"


def test_the_same_seed_gives_the_same_labels(texts_and_topics: Data) -> None:
    model = KMeansIC(5, random_state=3, kmeans_starts=2, tolerance=0, max_rounds=4)
    assert np.array_equal(model.fit_predict(texts_and_topics[0]), clone(model).fit_predict(texts_and_topics[0]))


@pytest.mark.parametrize("n_clusters", [2, 3, 7])
def test_no_cluster_becomes_empty(n_clusters: int, texts_and_topics: Data) -> None:
    labels = KMeansIC(n_clusters, random_state=0, trees=5, tolerance=0, max_rounds=10).fit_predict(texts_and_topics[0])
    assert labels.dtype == np.int64
    assert set(labels) == set(range(n_clusters))


def test_true_labels_that_are_given_change_nothing(texts_and_topics: Data) -> None:
    texts, topics = texts_and_topics
    model = KMeansIC(4, random_state=0, kmeans_starts=1)
    assert np.array_equal(model.fit(texts).labels_, model.fit(texts, y=topics).labels_)


def test_a_text_without_a_word_gets_a_cluster(texts_and_topics: Data) -> None:
    labels = KMeansIC(4, random_state=0).fit_predict([*texts_and_topics[0], "🙂", ""])
    assert len(labels) == len(texts_and_topics[0]) + 2
    assert set(labels) == {0, 1, 2, 3}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"outlier_share": 1.0}, r"outlier_share=1.0 must be"),
        ({"min_share": 0.9, "max_share": 0.8}, r"min_share=0.9 must be above 0 and no more than max_share=0.8"),
        ({"n_clusters": 1}, r"n_clusters=1 must be a whole number of at least 2"),
    ],
)
def test_settings_that_cannot_be_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        KMeansIC(**settings).fit(["late parcel", "onion soup", "bank refund"])


def test_texts_without_any_word_are_refused() -> None:
    with pytest.raises(InputError, match="none of the 2 texts holds a word"):
        KMeansIC(2).fit(["🙂", "!"])
