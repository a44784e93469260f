"""Initial labels for balanced and imbalanced data: the better of k-means and average linkage.

Points are embeddings and word features, averaged over neighbours (`features.combine_features`). k-means finds clusters
of similar sizes in them, average linkage clusters of very different sizes. Both are improved by cross-fitted rounds
(`crossfit`), and the labels with the higher neighbour NMI are kept.

When labels are updated after training, k-means is compared with the previous labels instead. Average linkage is not run
again: it is so sensitive to its first merges that a second run would change more labels than training has.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import normalize

from rstc.numerics.nearest import nearest_neighbours
from rstc.pseudo_labels.constraints import align_with_partial_labels, fit_constrained_kmeans
from rstc.pseudo_labels.crossfit import Features, crossfit
from rstc.pseudo_labels.features import WordFeatures, combine_features
from rstc.pseudo_labels.kmeans import fit_kmeans, fit_kmeans_with_swaps
from rstc.pseudo_labels.linkage import cluster_by_linkage
from rstc.pseudo_labels.neighbours import neighbour_nmi
from rstc.pseudo_labels.transport.marginals import suggest_eps2

logger = logging.getLogger("rstc")

DEFAULT_NEIGHBOURS = 10  # for neighbour NMI if points are not averaged over neighbours
MIN_LINKAGE_GAIN = 0.005  # in neighbour NMI over k-means: sizes are taken as balanced unless there is evidence

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class InitializationSettings:
    """How to find labels; the fields are those of `Config`.

    Attributes
    ----------
    start : str
        "kmeans", "linkage", or "auto" to try both.
    kmeans_starts : int
        Number of runs of k-means, of which the best is kept.
    swaps : bool
        Whether k-means is improved by swaps.
    unit_length : bool
        Whether embeddings are scaled to length one.
    words : float
        Weight of the words; that of the embeddings is 1. 0: no words.
    neighbours : int
        Number of neighbours, the text itself included, that a point is averaged over; 0: none.
    rounds : int
        Number of cross-fitted rounds; 0: the labels of the start are not changed.
    eps1 : float
        Weight of the plan's entropy.
    eps2 : float or str
        Weight of the penalty on class sizes, or "auto" to choose it from the cluster sizes of the start.
    """

    start: str
    kmeans_starts: int
    swaps: bool
    unit_length: bool
    words: float
    neighbours: int
    rounds: int
    eps1: float
    eps2: float | str

    @property
    def is_plain_kmeans(self) -> bool:
        """Whether labels are those of k-means on the embeddings, as in the paper."""
        return self.start == "kmeans" and not (self.swaps or self.words or self.neighbours or self.rounds)

    def choose_eps2(self, sizes: Ints) -> float:
        """Return eps2 for clusters of these sizes, (C,)."""
        return suggest_eps2(sizes) if isinstance(self.eps2, str) else self.eps2


@dataclass(frozen=True)
class InitialLabels:
    """Labels and how they were found.

    Attributes
    ----------
    labels : (N,) array
        Cluster of each text.
    start : str
        "kmeans", "linkage", "known" (k-means around the given classes), or "before" (the previous labels).
    eps2 : float
        Weight of the penalty on class sizes.
    b : (C,) array
        Class distribution of the transport; without rounds, the shares of the labels.
    agreement : float or None
        Share of texts whose out-of-fold prediction is their label; None without rounds.
    partial_label_accuracy : float or None
        Share of labelled texts whose out-of-fold prediction is the given label; None without partial labels.
    """

    labels: Ints
    start: str
    eps2: float
    b: NDArray[np.float64]
    agreement: float | None
    partial_label_accuracy: float | None = None


def find_initial_labels(
    E: Floats,
    words: WordFeatures | None,
    n_clusters: int,
    settings: InitializationSettings,
    rng: np.random.Generator,
    previous: Ints | None = None,
    partial_labels: Ints | None = None,
) -> InitialLabels:
    """Find labels of texts from their embeddings and words.

    Parameters
    ----------
    E : (N, D) array
        Embeddings.
    words : WordFeatures or None
        TF-IDF and LSA of the texts; None: the embeddings alone.
    n_clusters : int
        Number of clusters.
    settings : InitializationSettings
        How to find labels.
    rng : numpy.random.Generator
        Random numbers for k-means, linkage and folds.
    previous : (N,) array or None
        Previous labels, which are compared with those of the other starts.
    partial_labels : (N,) array or None
        Given class of each text, `constraints.UNLABELLED` for texts without a label; class c becomes label c.

    Returns
    -------
    InitialLabels

    >>> rng = np.random.default_rng(0)
    >>> E = np.repeat(np.eye(3, dtype=np.float32), 10, axis=0) + 0.1 * rng.random((30, 3), dtype=np.float32)
    >>> settings = InitializationSettings("auto", 10, True, True, words=0, neighbours=5, rounds=2, eps1=0.5, eps2=0.1)
    >>> initial = find_initial_labels(E, None, 3, settings, rng)
    >>> sorted(np.bincount(initial.labels).tolist())
    [10, 10, 10]
    """
    compare_starts = settings.start == "auto" or previous is not None or partial_labels is not None
    search = _LabelSearch.prepare(E, words, n_clusters, settings, rng, compare_starts, partial_labels)
    if partial_labels is not None:
        return search.choose_by_partial_labels(previous)
    if previous is not None:
        return search.choose_previous_or_kmeans(previous)
    return search.choose_kmeans_or_linkage() if settings.start == "auto" else search.run(settings.start)


@dataclass(frozen=True)
class _LabelSearch:
    """Runs the starts, improves their labels and chooses between them.

    Attributes
    ----------
    points : (N, D) array
        Points that k-means and linkage cluster.
    features : Features
        Features of the cross-fitted rounds.
    neighbours : (N, k) array or None
        Neighbours of each text for neighbour NMI.
    partial_labels : (N,) array or None
        Given class of each text.
    """

    points: Floats
    features: Features
    neighbours: Ints | None
    n_clusters: int
    settings: InitializationSettings
    rng: np.random.Generator
    partial_labels: Ints | None

    @classmethod
    def prepare(
        cls,
        E: Floats,
        words: WordFeatures | None,
        n_clusters: int,
        settings: InitializationSettings,
        rng: np.random.Generator,
        compare_starts: bool,
        partial_labels: Ints | None,
    ) -> _LabelSearch:
        """Find the neighbours and compute the points; comparing starts needs neighbours in any case."""
        if settings.unit_length:
            E = np.asarray(normalize(E), dtype=np.float32)
        words = words if settings.words else None
        tfidf, lsa = (words.tfidf, words.lsa) if words else (None, None)
        # More neighbours than half a cluster of mean size would blur the small clusters.
        k = min(settings.neighbours, max(len(E) // (2 * n_clusters), 1))
        neighbours = averaged = None
        if k or compare_starts:
            word_weight = settings.words / (1 + settings.words)
            neighbours = nearest_neighbours(E, tfidf, max(k or DEFAULT_NEIGHBOURS, 2), word_weight)
            averaged = neighbours[:, :k] if k else None
        points = combine_features(E, lsa, settings.words, averaged)
        return cls(points, Features(E, tfidf, averaged), neighbours, n_clusters, settings, rng, partial_labels)

    def run(self, start: str) -> InitialLabels:
        """Cluster by "kmeans" or "linkage" and improve the labels."""
        return self.improve(start, self.cluster(start))

    def cluster(self, start: str) -> Ints:
        """Cluster by "kmeans" or "linkage"; with partial labels, number the clusters after the classes."""
        if start == "linkage":
            labels = cluster_by_linkage(self.points, self.n_clusters, self.rng)
        else:
            fit = fit_kmeans_with_swaps if self.settings.swaps else fit_kmeans
            labels = fit(self.points, self.n_clusters, self.rng, self.settings.kmeans_starts).labels
        if self.partial_labels is None:
            return labels
        return align_with_partial_labels(labels, self.partial_labels, self.n_clusters)

    def improve(self, start: str, labels: Ints, eps2: float | None = None) -> InitialLabels:
        """Improve labels by cross-fitted rounds; without eps2, choose it by the sizes of the clusters."""
        C, settings = self.n_clusters, self.settings
        eps2 = self.choose_eps2(labels) if eps2 is None else eps2
        if not settings.rounds:
            return InitialLabels(labels, start, eps2, np.bincount(labels, minlength=C) / len(labels), None)
        result = crossfit(self.features, labels, C, settings.eps1, eps2, settings.rounds, self.rng, self.partial_labels)
        return InitialLabels(
            result.labels, start, eps2, result.transport.b, result.agreement, result.partial_label_accuracy
        )

    def choose_eps2(self, labels: Ints) -> float:
        """Return eps2 for the cluster sizes of labels (N,)."""
        return self.settings.choose_eps2(np.bincount(labels, minlength=self.n_clusters))

    def choose_kmeans_or_linkage(self) -> InitialLabels:
        """Return the labels from k-means or those from linkage, whichever have the higher neighbour NMI."""
        kmeans_start, linkage_start = self.cluster("kmeans"), self.cluster("linkage")
        kmeans = self.improve("kmeans", kmeans_start)
        # For a fair comparison, both use the eps2 for the cluster sizes of k-means.
        linkage = self.improve("linkage", linkage_start, kmeans.eps2)
        if self.compare(linkage, kmeans) <= MIN_LINKAGE_GAIN:
            return kmeans
        return linkage if self.choose_eps2(linkage_start) == linkage.eps2 else self.improve("linkage", linkage_start)

    def choose_previous_or_kmeans(self, previous: Ints) -> InitialLabels:
        """Return the previous labels or those from k-means, whichever have the higher neighbour NMI."""
        improved = self.improve("before", previous)
        if self.settings.start == "linkage":
            return improved
        kmeans = self.run("kmeans")
        return kmeans if self.compare(kmeans, improved) > 0 else improved

    def choose_by_partial_labels(self, previous: Ints | None) -> InitialLabels:
        """Return the labels of the best start, with constrained k-means as an additional start.

        The score is the accuracy of out-of-fold predictions on the labelled texts, plus neighbour NMI.
        """
        assert self.partial_labels is not None
        assert self.neighbours is not None
        starts = [self.settings.start] if self.settings.start != "auto" else ["kmeans", "linkage"]
        if previous is None:
            results = [self.run(start) for start in starts]
        else:
            results = [self.improve("before", previous), *([] if starts == ["linkage"] else [self.run("kmeans")])]
        points = np.asarray(normalize(self.points), dtype=np.float32)
        constrained = fit_constrained_kmeans(points, self.partial_labels, self.n_clusters, self.rng)
        results.append(self.improve("known", constrained))
        scores = [
            (result.partial_label_accuracy or 0.0) + neighbour_nmi(result.labels, self.neighbours) for result in results
        ]
        for result, score in zip(results, scores, strict=True):
            accuracy = result.partial_label_accuracy
            logger.info("%s: accuracy on partial labels %s, with neighbour NMI %.4f", result.start, accuracy, score)
        return results[int(np.argmax(scores))]

    def compare(self, candidate: InitialLabels, reference: InitialLabels) -> float:
        """Return by how much the candidate's neighbour NMI exceeds the reference's."""
        assert self.neighbours is not None
        gain = neighbour_nmi(candidate.labels, self.neighbours) - neighbour_nmi(reference.labels, self.neighbours)
        logger.info("neighbour NMI of %s exceeds that of %s by %+.4f", candidate.start, reference.start, gain)
        return gain
