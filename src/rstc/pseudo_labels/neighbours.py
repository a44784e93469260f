"""What can be learned from the nearest texts of each text."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import normalize


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
