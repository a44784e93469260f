"""Clustering with partial labels: numbering clusters after classes, and constrained k-means."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.preprocessing import normalize

from rstc.pseudo_labels.constraints import UNLABELLED, align_with_partial_labels, fit_constrained_kmeans


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**16), st.integers(1, 4), st.integers(0, 3))
def test_alignment_renumbers_clusters_and_keeps_given_labels(seed: int, n_classes: int, n_free: int) -> None:
    rng = np.random.default_rng(seed)
    n_clusters = n_classes + n_free
    labels = rng.integers(n_clusters, size=30)
    partial_labels = np.full(30, UNLABELLED)
    partial_labels[: 2 * n_classes] = np.repeat(np.arange(n_classes), 2)
    aligned = align_with_partial_labels(labels, partial_labels, n_clusters)
    labelled = partial_labels != UNLABELLED
    assert np.array_equal(aligned[labelled], partial_labels[labelled])
    pairs = set(zip(labels[~labelled].tolist(), aligned[~labelled].tolist(), strict=True))
    assert len(pairs) == len(set(labels[~labelled])) == len(set(aligned[~labelled])), (
        "clusters are renumbered one to one"
    )


def test_clusters_are_numbered_after_the_class_that_most_of_their_labelled_texts_have() -> None:
    labels = np.array([0, 0, 0, 1, 1, 1, 2])
    partial_labels = np.array([1, 1, 0, 0, UNLABELLED, UNLABELLED, UNLABELLED])
    assert align_with_partial_labels(labels, partial_labels, 3).tolist() == [1, 1, 0, 0, 0, 0, 2]


def test_constrained_kmeans_keeps_given_labels_and_finds_free_clusters() -> None:
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1, 2], 40)
    points = normalize(np.eye(6)[truth] + 0.1 * rng.standard_normal((120, 6))).astype(np.float32)
    partial_labels = np.full(120, UNLABELLED)
    partial_labels[[0, 1, 41]] = [0, 1, 1]  # text 1 is labelled against its position
    labels = fit_constrained_kmeans(points, partial_labels, 3, rng)
    assert labels[[0, 1, 41]].tolist() == [0, 1, 1]
    assert np.array_equal(np.delete(labels, 1), np.delete(truth, 1))


def test_constrained_kmeans_takes_duplicates() -> None:
    points = np.ones((5, 2), dtype=np.float32) / np.float32(np.sqrt(2))
    partial_labels = np.array([0, UNLABELLED, UNLABELLED, UNLABELLED, UNLABELLED])
    labels = fit_constrained_kmeans(points, partial_labels, 3, np.random.default_rng(0))
    assert labels[0] == 0
    assert labels.max() < 3
