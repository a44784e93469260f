"""Repeated searches in parts of the texts: what they find, and what follows for confidence, stability and structure."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.preprocessing import normalize

from rstc import InputError
from rstc.pseudo_labels.confidence import estimate_confidence, fit_calibration, fit_confidence_model
from rstc.pseudo_labels.confidence_model import ConfidenceModel
from rstc.pseudo_labels.constraints import UNLABELLED
from rstc.pseudo_labels.features import TextFeatures
from rstc.pseudo_labels.initialization_settings import InitializationSettings
from rstc.pseudo_labels.repeats import Repeats, repeat_search
from rstc.pseudo_labels.stability import measure_stability
from rstc.pseudo_labels.structure import Structure, measure_agreement_of_repeats, measure_word_dependence

SETTINGS = InitializationSettings(
    "kmeans", 2, True, True, words=0, static=0, neighbours=5, rounds=2, eps1=0.5, eps2=0.1
)
D = 12


def make_points(spread: float, sizes: tuple[int, ...] = (60, 60, 60), seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return points of length one around one axis per cluster, and their clusters."""
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(len(sizes)), sizes)
    return normalize(np.eye(D)[labels] + spread * rng.standard_normal((len(labels), D))).astype(np.float32), labels


def search(U: np.ndarray, labels: np.ndarray, n_repeats: int = 10, **options: object) -> Repeats | None:
    return repeat_search(
        TextFeatures({"embedding": U}),
        labels,
        int(labels.max()) + 1,
        {},
        "kmeans",
        n_repeats,
        SETTINGS,
        np.random.default_rng(0),
        **options,  # type: ignore[arg-type]
    )


def found(U: np.ndarray, labels: np.ndarray, **options: object) -> Repeats:
    repeats = search(U, labels, **options)
    assert repeats is not None
    return repeats


def test_clear_clusters_are_found_again_with_the_numbers_of_the_run() -> None:
    U, labels = make_points(0.1)
    repeats = found(U, labels)
    assert (repeats.labels == labels).all()
    assert measure_agreement_of_repeats(repeats) == pytest.approx(1)
    assert estimate_confidence(repeats).min() > 0.95
    stability = measure_stability(repeats, 3)
    assert [stability[c].n_found for c in range(3)] == [10, 10, 10]
    assert stability[0].confused_with is None
    assert (stability[0].relative_low, stability[0].relative_high) == pytest.approx((1, 1))
    assert stability[0].separation > 0.8


def test_a_search_sees_half_of_the_texts_and_more_where_clusters_are_small() -> None:
    U, labels = make_points(0.1)
    assert (~found(U, labels).left_out).mean() == pytest.approx(0.5)
    U, labels = make_points(0.1, (8,) * D)
    assert (~found(U, labels).left_out).mean() == pytest.approx(0.65, abs=0.01)


def test_clusters_without_structure_are_not_found_again() -> None:
    rng = np.random.default_rng(1)
    U = normalize(rng.standard_normal((300, D))).astype(np.float32)
    repeats = found(U, rng.integers(6, size=300))
    agreement = measure_agreement_of_repeats(repeats)
    assert agreement is not None
    assert agreement < 0.35
    assert estimate_confidence(repeats).mean() < 0.5
    assert max(entry.n_found for entry in measure_stability(repeats, 6).values()) <= 3


def test_texts_between_two_clusters_have_less_confidence_than_those_inside() -> None:
    U, labels = make_points(0.15)
    between = normalize(np.eye(D)[[0]] + np.eye(D)[[1]] + 0.02 * np.random.default_rng(2).standard_normal((20, D)))
    repeats = found(np.concatenate([U, between.astype(np.float32)]), np.concatenate([labels, np.repeat([0, 1], 10)]))
    confidence = estimate_confidence(repeats)
    assert confidence[-20:].mean() < 0.8 < confidence[:-20].mean()


def test_confidence_is_the_share_of_left_out_searches_that_agree() -> None:
    U, labels = make_points(0.45, (80, 80, 80))
    repeats = found(U, labels, n_repeats=30)
    agreed = (repeats.labels == labels)[repeats.left_out].mean()
    assert estimate_confidence(repeats).mean() == pytest.approx(agreed, abs=0.02)


def test_too_few_texts_for_the_clusters_give_no_repeats() -> None:
    U, labels = make_points(0.1, (2, 2, 2))
    assert search(U, labels) is None
    assert search(*make_points(0.1), n_repeats=0) is None


def test_texts_with_a_given_label_are_in_every_part() -> None:
    U, labels = make_points(0.1)
    partial_labels = np.full(len(labels), UNLABELLED)
    partial_labels[[0, 70, 130]] = [2, 0, 1]
    repeats = found(U, labels, partial_labels=partial_labels)
    assert not repeats.left_out[:, [0, 70, 130]].any()
    assert (repeats.labels == labels).all()


def test_stability_names_the_cluster_that_texts_move_to() -> None:
    labels = np.array([0, 0, 0, 0, 1, 1, 1, 1])
    moved = np.array([0, 0, 1, 1, 1, 1, 1, 1])
    dissolved = np.array([1, 1, 1, 1, 1, 1, 1, 1])
    shape, points = (3, 8), np.repeat(np.eye(2, dtype=np.float32), 4, axis=0)
    zeros = np.zeros(shape, dtype=np.float32)
    repeats = Repeats(
        labels,
        points,
        np.stack([labels, moved, dissolved]),
        zeros > 0,
        zeros,
        zeros,
        zeros.astype(np.int64),
        zeros,
        zeros,
    )
    stability = measure_stability(repeats, 2)
    # Cluster 0 has a Jaccard similarity of 1, 1/2 and 0, cluster 1 of 1, 2/3 and 1/2; more than 1/2 counts as found.
    assert (stability[0].n_found, stability[1].n_found, stability[0].n_repeats) == (1, 2, 3)
    assert stability[0].confused_with == 1
    assert stability[0].confusion == pytest.approx((0 + 0.5 + 1) / 3)
    assert stability[1].confused_with is None


def test_new_texts_near_a_cluster_are_sure_and_those_unlike_all_texts_are_not() -> None:
    U, labels = make_points(0.2)
    texts = [f"word{label} common" for label in labels]
    model = fit_confidence_model(found(U, labels), U, texts)
    near, _ = make_points(0.2, seed=3)
    clusters = labels.copy()
    confidence = model.assess(near, texts, clusters)
    assert confidence.mean() > 0.9
    strange = normalize(-np.eye(D)[:5]).astype(np.float32)
    assert model.assess(strange, ["never seen words"] * 5, np.zeros(5, dtype=np.int64)).max() < 0.1
    assert model.assess(near[:1], texts[:1], np.array([2]))[0] < 0.5, "in a cluster that it is far from"
    assert model.assess(near[:0], [], clusters[:0]).shape == (0,)


def test_confidence_in_a_merged_cluster_counts_all_its_parts() -> None:
    U, labels = make_points(0.45, (80, 80, 80))
    model = fit_confidence_model(found(U, labels), U, ["some text"] * len(U))
    merged = model.merge_clusters(np.array([0, 0, 1]))
    before, after = (m.assess(U, ["some text"] * len(U), np.zeros(len(U), np.int64)) for m in (model, merged))
    assert (after >= before - 1e-6).all()
    assert after.sum() > before.sum() + 10


def test_a_confidence_model_is_restored_from_its_arrays_and_checked() -> None:
    U, labels = make_points(0.2)
    texts = ["some text"] * len(U)
    model = fit_confidence_model(found(U, labels), U, texts)
    arrays = model.to_arrays()
    restored = ConfidenceModel.from_arrays(arrays, D, 3)
    assert (restored.assess(U, texts, labels) == model.assess(U, texts, labels)).all()
    with pytest.raises(InputError, match="does not fit 2 clusters"):
        ConfidenceModel.from_arrays(arrays, D, 2)
    with pytest.raises(InputError, match="dimensions"):
        ConfidenceModel.from_arrays(arrays, D + 1, 3)
    with pytest.raises(InputError):
        ConfidenceModel.from_arrays({**arrays, "calibration": np.zeros(2)}, D, 3)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.floats(0, 1))
def test_calibration_is_right_on_average(seed: int, share: float) -> None:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((200, 2))
    agreed = np.clip(share + 0.2 * X[:, 0], 0, 1)
    predicted = fit_calibration(X, agreed, np.full(200, 5.0)).predict(X)
    assert predicted.mean() == pytest.approx(agreed.mean(), abs=0.01)


def test_calibration_without_disagreement_is_sure_but_not_certain() -> None:
    calibration = fit_calibration(np.zeros((10, 2)), np.ones(10), np.ones(10))
    assert 0.9 < calibration.predict(np.zeros((1, 2)))[0] < 1


def embed_words(texts: list[str]) -> np.ndarray:
    """Return the counts of words as vectors of length one."""
    words = {word: i for i, word in enumerate(sorted({word for text in texts for word in text.split()}))}
    E = np.zeros((len(texts), len(words)), dtype=np.float32)
    for row, text in enumerate(texts):
        for word in text.split():
            E[row, words[word]] += 1
    return np.asarray(normalize(E))


@pytest.mark.parametrize("seed", range(5))
def test_random_words_are_told_from_words_that_belong_together(seed: int) -> None:
    rng = np.random.default_rng(seed)
    lengths = rng.integers(2, 12, size=500)
    salad = [" ".join(f"w{i}" for i in rng.integers(60, size=length)) for length in lengths]
    topics = [" ".join(f"w{10 * (row % 6) + i}" for i in rng.integers(10, size=n)) for row, n in enumerate(lengths)]
    random = measure_word_dependence(salad, embed_words, np.random.default_rng(0))
    related = measure_word_dependence(topics, embed_words, np.random.default_rng(0))
    assert random is not None
    assert related is not None
    assert Structure(0.9, random).has_random_words
    assert related > 20
    assert not Structure(0.9, related).has_random_words


def test_words_of_few_texts_or_of_single_words_are_not_tested() -> None:
    rng = np.random.default_rng(0)
    assert measure_word_dependence(["two words"] * 300, embed_words, rng) is None
    assert measure_word_dependence(["word"] * 1000, embed_words, rng) is None
    assert not Structure(0.9, None).has_random_words


def test_a_single_cluster_has_no_separation() -> None:
    U, labels = make_points(0.1)
    repeats = found(U, labels)
    one = replace(repeats, run_labels=0 * repeats.run_labels, labels=0 * repeats.labels)
    assert measure_stability(one, 1)[0].separation == 0


def test_agreement_needs_texts_that_two_searches_have_not_seen() -> None:
    U, labels = make_points(0.1)
    repeats = found(U, labels)
    assert measure_agreement_of_repeats(replace(repeats, left_out=repeats.left_out & False)) is None


def test_merged_repeats_keep_their_shape() -> None:
    U, labels = make_points(0.1)
    repeats = found(U, labels)
    groups = np.array([0, 0, 1])
    merged = replace(repeats, run_labels=groups[repeats.run_labels], labels=groups[repeats.labels])
    assert set(measure_stability(merged, 2)) == {0, 1}
