"""Keywords of clusters: phrases that more texts of a cluster hold than texts of the other clusters.

A phrase is scored by the log-likelihood ratio of its frequency inside the cluster against the rest (G squared, Dunning
1993), which asks for both, many texts of the cluster and few others. With a of the n texts of the cluster and b of the
m other texts holding the phrase,

    G2 = 2 * (a log(a / A) + b log(b / B) + (n - a) log((n - a) / (n - A)) + (m - b) log((m - b) / (m - B)))

where A = n (a + b) / (n + m) and B = m (a + b) / (n + m) are the numbers to expect of a phrase that is common alike
to all texts.

For a language without a list of stop words, words that are about equally frequent in all clusters are taken for them.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from rstc.language.stop_words import has_stop_words
from rstc.language.tokens import Ints
from rstc.results.phrases import PhraseCounts

N_KEYWORDS = 8
MIN_RATIO = 1.5  # of the shares of texts with a keyword, inside the cluster and outside
MIN_COVERED = 0.5  # of the texts with a word that have it in a phrase, for the phrase to replace the word

MIN_STOP_SHARE = 0.05  # of all texts, that hold a word that is taken for a stop word
MIN_STOP_CLUSTERS = 0.8  # share of the clusters that it occurs in
MAX_STOP_RATIO = 3.0  # of its largest share of a cluster's texts to its share of all texts

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Keyword:
    """A word or phrase that is frequent in a cluster and rare elsewhere.

    Attributes
    ----------
    text : str
        The phrase as it is mostly written.
    share : float
        Share of the cluster's texts that hold it.
    precision : float
        Share of the texts with it that are in the cluster.
    covered : float
        Share of the cluster's texts that hold it or a keyword before it.
    """

    text: str
    share: float
    precision: float
    covered: float


def find_keywords(
    phrases: PhraseCounts, labels: Ints, n_keywords: int = N_KEYWORDS, only: Collection[int] | None = None
) -> dict[int, list[Keyword]]:
    """Find the keywords of each cluster.

    Parameters
    ----------
    phrases : PhraseCounts
        The phrases of N texts.
    labels : array of int, shape (N,)
        The cluster of each text, negative for a text without cluster.
    n_keywords : int
        Maximum number of keywords of a cluster.
    only : collection of int, optional
        The clusters whose keywords are wanted; by default all.

    Returns
    -------
    dict
        From cluster number to keywords, best first.
    """
    rows = np.flatnonzero(labels >= 0)
    clusters, index = np.unique(labels[rows], return_inverse=True)
    membership = sp.csr_matrix((np.ones(len(rows), np.float32), (index, rows)), shape=(len(clusters), len(labels)))
    counts = (membership @ phrases.counts).tocsr()  # (C, V)
    totals = np.asarray(counts.sum(0), dtype=np.float64).ravel()  # (V,)
    sizes = np.bincount(index, minlength=len(clusters))
    left_out = np.zeros(len(totals), dtype=bool)
    if not all(map(has_stop_words, phrases.languages)):
        left_out = _begin_or_end_with(find_even_words(counts, sizes), phrases.parts, phrases.lengths)
    inside = np.zeros(phrases.counts.shape[1])  # counts of one cluster, with zeros
    keywords: dict[int, list[Keyword]] = {}
    for i, cluster in enumerate(clusters.tolist()):
        if only is not None and cluster not in only:
            continue
        start, end = counts.indptr[i : i + 2]
        columns, a = counts.indices[start:end], counts.data[start:end].astype(np.float64)
        inside[columns] = a
        candidates = columns[~left_out[columns]]
        chosen = _choose_phrases(phrases, candidates, inside, totals, int(sizes[i]), len(rows), n_keywords)
        inside[columns] = 0
        keywords[cluster] = _measure(phrases, chosen, rows[index == i], totals)
    return keywords


def find_even_words(counts: sp.csr_matrix, sizes: Ints) -> NDArray[np.bool_]:
    """Find what many texts of about all clusters hold, such as the stop words of a language without a list of them.

    Parameters
    ----------
    counts : sparse matrix of shape (C, V)
        Number of texts of each cluster that hold each word or phrase.
    sizes : array of int, shape (C,)
        Number of texts of each cluster.

    Returns
    -------
    array of bool, shape (V,)
    """
    shares = sp.diags(1 / np.maximum(sizes, 1)) @ counts  # (C, V)
    overall = np.asarray(counts.sum(0), dtype=np.float64).ravel() / max(int(sizes.sum()), 1)
    largest = np.asarray(shares.max(0).todense()).ravel()
    n_clusters = np.bincount(counts.indices, minlength=counts.shape[1])
    is_even = (n_clusters >= MIN_STOP_CLUSTERS * len(sizes)) & (largest <= MAX_STOP_RATIO * overall)
    return np.asarray(is_even & (overall >= MIN_STOP_SHARE) & (len(sizes) > 2))


def _begin_or_end_with(words: NDArray[np.bool_], parts: Ints, lengths: Ints) -> NDArray[np.bool_]:
    """Return for each phrase whether its first or its last word is one of some words."""
    ends = np.stack([parts[:, 0], parts[np.arange(len(parts)), lengths - 1]])
    return np.asarray(((ends >= 0) & words[ends]).any(0))


def smallest_count(size: int) -> int:
    """Return how many texts of a cluster have to hold a keyword, by the number of texts of the cluster.

    >>> [smallest_count(size) for size in (1, 2, 20, 100, 1000, 10_000)]
    [1, 2, 3, 5, 16, 50]
    """
    return 1 if size == 1 else max(2, math.ceil(math.sqrt(size) / 2))


def score_phrases(a: Floats, b: Floats, n: int, m: int) -> Floats:
    """Score phrases by the log-likelihood ratio of their frequencies inside a cluster and outside.

    Parameters
    ----------
    a, b : array of float, shape (V,)
        Number of texts with each phrase, inside and outside.
    n, m : int
        Number of texts inside and outside.

    Returns
    -------
    array of float, shape (V,)
        Not below 0; `a` itself if there are no texts outside.

    Examples
    --------
    >>> score_phrases(np.array([8.0, 2.0, 8.0]), np.array([0.0, 2.0, 20.0]), 10, 90).round(1)
    array([45.7,  4.4, 13.2])
    """
    if m == 0:
        return a
    expected = (a + b) / (n + m)
    ratio = (
        _x_log_ratio(a, n * expected)
        + _x_log_ratio(b, m * expected)
        + _x_log_ratio(n - a, n * (1 - expected))
        + _x_log_ratio(m - b, m * (1 - expected))
    )
    return np.maximum(2 * ratio, 0.0)


def _x_log_ratio(x: Floats, y: Floats) -> Floats:
    return np.where(x > 0, x * np.log(np.maximum(x, 1e-300) / np.maximum(y, 1e-300)), 0.0)


def _choose_phrases(
    phrases: PhraseCounts, columns: Ints, inside: Floats, totals: Floats, n: int, n_all: int, n_keywords: int
) -> list[int]:
    """Return the columns of the keywords of a cluster, best first.

    Parameters
    ----------
    phrases : PhraseCounts
        All phrases, V of them.
    columns : array of int
        The phrases of the cluster.
    inside, totals : array of float, shape (V,)
        Number of texts with each phrase, in the cluster and in all clusters.
    n, n_all : int
        Number of texts in the cluster, and in all clusters.
    n_keywords : int
        Maximum number of keywords.
    """
    columns = columns[inside[columns] >= smallest_count(n)]
    a, m = inside[columns], n_all - n
    b = totals[columns] - a
    is_rarer_outside = a * m >= MIN_RATIO * b * n
    columns, a, b = columns[is_rarer_outside], a[is_rarer_outside], b[is_rarer_outside]
    scores = score_phrases(a, b, n, m)
    parts = phrases.parts[columns]  # (candidates, words)
    word_counts = np.where(parts >= 0, inside[parts], np.nan)
    is_phrase = phrases.lengths[columns] > 1
    # A phrase takes the place of its words if it covers most of them, and is no keyword if it covers none of them.
    score_of = np.zeros(len(inside))
    score_of[columns] = scores
    best_word = np.where(parts >= 0, score_of[parts], 0).max(1, initial=0)
    replaces = is_phrase & (a >= MIN_COVERED * np.nanmax(word_counts, 1, initial=0))
    covers_none = is_phrase & (a < MIN_COVERED * np.nanmin(word_counts, 1, initial=np.inf))
    scores = np.where(replaces, np.maximum(scores, best_word), scores)
    scores[covers_none] = -1
    n_words = (parts >= 0).sum(1)
    positions, lengths = phrases.positions[columns], phrases.lengths[columns]
    order = np.lexsort((lengths, positions, -a, -a * n_words, -scores))
    chosen: list[int] = []
    used: set[int] = set()  # words of the keywords so far
    for i in order.tolist():
        words = set(parts[i][parts[i] >= 0].tolist())
        if scores[i] < 0 or len(chosen) == n_keywords:
            break
        if not words & used:
            chosen.append(int(columns[i]))
            used |= words
    return chosen


def _measure(phrases: PhraseCounts, chosen: list[int], rows: Ints, totals: Floats) -> list[Keyword]:
    """Return keywords with the shares of a cluster's texts, given by their rows, that hold them."""
    holds = phrases.counts[rows][:, chosen].toarray() > 0  # (n, keywords)
    covered = np.logical_or.accumulate(holds, axis=1).mean(0)
    return [
        Keyword(
            text=phrases.write(column),
            share=float(holds[:, i].mean()),
            precision=float(holds[:, i].sum() / totals[column]),
            covered=float(covered[i]),
        )
        for i, column in enumerate(chosen)
    ]
