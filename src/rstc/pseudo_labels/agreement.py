"""Agreement of the feature sets on a clustering: can each of them, on its own, predict the clusters?

For each feature set, a model is fitted to the clusters of two thirds of the texts (shrunk LDA, or naive Bayes for
words) and predicts those of the rest. The normalised mutual information of clusters and predictions is high where the
feature set supports the clusters. A clustering that fits one feature set only, for example because it follows frequent
words, is predicted badly by the others; one that puts most texts into a single cluster carries little information to
predict. The product over the feature sets therefore compares clusterings of different origin without any true label.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import normalized_mutual_info_score

from rstc.pseudo_labels.crossfit import (
    N_FOLDS,
    compute_scatter_per_fold,
    fit_lda_per_fold,
    fit_naive_bayes_per_fold,
    split_rows,
)
from rstc.pseudo_labels.features import WORDS, TextFeatures
from rstc.runtime.threads import parallel_map

MIN_REPEATS, MAX_REPEATS = 2, 10  # with other folds, which averages out part of the noise
TEXTS_OVER_REPEATS = 8000  # the fewer texts, the more repeats

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Agreement:
    """How well each feature set predicts the clusters of texts whose clusters its model has not seen.

    Attributes
    ----------
    by_features : dict of float
        Normalised mutual information of clusters and predictions for each feature set, from 0 to 1.
    product : float
        Product over the feature sets.
    """

    by_features: dict[str, float]
    product: float


@dataclass(frozen=True)
class Partition:
    """A division of the texts into folds.

    Attributes
    ----------
    folds : (N,) array
        Fold of each text, from 0.
    scatters : dict of (folds, D, D) arrays
        Scatter of each dense feature set in each fold, which does not depend on the clusters.
    """

    folds: Ints
    scatters: dict[str, NDArray[np.float64]]


def draw_partitions(features: TextFeatures, rng: np.random.Generator) -> list[Partition]:
    """Divide texts into folds several times; clusterings are compared fairly if all are measured on the same folds."""
    N = len(features)
    repeats = int(np.clip(TEXTS_OVER_REPEATS // N, MIN_REPEATS, MAX_REPEATS))
    all_folds = [rng.permutation(N) % N_FOLDS for _ in range(repeats)]
    return parallel_map(
        lambda folds: Partition(
            folds, {name: compute_scatter_per_fold(matrix, folds) for name, matrix in features.dense.items()}
        ),
        all_folds,
    )


def measure_agreement(
    features: TextFeatures, labels: Ints, n_clusters: int, partitions: Sequence[Partition]
) -> Agreement:
    """Measure how well each feature set predicts the clusters.

    Parameters
    ----------
    features : TextFeatures
        The feature sets of N texts.
    labels : (N,) array
        Cluster of each text.
    n_clusters : int
        C.
    partitions : sequence of Partition
        Folds, from `draw_partitions`; the result is the mean over them.

    Returns
    -------
    Agreement

    >>> E = np.repeat(np.eye(2, dtype=np.float32), 30, axis=0)
    >>> features = TextFeatures({"embedding": E})
    >>> partitions = draw_partitions(features, np.random.default_rng(0))
    >>> measure_agreement(features, np.repeat([0, 1], 30), 2, partitions).product
    1.0
    >>> measure_agreement(features, np.tile([0, 1], 30), 2, partitions).product < 0.2
    True
    """
    Q = np.eye(n_clusters, dtype=np.float32)[labels]
    scores = []
    for partition in partitions:
        predictions = predict_by_feature_set(features, Q, partition)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # raised if there are more clusters than half of the texts
            scores.append({name: normalized_mutual_info_score(labels, found) for name, found in predictions.items()})
    by_features = {name: float(np.mean([score[name] for score in scores])) for name in features.names}
    return Agreement(by_features, float(np.mean([np.prod(list(score.values())) for score in scores])))


def predict_by_feature_set(features: TextFeatures, Q: Floats, partition: Partition) -> dict[str, Ints]:
    """Predict each text's class (N,) by each feature set alone, with models that were fitted to the other folds."""
    predictions: dict[str, Ints] = {name: np.empty(len(Q), dtype=np.int64) for name in features.names}
    folds = partition.folds
    models = {
        name: fit_lda_per_fold(matrix, Q, folds, partition.scatters[name]) for name, matrix in features.dense.items()
    }
    naive_bayes = fit_naive_bayes_per_fold(features.words.tfidf, Q, folds) if features.words else None
    for fold, rows in enumerate(split_rows(folds)):
        for name, matrix in features.dense.items():
            weights, bias = models[name][fold]
            predictions[name][rows] = (matrix[rows] @ weights - bias).argmax(1)
        if features.words and naive_bayes:
            predictions[WORDS][rows] = np.asarray(features.words.tfidf[rows] @ naive_bayes[fold]).argmax(1)
    return predictions
