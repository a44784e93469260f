"""Initial labels: which feature sets to use, and which clustering algorithm, decided by the texts.

Candidates are the combinations of a mix of feature sets (the embedding with static word vectors and words at different
weights) and a start: k-means, which finds clusters of similar sizes, or average linkage, which finds clusters of very
different sizes. Points are averaged over neighbours before they are clustered. The candidate on which the feature sets
agree best (`agreement`) is chosen, and its labels are improved by cross-fitted rounds (`crossfit`). With many texts,
the choice is made on a random sample.

Texts may be distributed over processes. Each process passes the features of its own texts, and gets their labels; the
generator must be in the same state in all processes, before and after. The sample is gathered in the first process, and
up to `MAX_GATHERED_TEXTS` texts as well.

Agreement rates linkage a little too high. Where its lead over k-means is small, linkage must also be stable: random
samples of the texts must get the same clusters. With a single feature set, where there is no second opinion, stability
decides alone. Linkage whose largest cluster swallows the others (`linkage.is_collapsed`) is not taken.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import normalize

from rstc.pseudo_labels.agreement import Agreement, draw_partitions, measure_agreement
from rstc.pseudo_labels.constraints import align_with_partial_labels, fit_constrained_kmeans
from rstc.pseudo_labels.crossfit import crossfit
from rstc.pseudo_labels.features import EMBEDDING, MAX_GATHERED_TEXTS, Mix, TextFeatures, reduce_dimensions
from rstc.pseudo_labels.initialization_settings import UNDECIDED_WEIGHTS, InitializationSettings
from rstc.pseudo_labels.kmeans import fit_kmeans, fit_kmeans_with_swaps
from rstc.pseudo_labels.linkage import cluster_by_linkage, is_collapsed, is_linkage_stable
from rstc.pseudo_labels.neighbours import neighbour_nmi
from rstc.pseudo_labels.spectral import embed_neighbour_graph
from rstc.runtime.threads import draw_generators, limit_library_threads, parallel_map

logger = logging.getLogger("rstc")

SAMPLE_SIZE = 4000  # texts on which candidates are compared
SAMPLE_TEXTS_PER_CLUSTER = 25
COMPARISON_KMEANS_STARTS = 4
GRAPH_NEIGHBOURS = 16  # of the spectral start, the text itself included
DEFAULT_NEIGHBOURS = 10  # for neighbour NMI if points are not averaged over neighbours
CLEAR_LEAD = 0.02  # of linkage over k-means in agreement, relative

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Candidate:
    """A mix of feature sets with a start, and how well the feature sets agree on its clusters.

    Attributes
    ----------
    start : str
        "kmeans", "spectral" or "linkage".
    mix : dict of float
        Weight of each feature set beside the embedding.
    agreement : Agreement or None
        None if there was nothing to compare with.
    """

    start: str
    mix: dict[str, float]
    agreement: Agreement | None = None


@dataclass(frozen=True)
class InitialLabels:
    """Labels and how they were found.

    Attributes
    ----------
    labels : (n,) array
        Cluster of each text of this process.
    start : str
        "kmeans", "spectral", "linkage", "known" (k-means around the given classes), or "before" (the previous labels).
    eps2 : float
        Weight of the penalty on class sizes.
    b : (C,) array
        Class distribution of the transport; without rounds, the shares of the labels.
    agreement : float or None
        Share of texts whose out-of-fold prediction is their label; None without rounds.
    partial_label_accuracy : float or None
        Share of labelled texts whose out-of-fold prediction is the given label; None without partial labels.
    mix : dict of float
        Weight of each feature set beside the embedding.
    candidates : tuple of Candidate
        What was compared, the best first; empty if nothing was.
    """

    labels: Ints
    start: str
    eps2: float
    b: NDArray[np.float64]
    agreement: float | None
    partial_label_accuracy: float | None = None
    mix: dict[str, float] | None = None
    candidates: tuple[Candidate, ...] = ()


@limit_library_threads("blas")
def find_initial_labels(
    features: TextFeatures,
    n_clusters: int,
    settings: InitializationSettings,
    rng: np.random.Generator,
    partial_labels: Ints | None = None,
) -> InitialLabels:
    """Find labels of texts from their features.

    Parameters
    ----------
    features : TextFeatures
        The feature sets of the texts of this process.
    n_clusters : int
        Number of clusters.
    settings : InitializationSettings
        How to find labels.
    rng : numpy.random.Generator
        Random numbers for samples, k-means, linkage and folds.
    partial_labels : (N,) array or None
        Given class of each text, `constraints.UNLABELLED` for texts without a label; class c becomes label c. Not for
        texts that are distributed over processes.

    Returns
    -------
    InitialLabels

    >>> rng = np.random.default_rng(0)
    >>> E = np.repeat(np.eye(3, dtype=np.float32), 10, axis=0) + 0.1 * rng.random((30, 3), dtype=np.float32)
    >>> settings = InitializationSettings(
    ...     "auto", 10, True, True, words=0, static=0, neighbours=5, rounds=2, eps1=0.5, eps2=0.1
    ... )
    >>> initial = find_initial_labels(TextFeatures({"embedding": E}), 3, settings, rng)
    >>> sorted(np.bincount(initial.labels).tolist())
    [10, 10, 10]
    """
    if not features.processes.is_single and features.rows.n_rows <= MAX_GATHERED_TEXTS:
        return _find_in_first_process(features, n_clusters, settings, rng)
    features = _scale_embedding(features, settings)
    candidates = compare_candidates(features, n_clusters, settings, rng)
    best = candidates[0]
    search = LabelSearch.prepare(features, best.mix, n_clusters, settings, rng, partial_labels)
    if partial_labels is not None:
        return search.choose_by_partial_labels(settings.list_starts())
    return search.improve(best.start, search.cluster(best.start), candidates if best.agreement else ())


def _find_in_first_process(
    features: TextFeatures, n_clusters: int, settings: InitializationSettings, rng: np.random.Generator
) -> InitialLabels:
    """Find labels of texts of several processes as in one."""
    processes, gathered = features.processes, features.gather(None)

    def find() -> InitialLabels:
        assert gathered is not None
        return find_initial_labels(gathered, n_clusters, settings, rng)

    initial = processes.run_on_first(find)
    processes.sync_generator(rng)
    return replace(initial, labels=initial.labels[features.rows.local])


@limit_library_threads("blas")
def improve_labels(
    features: TextFeatures,
    labels: Ints,
    n_clusters: int,
    mix: Mix | None,
    settings: InitializationSettings,
    rng: np.random.Generator,
    partial_labels: Ints | None = None,
) -> InitialLabels:
    """Improve previous labels by cross-fitted rounds in another space.

    Parameters
    ----------
    features : TextFeatures
        The feature sets of n texts of this process, with their present embedding.
    labels : (n,) array
        Previous labels.
    n_clusters : int
        C.
    mix : mapping or None
        Weight of each feature set beside the embedding; None: `UNDECIDED_WEIGHTS`.
    settings : InitializationSettings
        How to find labels.
    rng : numpy.random.Generator
        Random numbers for folds.
    partial_labels : (N,) array or None
        Given class of each text.

    Returns
    -------
    InitialLabels
    """
    features = _scale_embedding(features, settings)
    mix = fill_undecided_mix(mix, features)
    search = LabelSearch.prepare(features, mix, n_clusters, settings, rng, partial_labels)
    return search.improve("before", labels)


def fill_undecided_mix(mix: Mix | None, features: TextFeatures) -> dict[str, float]:
    """Return the weights of feature sets; `UNDECIDED_WEIGHTS` if they were not decided."""
    if mix is None:
        return {name: UNDECIDED_WEIGHTS[name] for name in features.names if name != EMBEDDING}
    return dict(mix)


def compare_candidates(
    features: TextFeatures, n_clusters: int, settings: InitializationSettings, rng: np.random.Generator
) -> tuple[Candidate, ...]:
    """Compare mixes and starts, on a sample of the texts of all processes.

    Parameters
    ----------
    features : TextFeatures
        The feature sets of the texts of this process; the embedding has rows of length one.
    n_clusters : int
        Number of clusters.
    settings : InitializationSettings
        Which mixes and starts to compare.
    rng : numpy.random.Generator
        Random numbers for the sample, k-means, linkage and folds.

    Returns
    -------
    tuple of Candidate
        The best first.
    """
    mixes, starts = settings.list_mixes(features.names), settings.list_starts()
    if len(mixes) == len(starts) == 1:
        return (Candidate(starts[0], mixes[0]),)
    sample = features.gather_sample(max(SAMPLE_SIZE, SAMPLE_TEXTS_PER_CLUSTER * n_clusters), rng)

    def compare() -> tuple[Candidate, ...]:
        assert sample is not None
        return _compare_on_sample(sample, mixes, starts, n_clusters, settings, rng)

    candidates = features.processes.run_on_first(compare)
    features.processes.sync_generator(rng)
    return candidates


def _compare_on_sample(
    features: TextFeatures,
    mixes: list[dict[str, float]],
    starts: list[str],
    n_clusters: int,
    settings: InitializationSettings,
    rng: np.random.Generator,
) -> tuple[Candidate, ...]:
    """Compare mixes and starts on texts of a single process."""
    if len(features.names) == 1:
        search = LabelSearch.prepare(features, mixes[0], n_clusters, settings, rng)
        return (Candidate("linkage" if is_linkage_stable(search.points, n_clusters, rng) else "kmeans", mixes[0]),)
    settings = replace(settings, kmeans_starts=min(settings.kmeans_starts, COMPARISON_KMEANS_STARTS))
    partitions = draw_partitions(features, rng)

    def rate(mix: dict[str, float], mix_rng: np.random.Generator) -> list[tuple[bool, float, Candidate]]:
        search = LabelSearch.prepare(features, mix, n_clusters, settings, mix_rng)
        rated = []
        for start in starts:
            labels = search.cluster(start)
            agreement, collapsed = measure_agreement(features, labels, n_clusters, partitions), False
            if start == "linkage":
                collapsed = is_collapsed(labels, n_clusters)
            rated.append((collapsed, agreement.product, Candidate(start, mix, agreement)))
            message = "%s with %s: agreement %.4f, largest cluster %.2f of the texts"
            logger.info(message, start, mix, agreement.product, np.bincount(labels).max() / len(labels))
        return rated

    jobs = list(zip(mixes, draw_generators(rng, len(mixes)), strict=True))
    scored = [entry for rated in parallel_map(lambda job: rate(*job), jobs) for entry in rated]
    # A clustering that has collapsed is easily predicted, because it says little; it is taken if all have.
    scored.sort(key=lambda entry: (entry[0], -entry[1]))
    candidates = [candidate for _, _, candidate in scored]
    rival = next((i for i, candidate in enumerate(candidates) if candidate.start != "linkage"), 0)
    # Agreement rates linkage a little too high. Where its lead is small, linkage must be stable as well.
    if rival > 0 and scored[0][1] < (1 + CLEAR_LEAD) * scored[rival][1]:
        embedding_only = dict.fromkeys(candidates[0].mix, 0.0)
        points = LabelSearch.prepare(features, embedding_only, n_clusters, settings, rng).points
        if not is_linkage_stable(points, n_clusters, rng):
            candidates.insert(0, candidates.pop(rival))
    return tuple(candidates)


@dataclass(frozen=True)
class LabelSearch:
    """Clusters the points of one mix, and improves labels.

    Attributes
    ----------
    features : TextFeatures
        The feature sets of n texts of this process.
    mix : mapping
        Weight of each feature set beside the embedding.
    neighbours : (n, k) array
        Neighbours of each text by the mix, itself included, most similar first, as rows among all texts.
    averaged : (n, k) array or None
        Those that points and predictions are averaged over; None: nothing is averaged.
    points : (n, D) array
        Points that k-means and linkage cluster.
    partial_labels : (n,) array or None
        Given class of each text.
    """

    features: TextFeatures
    mix: Mix
    neighbours: Ints
    averaged: Ints | None
    points: Floats
    n_clusters: int
    settings: InitializationSettings
    rng: np.random.Generator
    partial_labels: Ints | None

    @classmethod
    def prepare(
        cls,
        features: TextFeatures,
        mix: Mix,
        n_clusters: int,
        settings: InitializationSettings,
        rng: np.random.Generator,
        partial_labels: Ints | None = None,
    ) -> LabelSearch:
        """Find the neighbours and compute the points."""
        # More neighbours than half a cluster of mean size would blur the small clusters.
        k = min(settings.neighbours, max(features.rows.n_rows // (2 * n_clusters), 1))
        neighbours = features.find_neighbours(mix, max(k, GRAPH_NEIGHBOURS))
        averaged = neighbours[:, :k] if k else None
        points = features.build_points(mix, averaged)
        return cls(features, mix, neighbours, averaged, points, n_clusters, settings, rng, partial_labels)

    def cluster(self, start: str) -> Ints:
        """Cluster by "kmeans", "spectral" or "linkage"; with partial labels, number the clusters after the classes."""
        if start == "linkage":
            labels = cluster_by_linkage(self.points, self.n_clusters, self.rng, self.features.processes)
        else:
            points = self._embed_graph() if start == "spectral" else None
            if points is None:
                points = reduce_dimensions(self.points, self.features.processes)
            labels = self._run_kmeans(points)
        if self.partial_labels is None:
            return labels
        return align_with_partial_labels(labels, self.partial_labels, self.n_clusters)

    def improve(self, start: str, labels: Ints, candidates: tuple[Candidate, ...] = ()) -> InitialLabels:
        """Improve labels by cross-fitted rounds, with eps2 for the sizes of their clusters."""
        C, settings = self.n_clusters, self.settings
        sizes = self.features.processes.all_reduce_array(np.bincount(labels, minlength=C))
        eps2, mix = settings.choose_eps2(sizes), dict(self.mix)
        if not settings.rounds:
            return InitialLabels(labels, start, eps2, sizes / sizes.sum(), None, mix=mix, candidates=candidates)
        result = crossfit(
            self.features,
            self.averaged,
            labels,
            C,
            settings.eps1,
            eps2,
            settings.rounds,
            self.rng,
            self.partial_labels,
        )
        accuracy = result.partial_label_accuracy
        return InitialLabels(
            result.labels, start, eps2, result.transport.b, result.agreement, accuracy, mix, candidates
        )

    def choose_by_partial_labels(self, starts: list[str]) -> InitialLabels:
        """Return the labels of the best start, with constrained k-means as an additional start.

        The score is the accuracy of out-of-fold predictions on the labelled texts, plus neighbour NMI.
        """
        assert self.partial_labels is not None
        results = [self.improve(start, self.cluster(start)) for start in starts]
        points = np.asarray(normalize(self.points), dtype=np.float32)
        constrained = fit_constrained_kmeans(points, self.partial_labels, self.n_clusters, self.rng)
        results.append(self.improve("known", constrained))
        k = DEFAULT_NEIGHBOURS if self.averaged is None else max(self.averaged.shape[1], 2)
        neighbours = self.neighbours[:, :k]
        scores = [
            (result.partial_label_accuracy or 0.0) + neighbour_nmi(result.labels, neighbours) for result in results
        ]
        for result, score in zip(results, scores, strict=True):
            accuracy = result.partial_label_accuracy
            logger.info("%s: accuracy on partial labels %s, with neighbour NMI %.4f", result.start, accuracy, score)
        return results[int(np.argmax(scores))]

    def _run_kmeans(self, points: Floats) -> Ints:
        fit = fit_kmeans_with_swaps if self.settings.swaps else fit_kmeans
        processes = self.features.processes
        return fit(points, self.n_clusters, self.rng, self.settings.kmeans_starts, processes=processes).labels

    def _embed_graph(self) -> Floats | None:
        """Return the points of the spectral start; None if it fails.

        The first process gathers the neighbour graph of all texts, and no vectors.
        """
        points, rows, processes = (
            self.features.build_points(self.mix, None),
            self.features.rows,
            self.features.processes,
        )
        columns = [(points * rows.fetch(points, column)).sum(1) for column in self.neighbours.T]
        neighbours, similarities = rows.gather(self.neighbours), rows.gather(np.stack(columns, axis=1))

        def embed() -> Floats | None:
            assert neighbours is not None
            assert similarities is not None
            return embed_neighbour_graph(neighbours, similarities, self.n_clusters, self.rng)

        embedded = processes.run_on_first(embed)
        processes.sync_generator(self.rng)
        return None if embedded is None else embedded[rows.local]


def _scale_embedding(features: TextFeatures, settings: InitializationSettings) -> TextFeatures:
    """Scale the embeddings to length one if `unit_length` is set."""
    if not settings.unit_length:
        return features
    return features.replace_embedding(np.asarray(normalize(features.embedding), dtype=np.float32))
