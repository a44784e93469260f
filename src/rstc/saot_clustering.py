"""SAOTClustering: clustering of points by self-adaptive optimal transport, without training an encoder.

The points may be embeddings of texts, images or sounds. Initial labels are found as in RSTC, by k-means or linkage and
cross-fitted rounds. Then linear discriminants are fitted to all points, and one transport estimates the class sizes b
and the potentials h. A row of the plan, softmax((log p + h) / eps1), depends on its own point and on h only, so new
points are labelled by the same rule.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax, softmax
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.preprocessing import normalize
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from rstc.config import Config
from rstc.errors import InputError
from rstc.pseudo_labels.crossfit import EMBEDDING_WEIGHT, fit_shrunk_lda
from rstc.pseudo_labels.features import EMBEDDING, TextFeatures
from rstc.pseudo_labels.initialization import find_initial_labels
from rstc.pseudo_labels.initialization_settings import InitializationSettings
from rstc.pseudo_labels.transport.saot import saot, semi_relaxed_transport

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

RELATIVE_RADIUS = 4.0  # of the sphere that points are lifted to, relative to the largest distance from the mean
CONFIG_PARAMETERS = ("start", "neighbours", "rounds", "eps1", "eps2", "kmeans_starts")  # same names as in Config
PARTIAL_FIT_EPS2 = 0.01  # weight of the penalty that holds class sizes near the previous ones in partial_fit


class SAOTClustering(ClusterMixin, BaseEstimator):
    """Cluster points by self-adaptive optimal transport, which estimates the cluster sizes.

    Parameters
    ----------
    n_clusters : int, default=8
        The number of clusters, C.
    unit_length : bool, default=False
        Whether to compare directions of points, as cosine similarity does, rather than positions.
    start : {"auto", "kmeans", "spectral", "linkage"}, default="auto"
        How the first labels are found: "kmeans" suits even cluster sizes, "linkage" uneven ones; "auto" tries both.
    neighbours : int, default=10
        Number of nearest points, itself included, that a point is averaged over; 0: no averaging.
    rounds : int, default=3
        Number of cross-fitted rounds.
    eps1 : float, default=0.5
        Weight of the plan's entropy.
    eps2 : float or "auto", default="auto"
        Weight of the penalty on the class sizes; "auto" chooses it by the sizes of the initial clusters.
    kmeans_starts : int, default=10
        Number of runs of k-means, of which the best is kept.
    random_state : int, RandomState or None, default=None
        Seed of k-means, linkage and the folds.

    Attributes
    ----------
    labels_ : ndarray of shape (N,)
        The cluster of each fitted point; cluster 0 is the largest.
    cluster_centers_ : ndarray of shape (C, D)
        The mean of each cluster's points, weighted by their probabilities.
    class_distribution_ : ndarray of shape (C,)
        b, the estimated share of each cluster.
    eps2_ : float
        The weight of the penalty on the class sizes.
    n_features_in_ : int
        D, the number of features.

    Examples
    --------
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
        """Cluster points.

        Parameters
        ----------
        X : array-like of shape (N, D)
            The points.
        y : object
            Ignored.

        Returns
        -------
        self
        """
        X = validate_data(self, X, dtype=np.float64)
        C = self._validate_n_clusters(len(X))
        Config(**{name: getattr(self, name) for name in CONFIG_PARAMETERS})  # raises an error for an invalid value
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))

        sphere = None if self.unit_length else _Sphere.around(X)
        U = _to_unit_length(X, sphere)
        labels, eps2 = self._find_initial_labels(U, C, rng)
        statistics = _SufficientStatistics.zeros(C, U.shape[1], X.shape[1]).add(X, U, np.eye(C)[labels])
        transport = saot(statistics.log_probabilities(U), self.eps1, eps2)
        order = np.argsort(-np.bincount(transport.labels, minlength=C), kind="stable")

        self.eps2_: float = eps2
        self._sphere = sphere
        self._potentials: Floats = transport.potentials[order]
        self.class_distribution_: Floats = transport.b[order]
        self._set_statistics(statistics.reorder(order))
        self.labels_: Ints = self._plan_rows(U).argmax(1).astype(np.int64)
        return self

    def partial_fit(self, X: Any, y: object = None) -> SAOTClustering:
        """Update the clusters with more points.

        The points are labelled, and the centres and the class sizes are updated. Clusters keep their numbers, and no
        cluster is added. The first call is a `fit`. `labels_` holds the labels of the last points only.

        Parameters
        ----------
        X : array-like of shape (N, D)
            The new points.
        y : object
            Ignored.

        Returns
        -------
        self
        """
        if not hasattr(self, "cluster_centers_"):
            return self.fit(X)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        U = _to_unit_length(X, self._sphere)
        share = len(X) / (self._statistics.n + len(X))
        transport = semi_relaxed_transport(
            self._statistics.log_probabilities(U), self.class_distribution_, self.eps1, PARTIAL_FIT_EPS2
        )
        potentials = transport.potentials - transport.potentials.mean()
        self._potentials = (1 - share) * self._potentials + share * potentials
        self.class_distribution_ = (1 - share) * self.class_distribution_ + share * transport.b
        self._set_statistics(self._statistics.add(X, U, transport.plan * len(X)))
        self.labels_ = self._plan_rows(U).argmax(1).astype(np.int64)
        return self

    def predict(self, X: Any) -> Ints:
        """Predict the cluster of each point.

        Parameters
        ----------
        X : array-like of shape (N, D)
            The points.

        Returns
        -------
        ndarray of shape (N,)
        """
        return np.asarray(self.predict_proba(X).argmax(1), dtype=np.int64)

    def predict_proba(self, X: Any) -> Floats:
        """Predict the probability of each cluster, by each point's row of the transport plan.

        Parameters
        ----------
        X : array-like of shape (N, D)
            The points.

        Returns
        -------
        ndarray of shape (N, C)
        """
        check_is_fitted(self, "cluster_centers_")
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return self._plan_rows(_to_unit_length(X, self._sphere))

    def _validate_n_clusters(self, n_points: int) -> int:
        """Return the number of clusters; raise an InputError if it is invalid for `n_points` points."""
        C = self.n_clusters
        if isinstance(C, bool) or not isinstance(C, (int, np.integer)) or C < 1:
            raise InputError(f"n_clusters={C!r} must be a whole number of at least 1")
        if n_points < C:
            raise InputError(f"n_clusters={C} needs at least {C} points, got n_samples = {n_points}")
        return int(C)

    def _find_initial_labels(self, U: Floats, C: int, rng: np.random.Generator) -> tuple[Ints, float]:
        """Return labels (N,) of unit-length points, and eps2."""
        settings = InitializationSettings(
            start=self.start,
            kmeans_starts=self.kmeans_starts,
            swaps=True,
            unit_length=True,
            words=0.0,
            static=0.0,
            neighbours=self.neighbours,
            rounds=self.rounds,
            eps1=self.eps1,
            eps2=self.eps2,
        )
        if C == 1:
            return np.zeros(len(U), dtype=np.int64), settings.choose_eps2(np.array([len(U)]))
        # Points that were lifted to a sphere lie on one side of it, which says nothing about them.
        features = TextFeatures({EMBEDDING: U.astype(np.float32)}, can_center=self.unit_length)
        initial = find_initial_labels(features, C, settings, rng)
        return initial.labels, initial.eps2

    def _set_statistics(self, statistics: _SufficientStatistics) -> None:
        self._statistics = statistics
        self.cluster_centers_: Floats = statistics.centres

    def _plan_rows(self, U: Floats) -> Floats:
        """Return the rows of the plan (N, C), scaled to sum to one."""
        return np.asarray(softmax((self._statistics.log_probabilities(U) + self._potentials) / self.eps1, axis=1))


@dataclass(frozen=True, eq=False)
class _Sphere:
    """A large sphere that points are lifted to, which leaves their distances almost unchanged.

    An additional coordinate makes all points equally long, so that the highest inner product is the smallest distance.
    """

    centre: Floats
    radius: float

    @classmethod
    def around(cls, X: Floats) -> _Sphere:
        """Return a sphere for points (N, D)."""
        centre = X.mean(0)
        return cls(centre, RELATIVE_RADIUS * max(float(np.linalg.norm(X - centre, axis=1).max()), 1e-300))

    def lift(self, X: Floats) -> Floats:
        """Return points (N, D) as unit-length points (N, D + 1)."""
        flat = (X - self.centre) / self.radius
        return np.hstack([flat, np.sqrt(np.maximum(1 - (flat**2).sum(1, keepdims=True), 0))])


def _to_unit_length(X: Floats, sphere: _Sphere | None) -> Floats:
    """Return unit-length points: lifted to the sphere, or normalised without one."""
    return np.asarray(normalize(X) if sphere is None else sphere.lift(X))


@dataclass(frozen=True, eq=False)
class _SufficientStatistics:
    """Sums over all points so far, weighted by soft labels Q (N, C), which the linear discriminants are fitted to.

    Attributes
    ----------
    n : int
        The number of points.
    sizes : (C,) array
        The sum of Q.
    totals : (C, D') array
        Q^T U, for unit-length points U.
    squares : (D', D') array
        U^T U.
    input_totals : (C, D) array
        Q^T X, for the input points X.
    """

    n: int
    sizes: Floats
    totals: Floats
    squares: Floats
    input_totals: Floats

    @classmethod
    def zeros(cls, C: int, dim: int, input_dim: int) -> _SufficientStatistics:
        """Return the statistics of no points."""
        return cls(0, np.zeros(C), np.zeros((C, dim)), np.zeros((dim, dim)), np.zeros((C, input_dim)))

    def add(self, X: Floats, U: Floats, Q: Floats) -> _SufficientStatistics:
        """Return the statistics with more points."""
        return _SufficientStatistics(
            self.n + len(U),
            self.sizes + Q.sum(0),
            self.totals + Q.T @ U,
            self.squares + U.T @ U,
            self.input_totals + Q.T @ X,
        )

    def reorder(self, order: Ints) -> _SufficientStatistics:
        """Return the statistics with cluster order[j] as cluster j."""
        return _SufficientStatistics(
            self.n, self.sizes[order], self.totals[order], self.squares, self.input_totals[order]
        )

    @property
    def centres(self) -> Floats:
        """Mean of each cluster's input points, (C, D)."""
        return np.asarray(self.input_totals / np.maximum(self.sizes, 1e-300)[:, None])

    @cached_property
    def _discriminants(self) -> tuple[Any, Any]:
        """Weights (D', C) and bias (C,)."""
        return fit_shrunk_lda(self.n, self.sizes, self.totals, self.squares)

    def log_probabilities(self, U: Floats) -> Floats:
        """Return log p (N, C) of unit-length points by linear discriminants."""
        weights, bias = self._discriminants
        return np.asarray(log_softmax(EMBEDDING_WEIGHT * (U @ weights.astype(np.float64) - bias), axis=1))
