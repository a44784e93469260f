"""The levels of detail of a fitted model's clusters: coarse, medium and fine labels of its texts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import normalize

from rstc.io.predictions import NO_CLUSTER
from rstc.numerics.hierarchy import Tree, cluster_means
from rstc.pseudo_labels.cluster_count import COARSE, FINE, MEDIUM
from rstc.pseudo_labels.levels import SAMPLE_SIZE, average_points, choose_coarse_groups
from rstc.pseudo_labels.subclusters import Subclusters, find_subclusters, place_in_groups
from rstc.training.reliability import Reliability

BLOCK_ROWS = 65_536

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Levels:
    """The levels of C clusters of N texts; groups of each level are numbered by size, the largest first.

    Attributes
    ----------
    chosen : {"coarse", "medium", "fine"}
        The level of the model's clusters.
    labels : dict of (N,) arrays
        Group of each text by level, NO_CLUSTER for texts without a cluster.
    groups : (C,) array
        Coarse group of each cluster.
    division : Division or None
        How clusters divide into those of the fine level; None if it was not looked for.
    """

    chosen: str
    labels: dict[str, Ints]
    groups: Ints
    division: Division | None


@dataclass(frozen=True, eq=False)
class Division:
    """The F clusters of the fine level.

    Attributes
    ----------
    parents : (F,) array
        Cluster that each is a part of.
    subclusters : Subclusters
        Those of the sample, in their own numbers.
    numbers : (F,) array
        Number in the fine level of each of the subclusters.
    """

    parents: Ints
    subclusters: Subclusters
    numbers: Ints

    def divide_reliability(self, reliability: Reliability, E: Floats, texts: list[str], labels: Ints) -> Reliability:
        """Return the reliability of the fine level, by its labels (N,) of texts with embeddings (N, D).

        A search finds a part of a cluster again if it puts a text into the cluster, and half of the cluster's texts
        put it into that part.
        """
        found, before, numbers = self.subclusters, reliability.repeats, self.numbers
        fine = np.empty_like(before.labels)
        for repeat, clusters in enumerate(before.labels):
            half = found.halves[repeat % len(found.halves)]
            fine[repeat] = numbers[np.where(clusters == before.run_labels, half, found.place(clusters))]
        repeats = replace(before, run_labels=numbers[found.labels], labels=fine)
        clustered = np.flatnonzero(labels != NO_CLUSTER)
        model = reliability.confidence_model.refit_clusters(
            np.asarray(normalize(E[clustered]), dtype=np.float32), labels[clustered]
        )
        confidence = model.assess(E, texts, labels)
        in_part = (found.halves == found.labels).mean(0)
        confidence[reliability.sample_rows] = reliability.confidence[reliability.sample_rows] * in_part
        return replace(
            reliability,
            confidence=confidence,
            confidence_model=model,
            repeats=repeats,
            n_clusters=len(self.parents),
        )


def find_levels(
    labels: Ints,
    E: Floats,
    hierarchy: Tree,
    sizes: NDArray[np.float64],
    reliability: Reliability | None,
    n_coarse: int | None,
    classes: list[Any] | None,
    divides: bool,
) -> Levels:
    """Find the levels of the clusters of texts.

    Nothing is drawn from the generator of the run, so that the clusters are the same whether or not this is called.

    Parameters
    ----------
    labels : ndarray of shape (N,)
        Cluster of each text, NO_CLUSTER for outliers.
    E : ndarray of shape (N, D)
        Embeddings.
    hierarchy : ndarray of shape (C - 1, 4)
        The tree over the clusters.
    sizes : ndarray of shape (C,)
        Number of texts or share of each cluster.
    reliability : Reliability or None
        The repeated searches, whose points sub-clusters are found in.
    n_coarse : int or None
        The number of coarse groups; None: the texts decide.
    classes : list of length C or None
        The given class of each cluster; clusters that have one are not divided.
    divides : bool
        Whether the fine level is looked for; else it is the medium one.

    Returns
    -------
    Levels
    """
    C, clustered = len(hierarchy) + 1, np.flatnonzero(labels != NO_CLUSTER)
    groups = choose_coarse_groups(hierarchy, reliability.repeats if reliability else None, sizes, n_coarse)
    coarse, fine, division = labels.copy(), labels.copy(), None
    coarse[clustered] = groups[labels[clustered]]
    if divides and len(clustered):
        rng = np.random.default_rng(0)
        if reliability is None:
            sample = np.sort(rng.permutation(clustered)[:SAMPLE_SIZE])
            points, run_labels = average_points(np.asarray(normalize(E[sample]), dtype=np.float32)), labels[sample]
        else:
            sample, points = reliability.sample_rows, reliability.repeats.points
            run_labels = reliability.repeats.run_labels
        given = np.flatnonzero([known is not None for known in classes or []])
        found = find_subclusters(points, run_labels, C, rng, given)
        fine[clustered] = _place_texts(E, labels, clustered, sample, run_labels, found)
        counts = np.bincount(fine[clustered], minlength=found.n)
        order = np.lexsort((found.parents, -counts))
        numbers = np.argsort(order)
        fine[clustered] = numbers[fine[clustered]]
        division = Division(found.parents[order], found, numbers)
    return Levels(MEDIUM, {COARSE: coarse, MEDIUM: labels, FINE: fine}, groups, division)


def _place_texts(E: Floats, labels: Ints, rows: Ints, sample: Ints, run_labels: Ints, found: Subclusters) -> Ints:
    """Return the sub-cluster of the texts of some rows: as found in the sample, by the nearest mean for the others."""
    fine = np.full(len(labels), NO_CLUSTER, dtype=np.int64)
    unchanged = labels[sample] == run_labels  # partial labels may have given a text another cluster
    fine[sample[unchanged]] = found.labels[unchanged]
    means = cluster_means(np.asarray(normalize(E[sample]), dtype=np.float32), found.labels, found.n)
    others = rows[fine[rows] == NO_CLUSTER]
    for start in range(0, len(others), BLOCK_ROWS):
        block = others[start : start + BLOCK_ROWS]
        U = np.asarray(normalize(E[block]), dtype=np.float32)
        fine[block] = place_in_groups(U, means, found.parents, labels[block])
    return fine[rows]
