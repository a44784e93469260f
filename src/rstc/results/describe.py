"""Clusters in words: their size, keywords, typical texts and doubtful texts."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.preprocessing import normalize

Matrix = NDArray[np.floating]


@dataclass(frozen=True)
class ClusterDescription:
    """One cluster in words.

    Attributes:
        cluster: its number.
        size: how many texts it holds.
        confidence: the mean probability of its texts.
        keywords: words that are frequent in it and rare elsewhere, the most telling first.
        typical: distinct texts nearest to its centre.
        doubtful: distinct texts of which the model is least sure.
    """

    cluster: int
    size: int
    confidence: float
    keywords: list[str]
    typical: list[str]
    doubtful: list[str]


def describe(
    texts: Sequence[str],
    labels: NDArray[np.int64],
    P: Matrix,
    E: Matrix,
    n_keywords: int = 8,
    n_texts: int = 5,
) -> list[ClusterDescription]:
    """Describe every cluster that holds a text, in the order of their numbers.

    Args:
        texts: N texts.
        labels: their clusters, (N,).
        P: the probabilities of the clusters, (N, C).
        E: the learned embeddings, (N, D).
        n_keywords, n_texts: how many keywords, and how many typical and doubtful texts, at the most.
    """
    clusters = np.unique(labels)
    keywords = _keywords(texts, np.searchsorted(clusters, labels), len(clusters), n_keywords)
    described = []
    for row, cluster in enumerate(clusters):
        members = np.flatnonzero(labels == cluster)
        confidence = P[members, cluster]
        U = normalize(E[members])
        closeness = U @ U.mean(0)
        described.append(
            ClusterDescription(
                cluster=int(cluster),
                size=len(members),
                confidence=float(confidence.mean()),
                keywords=keywords[row],
                typical=_distinct(texts, members[np.argsort(-closeness, kind="stable")], n_texts),
                doubtful=_distinct(texts, members[np.argsort(confidence, kind="stable")], n_texts),
            )
        )
    return described


def _keywords(texts: Sequence[str], cluster: NDArray[np.int64], n_clusters: int, most: int) -> list[list[str]]:
    """Find each cluster's words by class-based TF-IDF: share of the cluster's words times log(1 + mean / total)."""
    # Words are counted in their first few thousand characters: one text of a novel's length is still one text.
    counter = CountVectorizer(
        stop_words="english", token_pattern=r"(?u)\b[^\W\d_][\w'’-]+\b", binary=True, max_features=50_000
    )
    try:
        counts = counter.fit_transform(text[:5000] for text in texts)  # (N, V)
    except ValueError:  # not one word in all the texts
        return [[] for _ in range(n_clusters)]
    N = counts.shape[0]
    membership = sp.csr_matrix((np.ones(N), (cluster, np.arange(N))), shape=(n_clusters, N))
    in_cluster = (membership @ counts).toarray()  # (C, V)
    total = in_cluster.sum(0)
    share = in_cluster / np.maximum(in_cluster.sum(1, keepdims=True), 1)
    score = share * np.log1p(in_cluster.sum() / n_clusters / total)
    words = counter.get_feature_names_out()
    ranked = np.argsort(-score, axis=1, kind="stable")[:, :most]
    return [[str(words[j]) for j in row if score[i, j] > 0] for i, row in enumerate(ranked)]


def _distinct(texts: Sequence[str], order: NDArray[np.int64], most: int) -> list[str]:
    """Return the first few texts in this order, each only once."""
    return list(itertools.islice(dict.fromkeys(texts[i] for i in order), most))
