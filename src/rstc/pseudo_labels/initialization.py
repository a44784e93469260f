"""First labels that are found without knowing how even the clusters are: two starts, and the data decide.

Points are embeddings and words side by side, each averaged with its neighbours. k-means, repaired by swaps, finds even
clusters in them; average linkage finds uneven ones. Both are improved by cross-fitted rounds, and the one stays whose
clusters tell more of the texts' neighbours. In a space that has learned, k-means finds labels anew, and the labels that
the space learned from compete with them. Linkage is not asked twice: its few first merges decide much by chance, and
another run of it would change more than the space has learned.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import normalize

from rstc.numerics.nearest import nearest
from rstc.pseudo_labels.crossfit import Witnesses, crossfit
from rstc.pseudo_labels.kmeans import kmeans_labels, swapped_kmeans
from rstc.pseudo_labels.constraints import anchored, seeded
from rstc.pseudo_labels.linkage import linkage_labels
from rstc.pseudo_labels.transport.marginals import suggested_eps2
from rstc.pseudo_labels.neighbours import told_by_neighbours
from rstc.pseudo_labels.features import side_by_side
from rstc.pseudo_labels.words import Words

logger = logging.getLogger("rstc")

NEIGHBOURS_TO_ASK = 10  # where points are not averaged with any
PROOF = 0.005  # by how much more uneven clusters must tell of the neighbours' clusters than even ones to be believed

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Recipe:
    """How to find labels.

    Attributes:
        start: "kmeans", "linkage", or "auto" to try both.
        kmeans_starts: runs of k-means, of which the best stays.
        swaps: whether k-means is repaired by swaps.
        unit_length: whether k-means alone, without words, neighbours and rounds, sees embeddings at length one.
        words: weight of the words beside the encoder, whose own is 1; 0: no words.
        neighbours: how many neighbours, the text itself included, a point is averaged with; 0: none.
        rounds: of cross-fitting; 0: the start is taken as it is.
        eps1: weight of the plan's entropy.
        eps2: weight of the penalty on class sizes, or "auto" for what fits the sizes at the start.
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
        """Whether k-means on the embeddings is all of it, as in the paper."""
        return self.start == "kmeans" and not (self.swaps or self.words or self.neighbours or self.rounds)

    def penalty(self, sizes: NDArray[np.int64]) -> float:
        """Return eps2 for clusters of these sizes, (C,)."""
        return suggested_eps2(sizes) if isinstance(self.eps2, str) else self.eps2


@dataclass(frozen=True)
class FirstLabels:
    """Labels and how they came about.

    Attributes:
        labels: (N,).
        start: "kmeans", "linkage", "known" where they come from known classes, or "before" from the labels from before.
        eps2: the penalty's weight that was used.
        b: the class distribution, (C,): the transport's, or the shares of the labels if there was none.
        agreement: the share of texts whose label a model guesses that has not seen it; None without rounds.
        right: the same share of the texts whose class is known; None without any.
    """

    labels: NDArray[np.int64]
    start: str
    eps2: float
    b: NDArray[np.float64]
    agreement: float | None
    right: float | None = None


def first_labels(
    E: Floats,
    words: Words | None,
    n_clusters: int,
    recipe: Recipe,
    rng: np.random.Generator,
    before: NDArray[np.int64] | None = None,
    known: NDArray[np.int64] | None = None,
) -> FirstLabels:
    """Find labels for texts by their embeddings (N, D) and words; labels from before (N,), if any, are one more start.

    Of some texts the class may be known (N,), -1 of the others: known class c is then label c.

    >>> rng = np.random.default_rng(0)
    >>> E = np.repeat(np.eye(3, dtype=np.float32), 10, axis=0) + 0.1 * rng.random((30, 3), dtype=np.float32)
    >>> recipe = Recipe("auto", 10, True, True, words=0, neighbours=5, rounds=2, eps1=0.5, eps2="auto")
    >>> found = first_labels(E, None, 3, recipe, rng)
    >>> sorted(np.bincount(found.labels).tolist())
    [10, 10, 10]
    """
    ask = recipe.start == "auto" or before is not None or known is not None
    search = _Search.of(E, words, n_clusters, recipe, rng, ask, known)
    if known is not None:
        return search.from_known(before)
    if before is not None:
        return search.from_before(before)
    return search.from_both_starts() if recipe.start == "auto" else search.from_start(recipe.start)


@dataclass(frozen=True)
class _Search:
    """What a search for labels needs all the way.

    Attributes:
        points: where starts look for clusters, (N, D).
        known: what rounds judge by.
        near: the neighbours that are asked which of two clusterings is better, (N, k).
        sure: the classes of texts that are known, -1 of the others, (N,).
    """

    points: Floats
    known: Witnesses
    near: NDArray[np.int64] | None
    n_clusters: int
    recipe: Recipe
    rng: np.random.Generator
    sure: NDArray[np.int64] | None = None

    @classmethod
    def of(
        cls,
        E: Floats,
        words: Words | None,
        n_clusters: int,
        recipe: Recipe,
        rng: np.random.Generator,
        ask: bool,
        sure: NDArray[np.int64] | None = None,
    ) -> _Search:
        """Find the neighbours and with them the points."""
        if recipe.unit_length:
            E = np.asarray(normalize(E), dtype=np.float32)
        words = words if recipe.words else None
        # More neighbours than half a cluster of mean size would blur the small ones.
        k = min(recipe.neighbours, max(len(E) // (2 * n_clusters), 1))
        near = around = None
        if k or ask:
            near = nearest(
                E, words.X if words else None, max(k or NEIGHBOURS_TO_ASK, 2), recipe.words / (1 + recipe.words)
            )
            around = near[:, :k] if k else None
        known = Witnesses(E, words.X if words else None, around)
        points = side_by_side(E, words.topics if words else None, recipe.words, around)
        return cls(points, known, near, n_clusters, recipe, rng, sure)

    def start(self, name: str) -> NDArray[np.int64]:
        """Return the labels of k-means or of linkage, called by the classes that are known."""
        if name == "linkage":
            labels = linkage_labels(self.points, self.n_clusters, self.rng)
        else:
            cluster = swapped_kmeans if self.recipe.swaps else kmeans_labels
            labels = cluster(self.points, self.n_clusters, self.rng, self.recipe.kmeans_starts).labels
        return labels if self.sure is None else anchored(labels, self.sure, self.n_clusters)

    def from_start(self, name: str) -> FirstLabels:
        """Return what a start leads to."""
        return self.improved(name, self.start(name))

    def from_known(self, before: NDArray[np.int64] | None) -> FirstLabels:
        """Return the best of what each start and the known classes lead to: those that are known have a say in it.

        What counts is how many known texts are judged rightly by models that have not seen them, beside what the
        clusters tell of the neighbours'.
        """
        assert self.sure is not None
        assert self.near is not None
        names = [self.recipe.start] if self.recipe.start != "auto" else ["kmeans", "linkage"]
        if before is None:
            found = [self.from_start(name) for name in names]
        else:
            found = [self.improved("before", before), *([] if names == ["linkage"] else [self.from_start("kmeans")])]
        points = np.asarray(normalize(self.points), dtype=np.float32)
        found.append(self.improved("known", seeded(points, self.sure, self.n_clusters, self.rng)))
        scores = [(one.right or 0.0) + told_by_neighbours(one.labels, self.near) for one in found]
        for one, score in zip(found, scores, strict=True):
            logger.info("%s: %s of the known are right, %.4f with the neighbours", one.start, one.right, score)
        return found[int(np.argmax(scores))]

    def improved(self, start: str, labels: NDArray[np.int64], eps2: float | None = None) -> FirstLabels:
        """Improve labels by rounds, under a given penalty or the one that fits their sizes."""
        eps2 = self.penalty(labels) if eps2 is None else eps2
        if not self.recipe.rounds:
            return FirstLabels(labels, start, eps2, np.bincount(labels, minlength=self.n_clusters) / len(labels), None)
        recipe = self.recipe
        found = crossfit(self.known, labels, self.n_clusters, recipe.eps1, eps2, recipe.rounds, self.rng, self.sure)
        return FirstLabels(found.labels, start, eps2, found.transport.b, found.agreement, found.right)

    def penalty(self, labels: NDArray[np.int64]) -> float:
        """Return eps2 for labels."""
        return self.recipe.penalty(np.bincount(labels, minlength=self.n_clusters))

    def from_both_starts(self) -> FirstLabels:
        """Return what k-means or what linkage leads to, whichever is better."""
        even, uneven = self.start("kmeans"), self.start("linkage")
        best = self.improved("kmeans", even)
        # The burden of proof is on uneven sizes: they compete under the penalty that the even ones ask for, and by more
        # than a hair's breadth.
        other = self.improved("linkage", uneven, best.eps2)
        if not self.tells_more(other, best, PROOF):
            return best
        return other if self.penalty(uneven) == other.eps2 else self.improved("linkage", uneven)

    def from_before(self, before: NDArray[np.int64]) -> FirstLabels:
        """Return what labels from before lead to, or k-means, whichever is better."""
        kept = self.improved("before", before)
        if self.recipe.start == "linkage":
            return kept
        anew = self.improved("kmeans", self.start("kmeans"))
        return anew if self.tells_more(anew, kept) else kept

    def tells_more(self, one: FirstLabels, other: FirstLabels, by: float = 0.0) -> bool:
        """Whether one clustering tells more of the neighbours' clusters than another."""
        assert self.near is not None
        more = told_by_neighbours(one.labels, self.near) - told_by_neighbours(other.labels, self.near)
        logger.info("%s tells %+.4f of the neighbours' clusters beside %s", one.start, more, other.start)
        return more > by
