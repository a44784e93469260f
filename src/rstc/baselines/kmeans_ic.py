"""K-means_IC: k-means on TF-IDF, then rounds in which a classifier learns the clusters and reassigns what is left out.

After Rakib, Zeh, Jankowska and Milios, "Enhancement of short text clustering by iterative classification" (2020).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.ensemble import IsolationForest
from sklearn.linear_model import LogisticRegression

from rstc.baselines.validation import checked_texts
from rstc.baselines.bag_of_words import sparse_kmeans, tfidf_matrix
from rstc.errors import InputError


class KMeansIC(ClusterMixin, BaseEstimator):
    """k-means on TF-IDF, enhanced by iterative classification.

    A round sets aside the outliers of each cluster, as an isolation forest sees them, and then texts drawn at random
    from each cluster that holds more than p N / K of the rest, with p drawn anew each round. A multinomial logistic
    regression learns the clusters of the texts that stay and reassigns those set aside. The rounds end when the cluster
    sizes settle. A text that stays keeps its cluster, so no cluster ever becomes empty.

    The share of outliers and the bounds of p are those of the authors' released code. Departures from that code: it
    always takes 50 rounds, where the article ends them when the sizes settle, as here; it removes English stop words
    and weighs words anew for each cluster and for the texts that stay, where one TF-IDF serves for all here; it caps a
    cluster to its first texts and moves p by at least 0.05 a round; its forests have 100 trees, which is slow with
    many clusters; its regression is solved by L-BFGS.

    Args:
        n_clusters: how many clusters to find, K.
        random_state: a seed; None draws a new one each time.
        kmeans_starts: how many runs of k-means compete for the first clusters.
        outlier_share: the share of each cluster that is set aside as outliers.
        min_share, max_share: the bounds of p, P1 and P2 in the article.
        trees: the trees of an isolation forest; there is a forest for each cluster and round.
        tolerance: the rounds end when the cluster sizes change by at most this share of N, summed over the clusters.
        max_rounds: the rounds end after so many.

    Attributes:
        labels_: the cluster of each text, (N,).
        n_iter_: the rounds taken.
        history_: for each round its number, `round`, and the change of the sizes as a share of N, `size_change`.
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
        """Cluster texts; `y` is ignored."""
        self._check()
        rng = np.random.default_rng(self.random_state)
        words = tfidf_matrix(checked_texts(X, self.n_clusters))
        labels = sparse_kmeans(words, self.n_clusters, rng, self.kmeans_starts)
        history: list[dict[str, float]] = []
        for number in range(1, self.max_rounds + 1):
            cap = rng.uniform(self.min_share, self.max_share) * len(labels) / self.n_clusters
            stay = texts_to_learn(words, labels, cap, self.outlier_share, self.trees, rng)
            renewed = reassign(words, labels, stay, rng)
            history.append({"round": number, "size_change": size_change(labels, renewed)})
            labels = renewed
            if history[-1]["size_change"] <= self.tolerance:
                break
        self.labels_ = labels
        self.n_iter_ = len(history)
        self.history_ = history
        return self

    def _check(self) -> None:
        if not 0 <= self.outlier_share < 1:
            raise InputError(f"outlier_share={self.outlier_share} must be at least 0 and below 1")
        if not 0 < self.min_share <= self.max_share:
            raise InputError(f"min_share={self.min_share} must be above 0 and no more than max_share={self.max_share}")


def texts_to_learn(
    X: csr_matrix, labels: NDArray[np.int64], cap: float, outlier_share: float, trees: int, rng: np.random.Generator
) -> NDArray[np.bool_]:
    """Return which texts (N,) stay to learn from: no outliers, at most `cap` and at least one of each cluster."""
    stay = np.zeros(len(labels), dtype=np.bool_)
    for label in np.unique(labels):
        members = np.flatnonzero(labels == label)
        usual = members[~outliers(X[members], outlier_share, trees, rng)]
        stay[rng.permutation(usual)[: max(int(cap), 1)]] = True
    return stay


def outliers(X: csr_matrix, share: float, trees: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Return which rows (n,) are among the given share, rounded down, that an isolation forest isolates soonest."""
    found = np.zeros(X.shape[0], dtype=np.bool_)
    count = int(share * X.shape[0])
    if count == 0:
        return found
    # Words that the cluster does not hold cannot split it; without them the forest takes half the time.
    held = X[:, np.unique(X.indices)]
    if held.shape[1] == 0:
        return found
    forest = IsolationForest(n_estimators=trees, random_state=int(rng.integers(2**31)))
    found[np.argsort(forest.fit(held).score_samples(held), kind="stable")[:count]] = True
    return found


def reassign(
    X: csr_matrix, labels: NDArray[np.int64], stay: NDArray[np.bool_], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return the labels (N,), those of the texts that do not stay renewed by a regression on those that do."""
    if stay.all():
        return labels
    # SAGA is several times faster than L-BFGS where there are many clusters; a closer optimum moves next to no text.
    regression = LogisticRegression(solver="saga", tol=1e-2, random_state=int(rng.integers(2**31)))
    renewed = labels.copy()
    renewed[~stay] = regression.fit(X[stay], labels[stay]).predict(X[~stay])
    return renewed


def size_change(before: NDArray[np.int64], after: NDArray[np.int64]) -> float:
    """Return the change of the cluster sizes, summed over the clusters, as a share of N.

    >>> size_change(np.array([0, 0, 0, 1]), np.array([0, 0, 1, 1]))
    0.5
    """
    clusters = int(max(before.max(), after.max())) + 1
    sizes = [np.bincount(labels, minlength=clusters) for labels in (before, after)]
    return float(np.abs(sizes[1] - sizes[0]).sum() / len(before))
