"""Texts that belong nowhere: far from every cluster, or in words that the other texts do not use.

Two things make a text strange, each counted from the middle text on, in the spread that the texts have:

- distance: to the nearest cluster, by the texts' own variance around their clusters (Mahalanobis).
- rarity: how seldom the other texts use its words, in the mean over its words.

Were they all at home, strangeness would fall off beyond the middle as for numbers that vary at random. What there is
beyond that is what strangers add: so from the texts alone it can be told how many there are, and how many are left
among the rest when those stranger than a cut are put aside. Nothing is learned from examples of strangers.

A text is at home with itself: where it helped to say what is usual, it looks less strange than a new one of its kind.
So the texts are judged in folds, each by the others.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.preprocessing import normalize

from rstc.errors import InputError

WORDS = 2**17  # words are known by a number below this; few share theirs
CHARACTERS = 5_000  # of a text that are looked at: one text of a novel's length is still one text
SHRINKAGE = 0.1  # of the variance towards that of a ball: directions in which texts hardly vary are not trusted
TEXTS_OF_DOUBT = 3  # a cluster's centre is drawn to that of all as if it had so many texts there
MIDDLE = 0.7  # the share of texts that is at home for certain, by which the fall is measured
LOOKED_AT = 0.9  # strangers are counted beyond this share of those at home...
PUT_ASIDE = 0.98  # ...and put aside beyond this one, so that few of those at home ever are
FOLDS = 5
ROWS_A_PIECE = 8_192

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Strangers:
    """What tells strangers from texts that are at home in clusters.

    Attributes:
        axes: turns embeddings (N, D) so that texts vary equally in all directions around their clusters, (D, D).
        centres: of the clusters, turned alike, (C, D).
        rarity: of each word's number, (WORDS,).
        middle, spread: of distance and rarity over the texts, (2,) each; a spread of 0 says nothing.
        aside: numbers of texts that were put aside, in order; so are texts that say the same.
        cut: stranger texts than this belong nowhere.
        left: the expected share of strangers among the others.
    """

    axes: Floats
    centres: Floats
    rarity: Floats
    middle: NDArray[np.float64]
    spread: NDArray[np.float64]
    aside: NDArray[np.uint64]
    cut: float
    left: float

    def among(self, E: Floats, texts: Sequence[str]) -> NDArray[np.bool_]:
        """Tell which texts belong nowhere, (N,), by their embeddings (N, D) and words."""
        return np.asarray((self.strangeness(E, texts) > self.cut) | np.isin(_text_numbers(texts), self.aside))

    def strangeness(self, E: Floats, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return how strange texts are, (N,): 0 for those at home, about 2 for one in twenty, without end."""
        both = np.stack([_distance(E, self.axes, self.centres), _rarity(_words(texts), self.rarity)], axis=1)
        return _strangeness(both, self.middle, self.spread)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return all of it as arrays."""
        return {one.name: np.array(getattr(self, one.name), order="C") for one in fields(self)}

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, NDArray[Any]], dim: int) -> Strangers:
        """Return it again from arrays, for embeddings of so many dimensions."""
        shapes = {"axes": (dim, dim), "rarity": (WORDS,), "middle": (2,), "spread": (2,), "cut": (), "left": ()}
        names = {one.name for one in fields(cls)}
        fits = set(arrays) == names and all(arrays[name].shape == shape for name, shape in shapes.items())
        if not fits or arrays["aside"].ndim != 1 or arrays["centres"].shape[1:] != (dim,):
            raise InputError("what tells strangers does not fit the model")
        plain: dict[str, Any] = {**arrays, "cut": float(arrays["cut"]), "left": float(arrays["left"])}
        return cls(**plain)


def know_strangers(E: Floats, clusters: NDArray[np.int64], texts: Sequence[str], share: float) -> Strangers:
    """Learn to tell strangers from the texts that are to be clustered, strangers among them.

    Args:
        E: embeddings, (N, D).
        clusters: where each text would belong if it belonged somewhere, (N,).
        texts: what they say.
        share: of strangers that may be left among the others, as far as can be told.
    """
    U, words = np.asarray(normalize(E), dtype=np.float32), _words(texts)
    both = np.empty((len(E), 2))
    fold = np.random.default_rng(0).integers(FOLDS, size=len(E))
    for number in range(FOLDS):
        own, others = fold == number, fold != number
        if own.any() and others.any():
            both[own, 0] = _distance(E[own], *_at_home(U[others], clusters[others]))
            both[own, 1] = _rarity(words[own], _rarities(words[others]))
    middle, high = np.nan_to_num(np.nanquantile(both, [0.5, norm.cdf(1)], axis=0))
    S = _strangeness(both, middle, high - middle)
    cut, left = cut_at(S, share)
    aside = np.unique(_text_numbers([texts[i] for i in np.flatnonzero(cut < S)]))
    return Strangers(*_at_home(U, clusters), _rarities(words), middle, high - middle, aside, cut, left)


def cut_at(strangeness: NDArray[np.float64], share: float) -> tuple[float, float]:
    """Return beyond which strangeness texts are put aside so that this share of the others are strangers, or less.

    The second number is the share that is expected. As few texts as can be are put aside, and none where there are no
    more strange ones than there would be by chance.
    """
    ordered = np.sort(strangeness)
    N = len(ordered)
    scale = np.quantile(ordered, MIDDLE) / _quantile(MIDDLE)
    if not scale > 0:
        return float("inf"), 0.0
    stranger = N - np.searchsorted(ordered, ordered, side="right")  # how many are stranger than each
    excess = np.maximum(stranger - N * (1 - share_at_home(ordered / scale)), 0)
    strangers = excess[np.searchsorted(ordered, _quantile(LOOKED_AT) * scale) :].max(initial=0)
    if strangers <= share * N:
        return float("inf"), float(strangers / N)
    left = (strangers - excess) / (N - stranger)  # among those who are no stranger than each
    first = int(np.searchsorted(ordered, _quantile(PUT_ASIDE) * scale))
    last = min(max(int(np.flatnonzero(left <= share)[-1:].max(initial=0)), first), N - 1)  # who is kept
    after = np.append(ordered, np.inf)[N - stranger[last]]
    cut = (ordered[last] + after) / 2  # half way, so that a rounding puts nobody on the other side
    return float(cut), float(max(left[last], 0))


def share_at_home(strangeness: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return which share of texts that are all at home is less strange.

    Distance and rarity vary as normal numbers then, and only what is beyond their middle counts.

    >>> share_at_home(np.array([0.0, 2.06])).round(2).tolist()
    [0.25, 0.95]
    """
    neither, one, both = 1, 2 * (2 * norm.cdf(strangeness) - 1), 1 - np.exp(-(strangeness**2) / 2)
    return np.asarray((neither + one + both) / 4)


def _quantile(share: float) -> float:
    """Return the strangeness below which this share of texts is that are all at home."""
    grid = np.linspace(0, 10, 10_001, dtype=np.float64)
    return float(np.interp(share, share_at_home(grid), grid))


def _at_home(E: Floats, clusters: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Return axes (D, D) along which texts vary equally around their clusters, and the clusters' centres on them."""
    there, place = np.unique(clusters, return_inverse=True)
    sizes = np.bincount(place)[:, None]
    sums = np.zeros((len(there), E.shape[1]))
    np.add.at(sums, place, E)
    around = E - (sums / sizes)[place]
    variance = (around.T @ around).astype(np.float64) / max(len(E) - len(there), 1)
    D = len(variance)
    ball = max(np.trace(variance) / D, 1e-12) * np.eye(D)
    axes = np.linalg.cholesky(np.linalg.inv((1 - SHRINKAGE) * variance + SHRINKAGE * ball))
    centres = (sums + TEXTS_OF_DOUBT * E.mean(0, dtype=np.float64)) / (sizes + TEXTS_OF_DOUBT)
    return axes.astype(np.float32), (centres @ axes).astype(np.float32)


def _distance(E: Floats, axes: Floats, centres: Floats) -> NDArray[np.float64]:
    """Return the logarithm of the distance of each text to the nearest centre, (N,)."""
    found = np.empty(len(E))
    for start in range(0, len(E), ROWS_A_PIECE):
        points = normalize(E[start : start + ROWS_A_PIECE]) @ axes
        squares = (points**2).sum(1)[:, None] + (centres**2).sum(1) - 2 * points @ centres.T
        found[start : start + ROWS_A_PIECE] = np.log(np.maximum(squares.min(1), 1e-9))
    return found


def _words(texts: Sequence[str]) -> Any:
    """Return which words each text has, (N, WORDS), as ones in a sparse matrix."""
    counter = HashingVectorizer(
        n_features=WORDS, token_pattern=r"(?u)\w+", norm=None, alternate_sign=False, binary=True, dtype=np.float32
    )
    return counter.transform(text[:CHARACTERS] for text in texts)


def _rarities(words: Any) -> Floats:
    """Return how seldom texts use each word, (WORDS,): the logarithm of one in how many does. Unheard of is once."""
    return np.asarray(np.log(words.shape[0] / np.maximum(np.asarray(words.sum(0)).ravel(), 1)), dtype=np.float32)


def _rarity(words: Any, rarities: Floats) -> NDArray[np.float64]:
    """Return the mean rarity of each text's words, (N,); not a number where it has none."""
    counts = np.asarray(words.sum(1)).ravel()
    return np.where(counts > 0, (words @ rarities) / np.maximum(counts, 1), np.nan)


def _strangeness(
    both: NDArray[np.float64], middle: NDArray[np.float64], spread: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return how far beyond the middle distance and rarity are together, (N,), of (N, 2)."""
    beyond = (both - middle) / np.where(spread > 0, spread, np.inf)
    return np.asarray(np.linalg.norm(np.maximum(np.nan_to_num(beyond), 0), axis=1))


def _text_numbers(texts: Sequence[str]) -> NDArray[np.uint64]:
    """Return a number for each text by which it is known again, (N,)."""
    digests = b"".join(hashlib.blake2b(text.encode("utf-8"), digest_size=8).digest() for text in texts)
    return np.frombuffer(digests, dtype="<u8").astype(np.uint64)
