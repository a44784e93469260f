"""The confidence of new texts, by their embeddings and words, as a saved or exported model computes it.

    distance      squared Mahalanobis distance d_c to the mean of each cluster c
    probability   softmax(-d / (2 TEMPERATURE)) of the text's cluster
    confidence    logistic(a logit(p) + b log(min d) + c) * probability / p * probability that the text is no outlier,
                  where p is the probability of the most probable cluster, which is the text's own as a rule

`confidence` fits it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from scipy.special import expit, logit

from rstc.errors import InputError
from rstc.io.predictions import confidence_of
from rstc.numerics.fixed_blocks import map_blocks
from rstc.pseudo_labels.mahalanobis import fit_cluster_distances
from rstc.pseudo_labels.outliers import (
    SCORER_KEYS,
    OutlierScorer,
    inlier_cdf,
    scorer_from_arrays,
    scorer_to_arrays,
)

# Embeddings have fewer independent directions than dimensions, so that distances exaggerate: with 10, the probability
# ranks texts better than with less.
TEMPERATURE = 10.0
MIN_PROBABILITY = 1e-3  # probabilities are kept this far from 0 and 1: their logits enter a regression
# A text is as likely to be an outlier as not where this share of inliers score higher than it.
OUTLIER_TAIL = 0.005

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Calibration:
    """Logistic regression of "in the same cluster again" on some features.

    Attributes
    ----------
    coefficients : (F,) array
    intercept : float
    """

    coefficients: Doubles
    intercept: float

    def predict(self, X: Doubles) -> Doubles:
        """Return the probability of each row of features (n, F)."""
        return np.asarray(expit((X * self.coefficients).sum(1) + self.intercept))


@dataclass(frozen=True)
class ConfidenceModel:
    """The confidence of new texts.

    Attributes
    ----------
    scorer : OutlierScorer
        Distances to the cluster means, and how unusual a text is.
    clusters : (M,) array
        Cluster of each of its means; a merged cluster has several, an empty one none.
    calibration : Calibration
        Of the logit of the most probable cluster's probability, and of the log of the squared distance to the nearest
        mean.
    inlier_scale : float
        Scale of the outlier scores of inliers.
    """

    scorer: OutlierScorer
    clusters: Ints
    calibration: Calibration
    inlier_scale: float

    def assess(self, E: Floats, texts: Sequence[str], clusters: Ints) -> Floats:
        """Return the confidence of texts (N,) in given clusters (N,), by their embeddings (N, D) and words."""
        confidence = np.empty(len(E))
        if not len(E):
            return confidence.astype(np.float32)
        M = len(self.clusters)
        membership = csr_matrix((np.ones(M, dtype=np.float32), (np.arange(M), self.clusters)))  # (M, C)
        for block, squares in self.scorer.distances.iter_squared(E):
            likelihoods = to_likelihoods(squares)
            P = np.ascontiguousarray(likelihoods @ membership)  # of the clusters, up to a factor
            own = np.where(self.clusters == clusters[block][:, None], likelihoods, 0).sum(1)
            best = P.max(1)
            calibrated = self.calibration.predict(to_features(best / P.sum(1), squares.min(1)))
            confidence[block] = calibrated * own / best  # calibrated for the most probable cluster
        scores = self.scorer.score(E, texts)
        return np.asarray(confidence * self.inlier_probability(scores), dtype=np.float32)

    def inlier_probability(self, scores: Doubles) -> Doubles:
        """Return the probability that texts with these outlier scores are no outliers."""
        if not self.inlier_scale > 0:
            return np.ones(len(scores))
        tail = 1 - inlier_cdf(scores / self.inlier_scale)
        return np.asarray(tail / (tail + OUTLIER_TAIL))

    def merge_clusters(self, groups: Ints) -> ConfidenceModel:
        """Return the model of groups (C,) of the clusters."""
        return replace(self, clusters=groups[self.clusters])

    def refit_clusters(self, U: Floats, labels: Ints) -> ConfidenceModel:
        """Return the model of other clusters: labels (n,) of embeddings (n, D) of length one."""
        scorer = replace(self.scorer, distances=fit_cluster_distances(U, labels))
        return replace(self, scorer=scorer, clusters=np.unique(labels))

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays of a saved model."""
        calibration = np.append(self.calibration.coefficients, self.calibration.intercept)
        own = {"clusters": self.clusters, "calibration": calibration, "inlier_scale": np.array(self.inlier_scale)}
        return {key: np.array(value, order="C") for key, value in (scorer_to_arrays(self.scorer) | own).items()}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], dim: int, n_clusters: int) -> ConfidenceModel:
        """Restore a model for embeddings of `dim` dimensions and `n_clusters` clusters from its arrays."""
        scorer = scorer_from_arrays(arrays, dim)
        valid = (
            set(arrays) == {*SCORER_KEYS, "clusters", "calibration", "inlier_scale"}
            and arrays["clusters"].shape == scorer.distances.centres.shape[:1]
            and len(arrays["clusters"]) > 0
            and ((arrays["clusters"] >= 0) & (arrays["clusters"] < n_clusters)).all()
            and arrays["calibration"].shape == (3,)
            and arrays["inlier_scale"].shape == ()
        )
        if not valid:
            raise InputError(f"the confidence model does not fit {n_clusters} clusters")
        *coefficients, intercept = arrays["calibration"].tolist()
        calibration = Calibration(np.array(coefficients), intercept)
        return cls(scorer, arrays["clusters"].astype(np.int64), calibration, float(arrays["inlier_scale"]))


def to_likelihoods(squared_distances: Floats) -> Floats:
    """Return the likelihoods of clusters (n, M) relative to the nearest one, by squared distances (n, M)."""
    nearest = squared_distances.min(1, keepdims=True)
    return np.asarray(np.exp((nearest - squared_distances) / (2 * TEMPERATURE)))


def to_features(probability: NDArray[np.floating], squared_distance: NDArray[np.floating]) -> Doubles:
    """Return the features (n, 2) of the calibration for new texts."""
    return np.stack([to_logit(probability), np.log(np.maximum(squared_distance, 1e-9))], axis=1)


def to_logit(probability: NDArray[np.floating]) -> Doubles:
    """Return the logits of probabilities, kept away from 0 and 1."""
    return np.asarray(logit(np.clip(probability.astype(np.float64), MIN_PROBABILITY, 1 - MIN_PROBABILITY)))


def assess_confidence(
    model: ConfidenceModel | None, P: Floats, E: Floats, texts: Sequence[str], clusters: Ints
) -> Floats:
    """Return the confidence of texts in clusters (N,); without a model, the probabilities P (N, C) of the head.

    All bits of a text's confidence depend on its own embedding and words alone.
    """
    if model is None or not len(E):
        return confidence_of(P, clusters)
    return map_blocks(lambda rows: model.assess(E[rows], [texts[row] for row in rows], clusters[rows]), len(E))
