"""Repeated searches: clusters are looked for again in random parts of the texts, and compared with those of the run.

Each search clusters the averaged points of a part, half of the texts or a little more, by the start of the run (k-means
for a spectral one), fits text classifiers to these labels (`crossfit.TextClassifier`) and predicts all texts, in the
part or not. Its clusters are matched one to one with
those of the run, so that as many texts of the part as possible keep their cluster. The encoder is fixed, and all
searches share features and neighbours, so that a search takes a fraction of the first one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.preprocessing import normalize

from rstc.pseudo_labels.confidence_model import to_likelihoods
from rstc.pseudo_labels.constraints import UNLABELLED, fit_constrained_kmeans
from rstc.pseudo_labels.crossfit import NEIGHBOUR_WEIGHT, TextClassifier
from rstc.pseudo_labels.features import Mix, TextFeatures, reduce_dimensions
from rstc.pseudo_labels.initialization_settings import InitializationSettings
from rstc.pseudo_labels.kmeans import fit_kmeans, fit_kmeans_with_swaps
from rstc.pseudo_labels.linkage import cluster_by_linkage
from rstc.pseudo_labels.mahalanobis import fit_cluster_distances
from rstc.pseudo_labels.matching import match_labels
from rstc.pseudo_labels.n_clusters import MAX_SWAP_CLUSTERS
from rstc.runtime.threads import draw_generators, parallel_map

MIN_SHARE, MAX_SHARE = 0.5, 0.65  # of the texts that a search sees
TEXTS_PER_CLUSTER = 8  # on average, for which it sees more than half of the texts
MIN_TEXTS_PER_CLUSTER = 1.5  # on average, that a search needs
MAX_SWAP_TRIALS = 2
MAX_CELLS = 2**27  # of predictions (n, C) that searches side by side may hold, a few float32 each
LISTED_NEIGHBOURS = 24  # of each text, about half of which are in a part

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Repeats:
    """What R searches say about n texts; clusters are numbered as those of the run.

    Attributes
    ----------
    run_labels : (n,) array
        Cluster of each text in the run.
    points : (n, D) array
        The points that a search clusters, averaged over neighbours among all texts.
    labels : (R, n) array
        Cluster that each search gives each text.
    left_out : (R, n) array of bool
        Whether the search has not seen the text.
    model_probability : (R, n) array
        Probability that the classifiers of each search give the text's cluster in the run.
    probability : (R, n) array
        The same after the average with the text's neighbours.
    nearest : (R, n) array
        Cluster with the nearest mean, by the embedding alone.
    squared_distances : (R, n) array
        Squared Mahalanobis distance to it.
    nearest_probability : (R, n) array
        Probability of the nearest cluster by the distances to all means.
    """

    run_labels: Ints
    points: Floats
    labels: Ints
    left_out: NDArray[np.bool_]
    model_probability: Floats
    probability: Floats
    nearest: Ints
    squared_distances: Floats
    nearest_probability: Floats

    @property
    def n_repeats(self) -> int:
        """The number of searches, R."""
        return len(self.labels)


def repeat_search(
    features: TextFeatures,
    labels: Ints,
    n_clusters: int,
    mix: Mix,
    start: str,
    n_repeats: int,
    settings: InitializationSettings,
    rng: np.random.Generator,
    partial_labels: Ints | None = None,
) -> Repeats | None:
    """Search clusters again in random parts of texts.

    Parameters
    ----------
    features : TextFeatures
        The feature sets of n texts of a single process; the embedding has rows of length one.
    labels : (n,) array
        Cluster of each text in the run.
    n_clusters : int
        C.
    mix : mapping
        Weight of each feature set beside the embedding.
    start : str
        The start of the run: "linkage", or another one, for which k-means is used.
    n_repeats : int
        R, the number of searches.
    settings : InitializationSettings
        How the labels of the run were found.
    rng : numpy.random.Generator
        Draws the parts.
    partial_labels : (n,) array or None
        Given class of each text.

    Returns
    -------
    Repeats or None
        None if there are too few texts for the number of clusters.
    """
    N = len(features)
    n_drawn = int(np.clip(TEXTS_PER_CLUSTER * n_clusters, MIN_SHARE * N, MAX_SHARE * N))
    if n_drawn < max(2, MIN_TEXTS_PER_CLUSTER * n_clusters) or n_repeats < 1:
        return None
    search = _PartSearch.prepare(features, labels, n_clusters, mix, start, n_drawn, settings, partial_labels)
    generators, at_once = draw_generators(rng, n_repeats), max(1, MAX_CELLS // (N * n_clusters))
    results = []
    for first in range(0, n_repeats, at_once):
        results += parallel_map(search.run, generators[first : first + at_once])
    return Repeats(labels, search.average_all(), *(np.stack(arrays) for arrays in zip(*results, strict=True)))


@dataclass(frozen=True)
class _PartSearch:
    """Searches clusters in a part of the texts; see `repeat_search`."""

    features: TextFeatures
    run_labels: Ints
    n_clusters: int
    start: str
    n_drawn: int
    settings: InitializationSettings
    partial_labels: Ints | None
    points: Floats  # not averaged, (n, 128)
    neighbours: Ints | None  # (n, LISTED_NEIGHBOURS), the text itself first; None: nothing is averaged
    n_averaged: int  # neighbours in the part that points and predictions are averaged over

    @classmethod
    def prepare(
        cls,
        features: TextFeatures,
        labels: Ints,
        n_clusters: int,
        mix: Mix,
        start: str,
        n_drawn: int,
        settings: InitializationSettings,
        partial_labels: Ints | None,
    ) -> _PartSearch:
        N = len(features)
        # As many as are in the part of the neighbours that the run averages over.
        n_run = min(settings.neighbours, max(N // (2 * n_clusters), 1))
        n_averaged = max(n_run * n_drawn // N, min(n_run, 1))
        neighbours = features.find_neighbours(mix, min(LISTED_NEIGHBOURS, N)) if n_averaged else None
        points = reduce_dimensions(features.build_points(mix, None))
        return cls(
            features, labels, n_clusters, start, n_drawn, settings, partial_labels, points, neighbours, n_averaged
        )

    def run(self, rng: np.random.Generator) -> tuple[NDArray[np.generic], ...]:
        """Search once; return the arrays of `Repeats` for this search."""
        N, C = len(self.features), self.n_clusters
        rows = np.sort(rng.choice(N, self.n_drawn, replace=False))
        if self.partial_labels is not None:  # given labels are given in every analysis
            rows = np.union1d(rows, np.flatnonzero(self.partial_labels != UNLABELLED))
        average = self._average_over(rows)
        P, P_model = self._predict(rows, self._cluster(self._apply(average, self.points)[rows], rows, rng), average)
        cluster_of_label = match_labels(P[rows].argmax(1), self.run_labels[rows], C)
        labels, every = cluster_of_label[P.argmax(1)], np.arange(N)
        own = np.argsort(cluster_of_label)[self.run_labels]  # label of the search that matches each text's cluster
        left_out = np.ones(N, dtype=np.bool_)
        left_out[rows] = False
        nearest = self._find_nearest(rows, labels)
        return labels, left_out, P_model[every, own], P[every, own], *nearest

    def average_all(self) -> Floats:
        """Return the points averaged over neighbours among all texts, (n, 128)."""
        return self._apply(self._average_over(np.arange(len(self.features))), self.points)

    def _average_over(self, rows: Ints) -> csr_matrix | None:
        """Return the matrix (n, n) that averages over each text's nearest neighbours among some rows."""
        if self.neighbours is None:
            return None
        N = len(self.features)
        is_drawn = np.zeros(N, dtype=np.bool_)
        is_drawn[rows] = True
        used = is_drawn[self.neighbours]
        used &= used.cumsum(1) <= self.n_averaged
        counts = used.sum(1)
        indptr = np.concatenate([[0], np.cumsum(counts)])
        weights = np.repeat(1 / np.maximum(counts, 1), counts).astype(np.float32)
        return csr_matrix((weights, self.neighbours[used], indptr), shape=(N, N))

    def _apply(self, average: csr_matrix | None, points: Floats) -> Floats:
        """Average points at length one; a text without a neighbour among the rows keeps its own point."""
        if average is None:
            return points
        averaged = np.asarray(average @ points)
        alone = np.diff(average.indptr) == 0
        averaged[alone] = points[alone]
        return np.asarray(normalize(averaged, copy=False), dtype=np.float32)

    def _cluster(self, points: Floats, rows: Ints, rng: np.random.Generator) -> Ints:
        """Cluster the points (m, D) of some rows as the run did."""
        C = self.n_clusters
        if self.partial_labels is not None:
            return fit_constrained_kmeans(points, self.partial_labels[rows], C, rng)
        if self.start == "linkage":
            return cluster_by_linkage(points, C, rng)
        if self.settings.swaps and C <= MAX_SWAP_CLUSTERS:
            return fit_kmeans_with_swaps(points, C, rng, 1, MAX_SWAP_TRIALS).labels
        return fit_kmeans(points, C, rng, 1).labels

    def _predict(self, rows: Ints, labels: Ints, average: csr_matrix | None) -> tuple[Floats, Floats]:
        """Fit classifiers to labels (m,) of some rows; return P (n, C) with and without the average over neighbours."""
        Q = np.eye(self.n_clusters, dtype=np.float32)[labels]
        P = TextClassifier.fit(self.features, rows, Q).predict(self.features, slice(None))
        if average is None:
            return P, P
        averaged = (1 - NEIGHBOUR_WEIGHT) * P + NEIGHBOUR_WEIGHT * (average @ P)
        alone = np.diff(average.indptr) == 0
        averaged[alone] = P[alone]
        return averaged, P

    def _find_nearest(self, rows: Ints, labels: Ints) -> tuple[Ints, Floats, Floats]:
        """Return each text's nearest cluster by its embedding alone, the squared distance and the probability."""
        U, N = self.features.embedding, len(self.features)
        present = np.unique(labels[rows])
        distances = fit_cluster_distances(U[rows], labels[rows])
        nearest, squared, probability = np.empty(N, np.int64), np.empty(N, np.float32), np.empty(N, np.float32)
        for block, squares in distances.iter_squared(U):
            nearest[block], squared[block] = present[squares.argmin(1)], squares.min(1)
            probability[block] = 1 / to_likelihoods(squares).sum(1)
        return nearest, squared, probability
