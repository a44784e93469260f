"""SAOTClustering: the method's labels for plain numbers, without an encoder that learns.

Any embedding will do: of texts, images, sounds. Labels are found as at the start of RSTC (two starts, cross-fitted
rounds). Then one model is fitted to all of them, linear discriminants around a prototype for each cluster, and one
transport finds the sizes and the potentials. A row of the transport's plan depends on its own point and the potentials
only: so new points are labelled by the same rule.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax, softmax
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from rstc.config import Config
from rstc.errors import InputError
from rstc.pseudo_labels.crossfit import EMBEDDING_WEIGHT, discriminant
from rstc.pseudo_labels.initialization import Recipe, first_labels
from rstc.pseudo_labels.transport.marginals import suggested_eps2
from rstc.pseudo_labels.transport.saot import saot, transport_near

Floats = NDArray[np.float64]
LIFT = 4.0  # radii of the sphere that points are lifted to, beside the farthest point's distance from the mean
_AS_IN_CONFIG = ("start", "neighbours", "rounds", "eps1", "eps2", "kmeans_starts")
NEAR = 0.01  # weight that holds the class sizes near those from before when more points come


class SAOTClustering(ClusterMixin, BaseEstimator):
    """Clusters of points by self-adaptive optimal transport, which estimates their sizes.

    Args:
        n_clusters: how many clusters to find.
        unit_length: whether only the direction of a point counts, as in cosine similarity.
        start: "kmeans" for even clusters, "linkage" for uneven ones; "auto": both, and the data decide.
        neighbours: how many nearest points, itself included, a point is averaged with; 0: none.
        rounds: of cross-fitting.
        eps1: weight of the plan's entropy.
        eps2: weight of the penalty on the class sizes, or "auto" for what fits the sizes at the start.
        kmeans_starts: runs of k-means, of which the best is kept.
        random_state: a seed, or numpy's RandomState.

    Attributes:
        labels_: the cluster of each fitted point, (N,); cluster 0 is the largest.
        cluster_centers_: the mean of each cluster's points, (C, D), each weighted by its probability.
        class_distribution_: b, the estimated share of each cluster, (C,).
        eps2_: the weight of the penalty that was used.
        n_features_in_: D.

    >>> X = np.repeat([[0.0, 0.0], [5.0, 0.0], [0.0, 5.0]], [12, 10, 8], axis=0)
    >>> model = SAOTClustering(3, random_state=0).fit(X + np.random.default_rng(0).random((30, 2)))
    >>> model.predict([[0.5, 0.5], [5.5, 0.5], [0.5, 5.5]]).tolist()
    [0, 1, 2]
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        unit_length: bool = False,
        start: str = "auto",
        neighbours: int = 10,
        rounds: int = 3,
        eps1: float = 0.5,
        eps2: float | str = "auto",
        kmeans_starts: int = 10,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.unit_length = unit_length
        self.start = start
        self.neighbours = neighbours
        self.rounds = rounds
        self.eps1 = eps1
        self.eps2 = eps2
        self.kmeans_starts = kmeans_starts
        self.random_state = random_state

    def fit(self, X: Any, y: object = None) -> SAOTClustering:
        """Cluster points (N, D)."""
        X = validate_data(self, X, dtype=np.float64)
        C = self._checked_clusters(len(X))
        settings = {name: getattr(self, name) for name in _AS_IN_CONFIG}
        Config(**settings)  # it says what is wrong with one
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        self._mean: Floats = X.mean(0)
        self._radius: float = LIFT * max(float(np.linalg.norm(X - self._mean, axis=1).max()), 1e-300)
        points = self._on_sphere(X)
        labels, self.eps2_ = self._first_labels(points, C, rng)
        Q = np.eye(C)[labels]
        self._n: int = 0
        self._size: Floats = np.zeros(C)
        self._total: Floats = np.zeros((C, points.shape[1]))
        self._squares: Floats = np.zeros((points.shape[1], points.shape[1]))
        self._given: Floats = np.zeros((C, X.shape[1]))
        self._learn(X, points, Q)
        found = saot(self._log_p(points), self.eps1, self.eps2_)
        order = np.argsort(-np.bincount(found.plan.argmax(1), minlength=C), kind="stable")
        self._size, self._total, self._given = self._size[order], self._total[order], self._given[order]
        self._refit()
        self.class_distribution_: Floats = found.b[order]
        self._potentials: Floats = found.potentials[order]
        self.labels_: NDArray[np.int64] = self._plan(points).argmax(1).astype(np.int64)
        return self

    def partial_fit(self, X: Any, y: object = None) -> SAOTClustering:
        """Take in more points: they are labelled, the prototypes move by them, and the sizes follow.

        Clusters keep their numbers, and no new ones are found. The first call is a `fit`. `labels_` are of the points
        that came last.
        """
        if not hasattr(self, "cluster_centers_"):
            return self.fit(X)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        points = self._on_sphere(X)
        share = len(X) / (self._n + len(X))
        found = transport_near(self._log_p(points), self.class_distribution_, self.eps1, NEAR)
        self._learn(X, points, found.plan * len(X))
        self._potentials = (1 - share) * self._potentials + share * (found.potentials - found.potentials.mean())
        self.class_distribution_ = (1 - share) * self.class_distribution_ + share * found.b
        self.labels_ = self._plan(points).argmax(1).astype(np.int64)
        return self

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Return the cluster of each point, (N,)."""
        return np.asarray(self.predict_proba(X).argmax(1), dtype=np.int64)

    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each cluster, (N, C): the point's row of the transport's plan."""
        check_is_fitted(self, "cluster_centers_")
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return self._plan(self._on_sphere(X))

    def _checked_clusters(self, n: int) -> int:
        C = self.n_clusters
        if isinstance(C, bool) or not isinstance(C, (int, np.integer)) or C < 1:
            raise InputError(f"n_clusters={C!r} must be a whole number of at least 1")
        if n < C:
            raise InputError(f"n_clusters={C} needs at least {C} points, got n_samples = {n}")
        return int(C)

    def _on_sphere(self, X: Floats) -> Floats:
        """Return points at length one: their directions, or lifted so that distances stay what they are.

        On a sphere that is large beside the points, one more coordinate makes all of them equally long, and products
        then tell the distances.
        """
        if self.unit_length:
            return np.asarray(X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-300))
        flat = (X - self._mean) / self._radius
        return np.hstack([flat, np.sqrt(np.maximum(1 - (flat**2).sum(1, keepdims=True), 0))])

    def _first_labels(self, points: Floats, C: int, rng: np.random.Generator) -> tuple[NDArray[np.int64], float]:
        if C == 1:
            eps2 = suggested_eps2(np.array([len(points)])) if isinstance(self.eps2, str) else self.eps2
            return np.zeros(len(points), dtype=np.int64), eps2
        recipe = Recipe(
            self.start, self.kmeans_starts, True, True, 0.0, self.neighbours, self.rounds, self.eps1, self.eps2
        )
        found = first_labels(points.astype(np.float32), None, C, recipe, rng)
        return found.labels, found.eps2

    def _learn(self, X: Floats, points: Floats, Q: Floats) -> None:
        """Add points with soft labels Q (N, C) to the sums that all is fitted from."""
        self._n += len(points)
        self._size = self._size + Q.sum(0)
        self._total = self._total + Q.T @ points
        self._squares = self._squares + points.T @ points
        self._given = self._given + Q.T @ X
        self._refit()

    def _refit(self) -> None:
        self._weights, self._bias = discriminant(self._n, self._size, self._total, self._squares)
        self.cluster_centers_: Floats = self._given / np.maximum(self._size, 1e-300)[:, None]

    def _log_p(self, points: Floats) -> Floats:
        logits = EMBEDDING_WEIGHT * (points @ self._weights.astype(np.float64) - self._bias)
        return np.asarray(log_softmax(logits, axis=1))

    def _plan(self, points: Floats) -> Floats:
        """Return the rows of the plan (N, C), each of sum one."""
        return np.asarray(softmax((self._log_p(points) + self._potentials) / self.eps1, axis=1))
