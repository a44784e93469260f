"""Estimation of the number of clusters from the texts alone.

Each candidate number K is clustered by k-means and gets the sum of three scores:

- neighbour NMI (`neighbours.neighbour_nmi`): lower if boundaries run through dense regions.
- silhouette, with mean squared distances: lower if a cluster holds two dense regions.
- stability (as in prediction strength, Tibshirani and Walther 2005): two halves of the texts are clustered separately,
  each clustering assigns all texts to its nearest centre, and the two assignments are compared by adjusted mutual
  information. Lower for any K that the data do not suggest.

The sum over K often has several peaks: news, for example, divide into a few topics and into many events. Of the peaks
that are prominent enough, the highest is chosen, and of the adjacent numbers with about the same score the middle one.
A rise towards the end of the range is no peak: more and smaller clusters always have a slightly higher silhouette.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_mutual_info_score

from rstc.pseudo_labels.cluster_count import Candidate, ClusterCount
from rstc.pseudo_labels.features import Mix, TextFeatures
from rstc.pseudo_labels.kmeans import Clustering, fit_kmeans, fit_kmeans_with_swaps
from rstc.pseudo_labels.neighbours import neighbour_nmi
from rstc.runtime.threads import draw_generators, limit_library_threads, parallel_map

logger = logging.getLogger("rstc")

SAMPLE_SIZE = 8_000  # of larger data, a random sample of this size is used
TEXTS_PER_CLUSTER = 10  # on average, for the largest candidate
MIN_LARGEST_CANDIDATE = 10  # with few texts, the largest candidate is this or a third of the texts
MAX_CLUSTERS = 400  # largest candidate unless a larger range is given
N_NEIGHBOURS = 10
PCA_DIMENSIONS = 64  # to which points are reduced, to speed k-means up
GRID_RATIO = 1.35  # of successive candidates in the first grid
N_REFINEMENTS = 2  # of the grid around the best candidate
MAX_SWAP_CLUSTERS = 60  # with more clusters, swaps are too slow
SWAP_TRIALS = 2
MIN_SPLITS = 2  # into halves, for many clusters
MAX_SPLITS = 4  # for few clusters, on which two halves may agree by chance
SCORE_NOISE = 0.03  # typical variation of the sum between samples
CLEAR_PROMINENCE = 4 * SCORE_NOISE
FAIR_PROMINENCE = 2 * SCORE_NOISE
MAX_RUNNERS_UP = 3
CHECK_RATIO = 3  # between a given number and those that it is compared with
CHECK_SAMPLE_SIZE = 1_000  # texts on which a given number is compared with others
MAX_LARGEST_SHARE = 1 / 3  # of a number's largest cluster where texts look alike to the encoder

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]


@limit_library_threads("blas")
def estimate_n_clusters(
    features: TextFeatures,
    mix: Mix,
    n_clusters_range: tuple[int, int | None],
    rng: np.random.Generator,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> ClusterCount:
    """Estimate the number of clusters of texts.

    Parameters
    ----------
    features : TextFeatures
        The feature sets of the texts; the embedding has rows of length one.
    mix : mapping of str to float
        Weight of each feature set beside the embedding.
    n_clusters_range : (int, int or None)
        The smallest and the largest number to consider; None: a tenth of the number of texts, at most 400.
    rng : numpy.random.Generator
        Draws the sample and the halves, and seeds k-means.
    progress : callable
        Called after some candidates with the number of scored and of all candidates.

    Returns
    -------
    ClusterCount
    """
    (low, largest), max_texts = n_clusters_range, sample_size(n_clusters_range)
    if len(features) > max_texts:
        features = features.select(np.sort(rng.choice(len(features), max_texts, replace=False)))
    N = len(features)
    default_high = max(min(N // TEXTS_PER_CLUSTER, MAX_CLUSTERS), min(MIN_LARGEST_CANDIDATE, N // 3), low)
    high = largest or default_high
    if low >= high:
        return ClusterCount(low, low, high, "weak", (), ())
    return _CandidateSearch.prepare(features, mix, rng).run(low, high, progress)


def sample_size(n_clusters_range: tuple[int, int | None]) -> int:
    """Return the number of texts that are looked at; of more texts, a random sample is drawn."""
    return max(SAMPLE_SIZE, 2 * TEXTS_PER_CLUSTER * (n_clusters_range[1] or 0))


def suggest_other_n_clusters(features: TextFeatures, mix: Mix, n_clusters: int, rng: np.random.Generator) -> int | None:
    """Return a number of clusters that the texts support clearly better than the given one; None if there is none.

    Only a third and three times the given number are compared with it, which takes a fraction of an estimate. The
    result therefore says in which direction to look, not which number is right.

    Parameters
    ----------
    features : TextFeatures
        The feature sets of the texts; the embedding has rows of length one.
    mix : mapping of str to float
        Weight of each feature set beside the embedding.
    n_clusters : int
        The given number.
    rng : numpy.random.Generator
        Draws the sample and the halves, and seeds k-means.

    Returns
    -------
    int or None
    """
    sample_size = max(CHECK_SAMPLE_SIZE, TEXTS_PER_CLUSTER * CHECK_RATIO * n_clusters)
    if len(features) > sample_size:
        features = features.select(np.sort(rng.choice(len(features), sample_size, replace=False)))
    largest = len(features) // TEXTS_PER_CLUSTER
    others = [
        number for number in (round(n_clusters / CHECK_RATIO), CHECK_RATIO * n_clusters) if 2 <= number <= largest
    ]
    if not others or not 2 <= n_clusters <= largest:
        return None
    search = _CandidateSearch.prepare(features, mix, rng)
    scored = replace(search, splits=search.splits[:MIN_SPLITS]).score_all([n_clusters, *others])
    best = max(others, key=lambda number: scored[number].score)
    if search.texts_look_alike and search.largest_shares[best] > MAX_LARGEST_SHARE:
        return None
    return best if scored[best].score >= scored[n_clusters].score + CLEAR_PROMINENCE else None


@dataclass(frozen=True)
class _CandidateSearch:
    """Scores candidates on points (N, D), their neighbours (N, k) and splits of the points into halves."""

    points: Floats
    neighbours: Ints
    splits: list[tuple[Ints, Ints]]
    rng: np.random.Generator
    texts_look_alike: bool  # to the encoder, so that small numbers separate a few odd texts from all others
    largest_shares: dict[int, float] = field(default_factory=dict)  # of the texts, by number, of those scored so far

    @classmethod
    def prepare(cls, features: TextFeatures, mix: Mix, rng: np.random.Generator) -> _CandidateSearch:
        """Find the neighbours, compute the points and draw the splits."""
        N = len(features)
        neighbours = features.find_neighbours(mix, N_NEIGHBOURS)
        points = features.build_points(mix, neighbours)
        dimensions = min(PCA_DIMENSIONS, *points.shape)
        points = PCA(dimensions, svd_solver="randomized", random_state=int(rng.integers(2**31))).fit_transform(points)
        orders = [rng.permutation(N) for _ in range(MAX_SPLITS)]
        splits = [(order[: N // 2], order[N // 2 :]) for order in orders]
        points = np.ascontiguousarray(points, dtype=np.float32)
        return cls(points, neighbours, splits, rng, features.texts_look_alike)

    def run(self, low: int, high: int, progress: Callable[[int, int], None]) -> ClusterCount:
        """Score a coarse grid of numbers, then refine it twice around the best peak."""
        scored: dict[int, Candidate] = {}
        grid = _make_geometric_grid(low, high)
        for _ in range(N_REFINEMENTS + 1):
            scored |= self.score_all(grid)
            progress(len(scored), len(scored))
            best = _rank_peaks(self.select_plausible(scored), low)[0][0]
            grid = _refine_grid(sorted(scored), best)
        count = _choose_count(self.select_plausible(scored), low)
        return replace(count, candidates=tuple(scored[n_clusters] for n_clusters in sorted(scored)))

    def select_plausible(self, scored: dict[int, Candidate]) -> list[Candidate]:
        """Return the candidates that may be chosen, in increasing order.

        Where texts look alike to the encoder, these are the ones above the last whose largest cluster holds more than a
        third of the texts, if there are any: the halves agree on a few odd texts and one cluster of all others, and
        such a number would be taken for a clear peak.
        """
        candidates = [scored[n_clusters] for n_clusters in sorted(scored)]
        if not self.texts_look_alike:
            return candidates
        too_large = [share > MAX_LARGEST_SHARE for share in (self.largest_shares[c.n_clusters] for c in candidates)]
        first = max(np.flatnonzero(too_large) + 1, default=0)
        return candidates[first:] or candidates

    def score_all(self, numbers: list[int]) -> dict[int, Candidate]:
        """Score several numbers side by side, those of most clusters first because they take longest."""
        jobs = sorted(zip(numbers, draw_generators(self.rng, len(numbers)), strict=True), key=lambda job: -job[0])
        return {candidate.n_clusters: candidate for candidate in parallel_map(lambda job: self.score(*job), jobs)}

    def score(self, n_clusters: int, rng: np.random.Generator) -> Candidate:
        """Cluster the points and their halves, and compute the three scores."""
        labels = _cluster(self.points, n_clusters, rng).labels
        agreements = [
            adjusted_mutual_info_score(*(self.assign_by_half(half, n_clusters, rng) for half in split))
            for split in self.splits[: _count_splits(n_clusters)]
        ]
        nmi = neighbour_nmi(labels, self.neighbours)
        silhouette, stability = float(squared_silhouettes(self.points, labels).mean()), float(np.mean(agreements))
        message = "%d clusters: neighbour NMI %.3f, silhouette %.3f, stability %.3f"
        logger.info(message, n_clusters, nmi, silhouette, stability)
        self.largest_shares[n_clusters] = float(np.bincount(labels).max() / len(labels))
        return Candidate(n_clusters, nmi, silhouette, stability)

    def assign_by_half(self, half: Ints, n_clusters: int, rng: np.random.Generator) -> Ints:
        """Cluster half of the points, and assign all points to the nearest centre."""
        return _assign_to_centres(self.points, _cluster(self.points[half], n_clusters, rng).centres)


def _cluster(points: Floats, n_clusters: int, rng: np.random.Generator) -> Clustering:
    """Cluster points by one run of k-means, with swaps if there are few clusters."""
    n_clusters = min(n_clusters, len(points))
    if n_clusters > MAX_SWAP_CLUSTERS:
        return fit_kmeans(points, n_clusters, rng, starts=1)
    return fit_kmeans_with_swaps(points, n_clusters, rng, starts=1, max_trials=SWAP_TRIALS)


def squared_silhouettes(points: Floats, labels: Ints) -> NDArray[np.float64]:
    """Compute the silhouette of each point with mean squared distances.

    Unlike scikit-learn's `silhouette_score`, which compares all pairs, it takes O(N C): the mean squared distance of a
    point to a cluster follows from the cluster's mean and mean square. A cluster of one point counts as 0, as does
    a single cluster.

    Parameters
    ----------
    points : (N, D) array
        Points.
    labels : (N,) array
        Cluster of each point.

    Returns
    -------
    (N,) array
        From -1 to 1.

    >>> points = np.array([[0.0], [0.1], [5.0], [5.1]], dtype=np.float32)
    >>> bool(squared_silhouettes(points, np.array([0, 0, 1, 1])).min() > 0.99)
    True
    """
    C = int(labels.max()) + 1
    sizes = np.bincount(labels, minlength=C).astype(np.float64)
    N = len(labels)
    membership = csr_matrix((np.ones(N, dtype=np.float32), (labels, np.arange(N))), shape=(C, N))
    sums = membership @ points  # (C, D)
    squared_norms = (points.astype(np.float64) ** 2).sum(1)
    squares = np.bincount(labels, weights=squared_norms, minlength=C)
    divisors = np.maximum(sizes, 1)
    distances = squared_norms[:, None] + squares / divisors - 2 * points @ (sums / divisors[:, None]).T  # (N, C)
    rows = np.arange(len(labels))
    own = distances[rows, labels] * sizes[labels] / np.maximum(sizes[labels] - 1, 1)  # without the point itself
    distances[:, sizes == 0] = np.inf
    distances[rows, labels] = np.inf
    nearest_other = distances.min(1)
    if (sizes > 0).sum() < 2:
        return np.zeros(N)
    silhouette = (nearest_other - own) / np.maximum(np.maximum(nearest_other, own), 1e-12)
    return np.asarray(np.where(sizes[labels] > 1, silhouette, 0.0))


def _count_splits(n_clusters: int) -> int:
    """Return the number of splits into halves that a candidate is scored on.

    >>> [_count_splits(n_clusters) for n_clusters in (2, 6, 15, 100)]
    [4, 4, 4, 2]
    """
    return max(MIN_SPLITS, min(MAX_SPLITS, MAX_SWAP_CLUSTERS // n_clusters))


def _assign_to_centres(points: Floats, centres: Floats) -> Ints:
    """Return the nearest centre of each point."""
    return np.asarray((points @ centres.T - (centres**2).sum(1) / 2).argmax(1), dtype=np.int64)


def _make_geometric_grid(low: int, high: int) -> list[int]:
    """Return numbers from low to high, each about a third larger than the previous one.

    >>> _make_geometric_grid(2, 20)
    [2, 3, 4, 5, 7, 9, 12, 16, 20]
    """
    numbers = [low]
    while numbers[-1] < high:
        numbers.append(min(max(round(numbers[-1] * GRID_RATIO), numbers[-1] + 1), high))
    return numbers


def _refine_grid(numbers: list[int], best: int) -> list[int]:
    """Return the geometric means of the best number and its neighbours in the grid, without those in the grid.

    >>> _refine_grid([10, 16, 24], 16), _refine_grid([2, 3, 4], 3)
    ([13, 20], [])
    """
    index = numbers.index(best)
    neighbours = numbers[max(index - 1, 0) : index + 2]
    return [middle for other in neighbours if (middle := round((best * other) ** 0.5)) not in numbers]


def _rank_peaks(candidates: list[Candidate], low: int) -> list[tuple[int, float]]:
    """Return the peaks of the score as (number, prominence), the best first; the highest score if there is no peak.

    The highest of the peaks of fair prominence comes first; the others follow by prominence. The prominence of a peak
    is its height above the lowest score on the way to a higher peak, or to the end of the range. Since there is no
    candidate below 2, a range from 2 is padded with a score of -inf.
    """
    from scipy.signal import peak_prominences

    candidates = sorted(candidates, key=lambda candidate: candidate.n_clusters)
    scores = [candidate.score for candidate in candidates]
    padded = np.array([-np.inf if low <= 2 else scores[0], *scores])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # raised for numbers that are no peak, whose prominence is 0
        prominences = peak_prominences(padded, np.arange(1, len(padded)))[0].tolist()
    peaks = [
        (candidate.n_clusters, candidate.score, prominence)
        for candidate, prominence in zip(candidates, prominences, strict=True)
        if prominence > 0
    ]
    peaks.sort(key=lambda peak: (peak[2] < FAIR_PROMINENCE, -(peak[1] if peak[2] >= FAIR_PROMINENCE else peak[2])))
    highest = max(candidates, key=lambda candidate: candidate.score)
    return [(number, prominence) for number, _, prominence in peaks] or [(highest.n_clusters, 0.0)]


def _choose_count(candidates: list[Candidate], low: int) -> ClusterCount:
    """Choose the number of clusters among candidates in increasing order."""
    (best, prominence), *others = _rank_peaks(candidates, low)
    numbers = [candidate.n_clusters for candidate in candidates]
    index = numbers.index(best)
    min_score = candidates[index].score - SCORE_NOISE
    first = last = index
    while first > 0 and candidates[first - 1].score >= min_score:
        first -= 1
    while last < len(candidates) - 1 and candidates[last + 1].score >= min_score:
        last += 1
    top = candidates[first : last + 1]
    margins = [candidate.score - min_score for candidate in top]
    middle = _weighted_middle([candidate.n_clusters for candidate in top], margins)
    rivals = [
        (number, rival_prominence)
        for number, rival_prominence in others
        if rival_prominence >= SCORE_NOISE and not numbers[first] <= number <= numbers[last]
    ]
    has_strong_rival = any(rival_prominence > prominence / 2 for _, rival_prominence in rivals)
    if prominence < FAIR_PROMINENCE:
        certainty = "weak"
    elif prominence < CLEAR_PROMINENCE or has_strong_rival:
        certainty = "fair"
    else:
        certainty = "clear"
    runners_up = tuple(number for number, _ in rivals[:MAX_RUNNERS_UP])
    return ClusterCount(middle, numbers[first], numbers[last], certainty, runners_up, tuple(candidates))


def _weighted_middle(numbers: list[int], weights: list[float]) -> int:
    """Return the number nearest to the weighted geometric mean, which depends less on chance than the highest score.

    >>> _weighted_middle([85, 99, 107, 134], [0.02, 0.03, 0.02, 0.01])
    99
    """
    middle = np.average(np.log(numbers), weights=weights)
    return numbers[int(np.abs(np.log(numbers) - middle).argmin())]
