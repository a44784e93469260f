"""How many clusters there are, by the texts alone.

For each number K that is tried, k-means is repaired by swaps and three questions are asked:

- told: how much does a text's cluster tell of its neighbours' clusters? A boundary through a crowd lowers it.
- apart: how much nearer is a text to its own cluster than to the next? Two crowds in one cluster lower it (silhouette).
- stable: do two halves of the texts, clustered apart, agree on all of them? Any number that the data do not suggest
  lowers it (adjusted mutual information).

Their sum, drawn against K, has a peak where the data suggest a number, and often several: news divide into a few fields
and into many events. Of the peaks that stand out from what is around them, the highest is taken, and of the numbers
that serve about as well as its own the middle one. A rise that never turns within the range is no peak: more and
smaller clusters are always a little further apart.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_mutual_info_score

from rstc.numerics.nearest import nearest
from rstc.pseudo_labels.kmeans import Clustering, kmeans_labels, swapped_kmeans
from rstc.pseudo_labels.neighbours import told_by_neighbours
from rstc.pseudo_labels.features import side_by_side
from rstc.pseudo_labels.words import Words

logger = logging.getLogger("rstc")

TEXTS_TO_COUNT_ON = 8_000  # of more, a random sample tells
TEXTS_A_CLUSTER = 10  # in the mean, at the most clusters that are tried...
FEWEST_TO_END_WITH = 10  # ...but with few texts so many are tried in any case, or a third of the texts
MOST_CLUSTERS = 400  # that are tried, unless more are asked for
NEIGHBOURS = 10
DIMENSIONS = 128  # the main directions of the points: k-means is quicker there
STEP = 1.35  # from a number that is tried to the next, at first
CLUSTERS_TO_SWAP = 60  # of more, swaps would take minutes, and the best of a few runs is taken
RUNS = 3
SPLITS = 2  # how often the texts are halved, at least...
MOST_SPLITS = 8  # ...and for few clusters: two halves agree on 2 clusters, or do not, by chance
NOISE = 0.03  # the sum differs as much from one sample to another
CLEAR = 4 * NOISE  # a peak that stands out so far is clear...
FAIR = 2 * NOISE  # ...or fair
RUNNERS_UP = 3

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Candidate:
    """A number of clusters and what speaks for it, each from 0 (or a little below) to 1."""

    n_clusters: int
    told: float
    apart: float
    stable: float

    @property
    def score(self) -> float:
        """The sum, from 0 to 3."""
        return self.told + self.apart + self.stable


@dataclass(frozen=True)
class Count:
    """How many clusters there are.

    Attributes:
        n_clusters: the number that the data suggest most.
        low, high: numbers in between serve about as well.
        sure: "clear", "fair" or "weak": how far its peak stands out, and whether another does as well.
        runners_up: numbers of the other peaks, the best first.
        candidates: all that was tried, by number.
    """

    n_clusters: int
    low: int
    high: int
    sure: str
    runners_up: tuple[int, ...]
    candidates: tuple[Candidate, ...]


def read_count(facts: dict[str, Any] | None) -> Count | None:
    """Return a count again from what `dataclasses.asdict` made of it."""
    if facts is None:
        return None
    candidates = tuple(Candidate(**one) for one in facts["candidates"])
    return Count(**{**facts, "runners_up": tuple(facts["runners_up"]), "candidates": candidates})


def count_clusters(
    E: Floats,
    words: Words | None,
    weight: float,
    within: tuple[int, int | None],
    rng: np.random.Generator,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Count:
    """Estimate the number of clusters of texts.

    Args:
        E: embeddings of length one, (N, D).
        words: the words of the texts; None: the embeddings alone tell.
        weight: of the words beside the encoder, whose own is 1.
        within: the fewest and the most clusters to consider; None: as many as the texts can tell of.
        rng: draws the sample and the halves.
        progress: called with how many numbers have been tried, of how many.
    """
    low, most = within
    enough = max(TEXTS_TO_COUNT_ON, 2 * TEXTS_A_CLUSTER * (most or 0))
    if len(E) > enough:
        rows = np.sort(rng.choice(len(E), enough, replace=False))
        E = E[rows]
        words = words and Words(words.X[rows], words.topics[rows])
    high = most or max(min(len(E) // TEXTS_A_CLUSTER, MOST_CLUSTERS), min(FEWEST_TO_END_WITH, len(E) // 3), low)
    if low >= high:
        return Count(low, low, high, "weak", (), ())
    return _Trials.of(E, words, weight, rng).count(low, high, progress)


@dataclass(frozen=True)
class _Trials:
    """The points, their neighbours (N, k) and the halves that numbers of clusters are tried on, the first of them."""

    points: Floats
    near: NDArray[np.int64]
    halves: list[tuple[NDArray[np.int64], NDArray[np.int64]]]
    rng: np.random.Generator

    @classmethod
    def of(cls, E: Floats, words: Words | None, weight: float, rng: np.random.Generator) -> _Trials:
        near = nearest(E, words.X if words else None, NEIGHBOURS, weight / (1 + weight))
        points = side_by_side(E, words.topics if words else None, weight, near)
        dimensions = min(DIMENSIONS, *points.shape)
        points = PCA(dimensions, svd_solver="randomized", random_state=int(rng.integers(2**31))).fit_transform(points)
        orders = [rng.permutation(len(E)) for _ in range(MOST_SPLITS)]
        halves = [(order[: len(E) // 2], order[len(E) // 2 :]) for order in orders]
        return cls(np.ascontiguousarray(points, dtype=np.float32), near, halves, rng)

    def count(self, low: int, high: int, progress: Callable[[int, int], None]) -> Count:
        """Try numbers at growing distances, then closer ones around the peak."""
        tried: dict[int, Candidate] = {}
        first = _spread(low, high)
        for number in first:
            tried[number] = self.candidate(number)
            progress(len(tried), len(first))
        for _ in range(2):
            best = _peaks(list(tried.values()), low)[0][0]
            for number in _between(sorted(tried), best):
                tried[number] = self.candidate(number)
                progress(len(tried), len(tried))
        return _counted([tried[number] for number in sorted(tried)], low)

    def candidate(self, number: int) -> Candidate:
        """Ask the three questions of one number of clusters."""
        labels = self.clusters(self.points, number).labels
        agreed = [
            adjusted_mutual_info_score(
                *(_nearest_centre(self.clusters(self.points[half], number), self.points) for half in pair)
            )
            for pair in self.halves[: _splits(number)]
        ]
        found = Candidate(
            number, told_by_neighbours(labels, self.near), silhouette(self.points, labels), float(np.mean(agreed))
        )
        logger.info("%d clusters: told %.3f, apart %.3f, stable %.3f", number, found.told, found.apart, found.stable)
        return found

    def clusters(self, points: Floats, number: int) -> Clustering:
        if number <= CLUSTERS_TO_SWAP:
            return swapped_kmeans(points, min(number, len(points)), self.rng, starts=1)
        return kmeans_labels(points, min(number, len(points)), self.rng, RUNS)


def silhouette(points: Floats, labels: NDArray[np.int64]) -> float:
    """Return how much nearer points (N, D) are to their own cluster than to the next, -1 to 1, in the mean.

    Distance is the mean squared distance to a cluster's points, the point itself left out. A cluster of one point
    counts as 0.

    >>> silhouette(np.array([[0.0], [0.1], [5.0], [5.1]], dtype=np.float32), np.array([0, 0, 1, 1])) > 0.99
    True
    """
    C = int(labels.max()) + 1
    sizes = np.bincount(labels, minlength=C).astype(np.float64)
    sums = np.zeros((C, points.shape[1]))
    np.add.at(sums, labels, points)
    lengths = (points.astype(np.float64) ** 2).sum(1)
    squares = np.bincount(labels, weights=lengths, minlength=C)
    there = np.maximum(sizes, 1)
    distances = lengths[:, None] + squares / there - 2 * points @ (sums / there[:, None]).T  # (N, C)
    rows = np.arange(len(labels))
    own = distances[rows, labels] * sizes[labels] / np.maximum(sizes[labels] - 1, 1)
    distances[:, sizes == 0] = np.inf
    distances[rows, labels] = np.inf
    other = distances.min(1)
    apart = (other - own) / np.maximum(np.maximum(other, own), 1e-12)
    return float(np.where(sizes[labels] > 1, apart, 0.0).mean())


def _splits(number: int) -> int:
    """Return how often the texts are halved to try a number of clusters.

    >>> [_splits(number) for number in (2, 6, 15, 100)]
    [8, 8, 4, 2]
    """
    return max(SPLITS, min(MOST_SPLITS, CLUSTERS_TO_SWAP // number))


def _nearest_centre(found: Clustering, points: Floats) -> NDArray[np.int64]:
    return np.asarray((points @ found.centres.T - (found.centres**2).sum(1) / 2).argmax(1), dtype=np.int64)


def _spread(low: int, high: int) -> list[int]:
    """Return numbers from low to high, each a third more than the one before.

    >>> _spread(2, 20)
    [2, 3, 4, 5, 7, 9, 12, 16, 20]
    """
    numbers = [low]
    while numbers[-1] < high:
        numbers.append(min(max(round(numbers[-1] * STEP), numbers[-1] + 1), high))
    return numbers


def _between(tried: list[int], best: int) -> list[int]:
    """Return numbers half way from the best to those beside it.

    >>> _between([10, 16, 24], 16), _between([2, 3, 4], 3)
    ([13, 20], [])
    """
    at = tried.index(best)
    beside = tried[max(at - 1, 0) : at + 2]
    return [n for other in beside if (n := round((best * other) ** 0.5)) not in tried]


def _peaks(candidates: list[Candidate], low: int) -> list[tuple[int, float]]:
    """Return peaks as (number, how far it stands out), the best first; the best of all if there is none.

    Best is the highest of those that stand out fairly; those that do not come after them, by how far they do.

    A peak stands out by what must be lost on the way to a higher one, or to the end of what was tried. Below two
    clusters there is nothing to be told, so there every peak stands out.
    """
    tried = sorted(candidates, key=lambda one: one.n_clusters)
    scores = [one.score for one in tried]
    found = []
    for at, one in enumerate(tried):
        left, right = _lost(scores[at::-1]), _lost(scores[at:])
        if low <= 2 and max(scores[: at + 1]) == scores[at]:
            left = np.inf
        if min(left, right) > 0:
            found.append((one.n_clusters, float(min(left, right))))
    best = max(tried, key=lambda one: one.score)
    height = {one.n_clusters: one.score for one in tried}
    found.sort(key=lambda peak: (peak[1] < FAIR, -(height[peak[0]] if peak[1] >= FAIR else peak[1])))
    return found or [(best.n_clusters, 0.0)]


def _lost(scores: list[float]) -> float:
    """Return how far scores fall from the first before one is higher.

    >>> _lost([3, 1, 2, 4, 0])
    2
    """
    higher = next((at for at, score in enumerate(scores) if score > scores[0]), len(scores))
    return scores[0] - min(scores[:higher])


def _counted(candidates: list[Candidate], low: int) -> Count:
    """Choose among numbers that were tried, all of them in order."""
    (best, outstanding), *others = _peaks(candidates, low)
    numbers = [one.n_clusters for one in candidates]
    at = numbers.index(best)
    enough = candidates[at].score - NOISE
    first = last = at
    while first > 0 and candidates[first - 1].score >= enough:
        first -= 1
    while last < len(candidates) - 1 and candidates[last + 1].score >= enough:
        last += 1
    top = candidates[first : last + 1]
    middle = _middle([one.n_clusters for one in top], [one.score - enough for one in top])
    real = [(number, by) for number, by in others if by >= NOISE and not numbers[first] <= number <= numbers[last]]
    rivalled = any(by > outstanding / 2 for _, by in real)
    sure = "weak" if outstanding < FAIR else "fair" if outstanding < CLEAR or rivalled else "clear"
    return Count(middle, numbers[first], numbers[last], sure, tuple(n for n, _ in real[:RUNNERS_UP]), tuple(candidates))


def _middle(numbers: list[int], heights: list[float]) -> int:
    """Return the number in the middle of a peak's top, by ratios: which of them is highest differs by chance.

    >>> _middle([85, 99, 107, 134], [0.02, 0.03, 0.02, 0.01])
    99
    """
    middle = np.average(np.log(numbers), weights=heights)
    return numbers[int(np.abs(np.log(numbers) - middle).argmin())]
