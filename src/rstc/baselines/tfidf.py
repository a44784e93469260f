"""TF-IDF: k-means on words that are weighted by how few texts hold them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin

from rstc.baselines.validation import checked_texts
from rstc.baselines.bag_of_words import sparse_kmeans, tfidf_matrix


class TFIDF(ClusterMixin, BaseEstimator):
    """k-means on TF-IDF, with scikit-learn's own idea of a word and no stop word list.

    Args:
        n_clusters: how many clusters to find.
        random_state: a seed; None draws a new one each time.
        kmeans_starts: how many runs of k-means compete.

    Attributes:
        labels_: the cluster of each text, (N,).
    """

    def __init__(self, n_clusters: int = 8, *, random_state: int | None = None, kmeans_starts: int = 10) -> None:
        self.n_clusters = n_clusters
        self.random_state = random_state
        self.kmeans_starts = kmeans_starts

    def fit(self, X: Sequence[str], y: object = None) -> TFIDF:
        """Cluster texts; `y` is ignored."""
        rng = np.random.default_rng(self.random_state)
        self.labels_ = sparse_kmeans(
            tfidf_matrix(checked_texts(X, self.n_clusters)), self.n_clusters, rng, self.kmeans_starts
        )
        return self
