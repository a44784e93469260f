"""Novelty detection: groups of new texts that fit none of the clusters of the earlier texts.

    novelty      of a new text: its mean similarity to its k most similar new texts, minus that to its k most similar
                 earlier texts
    threshold    a quantile of the same difference for earlier texts, each part of them compared with the others as if
                 it had arrived later: a known share of texts like the earlier ones exceeds it
    groups       of the texts above the threshold: the largest subtrees of average linkage that are about as cohesive
                 as a cluster, each with the other new texts that are nearer to its mean than to any cluster's

A group is novel if its texts are much more frequent among the new texts than among the earlier ones, and if it is found
again in most resamples of the texts. A cluster that merely grew is not: its texts are similar to earlier ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log2

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import ClusterNode, linkage, to_tree
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import normalize

N_NEIGHBOURS = 3  # k
LISTED_NEIGHBOURS = 12  # of each text: about two thirds of them are in a resample
FLAGGED_SHARE = 0.1  # of texts like the earlier ones
MEMBER_QUANTILE = 0.5  # of the novelty of earlier texts, which every text of a group exceeds
MAX_PARTS = 5  # of the earlier texts, that are compared with the others
MAX_PART_SIZE = 2_000
MAX_FLAGGED = 3_000  # texts that are linked, as the similarity of each pair is computed
MIN_SIZE = 5
MIN_FLAGGED = (
    0.3  # share above the threshold of the new texts that are nearest to a group: of a cluster that grew it is
)
# about `FLAGGED_SHARE`
MIN_COHESION = 0.6  # of a cluster's: mean similarity of its texts, less that of random pairs
MIN_RATE_RATIO = 3.0  # share of the new texts in a group, by the share of the earlier texts that are as near to it
MAX_LIKENESS = 0.9  # mean similarity of a group to a cluster, by that within it, beyond which they are the same
MIN_TIGHTNESS = 0.7  # mean similarity within such a cluster, by that within the group: of a diffuse one it says nothing
MIN_STABILITY = 0.7
N_RESAMPLES = 20
RESAMPLED_SHARE = 0.7
FOUND_JACCARD = 0.5

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class NovelGroup:
    """A group of new texts that fit no cluster.

    Attributes
    ----------
    rows : (n,) array
        Indices of its texts among the new ones, the most typical first.
    stability : float
        Share of the resamples that found it again.
    near : int
        The cluster with the nearest mean.
    """

    rows: Ints
    stability: float
    near: int


def find_novel_groups(
    U_old: Floats, labels: Ints, U_new: Floats, rng: np.random.Generator, n_resamples: int = N_RESAMPLES
) -> list[NovelGroup]:
    """Find groups of new texts that fit none of the clusters of earlier texts.

    Equal texts should be passed once, as a text that was sent many times is no group.

    Parameters
    ----------
    U_old : (N, D) array
        Embeddings of the earlier texts, of length one.
    labels : (N,) array
        Their clusters; negative for outliers.
    U_new : (M, D) array
        Embeddings of the new texts, of length one.
    rng : numpy.random.Generator
        Draws the resamples.
    n_resamples : int
        Number of resamples that measure stability.

    Returns
    -------
    list of NovelGroup
        The largest first; empty if nothing is new.
    """
    clustered = labels >= 0
    min_size = choose_min_size(len(U_old) + len(U_new))
    if len(U_new) < min_size or len(U_old) < 2 * MIN_SIZE or not clustered.any():
        return []
    search = _Search.prepare(U_old, labels, U_new, min_size, rng)
    every = np.ones(len(U_new), dtype=bool)
    groups = search.find(every, np.ones(len(U_old), dtype=bool))
    if not groups:
        return []
    n_found = np.zeros(len(groups))
    for _ in range(n_resamples):
        is_drawn = rng.random(len(U_new)) < RESAMPLED_SHARE
        found = search.find(is_drawn, rng.random(len(U_old)) < RESAMPLED_SHARE)
        for i, group in enumerate(groups):
            part = group[is_drawn[group]]
            n_found[i] += any(_jaccard(part, other) > FOUND_JACCARD for other in found)
    stability = n_found / max(n_resamples, 1)
    novel = [
        NovelGroup(search.order_by_typicality(group), float(share), search.find_nearest_cluster(group))
        for group, share in zip(groups, stability, strict=True)
        if share >= MIN_STABILITY
    ]
    return sorted(novel, key=lambda group: -len(group.rows))


def choose_min_size(n_texts: int) -> int:
    """Return the size from which a group is proposed as a cluster; it grows with the logarithm of the number of texts.

    >>> [choose_min_size(n) for n in (100, 1_000, 10_000, 100_000)]
    [5, 8, 11, 15]
    """
    return max(MIN_SIZE, round(log2(max(n_texts, 1))) - 2)


@dataclass(frozen=True)
class _Neighbours:
    """The most similar texts of each text: their similarity and their rows, (n, LISTED_NEIGHBOURS)."""

    similarity: Doubles
    rows: Ints


@dataclass(frozen=True)
class _Search:
    """What a search for groups needs of all texts; a resample takes a part of it."""

    U_old: Floats
    U_new: Floats
    to_new: _Neighbours  # of the new texts
    to_old: _Neighbours
    centroids: Floats  # of the clusters, of length one
    cluster_means: Floats
    clusters: Ints  # their numbers
    threshold: float  # of the novelty, above which texts are grouped
    member_threshold: float  # above which texts join a group
    min_cohesion: float
    min_size: int

    @classmethod
    def prepare(cls, U_old: Floats, labels: Ints, U_new: Floats, min_size: int, rng: np.random.Generator) -> _Search:
        threshold, member_threshold = _calibrate(U_old, len(U_new), rng)
        clusters = np.unique(labels[labels >= 0])
        means = np.stack([U_old[labels == cluster].mean(0) for cluster in clusters])
        cohesion = [_mean_similarity(U_old[labels == cluster]) for cluster in clusters]
        sizes = np.array([(labels == cluster).sum() for cluster in clusters])
        random = _mean_similarity(U_old)
        typical = float(np.median(np.array(cohesion)[sizes > 1])) if (sizes > 1).any() else random
        return cls(
            U_old,
            U_new,
            _list_neighbours(U_new, None),
            _list_neighbours(U_new, U_old),
            np.asarray(normalize(means), dtype=np.float32),
            means,
            clusters,
            threshold,
            member_threshold,
            random + MIN_COHESION * max(typical - random, 0),
            min_size,
        )

    def find(self, is_drawn: NDArray[np.bool_], is_drawn_old: NDArray[np.bool_]) -> list[Ints]:
        """Return the groups in a part of the new texts (M,) and of the earlier ones (N,), as rows of the new texts."""
        novelty = _measure_novelty(self.to_new, self.to_old, is_drawn, is_drawn_old)
        flagged = np.flatnonzero(is_drawn & (novelty > self.threshold))
        flagged = flagged[np.argsort(-novelty[flagged], kind="stable")][:MAX_FLAGGED]
        min_size = max(MIN_SIZE, round(self.min_size * is_drawn.mean()))
        if len(flagged) < MIN_SIZE:
            return []
        cores = _find_cohesive_subtrees(self.U_new[flagged], self.min_cohesion)
        cores = [flagged[core] for core in cores if len(core) >= max(MIN_SIZE // 2 + 1, min_size // 2)]
        if not cores:
            return []
        means = np.asarray(normalize(np.stack([self.U_new[core].mean(0) for core in cores])), dtype=np.float32)
        to_groups = self.U_new @ means.T  # (M, G)
        is_nearer = is_drawn & (to_groups.max(1) > (self.U_new @ self.centroids.T).max(1))
        groups = []
        for i in range(len(cores)):
            nearest = np.flatnonzero(is_nearer & (to_groups.argmax(1) == i))
            group = nearest[novelty[nearest] > self.member_threshold]
            if (
                len(group) >= min_size
                and (novelty[nearest] > self.threshold).mean() >= MIN_FLAGGED
                and _mean_similarity(self.U_new[group]) >= self.min_cohesion
                and not self._resembles_a_cluster(group)
                and self._is_new(group, int(is_drawn.sum()), is_drawn_old)
            ):
                groups.append(group)
        return groups

    def _resembles_a_cluster(self, group: Ints) -> bool:
        """Return whether a group is nearly as similar to a cluster as this cluster's texts are to each other."""
        mean = self.U_new[group].mean(0)
        within = (self.cluster_means**2).sum(1)
        is_alike = self.cluster_means @ mean >= MAX_LIKENESS * within
        return bool((is_alike & (within >= MIN_TIGHTNESS * (mean @ mean))).any())

    def _is_new(self, group: Ints, n_new: int, is_drawn_old: NDArray[np.bool_]) -> bool:
        """Return whether a group is much more frequent among the new texts than near texts among the earlier ones."""
        total = self.U_new[group].sum(0)
        left_out = normalize(total - self.U_new[group])  # the mean of the others, as a text attracts the mean
        radius = np.median((left_out * self.U_new[group]).sum(1))
        U_old = self.U_old[is_drawn_old]
        n_near = int((U_old @ (total / np.linalg.norm(total)) >= radius).sum())
        return bool(len(group) / 2 / n_new >= MIN_RATE_RATIO * n_near / len(U_old))

    def order_by_typicality(self, group: Ints) -> Ints:
        """Return the rows of a group, those nearest to its mean first."""
        U = self.U_new[group]
        return group[np.argsort(-(U @ U.mean(0)), kind="stable")]

    def find_nearest_cluster(self, group: Ints) -> int:
        """Return the cluster whose mean is nearest to that of a group."""
        return int(self.clusters[(self.centroids @ self.U_new[group].mean(0)).argmax()])


def _calibrate(U_old: Floats, n_new: int, rng: np.random.Generator) -> tuple[float, float]:
    """Return the quantiles of the novelty of earlier texts that flag texts, and that members of a group exceed."""
    size = min(n_new, len(U_old) // 2, MAX_PART_SIZE)
    order = rng.permutation(len(U_old))
    values = []
    for start in range(0, min(len(U_old) - size + 1, MAX_PARTS * size), size):
        part, rest = order[start : start + size], np.delete(order, np.s_[start : start + size])
        values.append(_measure_novelty(_list_neighbours(U_old[part], None), _list_neighbours(U_old[part], U_old[rest])))
    flagging, joining = np.quantile(np.concatenate(values), [1 - FLAGGED_SHARE, MEMBER_QUANTILE])
    return float(flagging), float(joining)


def _list_neighbours(U: Floats, others: Floats | None) -> _Neighbours:
    """List the most similar ones of other texts, or of the same texts without the text itself."""
    reference = U if others is None else others
    n_listed = min(LISTED_NEIGHBOURS, len(reference) - (others is None))
    if n_listed < 1:
        return _Neighbours(np.zeros((len(U), 0)), np.zeros((len(U), 0), dtype=np.int64))
    search = NearestNeighbors(n_neighbors=n_listed, algorithm="brute").fit(reference)
    distances, rows = search.kneighbors(None if others is None else U)
    return _Neighbours(1 - distances.astype(np.float64) ** 2 / 2, rows.astype(np.int64))


def _measure_novelty(
    to_new: _Neighbours,
    to_old: _Neighbours,
    is_drawn: NDArray[np.bool_] | None = None,
    is_drawn_old: NDArray[np.bool_] | None = None,
) -> Doubles:
    """Return the mean similarity of texts to the nearest new texts, minus that to the nearest earlier ones, (n,)."""
    return _average_nearest(to_new, is_drawn) - _average_nearest(to_old, is_drawn_old)


def _average_nearest(neighbours: _Neighbours, is_drawn: NDArray[np.bool_] | None) -> Doubles:
    """Return the mean similarity to the first `N_NEIGHBOURS` neighbours that are drawn; zero without any."""
    rows = neighbours.rows
    is_used = np.ones(rows.shape, dtype=bool) if is_drawn is None else is_drawn[rows]
    is_used &= is_used.cumsum(1) <= N_NEIGHBOURS
    return np.asarray((neighbours.similarity * is_used).sum(1) / np.maximum(is_used.sum(1), 1))


def _find_cohesive_subtrees(U: Floats, min_cohesion: float) -> list[Ints]:
    """Return the largest subtrees of average linkage of texts (n, D) whose mean similarity reaches a minimum."""
    found: list[Ints] = []
    nodes: list[ClusterNode] = [to_tree(linkage(U.astype(np.float64), "average", metric="cosine"))]
    while nodes:
        node = nodes.pop()
        if node.is_leaf():
            continue
        rows = np.array(node.pre_order(), dtype=np.int64)
        if _mean_similarity(U[rows]) >= min_cohesion:
            found.append(rows)
        else:
            nodes += [node.left, node.right]
    return found


def _mean_similarity(U: Floats) -> float:
    """Return the mean similarity of all pairs of different texts (n, D); 1 for a single one."""
    n = len(U)
    if n < 2:
        return 1.0
    total = U.sum(0, dtype=np.float64)
    return float((total @ total - n) / (n * (n - 1)))


def _jaccard(first: Ints, second: Ints) -> float:
    shared = len(np.intersect1d(first, second))
    return shared / max(len(first) + len(second) - shared, 1)
