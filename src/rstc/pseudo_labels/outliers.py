"""Outlier detection: texts that are far from every cluster, or that use words which the other texts do not use.

Two measures of a text are standardised by their median m and upper spread s (84th percentile minus m) over all texts:

    distance   log of the squared Mahalanobis distance to the nearest cluster mean
    rarity     mean over the text's words of log(N / number of texts with the word)

    score = |max(((distance, rarity) - m) / s, 0)|

Without outliers, both measures are about normal, and the score has the distribution `inlier_cdf`. The excess of high
scores over it estimates the number of outliers, and how many of them remain below a threshold. No examples of outliers
are needed.

A text that the means and word counts were fitted to scores lower than a similar new text. So the threshold is chosen by
out-of-fold scores: each fold is scored by a detector that was fitted to the others.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.preprocessing import normalize

from rstc.errors import InputError
from rstc.pseudo_labels.mahalanobis import ClusterDistances, fit_cluster_distances

N_WORD_HASHES = 2**17  # few words share a hash
MAX_CHARACTERS = 5_000  # of a text that are searched for words
INLIER_QUANTILE = 0.7  # of all scores, at which the scale is measured: lower scores are almost all of inliers
COUNT_QUANTILE = 0.9  # of inlier scores, above which the excess is counted
FLAG_QUANTILE = 0.98  # of inlier scores, below which no text is flagged
N_FOLDS = 5

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]


@dataclass(frozen=True)
class OutlierScorer:
    """How unusual texts are, by their embeddings and words.

    Attributes
    ----------
    distances : ClusterDistances
        Mahalanobis distances to the cluster means.
    word_rarity : (N_WORD_HASHES,) array
        Rarity of each word hash.
    median, spread : (2,) array
        Median and spread of distance and rarity; a measure of spread 0 is ignored.
    """

    distances: ClusterDistances
    word_rarity: Floats
    median: Doubles
    spread: Doubles

    def score(self, E: Floats, texts: Sequence[str]) -> Doubles:
        """Score texts by their embeddings (N, D) and words; 0 for a quarter of the inliers, above 2 for 5 percent."""
        rarities = _mean_rarity(_extract_words(texts), self.word_rarity)
        measures = np.stack([_log_nearest(E, self.distances), rarities], axis=1)
        return _combine_measures(measures, self.median, self.spread)


def fit_outlier_scorer(E: Floats, labels: NDArray[np.int64], texts: Sequence[str]) -> tuple[OutlierScorer, Doubles]:
    """Fit an outlier scorer to clustered texts, which may include outliers.

    Parameters
    ----------
    E : (N, D) array
        Embeddings.
    labels : (N,) array
        Cluster of each text, also of outliers.
    texts : sequence of str
        The texts.

    Returns
    -------
    scorer : OutlierScorer
        For new texts.
    scores : (N,) array
        Out-of-fold scores of these texts.
    """
    U, words = np.asarray(normalize(E), dtype=np.float32), _extract_words(texts)
    measures = np.empty((len(E), 2))
    folds = np.random.default_rng(0).integers(N_FOLDS, size=len(E))
    for fold in range(N_FOLDS):
        test, train = folds == fold, folds != fold
        if test.any() and train.any():
            measures[test, 0] = _log_nearest(E[test], fit_cluster_distances(U[train], labels[train]))
            measures[test, 1] = _mean_rarity(words[test], _fit_word_rarity(words[train]))
    median, upper = np.nan_to_num(np.nanquantile(measures, [0.5, norm.cdf(1)], axis=0))
    spread = upper - median
    scorer = OutlierScorer(fit_cluster_distances(U, labels), _fit_word_rarity(words), median, spread)
    return scorer, _combine_measures(measures, median, spread)


@dataclass(frozen=True)
class OutlierDetector:
    """A fitted outlier detector.

    Attributes
    ----------
    scorer : OutlierScorer
        How unusual texts are.
    flagged_texts : (n,) array
        Sorted hashes of the training texts that are outliers; equal texts are outliers, too.
    threshold : float
        Texts with a higher score are outliers.
    expected_outlier_share : float
        Expected share of outliers among the texts that are not flagged.
    """

    scorer: OutlierScorer
    flagged_texts: NDArray[np.uint64]
    threshold: float
    expected_outlier_share: float

    @property
    def left(self) -> float:
        """Deprecated name of `expected_outlier_share`."""
        message = "left is deprecated and will be removed; use expected_outlier_share"
        warnings.warn(message, DeprecationWarning, stacklevel=2)
        return self.expected_outlier_share

    def is_outlier(self, E: Floats, texts: Sequence[str]) -> NDArray[np.bool_]:
        """Return whether each text is an outlier, (N,), by its embedding (N, D) and its words."""
        is_flagged = np.isin(_hash_texts(texts), self.flagged_texts)
        return np.asarray((self.outlier_score(E, texts) > self.threshold) | is_flagged)

    def outlier_score(self, E: Floats, texts: Sequence[str]) -> Doubles:
        """Score texts by their embeddings (N, D) and words; 0 for a quarter of the inliers, above 2 for 5 percent."""
        return self.scorer.score(E, texts)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays of a saved model."""
        arrays = scorer_to_arrays(self.scorer) | {
            "aside": self.flagged_texts,
            "cut": np.array(self.threshold),
            "left": np.array(self.expected_outlier_share),
        }
        return {key: np.array(value, order="C") for key, value in arrays.items()}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], dim: int) -> OutlierDetector:
        """Restore a detector for embeddings of `dim` dimensions from the arrays of a saved model."""
        scorer = scorer_from_arrays(arrays, dim)
        keys = {*SCORER_KEYS, "aside", "cut", "left"}
        if set(arrays) != keys or arrays["aside"].ndim != 1 or arrays["cut"].shape or arrays["left"].shape:
            raise InputError(f"the outlier detector does not fit embeddings of {dim} dimensions")
        return cls(scorer, arrays["aside"], float(arrays["cut"]), float(arrays["left"]))


SCORER_KEYS = ("axes", "centres", "rarity", "middle", "spread")  # of the arrays in saved models


def scorer_to_arrays(scorer: OutlierScorer) -> dict[str, NDArray[Any]]:
    """Return the arrays of a scorer in a saved model, by `SCORER_KEYS`."""
    distances = scorer.distances
    values = (distances.whitening, distances.centres, scorer.word_rarity, scorer.median, scorer.spread)
    return dict(zip(SCORER_KEYS, values, strict=True))


def scorer_from_arrays(arrays: Mapping[str, NDArray[Any]], dim: int) -> OutlierScorer:
    """Restore a scorer for embeddings of `dim` dimensions from the arrays of a saved model."""
    shapes = {"axes": (dim, dim), "rarity": (N_WORD_HASHES,), "middle": (2,), "spread": (2,)}
    has_shapes = set(arrays) >= set(SCORER_KEYS) and all(arrays[key].shape == shape for key, shape in shapes.items())
    if not has_shapes or arrays["centres"].ndim != 2 or arrays["centres"].shape[1:] != (dim,):
        raise InputError(f"the outlier detector does not fit embeddings of {dim} dimensions")
    distances = ClusterDistances(arrays["axes"], arrays["centres"])
    return OutlierScorer(distances, arrays["rarity"], arrays["middle"], arrays["spread"])


def fit_outlier_detector(E: Floats, labels: NDArray[np.int64], texts: Sequence[str], share: float) -> OutlierDetector:
    """Fit an outlier detector to clustered texts, which may include outliers.

    Parameters
    ----------
    E : (N, D) array
        Embeddings.
    labels : (N,) array
        Cluster of each text, also of outliers.
    texts : sequence of str
        The texts.
    share : float
        Share of outliers that may remain among the texts that are not flagged.

    Returns
    -------
    OutlierDetector
    """
    scorer, scores = fit_outlier_scorer(E, labels, texts)
    threshold, expected_share = choose_threshold(scores, share)
    flagged_texts = np.unique(_hash_texts([texts[i] for i in np.flatnonzero(threshold < scores)]))
    return OutlierDetector(scorer, flagged_texts, threshold, expected_share)


def choose_threshold(scores: Doubles, share: float) -> tuple[float, float]:
    """Choose the highest threshold below which at most a given share of texts are expected to be outliers.

    Parameters
    ----------
    scores : (N,) array
        Out-of-fold outlier scores of texts.
    share : float
        Share of outliers that may remain.

    Returns
    -------
    threshold : float
        Infinite if the number of high scores is no more than expected of inliers.
    expected_share : float
        Expected share of outliers among the texts below the threshold.
    """
    ordered = np.sort(scores)
    N = len(ordered)
    scale = measure_inlier_scale(ordered)
    if not scale > 0:
        return float("inf"), 0.0
    n_above = N - np.searchsorted(ordered, ordered, side="right")  # number of higher scores, for each score
    excess = np.maximum(n_above - N * (1 - inlier_cdf(ordered / scale)), 0)  # of this number over that of inliers
    n_outliers = excess[np.searchsorted(ordered, _inlier_quantile(COUNT_QUANTILE) * scale) :].max(initial=0)
    if n_outliers <= share * N:
        return float("inf"), float(n_outliers / N)
    remaining = (n_outliers - excess) / (N - n_above)  # share of outliers up to each score
    first = int(np.searchsorted(ordered, _inlier_quantile(FLAG_QUANTILE) * scale))
    last = min(max(int(np.flatnonzero(remaining <= share)[-1:].max(initial=0)), first), N - 1)  # not flagged
    next_score = np.append(ordered, np.inf)[N - n_above[last]]
    threshold = (ordered[last] + next_score) / 2  # midway, so that rounding does not move a text across it
    return float(threshold), float(max(remaining[last], 0))


def measure_inlier_scale(scores: Doubles) -> float:
    """Return by how much the scores (N,) of inliers are larger than those of the distribution `inlier_cdf`."""
    return float(np.quantile(scores, INLIER_QUANTILE) / _inlier_quantile(INLIER_QUANTILE))


def inlier_cdf(scores: NDArray[np.floating]) -> Doubles:
    """Return the distribution function of the score of inliers.

    The score is the norm of the positive parts of two independent standard normal variables. Neither is positive with
    probability 1/4, one with 1/2, both with 1/4.

    >>> inlier_cdf(np.array([0.0, 2.06])).round(2).tolist()
    [0.25, 0.95]
    """
    neither, one, both = 1, 2 * (2 * norm.cdf(scores) - 1), 1 - np.exp(-(scores**2) / 2)
    return np.asarray((neither + one + both) / 4)


def _inlier_quantile(share: float) -> float:
    """Return the score below which this share of inliers lies, the inverse of `inlier_cdf`."""
    grid = np.linspace(0, 10, 10_001, dtype=np.float64)
    return float(np.interp(share, inlier_cdf(grid), grid))


def _log_nearest(E: Floats, distances: ClusterDistances) -> Doubles:
    """Return the log of each text's squared Mahalanobis distance to the nearest cluster mean, (N,)."""
    nearest = np.empty(len(E))
    for block, squares in distances.iter_squared(E):
        nearest[block] = np.log(np.maximum(squares.min(1), 1e-9))
    return nearest


def _extract_words(texts: Sequence[str]) -> Any:
    """Return which word hashes each text has, (N, N_WORD_HASHES), as ones in a sparse matrix."""
    vectorizer = HashingVectorizer(
        n_features=N_WORD_HASHES,
        token_pattern=r"(?u)\w+",
        norm=None,
        alternate_sign=False,
        binary=True,
        dtype=np.float32,
    )
    return vectorizer.transform(text[:MAX_CHARACTERS] for text in texts)


def _fit_word_rarity(words: Any) -> Floats:
    """Return log(N / number of texts) of each word hash, (N_WORD_HASHES,); unseen words count as those of one text."""
    document_frequency = np.maximum(np.asarray(words.sum(0)).ravel(), 1)
    return np.asarray(np.log(words.shape[0] / document_frequency), dtype=np.float32)


def _mean_rarity(words: Any, word_rarity: Floats) -> Doubles:
    """Return the mean rarity of each text's words, (N,); NaN for a text without words."""
    counts = np.asarray(words.sum(1)).ravel()
    return np.where(counts > 0, (words @ word_rarity) / np.maximum(counts, 1), np.nan)


def _combine_measures(measures: Doubles, median: Doubles, spread: Doubles) -> Doubles:
    """Return the score (N,) of distance and rarity (N, 2)."""
    standardised = (measures - median) / np.where(spread > 0, spread, np.inf)
    return np.asarray(np.linalg.norm(np.maximum(np.nan_to_num(standardised), 0), axis=1))


def _hash_texts(texts: Sequence[str]) -> NDArray[np.uint64]:
    """Return a 64-bit hash of each text, (N,)."""
    digests = b"".join(hashlib.blake2b(text.encode("utf-8"), digest_size=8).digest() for text in texts)
    return np.frombuffer(digests, dtype="<u8").astype(np.uint64)
