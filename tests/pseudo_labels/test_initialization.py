"""Initial labels of balanced and imbalanced data, and their competition with previous labels."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import normalize

from rstc.pseudo_labels import initialization
from rstc.pseudo_labels.features import build_word_features
from rstc.pseudo_labels.initialization import InitializationSettings, find_initial_labels

AUTO = InitializationSettings("auto", 10, True, True, words=1.0, neighbours=10, rounds=4, eps1=0.5, eps2="auto")
IMBALANCED = [300, 100, 40, 20, 15, 15]


def _make_blobs(sizes: list[int], spread: float = 0.2) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    centres = np.eye(2 * len(sizes))[: len(sizes)]
    E = np.concatenate([rng.normal(c, spread, (n, 2 * len(sizes))) for c, n in zip(centres, sizes, strict=True)])
    return normalize(E).astype(np.float32), np.repeat(np.arange(len(sizes)), sizes)


@pytest.mark.parametrize("sizes", [[60] * 6, IMBALANCED])
def test_balanced_and_imbalanced_clusters_are_found(sizes: list[int]) -> None:
    E, truth = _make_blobs(sizes)
    for seed in range(3):
        initial = find_initial_labels(E, None, 6, replace(AUTO, words=0.0), np.random.default_rng(seed))
        assert adjusted_rand_score(truth, initial.labels) > 0.95


def test_imbalanced_data_get_a_smaller_eps2() -> None:
    balanced, imbalanced = (
        find_initial_labels(_make_blobs(sizes)[0], None, 4, replace(AUTO, words=0.0), np.random.default_rng(0)).eps2
        for sizes in ([60] * 4, [200, 30, 15, 15])
    )
    assert balanced > 10 * imbalanced


def test_words_decide_if_the_embeddings_are_noise() -> None:
    texts = ["parcel late again", "refund not paid"] * 40
    E = normalize(np.random.default_rng(0).normal(size=(80, 6))).astype(np.float32)
    rng = np.random.default_rng(0)
    initial = find_initial_labels(E, build_word_features(texts, rng), 2, replace(AUTO, neighbours=20), rng)
    assert adjusted_rand_score([0, 1] * 40, initial.labels) > 0.9


@pytest.mark.parametrize("start", ["kmeans", "linkage"])
def test_a_named_start_is_used(start: str) -> None:
    E, _ = _make_blobs([60] * 3)
    assert find_initial_labels(E, None, 3, replace(AUTO, start=start), np.random.default_rng(0)).start == start


def test_without_rounds_the_start_is_taken_as_it_is() -> None:
    E, _ = _make_blobs([50, 30])
    initial = find_initial_labels(E, None, 2, replace(AUTO, start="kmeans", rounds=0), np.random.default_rng(0))
    assert initial.agreement is None
    assert initial.b == pytest.approx(np.bincount(initial.labels) / 80)


def test_same_generator_state_gives_the_same_labels() -> None:
    E, _ = _make_blobs([40] * 4, spread=0.6)
    first, second = (find_initial_labels(E, None, 4, AUTO, np.random.default_rng(1)).labels for _ in range(2))
    assert np.array_equal(first, second)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("n_clusters", [2, 7])
def test_few_texts_are_clustered_without_a_warning(n_clusters: int) -> None:
    texts = ["late parcel", "where is my parcel", "refund", "refund please", "login fails", "cannot login", "hello"]
    E = normalize(np.random.default_rng(0).normal(size=(7, 6))).astype(np.float32)
    rng = np.random.default_rng(0)
    assert len(set(find_initial_labels(E, build_word_features(texts, rng), n_clusters, AUTO, rng).labels)) == n_clusters


def test_previous_labels_are_kept_if_kmeans_finds_none_better() -> None:
    E, truth = _make_blobs(IMBALANCED)
    splits_the_largest = replace(AUTO, words=0.0, start="kmeans", swaps=False, kmeans_starts=1)
    initial = find_initial_labels(E, None, 6, splits_the_largest, np.random.default_rng(3), previous=truth)
    assert initial.start == "before"
    assert adjusted_rand_score(truth, initial.labels) > 0.95


def test_previous_labels_are_replaced_if_kmeans_finds_better_ones() -> None:
    E, truth = _make_blobs([60] * 6)
    previous = np.random.default_rng(0).permutation(truth)
    initial = find_initial_labels(E, None, 6, replace(AUTO, words=0.0), np.random.default_rng(0), previous=previous)
    assert initial.start != "before"
    assert adjusted_rand_score(truth, initial.labels) > 0.95


@pytest.mark.parametrize("start", ["auto", "linkage"])
def test_linkage_is_not_run_again_beside_previous_labels(start: str, monkeypatch: pytest.MonkeyPatch) -> None:
    E, truth = _make_blobs(IMBALANCED)
    monkeypatch.setattr(initialization, "cluster_by_linkage", lambda *_: pytest.fail("linkage was run"))
    settings = replace(AUTO, words=0.0, start=start)
    find_initial_labels(E, None, 6, settings, np.random.default_rng(0), previous=truth)


def test_partial_labels_are_kept_and_number_the_clusters() -> None:
    E, truth = _make_blobs([60] * 3)
    partial_labels = np.full(180, -1)
    partial_labels[[0, 61, 62, 121]] = [2, 0, 0, 1]
    initial = find_initial_labels(
        E, None, 3, replace(AUTO, words=0.0), np.random.default_rng(0), partial_labels=partial_labels
    )
    assert (initial.labels == np.array([2, 0, 1])[truth]).mean() > 0.95
    assert initial.labels[[0, 61, 62, 121]].tolist() == [2, 0, 0, 1]
    assert initial.partial_label_accuracy is not None
