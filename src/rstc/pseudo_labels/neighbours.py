"""The nearest texts of each text, by what the encoder and the words say, and what can be learned from them."""

from __future__ import annotations

import logging
from types import ModuleType

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.preprocessing import normalize

from rstc.pseudo_labels.proposals import NOBODY, faiss_if_there, proposals
from rstc.pseudo_labels.words import Words

logger = logging.getLogger("rstc")

NUMBERS_A_PIECE = 2**24  # similarities that are held at a time
TEXTS_TO_COMPARE_ALL = 50_000  # beyond, each text is compared with those that an index proposes, if there is one
PROPOSALS_A_NEIGHBOUR = 4

Floats = NDArray[np.float32]


def nearest(E: Floats, words: Words | None, k: int, share: float = 0.5) -> NDArray[np.int64]:
    """Return the k most similar texts of each text, (N, k), most similar first: the text itself, then the others.

    With many texts it needs faiss to be quick; then it misses a few neighbours.

    Args:
        E: embeddings of length one, (N, D).
        words: of the texts; None: the encoder alone decides.
        k: how many, the text itself included.
        share: of the words in the similarity; the rest is the encoder's.

    >>> E = np.array([[1.0, 0.0], [0.8, 0.6], [0.0, 1.0]], dtype=np.float32)
    >>> nearest(E, None, 2).tolist()
    [[0, 1], [1, 0], [2, 1]]
    """
    k = min(k, len(E))
    if len(E) > TEXTS_TO_COMPARE_ALL:
        if (faiss := faiss_if_there()) is not None:
            return _nearest_proposed(faiss, E, words, k, share)
        logger.info("comparing each text with each; `pip install rstc[large]` is quicker for so many")
    found = np.empty((len(E), k), dtype=np.int64)
    vectors = torch.from_numpy(np.ascontiguousarray(E))
    for part in _pieces(len(E), len(E)):
        similarity = vectors[part] @ vectors.T  # (rows, N)
        if words is not None:
            similarity *= 1 - share
            similarity += share * torch.from_numpy((words.X[part] @ words.X.T).toarray())
        own = torch.arange(part.start, part.stop)
        similarity[own - part.start, own] = torch.inf  # before its duplicates
        found[part] = similarity.topk(k, dim=1).indices.numpy()
    return found


def _nearest_proposed(faiss: ModuleType, E: Floats, words: Words | None, k: int, share: float) -> NDArray[np.int64]:
    """Return what `nearest` returns, looking at proposals only."""
    proposed = proposals(faiss, E, words.X if words else None, PROPOSALS_A_NEIGHBOUR * k)
    found = np.empty((len(E), k), dtype=np.int64)
    for part in _pieces(len(E), proposed.shape[1] * E.shape[1]):
        others = proposed[part]  # (rows, proposals)
        own = np.arange(part.start, part.stop)[:, None]
        similarity = np.einsum("rd,rpd->rp", E[part], E[others])
        if words is not None:
            mine = words.X[np.repeat(own, others.shape[1])]
            common = np.asarray(mine.multiply(words.X[others.ravel()]).sum(1)).reshape(others.shape)
            similarity = (1 - share) * similarity + share * common
        similarity[others == own] = np.inf
        similarity[others == NOBODY] = -np.inf
        best = np.argsort(-similarity, axis=1, kind="stable")[:, :k]
        found[part] = np.take_along_axis(others, best, axis=1)
        found[part] = np.where(found[part] == NOBODY, own, found[part])
    return found


def _pieces(N: int, numbers_a_row: int) -> list[slice]:
    """Cut N rows into pieces, of which none holds too many numbers at a time."""
    rows = max(1, NUMBERS_A_PIECE // numbers_a_row)
    return [slice(start, min(start + rows, N)) for start in range(0, N, rows)]


def summed(points: NDArray[np.float32], near: NDArray[np.int64]) -> NDArray[np.float32]:
    """Return the sum of each text's neighbours (N, D), itself included.

    One neighbour after the other: as an array of all neighbours' points it would take k times the memory.
    """
    total = points[near[:, 0]]
    for column in near.T[1:]:
        total += points[column]
    return total


def smoothed(points: NDArray[np.float32], near: NDArray[np.int64]) -> NDArray[np.float32]:
    """Return each point averaged with its neighbours, at length one: what a text shares with them stays."""
    return np.asarray(normalize(summed(points, near), copy=False))


def told_by_neighbours(labels: NDArray[np.int64], near: NDArray[np.int64]) -> float:
    """Return how much a text's cluster tells of its neighbours' clusters: mutual information over entropy, 0 to 1.

    A boundary through the middle of a crowd lowers it, as neighbours are on both sides; so does a cluster that holds
    almost everything, which tells nothing. Even and uneven clusterings can be compared by it.

    >>> near = np.array([[0, 1], [1, 0], [2, 3], [3, 2]])
    >>> round(told_by_neighbours(np.array([0, 0, 1, 1]), near), 3)
    1.0
    >>> round(told_by_neighbours(np.array([0, 0, 0, 1]), near), 3)
    0.151
    """
    C = int(labels.max()) + 1
    joint = np.zeros((C, C))
    for column in near.T[1:]:
        joint += np.bincount(labels * C + labels[column], minlength=C * C).reshape(C, C)
    joint = (joint + joint.T) / (2 * max(joint.sum(), 1))
    shares = joint.sum(1)
    known = shares[shares > 0]
    entropy = -(known * np.log(known)).sum()
    if entropy <= 0:
        return 0.0
    there = joint > 0
    return float((joint[there] * np.log(joint[there] / np.outer(shares, shares)[there])).sum() / entropy)
