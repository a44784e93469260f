"""Descriptions of clusters."""

from __future__ import annotations

import numpy as np

from rstc.results.describe import describe

TEXTS = [
    "my parcel is late",
    "parcel late again",
    "parcel late again",
    "reset my password",
    "password forgotten",
]
LABELS = np.array([0, 0, 0, 2, 2])
P = np.array([[0.6, 0.2, 0.2], [0.9, 0.05, 0.05], [0.9, 0.05, 0.05], [0.1, 0.1, 0.8], [0.25, 0.25, 0.5]])
E = np.array([[1.0, 0.4], [1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.3, 1.0]])


def test_each_cluster_has_size_keywords_and_confidence() -> None:
    parcel, password = describe(TEXTS, LABELS, P[np.arange(len(P)), LABELS], E)
    assert (parcel.cluster, parcel.size, password.cluster, password.size) == (0, 3, 2, 2)
    assert [keyword.text for keyword in parcel.keywords] == ["parcel late"]
    assert [keyword.text for keyword in password.keywords] == ["password"]
    assert parcel.confidence == np.mean([0.6, 0.9, 0.9])


def test_typical_texts_are_central_doubtful_ones_uncertain_and_none_repeats() -> None:
    parcel, password = describe(TEXTS, LABELS, P[np.arange(len(P)), LABELS], E)
    assert parcel.typical == [1, 0]
    assert parcel.doubtful == [0, 1]
    assert password.doubtful[0] == 4


def test_near_clusters_have_the_nearest_centres() -> None:
    angles = np.array([0.0, 0.2, 1.0, 1.1, 3.0])
    E = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    descriptions = describe([f"text {i}" for i in "abcde"], np.array([0, 1, 2, 5, 7]), np.ones(5), E)
    assert [description.near for description in descriptions] == [[1, 2, 5], [0, 2, 5], [5, 1, 0], [2, 1, 0], [5, 2, 1]]


def test_texts_without_words_have_no_keywords() -> None:
    descriptions = describe(["🎉", "!!!"], np.array([0, 1]), np.ones(2), np.eye(2))
    assert [description.keywords for description in descriptions] == [[], []]


def test_texts_without_any_cluster_have_no_descriptions() -> None:
    assert describe(["parcel"], np.array([-1]), np.zeros(1), np.zeros((1, 2))) == []
