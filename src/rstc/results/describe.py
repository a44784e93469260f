"""Clusters in words: their size, keywords, typical texts, doubtful texts and nearest clusters."""

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
N_NEAR = 3


@dataclass(frozen=True)
class ClusterDescription:
    """One cluster in words.

    Attributes:
        cluster: its number.
        size: how many texts it holds.
        confidence: the mean probability of its texts.
        keywords: words that are frequent in it and rare elsewhere, the most telling first.
        typical: which distinct texts are nearest to its centre.
        doubtful: of which distinct texts the model is least sure.
        near: the clusters whose centres are nearest to its own.
    """

    cluster: int
    size: int
    confidence: float
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
    n_texts: int = 5,
) -> list[ClusterDescription]:
    """Describe every cluster that holds a text, in the order of their numbers.

    Args:
        texts: N texts.
        labels: their clusters, (N,); below 0: none.
        confidence: the probability of each text's cluster, (N,).
        E: the learned embeddings, (N, D).
        n_keywords, n_texts: how many keywords, and how many typical and doubtful texts, at the most.
    """
    clusters = np.unique(labels[labels >= 0])
    keywords = WordCounts(texts).keywords(labels, n_keywords)
    centres = np.empty((len(clusters), E.shape[1]))
    described = []
    for place, cluster in enumerate(clusters):
        members = np.flatnonzero(labels == cluster)
        sure = confidence[members]
        U = normalize(E[members])
        centres[place] = U.mean(0)
        described.append(
            ClusterDescription(
                cluster=int(cluster),
                size=len(members),
                confidence=float(sure.mean()),
                keywords=keywords[int(cluster)],
                typical=_distinct(texts, members[np.argsort(-(U @ centres[place]), kind="stable")], n_texts),
                doubtful=_distinct(texts, members[np.argsort(sure, kind="stable")], n_texts),
                near=[],
            )
        )
    for one, near in zip(described, _nearest(centres), strict=True):
        one.near.extend(int(clusters[place]) for place in near)
    return described


# scikit-learn's list has words in it that tickets and queries are about.
_TELLING = {"amount", "back", "bill", "bottom", "call", "computer", "detail", "empty", "fill", "fire", "front", "full"}
_TELLING |= {"interest", "move", "name", "show", "system"}
STOP_WORDS = sorted(ENGLISH_STOP_WORDS - _TELLING)


class WordCounts:
    """Which words each of N texts has; from it follow the keywords of any clusters of these texts."""

    def __init__(self, texts: Sequence[str]) -> None:
        # Words are looked for in the first few thousand characters: one text of a novel's length is still one text.
        counter = CountVectorizer(
            stop_words=STOP_WORDS, token_pattern=r"(?u)\b[^\W\d_][\w'’-]+\b", binary=True, max_features=50_000
        )
        try:
            self._counts = counter.fit_transform(text[:5000] for text in texts)  # (N, V)
            self._words = counter.get_feature_names_out()
        except ValueError:  # not one word in all the texts
            self._counts, self._words = sp.csr_matrix((len(texts), 0)), np.array([], dtype=object)

    def keywords(self, labels: NDArray[np.int64], most: int = N_KEYWORDS) -> dict[int, list[str]]:
        """Return the keywords of each cluster (labels are (N,), below 0: none), by class-based TF-IDF.

        A word's score is how often the cluster has it times log(1 + words of a mean cluster / the word's total).
        """
        rows = np.flatnonzero(labels >= 0)
        clusters, place = np.unique(labels[rows], return_inverse=True)
        if not len(self._words) or not len(clusters):
            return {int(cluster): [] for cluster in clusters}
        membership = sp.csr_matrix((np.ones(len(rows)), (place, rows)), shape=(len(clusters), len(labels)))
        counts = (membership @ self._counts).tocsr()  # (C, V)
        total = np.asarray(counts.sum(0)).ravel()
        rarity = np.log1p(counts.sum() / len(clusters) / np.maximum(total, 1))
        keywords = {}
        for i, cluster in enumerate(clusters):  # one after the other: all of them at once would be C x V numbers
            start, end = counts.indptr[i : i + 2]
            words = counts.indices[start:end]
            score = counts.data[start:end] * rarity[words]
            best = np.lexsort((words, -score))[:most]
            keywords[int(cluster)] = [str(self._words[j]) for j in words[best]]
        return keywords


def _nearest(centres: Matrix) -> NDArray[np.int64]:
    """Return for each centre (C, D) the places of the few others nearest to it by cosine, the nearest first."""
    U = normalize(centres)
    likeness = U @ U.T
    np.fill_diagonal(likeness, -np.inf)
    return np.argsort(-likeness, axis=1, kind="stable")[:, : min(N_NEAR, len(centres) - 1)]


def _distinct(texts: Sequence[str], order: NDArray[np.int64], most: int) -> list[int]:
    """Return the first few rows in this order whose texts differ."""
    first: dict[str, int] = {}
    for row in order:
        first.setdefault(texts[row], int(row))
        if len(first) == most:
            break
    return list(first.values())
