"""Groups of new texts that fit no cluster, and clusters that repeats do not tell apart."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import normalize

from rstc.config import Config
from rstc.pseudo_labels.features import EMBEDDING, TextFeatures
from rstc.pseudo_labels.initialization_settings import InitializationSettings
from rstc.pseudo_labels.novelty import find_novel_groups
from rstc.pseudo_labels.overlap import find_overlaps
from rstc.pseudo_labels.repeats import repeat_search

CENTRES = np.random.default_rng(0).normal(size=(6, 32))


def draw(sizes: list[int], seed: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Draw embeddings of length one around the first centres, and their classes."""
    rng = np.random.default_rng(seed)
    classes = np.repeat(np.arange(len(sizes)), sizes)
    points = CENTRES[classes] + 0.8 * rng.normal(size=(len(classes), 32))
    return np.asarray(normalize(points), dtype=np.float32), classes.astype(np.int64)


def test_class_that_is_new_is_found() -> None:
    U, labels = draw([80, 60, 40], seed=1)
    U_new, classes = draw([20, 15, 10, 25], seed=2)
    (group,) = find_novel_groups(U, labels, U_new, np.random.default_rng(0))
    assert (classes[group.rows] == 3).mean() > 0.9
    assert (classes[group.rows] == 3).sum() > 18
    assert group.stability > 0.9
    assert group.near == int((CENTRES[:3] @ CENTRES[3]).argmax())


def test_two_new_classes_are_two_groups() -> None:
    U, labels = draw([80, 60, 40], seed=1)
    U_new, classes = draw([10, 0, 10, 25, 20], seed=2)
    groups = find_novel_groups(U, labels, U_new, np.random.default_rng(0))
    assert [int(np.bincount(classes[group.rows]).argmax()) for group in groups] == [3, 4]


def test_nothing_is_new_in_texts_of_the_same_classes() -> None:
    U, labels = draw([80, 60, 40], seed=1)
    for seed in range(10):
        assert find_novel_groups(U, labels, draw([30, 20, 15], seed=10 + seed)[0], np.random.default_rng(seed)) == []


def test_cluster_that_grew_is_not_new() -> None:
    U, labels = draw([80, 60, 20], seed=1)
    for seed in range(5):
        assert find_novel_groups(U, labels, draw([0, 0, 40], seed=10 + seed)[0], np.random.default_rng(seed)) == []


def test_few_texts_are_no_group() -> None:
    U, labels = draw([80, 60], seed=1)
    U_new = draw([0, 0, 4], seed=2)[0]
    assert find_novel_groups(U, labels, U_new, np.random.default_rng(0)) == []
    assert find_novel_groups(U, np.full(140, -1), draw([9], seed=3)[0], np.random.default_rng(0)) == []


def test_halves_of_a_class_overlap_and_classes_do_not() -> None:
    U, labels = draw([90, 90, 90], seed=1)
    halves = labels.copy()
    halves[:90:2] = 3  # every other text of the first class
    settings = InitializationSettings.from_config(Config())

    def overlaps(clusters: NDArray[np.int64]) -> list[tuple[int, int]]:
        n_clusters = int(clusters.max()) + 1
        features = TextFeatures({EMBEDDING: U}, None)
        rng = np.random.default_rng(0)
        repeats = repeat_search(features, clusters, n_clusters, {}, "kmeans", 10, settings, rng)
        assert repeats is not None
        return [(pair.cluster, pair.other) for pair in find_overlaps(repeats, n_clusters)]

    assert overlaps(labels) == []
    assert {frozenset(pair) for pair in overlaps(halves)} == {frozenset({0, 3})}
