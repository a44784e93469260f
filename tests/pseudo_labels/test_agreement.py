"""Agreement of feature sets: what it rewards and what it does not."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.preprocessing import normalize

from rstc.pseudo_labels.agreement import (
    Agreement,
    Partition,
    draw_partitions,
    measure_agreement,
    predict_by_feature_set,
)
from rstc.pseudo_labels.crossfit import compute_scatter_per_fold
from rstc.pseudo_labels.features import TextFeatures, WordFeatures


def _make_features(truth: np.ndarray, seed: int = 0) -> TextFeatures:
    """Return three noisy feature sets that all know the truth."""
    rng = np.random.default_rng(seed)
    C = truth.max() + 1
    E, static, words = (
        normalize(np.abs(np.eye(C)[truth] + rng.normal(0, 0.3, (len(truth), C)))).astype(np.float32) for _ in range(3)
    )
    return TextFeatures({"embedding": E, "static": static}, WordFeatures(csr_matrix(words), words))


def _measure(features: TextFeatures, labels: np.ndarray, n_clusters: int) -> Agreement:
    return measure_agreement(features, labels, n_clusters, draw_partitions(features, np.random.default_rng(0)))


def test_true_clusters_have_the_highest_agreement() -> None:
    truth = np.repeat([0, 1, 2, 3], 50)
    features, rng = _make_features(truth), np.random.default_rng(0)
    found = _measure(features, truth, 4)
    merged_and_split = np.where(truth == 1, 0, truth)
    merged_and_split[150:175] = 1
    assert set(found.by_features) == {"embedding", "static", "words"}
    assert found.product > _measure(features, merged_and_split, 4).product
    assert found.product > 20 * _measure(features, rng.permutation(truth), 4).product


def test_clusters_of_one_feature_set_alone_are_not_supported() -> None:
    truth = np.repeat([0, 1], 60)
    features = _make_features(truth)
    own = (features.dense["static"][:, 0] > np.median(features.dense["static"][:, 0])).astype(np.int64)
    other = np.tile([0, 1], 60)
    alone = TextFeatures({**features.dense, "static": np.eye(2, dtype=np.float32)[other]}, features.words)
    assert _measure(alone, other, 2).by_features["static"] == 1.0
    assert _measure(alone, other, 2).product < _measure(features, own, 2).product / 10


def test_one_large_cluster_carries_little_to_predict() -> None:
    truth = np.repeat([0, 1, 2, 3], 50)
    features = _make_features(truth)
    swallowed = np.zeros(200, dtype=np.int64)
    swallowed[[60, 110, 160]] = [1, 2, 3]
    found, supported = (_measure(features, labels, 4).product for labels in (swallowed, truth))
    assert found < 0.2 * supported


def test_predictions_do_not_depend_on_the_labels_of_their_fold() -> None:
    truth = np.repeat([0, 1, 2], 40)
    features, folds = _make_features(truth), np.arange(120) % 3
    scatters = {name: compute_scatter_per_fold(matrix, folds) for name, matrix in features.dense.items()}
    partition, Q = Partition(folds, scatters), np.eye(3, dtype=np.float32)[truth]
    before = predict_by_feature_set(features, Q, partition)
    Q[folds == 0] = np.roll(Q[folds == 0], 7, axis=0)
    after = predict_by_feature_set(features, Q, partition)
    for name in features.names:
        assert np.array_equal(before[name][folds == 0], after[name][folds == 0])
