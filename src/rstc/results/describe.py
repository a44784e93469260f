"""Describe clusters: size, keywords (class-based TF-IDF), typical texts, doubtful texts and nearest clusters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, CountVectorizer
from sklearn.preprocessing import normalize

Matrix = NDArray[np.floating]

N_KEYWORDS = 8
N_QUOTES = 5
N_NEAR = 3
MAX_CHARACTERS = 5000  # of a text are searched for words: a text as long as a novel is still one text
MAX_WORDS = 50_000


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
    keywords : list of str
        Words that are frequent in the cluster and rare elsewhere, best first.
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
    keywords: list[str]
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
    keywords = WordCounts(texts).keywords(labels, n_keywords)
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


# Words of scikit-learn's list that tickets and queries are about.
_NOT_STOP_WORDS = {"amount", "back", "bill", "bottom", "call", "computer", "detail", "empty", "fill", "fire", "front"}
_NOT_STOP_WORDS |= {"full", "interest", "move", "name", "show", "system"}
STOP_WORDS = sorted(ENGLISH_STOP_WORDS - _NOT_STOP_WORDS)


class WordCounts:
    """The words of N texts, from which the keywords of any clustering of these texts follow.

    Parameters
    ----------
    texts : sequence of str
        N texts.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        vectorizer = CountVectorizer(
            stop_words=STOP_WORDS, token_pattern=r"(?u)\b[^\W\d_][\w'’-]+\b", binary=True, max_features=MAX_WORDS
        )
        try:
            self._counts = vectorizer.fit_transform(text[:MAX_CHARACTERS] for text in texts)  # (N, V)
            self._words = vectorizer.get_feature_names_out()
        except ValueError:  # the texts hold no word
            self._counts, self._words = sp.csr_matrix((len(texts), 0)), np.array([], dtype=object)

    def keywords(self, labels: NDArray[np.int64], n_keywords: int = N_KEYWORDS) -> dict[int, list[str]]:
        """Return the keywords of each cluster by class-based TF-IDF.

        The score of a word is the number of texts of the cluster that hold it, times
        log(1 + words of a mean cluster / the word's total).

        Parameters
        ----------
        labels : array of int, shape (N,)
            The cluster of each text, negative for a text without cluster.
        n_keywords : int
            Maximum number of keywords of a cluster.

        Returns
        -------
        dict
            From cluster number to keywords, best first.
        """
        rows = np.flatnonzero(labels >= 0)
        clusters, index = np.unique(labels[rows], return_inverse=True)
        if not len(self._words) or not len(clusters):
            return {int(cluster): [] for cluster in clusters}
        membership = sp.csr_matrix((np.ones(len(rows)), (index, rows)), shape=(len(clusters), len(labels)))
        counts = (membership @ self._counts).tocsr()  # (C, V)
        totals = np.asarray(counts.sum(0)).ravel()  # (V,)
        rarity = np.log1p(counts.sum() / len(clusters) / np.maximum(totals, 1))
        keywords = {}
        for i, cluster in enumerate(clusters):  # a dense score matrix would hold C x V numbers
            start, end = counts.indptr[i : i + 2]
            words = counts.indices[start:end]
            scores = counts.data[start:end] * rarity[words]
            best = np.lexsort((words, -scores))[:n_keywords]
            keywords[int(cluster)] = [str(self._words[j]) for j in words[best]]
        return keywords


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
