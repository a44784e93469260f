"""GSDMM: a mixture of word distributions, one a text, whose clusters empty while it is sampled."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator, ClusterMixin

from rstc.baselines.validation import checked_texts
from rstc.baselines.bag_of_words import count_matrix


class GSDMM(ClusterMixin, BaseEstimator):
    """The Dirichlet multinomial mixture, by collapsed Gibbs sampling.

    After Yin and Wang 2014. Each text has one cluster, which it leaves for another the likelier, the more texts that
    one has and the more often its words are said there. It begins with more clusters than there are, and most of them
    empty: `n_clusters` is the most that it may find.

    Args:
        n_clusters: the most clusters.
        random_state: a seed; None draws a new one each time.
        alpha: how readily an empty cluster is entered.
        beta: how readily a cluster is entered that lacks a text's words.
        n_iter: passes over the texts.

    Attributes:
        labels_: the cluster of each text, (N,), numbered from 0 without gaps.
        n_clusters_: how many clusters hold a text in the end.

    >>> GSDMM(4, random_state=0).fit(["red car"] * 9 + ["blue sky"] * 9).n_clusters_
    2
    """

    def __init__(
        self,
        n_clusters: int = 300,
        *,
        random_state: int | None = None,
        alpha: float = 0.1,
        beta: float = 0.1,
        n_iter: int = 30,
    ) -> None:
        self.n_clusters = n_clusters
        self.random_state = random_state
        self.alpha = alpha
        self.beta = beta
        self.n_iter = n_iter

    def fit(self, X: Sequence[str], y: object = None) -> GSDMM:
        """Cluster texts; `y` is ignored."""
        counts = count_matrix(checked_texts(X, 2))
        rng = np.random.default_rng(self.random_state)
        labels = _sampled(counts, self.n_clusters, self.alpha, self.beta, self.n_iter, rng)
        found, self.labels_ = np.unique(labels, return_inverse=True)
        self.n_clusters_ = len(found)
        return self


def _sampled(
    counts: csr_matrix, K: int, alpha: float, beta: float, n_iter: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return the clusters (N,) of texts with word counts (N, V) after some passes over them."""
    N, V = counts.shape
    labels: NDArray[np.int64] = rng.integers(K, size=N)
    texts = np.zeros(K)  # m_k
    said = np.zeros((V, K))  # n_kw: a word's counts lie together
    total = np.zeros(K)  # n_k
    rows = [_occurrences(counts, i) for i in range(N)]
    for i, (words, _) in enumerate(rows):
        _add(texts, said, total, labels[i], words, 1)
    for _ in range(n_iter):
        for i, (words, again) in enumerate(rows):
            _add(texts, said, total, labels[i], words, -1)
            steps = np.arange(len(words))
            log_p = np.log(texts + alpha)
            log_p += np.log(said[words] + (beta + again)[:, None]).sum(0)
            log_p -= np.log(total + (V * beta + steps)[:, None]).sum(0)
            p = np.exp(log_p - log_p.max()).cumsum()
            labels[i] = min(int(np.searchsorted(p, rng.random() * p[-1])), K - 1)
            _add(texts, said, total, labels[i], words, 1)
    return labels


def _occurrences(counts: csr_matrix, row: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the words of a text, each as often as it is said, and how often it was said before in the text."""
    part = slice(counts.indptr[row], counts.indptr[row + 1])
    times = counts.data[part].astype(np.int64)
    words = np.repeat(counts.indices[part], times).astype(np.int64)
    return words, np.concatenate([np.arange(n) for n in times]) if len(times) else np.zeros(0, dtype=np.int64)


def _add(
    texts: NDArray[np.float64],
    said: NDArray[np.float64],
    total: NDArray[np.float64],
    cluster: int,
    words: NDArray[np.int64],
    sign: int,
) -> None:
    """Put a text into a cluster's counts, or take it out."""
    texts[cluster] += sign
    np.add.at(said[:, cluster], words, sign)
    total[cluster] += sign * len(words)
