"""BOW and TF-IDF: k-means on word counts and on TF-IDF vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from rstc.baselines.bag_of_words import count_matrix
from rstc.baselines.bow import BOW
from rstc.baselines.tfidf import TFIDF
from rstc.errors import InputError
from rstc.metrics import evaluate

both = pytest.mark.parametrize("baseline", [BOW, TFIDF])


@both
def test_texts_that_share_words_are_grouped(baseline: Any, texts_and_topics: tuple[list[str], list[str]]) -> None:
    texts, topics = texts_and_topics
    labels = baseline(4, random_state=0).fit_predict(texts)
    assert labels.shape == (len(texts),)
    assert labels.dtype == np.int64
    chance = max(topics.count(topic) for topic in set(topics)) / len(topics)
    assert evaluate(topics, labels).acc > chance + 0.1


@both
def test_topics_without_a_common_word_are_separated_exactly(baseline: Any) -> None:
    texts = ["late parcel", "parcel late late", "parcel late", "onion soup", "soup onion onion", "onion soup soup"]
    labels = baseline(2, random_state=0).fit_predict(texts)
    assert labels[0] == labels[1] == labels[2] != labels[3] == labels[4] == labels[5]


def test_tfidf_groups_by_topic_where_bow_groups_by_the_count_of_a_common_word() -> None:
    texts = ["today parcel", "today today today today parcel", "today soup", "today today today today soup"]
    by_count, by_weight = (baseline(2, random_state=0).fit_predict(texts) for baseline in (BOW, TFIDF))
    assert by_count[0] == by_count[2] != by_count[1] == by_count[3]
    assert by_weight[0] == by_weight[1] != by_weight[2] == by_weight[3]


@both
def test_same_seed_gives_same_labels(baseline: Any, texts_and_topics: tuple[list[str], list[str]]) -> None:
    texts, _ = texts_and_topics
    model = baseline(5, random_state=3, kmeans_starts=2)
    assert np.array_equal(model.fit_predict(texts), clone(model).fit_predict(texts))


@both
@pytest.mark.parametrize("n_clusters", [2, 3, 7])
def test_every_cluster_holds_a_text(
    baseline: Any, n_clusters: int, texts_and_topics: tuple[list[str], list[str]]
) -> None:
    labels = baseline(n_clusters, random_state=0).fit_predict(texts_and_topics[0])
    assert set(labels) == set(range(n_clusters))


@both
def test_y_is_ignored(baseline: Any) -> None:
    texts = ["late parcel", "parcel late late", "onion soup", "soup onion onion"]
    model = baseline(2, random_state=0)
    assert np.array_equal(model.fit(texts).labels_, model.fit(texts, y=[0, 1, 0, 1]).labels_)


@both
def test_texts_without_words_share_a_cluster(baseline: Any) -> None:
    texts = ["late parcel", "parcel late", "onion soup", "soup onion", "🙂", ""]
    labels = baseline(3, random_state=0).fit_predict(texts)
    assert labels[4] == labels[5], "their rows are equal"
    assert set(labels) == {0, 1, 2}


@both
def test_only_texts_without_words_raise(baseline: Any) -> None:
    with pytest.raises(InputError, match="none of the 3 texts holds a word"):
        baseline(2).fit(["🙂", "!", ""])


@both
def test_more_clusters_than_distinct_texts_raise(baseline: Any) -> None:
    with pytest.raises(InputError, match="n_clusters=3 needs at least 3 texts of different words, got 2"):
        baseline(3).fit(["late parcel", "Parcel late", "soup", "soup!"])


@both
@pytest.mark.parametrize("n_clusters", [1, 0, 2.5, True])
def test_invalid_n_clusters_raises(baseline: Any, n_clusters: Any) -> None:
    with pytest.raises(InputError, match="must be a whole number of at least 2"):
        baseline(n_clusters).fit(["late parcel", "soup", "onion"])


@both
def test_texts_that_are_no_list_of_strings_raise(baseline: Any) -> None:
    with pytest.raises(InputError, match="a single string"):
        baseline(2).fit("late parcel")
    with pytest.raises(InputError, match="text 1 is None"):
        baseline(2).fit(["late parcel", None, "soup"])


def test_word_counts_ignore_case_and_single_letters() -> None:
    assert count_matrix(["Soup soup a", "onion"]).toarray().tolist() == [[0, 2], [1, 0]]
