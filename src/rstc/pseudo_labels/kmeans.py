"""k-means: of several random starts the best, each improved by swaps until none helps if that is wished."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits
from torch import Tensor

from rstc.runtime.distributed import ALONE, Ranks, own_rows, own_slice

TEXTS_TO_COMPETE_ON = 20_000
CLUSTERS_TO_START = 100  # over all runs that swap: where clusters are many, a run has as many chances to swap
SWAPS_TO_TRY = 6  # before the clusters are taken as they are
LLOYD_STEPS = 15  # after a swap, to see whether it helps
HALVING_STEPS = 8
LEAST_GAIN = 1e-5  # a swap that helps less does not help
MOST_LLOYD_STEPS = 300  # where k-means is not cut short; both as scikit-learn has it
LEAST_SHIFT = 1e-4  # of the centres, beside the variance, below which they have come to rest
ROWS_A_PIECE = 8192


@dataclass(frozen=True)
class Clustering:
    """Labels (N,), the cluster centres (C, D) they belong to, and the sum of squared distances to them."""

    labels: NDArray[np.int64]
    centres: NDArray[np.float32]
    inertia: float


def fitted(kmeans: KMeans, points: NDArray[np.float32] | csr_matrix) -> KMeans:
    """Fit k-means on one thread: several add up in the order they finish, one gives the same bits for the same seed."""
    with threadpool_limits(limits=1, user_api="openmp"), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of equal points, for which fewer clusters will do
        return kmeans.fit(points)


def kmeans_labels(
    E: NDArray[np.float32], n_clusters: int, rng: np.random.Generator, starts: int, ranks: Ranks = ALONE
) -> Clustering:
    """Cluster embeddings (N, D) by k-means++, the best of `starts` runs.

    With many texts the runs compete on a random sample, and the best one's centres are then moved on all of them. Of
    several processes each gives its own rows and gets their labels; the first one has the sample, and nobody all rows.

    >>> E = np.array([[0.0], [0.1], [5.0], [5.1]], dtype=np.float32)
    >>> found = kmeans_labels(E, 2, np.random.default_rng(0), starts=1).labels
    >>> bool(found[0] == found[1] != found[2] == found[3])
    True
    """
    kmeans = KMeans(n_clusters, n_init=starts, random_state=int(rng.integers(2**31)))
    rows = _to_compete_on(int(ranks.total(len(E))), n_clusters, rng)
    sample = ranks.rows_at_first(torch.from_numpy(E if rows is None else E[own_rows(rows, len(E), ranks)]))
    best = ranks.at_first(lambda: _clustering(fitted(kmeans, sample.numpy())))  # type: ignore[union-attr]
    if rows is None:
        return replace(best, labels=best.labels[own_slice(len(E), ranks)])
    return _moved(E, best.centres) if ranks.alone else _moved_together(E, best.centres, ranks)


def swapped_kmeans(points: NDArray[np.float32], n_clusters: int, rng: np.random.Generator, starts: int) -> Clustering:
    """Cluster points (N, D) by k-means++, then repair it: where it cut one crowd in two and left two in one cluster.

    A swap merges the two clusters that lose least by it and splits the one that gains most; it is kept if k-means from
    there ends better than before. The best of several runs stays, at most `starts`; where clusters are many, a run has
    many swaps to try and fewer runs do. So more seeds end in the same clusters. With many texts this happens on a
    random sample, and the centres are then moved on all of them.

    >>> points = np.array([[0.0], [0.1], [5.0], [5.1], [9.0], [9.1]], dtype=np.float32)
    >>> swapped_kmeans(points, 3, np.random.default_rng(0), starts=1).labels.tolist() in [[a, a, b, b, c, c]
    ...     for a in range(3) for b in range(3) for c in range(3)]
    True
    """
    rows = _to_compete_on(len(points), n_clusters, rng)
    sample = points if rows is None else points[rows]
    runs = max(1, min(starts, CLUSTERS_TO_START // n_clusters))
    best = min((_without_helpful_swap(sample, n_clusters, rng) for _ in range(runs)), key=lambda run: run.inertia)
    return best if sample is points else _moved(points, best.centres)


def _without_helpful_swap(points: NDArray[np.float32], n_clusters: int, rng: np.random.Generator) -> Clustering:
    """Run k-means once and swap until no swap helps."""
    best = kmeans_labels(points, n_clusters, rng, starts=1)
    while (better := _swapped(points, best)) is not None:
        best = better
    return best


def _to_compete_on(n: int, n_clusters: int, rng: np.random.Generator) -> NDArray[np.int64] | None:
    """Return a random sample of n rows where there are many; None: all of them."""
    enough = max(TEXTS_TO_COMPETE_ON, 10 * n_clusters)
    return None if n <= enough else np.sort(rng.choice(n, enough, replace=False))


def _swapped(points: NDArray[np.float32], found: Clustering) -> Clustering | None:
    """Return what the first swap that helps leads to, of the few that promise most."""
    sizes = np.bincount(found.labels, minlength=len(found.centres)).astype(np.float64)
    halves = [_halves(points[found.labels == cluster]) for cluster in range(len(sizes))]
    gains = np.array([_between(*pair) for pair in halves])
    squared = (found.centres**2).sum(1)
    distances = np.maximum(squared[:, None] + squared - 2 * found.centres @ found.centres.T, 0)
    costs = distances * sizes[:, None] * sizes / np.maximum(sizes[:, None] + sizes, 1)
    costs[np.tril_indices(len(sizes))] = np.inf
    for _, a, b, split in sorted(_promising(costs, gains), reverse=True)[:SWAPS_TO_TRY]:
        centres = found.centres.copy()
        centres[a] = (sizes[a] * centres[a] + sizes[b] * centres[b]) / max(sizes[a] + sizes[b], 1)
        centres[split], centres[b] = (half.mean(0) for half in halves[split])
        trial = _moved(points, centres, LLOYD_STEPS)
        if trial.inertia < found.inertia * (1 - LEAST_GAIN):
            return trial
    return None


def _promising(costs: NDArray[np.float64], gains: NDArray[np.float64]) -> Iterator[tuple[float, int, int, int]]:
    """Yield swaps as (gain, the two to merge, the one to split), from the cheapest merges and the best splits."""
    cheapest = np.argsort(costs, axis=None)[: SWAPS_TO_TRY * len(gains)]
    for a, b in zip(*np.unravel_index(cheapest, costs.shape), strict=True):
        for split in np.argsort(-gains)[:SWAPS_TO_TRY]:
            if split not in (a, b) and gains[split] > 0 and np.isfinite(costs[a, b]):
                yield float(gains[split] - costs[a, b]), int(a), int(b), int(split)


def _halves(points: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Split points in two by 2-means, begun across their longest direction."""
    centred = points - points.mean(0) if len(points) else points
    direction = centred[np.argmax((centred**2).sum(1))] if len(points) else np.zeros(points.shape[1], np.float32)
    for _ in range(HALVING_STEPS):  # power iteration
        direction = centred.T @ (centred @ direction)
        direction /= max(float(np.linalg.norm(direction)), 1e-12)
    side = centred @ direction > 0
    for _ in range(HALVING_STEPS):
        if side.all() or not side.any():
            break
        one, other = points[side].mean(0), points[~side].mean(0)
        side = points @ (one - other) > (one @ one - other @ other) / 2
    return points[side], points[~side]


def _between(one: NDArray[np.float32], other: NDArray[np.float32]) -> float:
    """Return by how much the squared distances shrink if two groups have a centre each instead of a common one."""
    if not len(one) or not len(other):
        return 0.0
    difference = one.mean(0) - other.mean(0)
    return float(len(one) * len(other) / (len(one) + len(other)) * (difference @ difference))


def _moved(points: NDArray[np.float32], centres: NDArray[np.float32], steps: int = MOST_LLOYD_STEPS) -> Clustering:
    """Return k-means from given centres on."""
    return _clustering(fitted(KMeans(len(centres), init=centres, n_init=1, max_iter=steps), points))


def _moved_together(points: NDArray[np.float32], centres: NDArray[np.float32], ranks: Ranks) -> Clustering:
    """Return k-means from given centres on, of rows that are spread over processes: sums over texts are all it needs.

    It stops where scikit-learn does. The centres come from a sample of these rows, so none of them is left alone.
    """
    X, C = torch.from_numpy(points), torch.from_numpy(centres).double()
    n = ranks.total(len(X))
    total, squares = ranks.sum(X.sum(0, dtype=torch.float64)), ranks.total(float(X.double().pow(2).sum()))
    least_shift = LEAST_SHIFT * (squares / n - float((total / n).pow(2).sum())) / X.shape[1]
    for _ in range(MOST_LLOYD_STEPS):
        labels, _ = _nearest(X, C)
        sums = ranks.sum(torch.zeros_like(C).index_add_(0, labels, X.double()))
        sizes = ranks.sum(labels.bincount(minlength=len(C)))[:, None]
        moved = torch.where(sizes > 0, sums / sizes.clamp(min=1), C)
        shift, C = float((moved - C).pow(2).sum()), moved
        if shift <= least_shift:
            break
    labels, distances = _nearest(X, C)
    return Clustering(labels.numpy(), C.float().numpy(), ranks.total(float(distances.sum())))


def _nearest(X: Tensor, C: Tensor) -> tuple[Tensor, Tensor]:
    """Return the nearest of centres (C, D) for each row (n, D), and its squared distance."""
    distances, labels = zip(*(torch.cdist(piece.double(), C).min(1) for piece in X.split(ROWS_A_PIECE)), strict=True)
    return torch.cat(labels), torch.cat(distances).pow(2)


def _clustering(kmeans: KMeans) -> Clustering:
    centres = kmeans.cluster_centers_.astype(np.float32)
    return Clustering(kmeans.labels_.astype(np.int64), centres, float(kmeans.inertia_))
