"""K-means_IC: k-means enhanced by iterative classification."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.base import clone

from rstc.baselines import kmeans_ic
from rstc.baselines.bag_of_words import tfidf_matrix
from rstc.baselines.kmeans_ic import KMeansIC, find_first_clusters, find_outliers, reclassify, select_training_texts
from rstc.errors import InputError
from rstc.metrics import evaluate

Data = tuple[list[str], list[str]]


@pytest.fixture
def topic_codes(texts_and_topics: Data) -> NDArray[np.int64]:
    return np.unique(texts_and_topics[1], return_inverse=True)[1].astype(np.int64)


def corrupt_labels(labels: NDArray[np.int64], count: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Make some of the labels wrong; return the new labels and the changed rows."""
    rng = np.random.default_rng(0)
    wrong = rng.choice(len(labels), count, replace=False)
    corrupted = labels.copy()
    corrupted[wrong] = (corrupted[wrong] + rng.integers(1, 4, count)) % 4
    return corrupted, wrong


def test_reclassify_corrects_wrong_labels_of_removed_texts() -> None:
    texts = ["late parcel", "parcel van", "late van", "onion soup", "soup pan", "onion pan"] * 5
    expected = np.array([0, 0, 0, 1, 1, 1] * 5)
    labels, is_training = expected.copy(), np.ones(30, dtype=np.bool_)
    labels[[0, 4, 9, 20, 23, 29]] = 1 - labels[[0, 4, 9, 20, 23, 29]]
    is_training[[0, 4, 9, 20, 23, 29]] = False
    assert np.array_equal(reclassify(tfidf_matrix(texts), labels, is_training, np.random.default_rng(0)), expected)


def test_training_texts_keep_their_cluster(texts_and_topics: Data, topic_codes: NDArray[np.int64]) -> None:
    labels, wrong = corrupt_labels(topic_codes, 10)
    is_training = np.zeros(len(labels), dtype=np.bool_)
    is_training[wrong] = is_training[:80] = True
    new_labels = reclassify(tfidf_matrix(texts_and_topics[0]), labels, is_training, np.random.default_rng(0))
    assert np.array_equal(new_labels[is_training], labels[is_training])


def test_labels_are_unchanged_when_all_texts_are_training_texts(
    topic_codes: NDArray[np.int64], texts_and_topics: Data
) -> None:
    is_training = np.ones(len(topic_codes), dtype=np.bool_)
    new_labels = reclassify(tfidf_matrix(texts_and_topics[0]), topic_codes, is_training, np.random.default_rng(0))
    assert np.array_equal(new_labels, topic_codes)


@pytest.mark.parametrize("seed", range(3))
def test_text_with_other_words_is_the_outlier(seed: int) -> None:
    X = tfidf_matrix(["late parcel", "parcel late late", "late parcel parcel"] * 7 + ["onion soup garlic"])
    is_outlier = find_outliers(X, 0.05, 50, np.random.default_rng(seed))
    assert np.flatnonzero(is_outlier).tolist() == [21]


def test_small_cluster_has_no_outlier() -> None:
    X = tfidf_matrix(["late parcel", "parcel", "onion soup"])
    assert not find_outliers(X, 0.1, 5, np.random.default_rng(0)).any()


def test_cluster_of_texts_without_words_has_no_outlier() -> None:
    X = tfidf_matrix(["soup pan", *["🙂"] * 20])
    assert not find_outliers(X[1:], 0.1, 5, np.random.default_rng(0)).any()


def test_large_clusters_are_cut_to_max_size_and_small_ones_lose_outliers_only(
    texts_and_topics: Data, topic_codes: NDArray[np.int64]
) -> None:
    sizes = np.bincount(topic_codes)
    assert sorted(sizes) == [10, 20, 30, 60]
    is_training = select_training_texts(
        tfidf_matrix(texts_and_topics[0]), topic_codes, 22.9, 0.1, 5, np.random.default_rng(0)
    )
    n_training = np.bincount(topic_codes[is_training], minlength=4)
    assert dict(zip(sizes.tolist(), n_training.tolist(), strict=True)) == {10: 9, 20: 18, 30: 22, 60: 22}


def test_each_cluster_keeps_a_training_text(texts_and_topics: Data, topic_codes: NDArray[np.int64]) -> None:
    is_training = select_training_texts(
        tfidf_matrix(texts_and_topics[0]), topic_codes, 0.3, 0.1, 5, np.random.default_rng(0)
    )
    assert np.bincount(topic_codes[is_training]).tolist() == [1, 1, 1, 1]


def test_rounds_correct_wrong_first_labels(
    monkeypatch: pytest.MonkeyPatch, texts_and_topics: Data, topic_codes: NDArray[np.int64]
) -> None:
    labels, wrong = corrupt_labels(topic_codes, 24)
    monkeypatch.setattr(kmeans_ic, "find_first_clusters", lambda *_: labels)
    model = KMeansIC(4, random_state=0, trees=20, rounds=20).fit(texts_and_topics[0])
    still_wrong = int((model.labels_ != topic_codes).sum())
    assert still_wrong <= len(wrong) / 2
    assert evaluate(topic_codes, model.labels_).acc > evaluate(topic_codes, labels).acc


def test_first_clusters_are_those_of_directions_in_the_leading_singular_vectors() -> None:
    # The third text is twice as long as the first, and the last two share no word with the others.
    X = csr_matrix(np.array([[1.0, 1, 0, 0], [1, 1.1, 0, 0], [2, 2, 0, 0], [0, 0, 1, 1], [0, 0, 3, 3.1]]))
    labels = find_first_clusters(X, 2, 2, 5, np.random.default_rng(0))
    assert labels[0] == labels[1] == labels[2] != labels[3] == labels[4]


def test_english_stop_words_have_no_effect() -> None:
    texts = ["late parcel van", "parcel van", "late van", "onion soup pan", "soup pan", "onion soup"] * 5
    with_stop_words = [f"the {text} is of this" for text in texts]
    model = KMeansIC(2, random_state=0, trees=5, rounds=3)
    assert np.array_equal(model.fit(texts).labels_, clone(model).fit(with_stop_words).labels_)


def test_the_number_of_rounds_is_fixed(texts_and_topics: Data) -> None:
    model = KMeansIC(4, random_state=0, trees=5, rounds=12).fit(texts_and_topics[0])
    assert model.n_iter_ == 12
    assert [entry["round"] for entry in model.history_] == list(range(1, 13))
    assert all(0 <= entry["changed"] <= 1 for entry in model.history_)


def test_same_seed_gives_same_labels(texts_and_topics: Data) -> None:
    model = KMeansIC(5, random_state=3, kmeans_starts=2, trees=5, rounds=4)
    assert np.array_equal(model.fit_predict(texts_and_topics[0]), clone(model).fit_predict(texts_and_topics[0]))


@pytest.mark.parametrize("n_clusters", [2, 3, 7])
def test_no_cluster_becomes_empty(n_clusters: int, texts_and_topics: Data) -> None:
    labels = KMeansIC(n_clusters, random_state=0, trees=5, rounds=10).fit_predict(texts_and_topics[0])
    assert labels.dtype == np.int64
    assert set(labels) == set(range(n_clusters))


def test_y_is_ignored(texts_and_topics: Data) -> None:
    texts, topics = texts_and_topics
    model = KMeansIC(4, random_state=0, kmeans_starts=1, trees=5, rounds=3)
    assert np.array_equal(model.fit(texts).labels_, model.fit(texts, y=topics).labels_)


def test_texts_without_words_get_a_cluster(texts_and_topics: Data) -> None:
    labels = KMeansIC(4, random_state=0, trees=5, rounds=3).fit_predict([*texts_and_topics[0], "🙂", ""])
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
def test_invalid_settings_raise(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        KMeansIC(**settings).fit(["late parcel", "onion soup", "bank refund"])


def test_only_texts_without_words_raise() -> None:
    with pytest.raises(InputError, match="none of the 2 texts holds a word"):
        KMeansIC(2).fit(["🙂", "!"])
