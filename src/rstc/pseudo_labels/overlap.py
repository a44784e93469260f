"""Overlaps: pairs of clusters that repeated searches do not tell apart.

    overlap of clusters i and j = (texts of i that a search puts into j, and of j that it puts into i) / texts of both,

on average over the searches. It is about one half for the halves of a cluster that was split at random.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rstc.pseudo_labels.repeats import Repeats

MIN_OVERLAP = 0.25
MIN_TEXTS = 5  # of each of the two: of fewer, confusion is no evidence


@dataclass(frozen=True)
class Overlap:
    """Two clusters that repeated searches do not tell apart.

    Attributes
    ----------
    cluster, other : int
        The smaller and the larger cluster.
    share : float
        Share of the texts of the smaller one that the searches put into the other.
    """

    cluster: int
    other: int
    share: float


def find_overlaps(repeats: Repeats, n_clusters: int) -> list[Overlap]:
    """Find pairs of clusters whose overlap is at least `MIN_OVERLAP`.

    Parameters
    ----------
    repeats : Repeats
        R searches on n texts.
    n_clusters : int
        C.

    Returns
    -------
    list of Overlap
        The largest overlap first.
    """
    C, R = n_clusters, repeats.n_repeats
    sizes = np.bincount(repeats.run_labels, minlength=C)
    moved = np.zeros((C, C))
    for labels in repeats.labels:
        moved += np.bincount(repeats.run_labels * C + labels, minlength=C * C).reshape(C, C)
    moved /= R
    both = moved + moved.T
    overlap = np.triu(both / np.maximum(sizes[:, None] + sizes, 1), 1)
    overlap[sizes < MIN_TEXTS], overlap[:, sizes < MIN_TEXTS] = 0, 0
    found = []
    for i, j in sorted(np.argwhere(overlap >= MIN_OVERLAP).tolist(), key=lambda pair: -overlap[pair[0], pair[1]]):
        small, large = (i, j) if sizes[i] <= sizes[j] else (j, i)
        found.append(Overlap(small, large, float(min(moved[small, large] / sizes[small], 1.0))))
    return found
