"""Cross-fitting: out-of-fold predictions, their two models, and the rounds."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.preprocessing import normalize

from rstc.numerics.nearest import nearest_neighbours
from rstc.pseudo_labels.crossfit import (
    assign_labels,
    crossfit,
    fit_lda_per_fold,
    fit_naive_bayes_per_fold,
    predict_out_of_fold,
)
from rstc.pseudo_labels.features import TextFeatures, WordFeatures
from rstc.pseudo_labels.transport.saot import saot


@pytest.fixture
def blobs() -> tuple[np.ndarray, np.ndarray]:
    """Points around three directions, 60 each, and the direction of each."""
    rng = np.random.default_rng(0)
    E = np.concatenate([rng.normal(centre, 0.25, (60, 8)) for centre in np.eye(8)[:3]])
    return normalize(E).astype(np.float32), np.repeat([0, 1, 2], 60)


@pytest.mark.parametrize("k", [0, 10])
def test_prediction_does_not_depend_on_the_labels_of_its_fold(blobs: tuple[np.ndarray, np.ndarray], k: int) -> None:
    E, truth = blobs
    features = TextFeatures({"embedding": E, "static": np.abs(E)}, WordFeatures(csr_matrix(np.abs(E)), E))
    neighbours = nearest_neighbours(E, None, k) if k else None
    folds = np.arange(180) % 3
    Q = np.eye(3, dtype=np.float32)[truth]
    before = predict_out_of_fold(features, neighbours, Q, folds)
    Q[0] = [0, 0, 1]
    after = predict_out_of_fold(features, neighbours, Q, folds)
    own = folds == folds[0]
    assert after[own] == pytest.approx(before[own], abs=1e-6)
    assert not np.allclose(after[~own], before[~own], atol=1e-6)


def test_lda_predicts_as_scikit_learn_does(blobs: tuple[np.ndarray, np.ndarray]) -> None:
    E, truth = blobs
    folds = np.arange(180) % 3
    for fold, (weights, bias) in enumerate(fit_lda_per_fold(E, np.eye(3, dtype=np.float32)[truth], folds)):
        reference = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.1, priors=[1 / 3] * 3)
        expected = reference.fit(E[folds != fold], truth[folds != fold]).predict(E[folds == fold])
        predicted = (E[folds == fold] @ weights - bias).argmax(1)
        assert (predicted == expected).mean() > 0.95


def test_many_classes_of_few_texts_are_predicted() -> None:
    rng = np.random.default_rng(0)
    centres = normalize(rng.normal(size=(60, 64)))
    truth = np.repeat(np.arange(60), 4)
    E = normalize(centres[truth] + 0.05 * rng.normal(size=(240, 64))).astype(np.float32)
    Q = np.eye(60, dtype=np.float32)[truth]
    P = predict_out_of_fold(TextFeatures({"embedding": E}), None, Q, np.tile(np.arange(3), 80))
    assert (P.argmax(1) == truth).mean() > 0.95


def test_naive_bayes_likelihoods_are_smoothed_shares_of_words() -> None:
    X = csr_matrix(np.array([[1, 0], [1, 0], [0, 1], [0, 1]], dtype=np.float32))
    Q = np.eye(2, dtype=np.float32)[[0, 0, 1, 1]]
    log_likelihoods = fit_naive_bayes_per_fold(X, Q, np.array([0, 1, 0, 1]))[0]
    # The other fold has one text of each class, with one word: (1 + 0.1) and (0 + 0.1) of 1.2.
    assert log_likelihoods[0] == pytest.approx(np.log([1.1 / 1.2, 0.1 / 1.2]), abs=1e-6)


def test_rounds_correct_wrong_labels(blobs: tuple[np.ndarray, np.ndarray]) -> None:
    E, truth = blobs
    rng = np.random.default_rng(0)
    noisy = np.where(rng.random(180) < 0.3, rng.integers(3, size=180), truth)
    features, neighbours = TextFeatures({"embedding": E}), nearest_neighbours(E, None, 10)
    result = crossfit(features, neighbours, noisy, 3, 0.5, 0.1, rounds=5, rng=rng)
    assert (noisy == truth).mean() < 0.85
    assert (result.labels == truth).mean() > 0.97
    assert result.agreement > 0.95


def test_class_sizes_are_estimated() -> None:
    rng = np.random.default_rng(0)
    sizes = [150, 40, 10]
    E = normalize(np.concatenate([rng.normal(c, 0.2, (n, 6)) for c, n in zip(np.eye(6)[:3], sizes, strict=True)]))
    truth = np.repeat([0, 1, 2], sizes)
    result = crossfit(TextFeatures({"embedding": E.astype(np.float32)}), None, truth, 3, 0.5, 0.01, rounds=5, rng=rng)
    assert np.bincount(result.labels).tolist() == pytest.approx(sizes, abs=4)
    assert result.transport.b == pytest.approx(np.array(sizes) / 200, abs=0.03)


def test_every_class_keeps_a_text() -> None:
    P = np.array([[0.5, 0.3, 0.2], [0.6, 0.1, 0.3], [0.9, 0.05, 0.05]])
    transport = saot(np.log(P), eps1=1.0, eps2=0.0)  # its plan is P / N
    assert assign_labels(transport).tolist() == [1, 2, 0]


def test_there_can_be_as_many_classes_as_texts() -> None:
    features, rng = TextFeatures({"embedding": np.eye(3, dtype=np.float32)}), np.random.default_rng(0)
    result = crossfit(features, None, np.array([0, 1, 2]), 3, 0.5, 0.1, rounds=2, rng=rng)
    assert sorted(result.labels) == [0, 1, 2]
