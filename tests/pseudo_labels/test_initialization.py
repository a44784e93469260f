"""Initial labels of balanced and imbalanced data, and the choice of feature sets and start."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import normalize

from rstc.pseudo_labels import initialization
from rstc.pseudo_labels.agreement import Agreement
from rstc.pseudo_labels.features import TextFeatures, build_word_features
from rstc.pseudo_labels.initialization import find_initial_labels, improve_labels
from rstc.pseudo_labels.initialization_settings import InitializationSettings

AUTO = InitializationSettings(
    "auto", 10, True, True, words="auto", static=0.0, neighbours=10, rounds=4, eps1=0.5, eps2="auto"
)
EMBEDDING_ONLY = replace(AUTO, words=0.0)
IMBALANCED = [300, 100, 40, 20, 15, 15]


def _make_blobs(sizes: list[int], spread: float = 0.2) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    centres = np.eye(2 * len(sizes))[: len(sizes)]
    E = np.concatenate([rng.normal(c, spread, (n, 2 * len(sizes))) for c, n in zip(centres, sizes, strict=True)])
    return normalize(E).astype(np.float32), np.repeat(np.arange(len(sizes)), sizes)


def _features(E: np.ndarray, texts: list[str] | None = None) -> TextFeatures:
    words = build_word_features(texts, np.random.default_rng(0)) if texts else None
    return TextFeatures({"embedding": E}, words)


@pytest.mark.parametrize("sizes", [[60] * 6, IMBALANCED])
def test_balanced_and_imbalanced_clusters_are_found(sizes: list[int]) -> None:
    E, truth = _make_blobs(sizes)
    for seed in range(3):
        initial = find_initial_labels(_features(E), 6, EMBEDDING_ONLY, np.random.default_rng(seed))
        assert adjusted_rand_score(truth, initial.labels) > 0.95


def test_imbalanced_data_get_a_smaller_eps2() -> None:
    balanced, imbalanced = (
        find_initial_labels(_features(_make_blobs(sizes)[0]), 4, EMBEDDING_ONLY, np.random.default_rng(0)).eps2
        for sizes in ([60] * 4, [200, 30, 15, 15])
    )
    assert balanced > 10 * imbalanced


def test_words_decide_if_the_embeddings_are_noise() -> None:
    texts = ["parcel late again", "refund not paid"] * 40
    E = normalize(np.random.default_rng(0).normal(size=(80, 6))).astype(np.float32)
    rng = np.random.default_rng(0)
    initial = find_initial_labels(_features(E, texts), 2, replace(AUTO, words=1.0, neighbours=20), rng)
    assert adjusted_rand_score([0, 1] * 40, initial.labels) > 0.9


@pytest.mark.parametrize("start", ["kmeans", "spectral", "linkage"])
def test_a_named_start_is_used(start: str) -> None:
    E, _ = _make_blobs([60] * 3)
    assert find_initial_labels(_features(E), 3, replace(AUTO, start=start), np.random.default_rng(0)).start == start


def test_without_rounds_the_start_is_taken_as_it_is() -> None:
    E, _ = _make_blobs([50, 30])
    initial = find_initial_labels(_features(E), 2, replace(AUTO, start="kmeans", rounds=0), np.random.default_rng(0))
    assert initial.agreement is None
    assert initial.b == pytest.approx(np.bincount(initial.labels) / 80)


def test_same_generator_state_gives_the_same_labels() -> None:
    E, _ = _make_blobs([40] * 4, spread=0.6)
    first, second = (find_initial_labels(_features(E), 4, AUTO, np.random.default_rng(1)).labels for _ in range(2))
    assert np.array_equal(first, second)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("n_clusters", [2, 7])
def test_few_texts_are_clustered_without_a_warning(n_clusters: int) -> None:
    texts = ["late parcel", "where is my parcel", "refund", "refund please", "login fails", "cannot login", "hello"]
    E = normalize(np.random.default_rng(0).normal(size=(7, 6))).astype(np.float32)
    rng = np.random.default_rng(0)
    assert len(set(find_initial_labels(_features(E, texts), n_clusters, AUTO, rng).labels)) == n_clusters


def test_previous_labels_are_improved_and_keep_their_numbers() -> None:
    E, truth = _make_blobs([60] * 6)
    rng = np.random.default_rng(0)
    previous = np.where(rng.random(len(truth)) < 0.1, rng.integers(6, size=len(truth)), truth)
    initial = improve_labels(_features(E), previous, 6, {}, EMBEDDING_ONLY, rng)
    assert initial.start == "before"
    assert (initial.labels == truth).mean() > 0.97


def test_chosen_feature_sets_are_those_that_carry_the_clusters() -> None:
    rng = np.random.default_rng(0)
    E, truth = _make_blobs([60] * 4, spread=0.5)
    static = normalize(np.eye(6)[truth] + rng.normal(0, 0.3, (240, 6))).astype(np.float32)
    features = TextFeatures({"embedding": E, "static": static})
    initial = find_initial_labels(features, 4, replace(EMBEDDING_ONLY, static="auto"), rng)
    assert initial.mix == {"static": 1.0}
    assert adjusted_rand_score(truth, initial.labels) > 0.9
    products = [candidate.agreement.product for candidate in initial.candidates if candidate.agreement]
    assert len(products) == 4, "two weights with two starts"
    assert products[1:] == sorted(products[1:], reverse=True), "the first may lead by its stability"


def test_linkage_is_chosen_for_very_uneven_clusters_and_kmeans_for_even_ones() -> None:
    starts = []
    for sizes in ([400, 60, 15, 15, 10], [100] * 5):
        E, _ = _make_blobs(sizes, spread=0.25)
        starts.append(find_initial_labels(_features(E), 5, EMBEDDING_ONLY, np.random.default_rng(0)).start)
    assert starts[0] == "linkage"


def test_fixed_weights_and_start_leave_nothing_to_compare() -> None:
    E, _ = _make_blobs([60] * 3)
    features = TextFeatures({"embedding": E, "static": E})
    settings = replace(EMBEDDING_ONLY, start="spectral", static=0.5)
    initial = find_initial_labels(features, 3, settings, np.random.default_rng(0))
    assert (initial.start, initial.mix, initial.candidates) == ("spectral", {"static": 0.5}, ())


def test_candidates_are_compared_on_a_sample_of_many_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(initialization, "SAMPLE_SIZE", 120)
    E, truth = _make_blobs([100] * 4)
    sizes = []
    measure = initialization.measure_agreement

    def measure_and_record(features: TextFeatures, *rest: Any) -> Agreement:
        sizes.append(len(features))
        return measure(features, *rest)

    monkeypatch.setattr(initialization, "measure_agreement", measure_and_record)
    features = TextFeatures({"embedding": E, "static": E})
    initial = find_initial_labels(features, 4, replace(EMBEDDING_ONLY, static="auto"), np.random.default_rng(0))
    assert set(sizes) == {120}
    assert adjusted_rand_score(truth, initial.labels) > 0.95


def test_partial_labels_are_kept_and_number_the_clusters() -> None:
    E, truth = _make_blobs([60] * 3)
    partial_labels = np.full(180, -1)
    partial_labels[[0, 61, 62, 121]] = [2, 0, 0, 1]
    initial = find_initial_labels(
        _features(E), 3, EMBEDDING_ONLY, np.random.default_rng(0), partial_labels=partial_labels
    )
    assert (initial.labels == np.array([2, 0, 1])[truth]).mean() > 0.95
    assert initial.labels[[0, 61, 62, 121]].tolist() == [2, 0, 0, 1]
    assert initial.partial_label_accuracy is not None


@pytest.mark.parametrize(("is_stable", "start"), [(True, "linkage"), (False, "kmeans")])
def test_linkage_with_a_small_lead_must_be_stable(is_stable: bool, start: str, monkeypatch: pytest.MonkeyPatch) -> None:
    E, _ = _make_blobs([60] * 3)
    products = iter([0.50, 0.505])  # k-means, linkage
    monkeypatch.setattr(initialization, "measure_agreement", lambda *_: Agreement({}, next(products)))
    monkeypatch.setattr(initialization, "is_linkage_stable", lambda *_: is_stable)
    features = TextFeatures({"embedding": E, "static": E})
    initial = find_initial_labels(features, 3, replace(EMBEDDING_ONLY, static=1.0), np.random.default_rng(0))
    assert initial.start == start


def test_linkage_that_has_collapsed_is_not_taken_even_if_it_is_predicted_best(monkeypatch: pytest.MonkeyPatch) -> None:
    E, truth = _make_blobs([60] * 4)
    odd = np.where(np.arange(len(E)) < 6, np.arange(len(E)) % 3 + 1, 0)  # one cluster of all but six texts
    monkeypatch.setattr(initialization, "cluster_by_linkage", lambda *_: odd)
    monkeypatch.setattr(
        initialization,
        "measure_agreement",
        lambda features, labels, *_: Agreement({"embedding": 1.0}, float(np.bincount(labels).max())),
    )
    features = TextFeatures({"embedding": E, "static": E})
    initial = find_initial_labels(features, 4, replace(EMBEDDING_ONLY, static=0.0), np.random.default_rng(0))
    assert [candidate.start for candidate in initial.candidates] == ["kmeans", "linkage"]
    assert adjusted_rand_score(truth, initial.labels) > 0.95
