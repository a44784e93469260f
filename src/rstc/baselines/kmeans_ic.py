"""K-means_IC (Rakib et al. 2020): k-means on TF-IDF, enhanced by iterative classification."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.ensemble import IsolationForest
from sklearn.linear_model import LogisticRegression

from rstc.baselines.bag_of_words import sparse_kmeans, tfidf_matrix
from rstc.baselines.validation import validate_texts
from rstc.errors import InputError


class KMeansIC(ClusterMixin, BaseEstimator):
    """k-means on TF-IDF, enhanced by iterative classification.

    Each round removes the outliers of each cluster, found by an isolation forest, and then random texts of each
    cluster that still holds more than p N / K texts, with p drawn anew each round. A multinomial logistic regression
    is trained on the remaining texts and predicts the clusters of the removed ones. The rounds end when the cluster
    sizes hardly change. A remaining text keeps its cluster, so no cluster becomes empty.

    The share of outliers and the bounds of p are those of the authors' released code.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters, K.
    random_state : int or None, default=None
        Seed; None draws a new one for each fit.
    kmeans_starts : int, default=10
        Number of k-means runs for the first clusters, of which the one with the lowest inertia is kept.
    outlier_share : float, default=0.1
        Share of each cluster that is removed as outliers.
    min_share, max_share : float, default=0.7 and 0.85
        Bounds of p, P1 and P2 in the article.
    trees : int, default=20
        Trees of an isolation forest; each cluster has its own forest in each round.
    tolerance : float, default=0.05
        The rounds end when the cluster sizes change by at most this share of N, summed over the clusters.
    max_rounds : int, default=50
        Maximum number of rounds.

    Attributes
    ----------
    labels_ : ndarray of shape (N,)
        Cluster of each text.
    n_iter_ : int
        Number of rounds.
    history_ : list of dict
        For each round its number, `round`, and the change of the cluster sizes as a share of N, `size_change`.

    Notes
    -----
    Differences from the authors' code: it always takes 50 rounds, where the article ends them when the sizes
    stabilise, as here. It removes English stop words and computes TF-IDF anew for each cluster and for the remaining
    texts, where one TF-IDF matrix is used throughout here. It keeps the first texts of a cluster instead of random
    ones and changes p by at least 0.05 per round. Its forests have 100 trees, which is slow with many clusters. Its
    regression is solved by L-BFGS.

    References
    ----------
    Rakib, Zeh, Jankowska and Milios (2020), "Enhancement of short text clustering by iterative classification".
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        random_state: int | None = None,
        kmeans_starts: int = 10,
        outlier_share: float = 0.1,
        min_share: float = 0.7,
        max_share: float = 0.85,
        trees: int = 20,
        tolerance: float = 0.05,
        max_rounds: int = 50,
    ) -> None:
        self.n_clusters = n_clusters
        self.random_state = random_state
        self.kmeans_starts = kmeans_starts
        self.outlier_share = outlier_share
        self.min_share = min_share
        self.max_share = max_share
        self.trees = trees
        self.tolerance = tolerance
        self.max_rounds = max_rounds

    def fit(self, X: Sequence[str], y: object = None) -> KMeansIC:
        """Cluster texts.

        Parameters
        ----------
        X : sequence of str
            The texts.
        y : ignored
        """
        self._validate_settings()
        rng = np.random.default_rng(self.random_state)
        weights = tfidf_matrix(validate_texts(X, self.n_clusters))  # (N, V)
        labels = sparse_kmeans(weights, self.n_clusters, rng, self.kmeans_starts)
        history: list[dict[str, float]] = []
        for number in range(1, self.max_rounds + 1):
            max_size = rng.uniform(self.min_share, self.max_share) * len(labels) / self.n_clusters
            is_training = select_training_texts(weights, labels, max_size, self.outlier_share, self.trees, rng)
            new_labels = reclassify(weights, labels, is_training, rng)
            history.append({"round": number, "size_change": size_change(labels, new_labels)})
            labels = new_labels
            if history[-1]["size_change"] <= self.tolerance:
                break
        self.labels_ = labels
        self.n_iter_ = len(history)
        self.history_ = history
        return self

    def _validate_settings(self) -> None:
        if not 0 <= self.outlier_share < 1:
            raise InputError(f"outlier_share={self.outlier_share} must be at least 0 and below 1")
        if not 0 < self.min_share <= self.max_share:
            raise InputError(f"min_share={self.min_share} must be above 0 and no more than max_share={self.max_share}")


def select_training_texts(
    X: csr_matrix,
    labels: NDArray[np.int64],
    max_size: float,
    outlier_share: float,
    trees: int,
    rng: np.random.Generator,
) -> NDArray[np.bool_]:
    """Select the texts that the classifier is trained on: no outliers, at most `max_size` and at least one per cluster.

    Parameters
    ----------
    X : csr_matrix of shape (N, V)
        TF-IDF of the texts.
    labels : ndarray of shape (N,)
        Cluster of each text.
    max_size : float
        Maximum number of texts of a cluster.
    outlier_share : float
        Share of each cluster that is removed as outliers first.
    trees : int
        Trees of an isolation forest.
    rng : Generator
        Source of randomness.

    Returns
    -------
    ndarray of bool of shape (N,)
        True for the selected texts.
    """
    is_training = np.zeros(len(labels), dtype=np.bool_)
    for label in np.unique(labels):
        members = np.flatnonzero(labels == label)
        inliers = members[~find_outliers(X[members], outlier_share, trees, rng)]
        is_training[rng.permutation(inliers)[: max(int(max_size), 1)]] = True
    return is_training


def find_outliers(X: csr_matrix, share: float, trees: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Flag the given share of the rows (n,), rounded down, with the highest anomaly score of an isolation forest."""
    is_outlier = np.zeros(X.shape[0], dtype=np.bool_)
    n_outliers = int(share * X.shape[0])
    if n_outliers == 0:
        return is_outlier
    # Words that no row has cannot split the rows; without them the forest takes half the time.
    X_present = X[:, np.unique(X.indices)]
    if X_present.shape[1] == 0:
        return is_outlier
    forest = IsolationForest(n_estimators=trees, random_state=int(rng.integers(2**31)))
    scores = forest.fit(X_present).score_samples(X_present)
    is_outlier[np.argsort(scores, kind="stable")[:n_outliers]] = True
    return is_outlier


def reclassify(
    X: csr_matrix, labels: NDArray[np.int64], is_training: NDArray[np.bool_], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Predict the labels (N,) of the other texts by a logistic regression on the training texts, which keep theirs."""
    if is_training.all():
        return labels
    # SAGA is several times faster than L-BFGS where there are many clusters; a closer optimum moves hardly any text.
    regression = LogisticRegression(solver="saga", tol=1e-2, random_state=int(rng.integers(2**31)))
    new_labels = labels.copy()
    new_labels[~is_training] = regression.fit(X[is_training], labels[is_training]).predict(X[~is_training])
    return new_labels


def size_change(before: NDArray[np.int64], after: NDArray[np.int64]) -> float:
    """Compute the change of the cluster sizes, summed over the clusters, as a share of N.

    Examples
    --------
    >>> size_change(np.array([0, 0, 0, 1]), np.array([0, 0, 1, 1]))
    0.5
    """
    n_clusters = int(max(before.max(), after.max())) + 1
    sizes = [np.bincount(labels, minlength=n_clusters) for labels in (before, after)]
    return float(np.abs(sizes[1] - sizes[0]).sum() / len(before))
