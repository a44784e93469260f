"""BOW: k-means on word counts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin

from rstc.baselines.bag_of_words import count_matrix, sparse_kmeans
from rstc.baselines.validation import validate_texts


class BOW(ClusterMixin, BaseEstimator):
    """k-means on word counts, with scikit-learn's tokenisation and no stop word list.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    random_state : int or None, default=None
        Seed; None draws a new one for each fit.
    kmeans_starts : int, default=10
        Number of k-means runs, of which the one with the lowest inertia is kept.

    Attributes
    ----------
    labels_ : ndarray of shape (N,)
        Cluster of each text.

    Examples
    --------
    >>> BOW(2, random_state=0).fit_predict(["red red", "red red red", "blue", "blue blue"]).shape
    (4,)
    """

    def __init__(self, n_clusters: int = 8, *, random_state: int | None = None, kmeans_starts: int = 10) -> None:
        self.n_clusters = n_clusters
        self.random_state = random_state
        self.kmeans_starts = kmeans_starts

    def fit(self, X: Sequence[str], y: object = None) -> BOW:
        """Cluster texts.

        Parameters
        ----------
        X : sequence of str
            The texts.
        y : ignored
        """
        rng = np.random.default_rng(self.random_state)
        counts = count_matrix(validate_texts(X, self.n_clusters))
        self.labels_ = sparse_kmeans(counts, self.n_clusters, rng, self.kmeans_starts)
        return self
