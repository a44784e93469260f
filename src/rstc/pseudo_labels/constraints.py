"""Clustering with partial labels: class c of the labelled texts is cluster c.

There may be more clusters than classes. A labelled text always stays in the cluster of its class.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float32]

UNLABELLED = -1  # the partial label of a text whose class is not given
LLOYD_STEPS = 10


def align_with_partial_labels(labels: Ints, partial_labels: Ints, n_clusters: int) -> Ints:
    """Renumber clusters so that as many labelled texts as possible are in the cluster of their class.

    Parameters
    ----------
    labels : (N,) array
        Clusters found without partial labels.
    partial_labels : (N,) array
        Class of each text, `UNLABELLED` where it is not given.
    n_clusters : int
        Number of clusters, at least as many as there are classes.

    Returns
    -------
    (N,) array
        Renumbered clusters; the labelled texts are in the cluster of their class.

    >>> align_with_partial_labels(np.array([0, 0, 1, 1, 2]), np.array([-1, 1, -1, 0, -1]), 3).tolist()
    [1, 1, 0, 0, 2]
    """
    from scipy.optimize import linear_sum_assignment  # `UNLABELLED` is read before anything computes

    n_classes = int(partial_labels.max()) + 1
    labelled = partial_labels != UNLABELLED
    counts = np.zeros((n_classes, n_clusters), dtype=np.int64)
    np.add.at(counts, (partial_labels[labelled], labels[labelled]), 1)
    classes, clusters = linear_sum_assignment(-counts)
    unmatched = -1
    new_ids = np.full(n_clusters, unmatched)
    new_ids[clusters] = classes
    new_ids[new_ids == unmatched] = np.arange(n_classes, n_clusters)
    return np.where(labelled, partial_labels, new_ids[labels])


def fit_constrained_kmeans(points: Floats, partial_labels: Ints, n_clusters: int, rng: np.random.Generator) -> Ints:
    """Cluster points by k-means in which labelled texts keep their cluster (constrained k-means, Basu et al. 2002).

    The first centres are the means of the classes; those of the other clusters are drawn as in k-means++.

    Parameters
    ----------
    points : (N, D) array
        Points of length one.
    partial_labels : (N,) array
        Class of each text, `UNLABELLED` where it is not given.
    n_clusters : int
        Number of clusters, at least as many as there are classes.
    rng : numpy.random.Generator
        Draws the first centres of clusters without a class.

    Returns
    -------
    (N,) array
        Cluster of each text.

    >>> points = np.eye(3, dtype=np.float32)[[0, 0, 1, 1, 2]]
    >>> fit_constrained_kmeans(points, np.array([1, -1, 0, -1, -1]), 3, np.random.default_rng(0)).tolist()
    [1, 1, 0, 0, 2]
    """
    labelled = partial_labels != UNLABELLED
    first_centres = [points[partial_labels == label].mean(0) for label in range(int(partial_labels.max()) + 1)]
    while len(first_centres) < n_clusters:
        distances = np.maximum(1 - (points @ _to_unit_length(np.stack(first_centres)).T).max(1), 0).astype(np.float64)
        total = distances.sum()
        row = rng.choice(len(points), p=distances / total) if total > 0 else rng.integers(len(points))
        first_centres.append(points[row])
    centres = _to_unit_length(np.stack(first_centres))  # (C, D)
    for _ in range(LLOYD_STEPS):
        labels = np.where(labelled, partial_labels, (points @ centres.T).argmax(1))
        sums = np.zeros_like(centres)
        np.add.at(sums, labels, points)
        is_filled = np.bincount(labels, minlength=n_clusters)[:, None] > 0
        centres = _to_unit_length(np.where(is_filled, sums, centres))
    return np.asarray(labels, dtype=np.int64)


def _to_unit_length(vectors: Floats) -> Floats:
    """Scale rows to length one; unlike scikit-learn's `normalize`, divide by at least 1e-12."""
    return np.asarray(vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12), dtype=np.float32)
