"""The nearest texts of each text, by what the encoder and the words say, and what can be learned from them."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.preprocessing import normalize

NUMBERS_A_PIECE = 2**24  # similarities that are held at a time


def nearest(E: NDArray[np.float32], X: csr_matrix | None, k: int, share: float = 0.5) -> NDArray[np.int64]:
    """Return the k most similar texts of each text, (N, k), most similar first: the text itself, then the others.

    Args:
        E: embeddings of length one, (N, D).
        X: words of length one, (N, V); None: the encoder alone decides.
        k: how many, the text itself included.
        share: of the words in the similarity; the rest is the encoder's.

    >>> E = np.array([[1.0, 0.0], [0.8, 0.6], [0.0, 1.0]], dtype=np.float32)
    >>> nearest(E, None, 2).tolist()
    [[0, 1], [1, 0], [2, 1]]
    """
    N, k = len(E), min(k, len(E))
    found = np.empty((N, k), dtype=np.int64)
    vectors, rows = torch.from_numpy(np.ascontiguousarray(E)), max(1, NUMBERS_A_PIECE // N)
    for start in range(0, N, rows):
        part = slice(start, min(start + rows, N))
        similarity = vectors[part] @ vectors.T  # (rows, N)
        if X is not None:
            similarity *= 1 - share
            similarity += share * torch.from_numpy((X[part] @ X.T).toarray())
        own = torch.arange(part.start, part.stop)
        similarity[own - start, own] = torch.inf  # before its duplicates
        found[part] = similarity.topk(k, dim=1).indices.numpy()
    return found


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
