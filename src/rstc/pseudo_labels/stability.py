"""Stability of clusters: how often each is found again in repeated searches, and what it is confused with.

A search finds a cluster again if the Jaccard similarity of the two, the number of shared texts divided by the number of
texts in either, exceeds 0.5 (Hennig 2007): it then shares more texts with this cluster than with any other.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rstc.pseudo_labels.n_clusters import squared_silhouettes
from rstc.pseudo_labels.repeats import Repeats

FOUND_JACCARD = 0.5
SIZE_QUANTILES = (0.05, 0.95)

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class ClusterStability:
    """How stable a cluster is.

    Attributes
    ----------
    n_found, n_repeats : int
        Number of searches that found the cluster again, and of all searches.
    separation : float
        Mean silhouette of its texts, from -1 to 1: high if they are nearer to each other than to the nearest other
        cluster, near 0 if they are as near to it.
    relative_low, relative_high : float
        Interval of its size relative to that in the run: the 5th and the 95th percentile over the searches.
    confused_with : int or None
        The other cluster that the searches put most of its texts into; None if they put none elsewhere.
    confusion : float
        Share of its texts that they put there, on average.
    """

    n_found: int
    n_repeats: int
    separation: float
    relative_low: float
    relative_high: float
    confused_with: int | None
    confusion: float


def measure_stability(repeats: Repeats, n_clusters: int) -> dict[int, ClusterStability]:
    """Measure the stability of each cluster that holds a text of the repeated searches.

    Parameters
    ----------
    repeats : Repeats
        R searches on n texts.
    n_clusters : int
        C.

    Returns
    -------
    dict of ClusterStability
        By cluster number.
    """
    C, R, run_labels = n_clusters, repeats.n_repeats, repeats.run_labels
    sizes = np.bincount(run_labels, minlength=C)
    found_sizes, shared, total = np.empty((R, C)), np.empty((R, C)), np.zeros((C, C))
    for repeat, labels in enumerate(repeats.labels):
        # Texts of each cluster of the run in each cluster of the search; of all searches it would take much memory.
        overlap = np.bincount(run_labels * C + labels, minlength=C * C).reshape(C, C)
        found_sizes[repeat], shared[repeat] = overlap.sum(0), overlap.diagonal()
        total += overlap
    is_found = shared > FOUND_JACCARD * (sizes + found_sizes - shared)
    low, high = np.quantile(found_sizes / np.maximum(sizes, 1), SIZE_QUANTILES, axis=0)
    np.fill_diagonal(total, 0)
    silhouettes = squared_silhouettes(repeats.points, run_labels)
    separation = np.bincount(run_labels, weights=silhouettes, minlength=C) / np.maximum(sizes, 1)
    stability = {}
    for cluster in np.flatnonzero(sizes).tolist():
        rival = int(total[cluster].argmax())
        confusion = float(total[cluster, rival] / (R * sizes[cluster]))
        stability[cluster] = ClusterStability(
            n_found=int(is_found[:, cluster].sum()),
            n_repeats=R,
            separation=float(separation[cluster]),
            relative_low=float(low[cluster]),
            relative_high=float(high[cluster]),
            confused_with=rival if confusion > 0 else None,
            confusion=confusion,
        )
    return stability
