"""k-means: the best of several k-means++ runs, optionally improved by swaps of clusters.

A swap merges the two clusters whose merge increases the inertia (the sum of squared distances to the centres) least,
and splits the cluster whose split decreases it most:

    merge cost of a and b   = n_a n_b / (n_a + n_b) |c_a - c_b|^2
    split gain into u and v = n_u n_v / (n_u + n_v) |c_u - c_v|^2
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import cast

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn import config_context
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from torch import Tensor

from rstc.runtime.distributed import SINGLE_PROCESS, ProcessGroup
from rstc.runtime.distributed_rows import DistributedRows
from rstc.runtime.threads import draw_generators, limit_library_threads, parallel_map

SAMPLE_SIZE = 20_000  # of larger data, a random sample of this size is used to choose the best run
MAX_SWAP_CENTRES = 100  # over all runs with swaps: with many clusters, one run already tries many swaps
MAX_SWAP_TRIALS = 6  # swaps that are tried before the search ends
MAX_SPLIT_CLUSTERS = 2 * MAX_SWAP_TRIALS  # clusters whose split is considered
MAX_LISTED_MERGES = 4 * MAX_SWAP_TRIALS  # merges that are considered; a swap cannot merge the cluster that it splits
SWAP_LLOYD_STEPS = 15  # Lloyd steps after a swap, before the inertias are compared
SPLIT_STEPS = 5  # of power iteration, and of 2-means
MIN_SWAP_GAIN = 1e-5  # relative decrease of the inertia for which a swap is accepted
MAX_LLOYD_STEPS = 300  # scikit-learn's default
TOLERANCE = 1e-4  # scikit-learn's default: squared shift of the centres relative to the mean variance
BLOCK_ROWS = 8192

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Clustering:
    """A k-means clustering.

    Attributes
    ----------
    labels : (N,) array
        Cluster of each point.
    centres : (C, D) array
        Mean of each cluster's points.
    inertia : float
        Sum of squared distances to the centres.
    """

    labels: NDArray[np.int64]
    centres: Floats
    inertia: float


def fit_single_threaded(kmeans: KMeans, points: Floats | csr_matrix) -> KMeans:
    """Fit k-means on one thread: several threads add up in varying order, which changes the last bits."""
    with limit_library_threads("openmp"), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # raised if there are fewer distinct points than clusters
        return kmeans.fit(points)


def _fit_validated(kmeans: KMeans, points: Floats) -> Clustering:
    """Fit k-means to points that were validated where they entered: to do it again takes longer than many a fit."""
    with config_context(assume_finite=True, skip_parameter_validation=True):
        fit_single_threaded(kmeans, points)
    centres = kmeans.cluster_centers_.astype(np.float32)
    return Clustering(kmeans.labels_.astype(np.int64), centres, float(kmeans.inertia_))


def fit_kmeans(
    E: Floats, n_clusters: int, rng: np.random.Generator, starts: int, processes: ProcessGroup = SINGLE_PROCESS
) -> Clustering:
    """Cluster points by k-means++, the best of several runs.

    With many points, the runs are made on a random sample, and the centres of the best run are refined on all points.
    With several processes, the sample is gathered in the first one; no process holds all points.

    Parameters
    ----------
    E : (N, D) array
        Points of this process.
    n_clusters : int
        Number of clusters.
    rng : numpy.random.Generator
        Draws the sample and seeds k-means++.
    starts : int
        Number of runs.
    processes : ProcessGroup
        The processes that the points are distributed over.

    Returns
    -------
    Clustering
        Labels of this process's points, and the centres and inertia of all.

    >>> E = np.array([[0.0], [0.1], [5.0], [5.1]], dtype=np.float32)
    >>> labels = fit_kmeans(E, 2, np.random.default_rng(0), starts=1).labels
    >>> bool(labels[0] == labels[1] != labels[2] == labels[3])
    True
    """
    kmeans = KMeans(n_clusters, n_init=starts, random_state=int(rng.integers(2**31)))
    return _search_in_sample(E, n_clusters, rng, lambda sample: _fit_validated(kmeans, sample), processes)


def fit_kmeans_with_swaps(
    points: Floats,
    n_clusters: int,
    rng: np.random.Generator,
    starts: int,
    max_trials: int = MAX_SWAP_TRIALS,
    processes: ProcessGroup = SINGLE_PROCESS,
) -> Clustering:
    """Cluster points by k-means++ and swap clusters until no swap lowers the inertia; the best of several runs.

    k-means++ may place one centre in two dense regions and two in another. Swaps repair this, so that the result
    depends less on the seed. With many clusters, fewer runs are made, because each tries many swaps. With many points,
    the search is made on a random sample, and its centres are refined on all points.

    Parameters
    ----------
    points : (N, D) array
        Points of this process.
    n_clusters : int
        Number of clusters.
    rng : numpy.random.Generator
        Draws the sample and seeds k-means++.
    starts : int
        Largest number of runs.
    max_trials : int
        Number of swaps in a row that do not lower the inertia after which a run ends.
    processes : ProcessGroup
        The processes that the points are distributed over, as for `fit_kmeans`.

    Returns
    -------
    Clustering
        Labels of this process's points, and the centres and inertia of all.

    >>> points = np.array([[0.0], [0.1], [5.0], [5.1], [9.0], [9.1]], dtype=np.float32)
    >>> fit_kmeans_with_swaps(points, 3, np.random.default_rng(0), starts=1).labels.tolist() in [[a, a, b, b, c, c]
    ...     for a in range(3) for b in range(3) for c in range(3)]
    True
    """
    runs = max(1, min(starts, MAX_SWAP_CENTRES // n_clusters))

    def search(sample: Floats) -> Clustering:
        generators = draw_generators(rng, runs)
        results = parallel_map(lambda run_rng: _run_with_swaps(sample, n_clusters, run_rng, max_trials), generators)
        return min(results, key=lambda run: run.inertia)

    return _search_in_sample(points, n_clusters, rng, search, processes)


def run_lloyd(
    points: Floats, centres: Floats, steps: int = MAX_LLOYD_STEPS, processes: ProcessGroup = SINGLE_PROCESS
) -> Clustering:
    """Run Lloyd's algorithm from given centres (C, D) on points (n, D) that may be distributed over processes."""
    if not processes.is_single:
        return _run_lloyd_distributed(points, centres, steps, processes)
    return _fit_validated(KMeans(len(centres), init=centres, n_init=1, max_iter=steps), points)


def _search_in_sample(
    points: Floats,
    n_clusters: int,
    rng: np.random.Generator,
    search: Callable[[Floats], Clustering],
    processes: ProcessGroup,
) -> Clustering:
    """Search clusters in a sample of all points, in the first process, and refine the centres on all points."""
    rows = DistributedRows.from_local_count(len(points), processes)
    sample_rows, size = None, max(SAMPLE_SIZE, 10 * n_clusters)
    if rows.n_rows > size:
        sample_rows = np.sort(rng.choice(rows.n_rows, size, replace=False))
    sample = rows.gather(points, sample_rows)
    best = processes.run_on_first(lambda: search(cast(Floats, sample)))
    processes.sync_generator(rng)
    if sample_rows is None:
        return replace(best, labels=best.labels[rows.local])
    return run_lloyd(points, best.centres, processes=processes)


def _run_with_swaps(points: Floats, n_clusters: int, rng: np.random.Generator, max_trials: int) -> Clustering:
    """Run k-means once and swap until no swap lowers the inertia."""
    best = fit_kmeans(points, n_clusters, rng, starts=1)
    while (better := _try_swaps(points, best, max_trials)) is not None:
        best = better
    return best


def _try_swaps(points: Floats, clustering: Clustering, max_trials: int) -> Clustering | None:
    """Return the clustering after the first of the best swaps that lowers the inertia; None if none does."""
    C = len(clustering.centres)
    sizes = np.bincount(clustering.labels, minlength=C).astype(np.float64)
    halves = {cluster: _split(points[clustering.labels == cluster]) for cluster in _rank_by_inertia(points, clustering)}
    gains = {cluster: _split_gain(*pair) for cluster, pair in halves.items()}
    squared = (clustering.centres**2).sum(1)
    distances = np.maximum(squared[:, None] + squared - 2 * clustering.centres @ clustering.centres.T, 0)
    costs = distances * sizes[:, None] * sizes / np.maximum(sizes[:, None] + sizes, 1)  # (C, C)
    costs[np.tril_indices(C)] = np.inf
    for _, a, b, split in sorted(_list_swaps(costs, gains), reverse=True)[:max_trials]:
        centres = clustering.centres.copy()
        centres[a] = (sizes[a] * centres[a] + sizes[b] * centres[b]) / max(sizes[a] + sizes[b], 1)
        centres[split], centres[b] = (half.mean(0) for half in halves[split])
        trial = run_lloyd(points, centres, SWAP_LLOYD_STEPS)
        if trial.inertia < clustering.inertia * (1 - MIN_SWAP_GAIN):
            return trial
    return None


def _rank_by_inertia(points: Floats, clustering: Clustering) -> list[int]:
    """Return the clusters of largest inertia, which bounds what a split can gain, at most `MAX_SPLIT_CLUSTERS`."""
    distances = ((points - clustering.centres[clustering.labels]) ** 2).sum(1)
    inertia = np.bincount(clustering.labels, weights=distances, minlength=len(clustering.centres))
    ranked: list[int] = np.argsort(-inertia, kind="stable")[:MAX_SPLIT_CLUSTERS].tolist()
    return ranked


def _list_swaps(costs: NDArray[np.float64], gains: dict[int, float]) -> Iterator[tuple[float, int, int, int]]:
    """Yield swaps of the cheapest merges and the best splits: gain, the two clusters to merge, the one to split."""
    best_splits = sorted(gains, key=lambda cluster: -gains[cluster])[:MAX_SWAP_TRIALS]
    cheapest = np.argsort(costs, axis=None)[:MAX_LISTED_MERGES]
    for a, b in zip(*np.unravel_index(cheapest, costs.shape), strict=True):
        for split in best_splits:
            if split not in (a, b) and gains[split] > 0 and np.isfinite(costs[a, b]):
                yield float(gains[split] - costs[a, b]), int(a), int(b), split


def _split(points: Floats) -> tuple[Floats, Floats]:
    """Split points in two by 2-means, starting from the signs along their first principal component."""
    centred = points - points.mean(0) if len(points) else points
    direction = centred[np.argmax((centred**2).sum(1))] if len(points) else np.zeros(points.shape[1], np.float32)
    for _ in range(SPLIT_STEPS):  # power iteration
        direction = centred.T @ (centred @ direction)
        direction /= max(float(np.linalg.norm(direction)), 1e-12)
    in_first = centred @ direction > 0
    for _ in range(SPLIT_STEPS):
        if in_first.all() or not in_first.any():
            break
        first, second = points[in_first].mean(0), points[~in_first].mean(0)
        in_first = points @ (first - second) > (first @ first - second @ second) / 2
    return points[in_first], points[~in_first]


def _split_gain(first: Floats, second: Floats) -> float:
    """Return the decrease of the inertia if two groups have a centre each instead of a common one."""
    if not len(first) or not len(second):
        return 0.0
    difference = first.mean(0) - second.mean(0)
    return float(len(first) * len(second) / (len(first) + len(second)) * (difference @ difference))


def _run_lloyd_distributed(points: Floats, centres: Floats, steps: int, processes: ProcessGroup) -> Clustering:
    """Run Lloyd's algorithm from given centres on points that are distributed over processes.

    As in scikit-learn, whose criterion to stop it has, empty clusters get the points that are farthest from their
    centres.
    """
    X, means = torch.from_numpy(points), torch.from_numpy(centres).double()
    n = processes.total(len(X))
    total, squares = (
        processes.all_reduce(X.sum(0, dtype=torch.float64)),
        processes.total(float(X.double().pow(2).sum())),
    )
    min_shift = TOLERANCE * (squares / n - float((total / n).pow(2).sum())) / X.shape[1]
    for _ in range(steps):
        labels, distances = _assign(X, means)
        sums = processes.all_reduce(torch.zeros_like(means).index_add_(0, labels, X.double()))
        sizes = processes.all_reduce(labels.bincount(minlength=len(means)))[:, None]
        _fill_empty_clusters(X, labels, distances, sums, sizes, processes)
        new_means = torch.where(sizes > 0, sums / sizes.clamp(min=1), means)
        shift, means = float((new_means - means).pow(2).sum()), new_means
        if shift <= min_shift:
            break
    labels, distances = _assign(X, means)
    return Clustering(labels.numpy(), means.float().numpy(), processes.total(float(distances.sum())))


def _fill_empty_clusters(
    X: Tensor, labels: Tensor, distances: Tensor, sums: Tensor, sizes: Tensor, processes: ProcessGroup
) -> None:
    """Move the points of all processes that are farthest from their centres to clusters without a point, in place.

    Parameters
    ----------
    X, labels, distances : Tensors (n, D), (n,), (n,)
        Points of this process, their clusters, and their squared distances to the centres of these.
    sums, sizes : Tensors (C, D), (C, 1)
        Sum and number of the points of all processes in each cluster, which are changed.
    processes : ProcessGroup
        The processes that the points are distributed over.
    """
    empty = (sizes[:, 0] == 0).nonzero()[:, 0]
    if not len(empty):
        return
    farthest = distances.sort(descending=True, stable=True).indices[: len(empty)]
    parts = processes.gather_objects((distances[farthest], X[farthest].double(), labels[farthest]))
    far_distances, far_points, far_labels = (torch.cat(part) for part in zip(*parts, strict=True))
    order = far_distances.sort(descending=True, stable=True).indices[: len(empty)]
    if far_distances[order[0]] == 0:
        return  # all points are centres
    for cluster, point in zip(empty, order, strict=False):
        sums[far_labels[point]] -= far_points[point]
        sizes[far_labels[point]] -= 1
        sums[cluster], sizes[cluster] = far_points[point], 1


def _assign(X: Tensor, centres: Tensor) -> tuple[Tensor, Tensor]:
    """Return the nearest of centres (C, D) for each point (n, D), the first of equal ones, and its squared distance.

    Products are computed in double precision and compared in single precision, as equal centres would else be told
    apart by rounding.
    """
    half_squares, labels = centres.pow(2).sum(1) / 2, []
    for block in X.split(BLOCK_ROWS):
        products = block.double() @ centres.T
        labels.append((half_squares - products).float().numpy().argmin(1))
    nearest = torch.from_numpy(np.concatenate(labels))
    distances = [
        (block.double() - centres[rows]).pow(2).sum(1)
        for block, rows in zip(X.split(BLOCK_ROWS), nearest.split(BLOCK_ROWS), strict=True)
    ]
    return nearest, torch.cat(distances)
