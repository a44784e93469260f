"""Clusters in words."""

from __future__ import annotations

import numpy as np

from rstc.results.describe import WordCounts, describe

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


def test_each_cluster_has_its_size_words_and_confidence() -> None:
    parcel, password = describe(TEXTS, LABELS, P[np.arange(len(P)), LABELS], E)
    assert (parcel.cluster, parcel.size, password.cluster, password.size) == (0, 3, 2, 2)
    assert parcel.keywords[:2] in (["late", "parcel"], ["parcel", "late"])
    assert password.keywords[0] == "password"
    assert parcel.confidence == np.mean([0.6, 0.9, 0.9])


def test_typical_texts_are_central_doubtful_ones_unsure_and_none_is_shown_twice() -> None:
    parcel, password = describe(TEXTS, LABELS, P[np.arange(len(P)), LABELS], E)
    assert parcel.typical == [1, 0]
    assert parcel.doubtful == [0, 1]
    assert password.doubtful[0] == 4


def test_the_nearest_clusters_are_those_with_the_nearest_centres() -> None:
    angles = np.array([0.0, 0.2, 1.0, 1.1, 3.0])
    E = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    described = describe([f"text {i}" for i in "abcde"], np.array([0, 1, 2, 5, 7]), np.ones(5), E)
    assert [one.near for one in described] == [[1, 2, 5], [0, 2, 5], [5, 1, 0], [2, 1, 0], [5, 2, 1]]


def test_keywords_follow_any_clusters_and_leave_noise_out() -> None:
    words = WordCounts(TEXTS)
    found = words.keywords(np.array([0, 0, 0, -1, 1]))
    assert found[1] == ["forgotten", "password"]
    assert "reset" not in found[0] + found[1]


def test_texts_without_words_have_no_keywords() -> None:
    described = describe(["🎉", "!!!"], np.array([0, 1]), np.ones(2), np.eye(2))
    assert [one.keywords for one in described] == [[], []]
