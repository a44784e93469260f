"""Describe clusters: size, keywords, typical texts, doubtful texts and nearest clusters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import normalize

from rstc.results.keywords import N_KEYWORDS, Keyword, find_keywords
from rstc.results.phrases import PhraseCounts

Matrix = NDArray[np.floating]

N_QUOTES = 5
N_NEAR = 3


@dataclass(frozen=True)
class ClusterDescription:
    """Description of one cluster.

    Attributes
    ----------
    cluster : int
        Number of the cluster.
    size : int
        Number of texts.
    confidence : float or None
        Mean confidence of the texts, None if no text has one.
    keywords : list of Keyword
        Words and phrases that are frequent in the cluster and rare elsewhere, best first.
    typical : list of int
        Rows of the distinct texts that are nearest to the centre of the cluster.
    doubtful : list of int
        Rows of the distinct texts with the lowest confidence.
    near : list of int
        The clusters with the nearest centres, nearest first.
    """

    cluster: int
    size: int
    confidence: float | None
    keywords: list[Keyword]
    typical: list[int]
    doubtful: list[int]
    near: list[int]


def describe(
    texts: Sequence[str],
    labels: NDArray[np.int64],
    confidence: NDArray[np.floating],
    E: Matrix,
    n_keywords: int = N_KEYWORDS,
    n_texts: int = N_QUOTES,
) -> list[ClusterDescription]:
    """Describe every cluster that holds a text, ordered by cluster number.

    Parameters
    ----------
    texts : sequence of str
        N texts.
    labels : array of int, shape (N,)
        The cluster of each text, negative for a text without cluster.
    confidence : array of float, shape (N,)
        Confidence of each text.
    E : array of float, shape (N, D)
        Learned embeddings.
    n_keywords, n_texts : int
        Maximum number of keywords, and of typical and doubtful texts.

    Returns
    -------
    list of ClusterDescription
    """
    clusters = np.unique(labels[labels >= 0])
    if not len(clusters):
        return []
    keywords = find_keywords(PhraseCounts.from_texts(texts), labels, n_keywords)
    members = [np.flatnonzero(labels == cluster) for cluster in clusters]
    centres = np.empty((len(clusters), E.shape[1]))  # (C, D)
    typical = []
    for i, rows in enumerate(members):
        U = normalize(E[rows])
        centres[i] = U.mean(0)
        typical.append(find_typical(texts, rows, U, n_texts))
    near = clusters[_nearest_centres(centres)]
    return [
        ClusterDescription(
            cluster=int(clusters[i]),
            size=len(rows),
            confidence=float(confidence[rows].mean()),
            keywords=keywords[int(clusters[i])],
            typical=typical[i],
            doubtful=_take_distinct(texts, rows[np.argsort(confidence[rows], kind="stable")], n_texts),
            near=near[i].tolist(),
        )
        for i, rows in enumerate(members)
    ]


def find_typical(texts: Sequence[str], rows: NDArray[np.int64], U: Matrix, n_texts: int = N_QUOTES) -> list[int]:
    """Find the typical texts of a cluster: distinct texts, those nearest to its centre first.

    Parameters
    ----------
    texts : sequence of str
        All texts.
    rows : array of int, shape (n,)
        The texts of the cluster.
    U : array of float, shape (n, D)
        The embeddings of these texts, at unit length.
    n_texts : int
        Maximum number of typical texts.

    Returns
    -------
    list of int
        Rows of texts.
    """
    return _take_distinct(texts, rows[np.argsort(-(U @ U.mean(0)), kind="stable")], n_texts)


def _nearest_centres(centres: Matrix) -> NDArray[np.int64]:
    """Return for each centre (C, D) the indices of the `N_NEAR` nearest others by cosine, nearest first."""
    U = normalize(centres)
    similarity = U @ U.T  # (C, C)
    np.fill_diagonal(similarity, -np.inf)
    return np.argsort(-similarity, axis=1, kind="stable")[:, : min(N_NEAR, len(centres) - 1)]


def _take_distinct(texts: Sequence[str], order: NDArray[np.int64], n: int) -> list[int]:
    """Return the first n rows in this order whose texts differ."""
    first_rows: dict[str, int] = {}
    for row in order:
        first_rows.setdefault(texts[row], int(row))
        if len(first_rows) == n:
            break
    return list(first_rows.values())
