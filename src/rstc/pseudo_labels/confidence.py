"""Confidence: the estimated probability that a text would be in the same cluster if the analysis were repeated.

The analysis is repeated on random parts of the texts (`repeats`). Two estimates are calibrated by logistic regression,
each against searches that it does not use and that have not seen the text:

    fitted texts   mean probability of the text's cluster over half of the searches, with and without its neighbours,
                   against the clusters that the other half gives it
    new texts      probability of the cluster and distance to the nearest one, by the embedding in one search, against
                   the cluster that another search gives the text

No true label is used. A new text that is unlike the fitted ones gets a lower confidence: it is multiplied by the
probability that the text is no outlier.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit
from sklearn.linear_model import LogisticRegression

from rstc.pseudo_labels.confidence_model import Calibration, ConfidenceModel, to_features, to_logit
from rstc.pseudo_labels.outliers import fit_outlier_scorer, measure_inlier_scale
from rstc.pseudo_labels.repeats import Repeats

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
Ints = NDArray[np.int64]


def fit_calibration(X: Doubles, agreed: Doubles, weights: Doubles) -> Calibration:
    """Fit the probability of agreement.

    Parameters
    ----------
    X : (n, F) array
        Features.
    agreed : (n,) array
        Share of the searches that agree.
    weights : (n,) array
        Number of searches.

    Returns
    -------
    Calibration

    >>> X = np.repeat([[-1.0], [1.0]], 50, axis=0)
    >>> agreed = np.repeat([0.2, 0.9], 50)
    >>> fit_calibration(X, agreed, np.full(100, 10.0)).predict(np.array([[-1.0], [1.0]])).round(2).tolist()
    [0.2, 0.9]
    """
    for_weights, against_weights = weights * agreed, weights * (1 - agreed)
    n_for, n_against = float(for_weights.sum()), float(against_weights.sum())
    if min(n_for, n_against) <= 0:  # all searches agree, or none does: there is nothing to distinguish
        return Calibration(np.zeros(X.shape[1]), float(logit((n_for + 0.5) / (n_for + n_against + 1))))
    mean = np.average(X, axis=0, weights=weights)
    scale = np.maximum(X.std(0), 1e-9)
    Z = (X - mean) / scale
    outcome = np.repeat([1, 0], len(Z))
    model = LogisticRegression().fit(np.concatenate([Z, Z]), outcome, np.concatenate([for_weights, against_weights]))
    coefficients = model.coef_[0] / scale
    return Calibration(coefficients, float(model.intercept_[0] - mean @ coefficients))


def estimate_confidence(repeats: Repeats) -> Floats:
    """Estimate the confidence of the fitted texts, (n,); see the top of this file."""
    halves = [np.arange(first, repeats.n_repeats, 2) for first in (0, 1)]
    agrees = repeats.labels == repeats.run_labels
    estimates = []
    for used, other in (halves, halves[::-1]):
        if not len(used) or not len(other):
            used = other = np.arange(repeats.n_repeats)
        X = np.stack([to_logit(p[used].mean(0)) for p in (repeats.model_probability, repeats.probability)], axis=1)
        n_left_out = repeats.left_out[other].sum(0)
        agreed = (agrees & repeats.left_out)[other].sum(0) / np.maximum(n_left_out, 1)
        estimates.append(fit_calibration(X, agreed, n_left_out.astype(np.float64)).predict(X))
    return np.asarray(np.mean(estimates, axis=0), dtype=np.float32)


def fit_confidence_model(repeats: Repeats, U: Floats, texts: Sequence[str]) -> ConfidenceModel:
    """Fit the confidence of new texts.

    Parameters
    ----------
    repeats : Repeats
        Searches in parts of n texts.
    U : (n, D) array
        Embeddings of the texts, of length one.
    texts : sequence of str
        The texts.

    Returns
    -------
    ConfidenceModel
    """
    scorer, scores = fit_outlier_scorer(U, repeats.run_labels, texts)
    features, agreed = [], []
    for one, other in zip(range(repeats.n_repeats), np.roll(np.arange(repeats.n_repeats), -1), strict=True):
        rows = np.flatnonzero(repeats.left_out[one] & repeats.left_out[other])
        features.append(to_features(repeats.nearest_probability[one, rows], repeats.squared_distances[one, rows]))
        agreed.append(repeats.nearest[one, rows] == repeats.labels[other, rows])
    X, y = np.concatenate(features), np.concatenate(agreed).astype(np.float64)
    clusters = np.unique(repeats.run_labels)
    return ConfidenceModel(scorer, clusters, fit_calibration(X, y, np.ones(len(y))), measure_inlier_scale(scores))
