"""What somebody knows of a few texts, in the search for labels: clusters that are called by the known classes.

Class c of the known ones is cluster c, in every start and every round; clusters beyond them are free.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

Ints = NDArray[np.int64]
Floats = NDArray[np.float32]

UNKNOWN = -1
LLOYD_STEPS = 10


def anchored(labels: Ints, known: Ints, n_clusters: int) -> Ints:
    """Return labels (N,) renumbered so that as many known texts as can be are in the cluster of their class.

    Args:
        labels: found without knowing anything.
        known: the class of each text, -1 where it is not known, (N,).
        n_clusters: C, at least as many as there are known classes.

    >>> anchored(np.array([0, 0, 1, 1, 2]), np.array([-1, 1, -1, 0, -1]), 3).tolist()
    [1, 1, 0, 0, 2]
    """
    n_classes = int(known.max()) + 1
    there = known != UNKNOWN
    counts = np.zeros((n_classes, n_clusters), dtype=np.int64)
    np.add.at(counts, (known[there], labels[there]), 1)
    classes, clusters = linear_sum_assignment(-counts)
    place = np.full(n_clusters, UNKNOWN)
    place[clusters] = classes
    place[place == UNKNOWN] = np.arange(n_classes, n_clusters)
    return np.where(there, known, place[labels])


def seeded(points: Floats, known: Ints, n_clusters: int, rng: np.random.Generator) -> Ints:
    """Cluster points of length one (N, D) around the means of the known classes, and around others far from them.

    >>> points = np.eye(3, dtype=np.float32)[[0, 0, 1, 1, 2]]
    >>> seeded(points, np.array([1, -1, 0, -1, -1]), 3, np.random.default_rng(0)).tolist()
    [1, 1, 0, 0, 2]
    """
    there = known != UNKNOWN
    centres = [points[known == one].mean(0) for one in range(int(known.max()) + 1)]
    while len(centres) < n_clusters:  # as k-means++ draws them
        distances = np.maximum(1 - (points @ _unit(np.stack(centres)).T).max(1), 0).astype(np.float64)
        total = distances.sum()
        centres.append(points[rng.choice(len(points), p=distances / total) if total > 0 else rng.integers(len(points))])
    C = _unit(np.stack(centres))
    for _ in range(LLOYD_STEPS):
        labels = np.where(there, known, (points @ C.T).argmax(1))
        sums = np.zeros_like(C)
        np.add.at(sums, labels, points)
        C = _unit(np.where(np.bincount(labels, minlength=n_clusters)[:, None] > 0, sums, C))
    return np.asarray(labels, dtype=np.int64)


def _unit(vectors: Floats) -> Floats:
    return np.asarray(vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12), dtype=np.float32)
