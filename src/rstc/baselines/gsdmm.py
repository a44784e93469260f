"""GSDMM (Yin and Wang 2014): collapsed Gibbs sampling of the Dirichlet multinomial mixture."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator, ClusterMixin

from rstc.baselines.bag_of_words import count_matrix
from rstc.baselines.validation import validate_texts


class GSDMM(ClusterMixin, BaseEstimator):
    """The Dirichlet multinomial mixture, fitted by collapsed Gibbs sampling.

    Each text belongs to one cluster. A text moves to another cluster with a probability that grows with the number of
    texts there and with the frequency of its words there. Sampling starts with `n_clusters` clusters, most of which
    become empty.

    Parameters
    ----------
    n_clusters : int, default=300
        Upper bound of the number of clusters.
    random_state : int or None, default=None
        Seed; None draws a new one for each fit.
    alpha : float, default=0.1
        Dirichlet prior of the cluster sizes; a larger value makes empty clusters more likely to be chosen.
    beta : float, default=0.1
        Dirichlet prior of the words; a larger value makes clusters without a text's words more likely to be chosen.
    n_iter : int, default=30
        Number of passes over the texts.

    Attributes
    ----------
    labels_ : ndarray of shape (N,)
        Cluster of each text, numbered from 0 without gaps.
    n_clusters_ : int
        Number of clusters that hold a text at the end.

    References
    ----------
    Yin and Wang (2014), "A Dirichlet multinomial mixture model-based approach for short text clustering".

    Examples
    --------
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
        """Cluster texts.

        Parameters
        ----------
        X : sequence of str
            The texts.
        y : ignored
        """
        counts = count_matrix(validate_texts(X, 2))
        rng = np.random.default_rng(self.random_state)
        clusters = _sample_clusters(counts, self.n_clusters, self.alpha, self.beta, self.n_iter, rng)
        non_empty, self.labels_ = np.unique(clusters, return_inverse=True)
        self.n_clusters_ = len(non_empty)
        return self


def _sample_clusters(
    counts: csr_matrix, K: int, alpha: float, beta: float, n_iter: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Draw the clusters (N,) of texts with word counts (N, V) by `n_iter` passes of Gibbs sampling."""
    N, V = counts.shape
    clusters: NDArray[np.int64] = rng.integers(K, size=N)
    n_texts = np.zeros(K)  # m_k
    word_counts = np.zeros((V, K))  # n_kw, transposed so that the counts of a word are contiguous
    n_words = np.zeros(K)  # n_k
    occurrences = [_list_occurrences(counts, row) for row in range(N)]
    for i, (words, _) in enumerate(occurrences):
        _update_counts(n_texts, word_counts, n_words, clusters[i], words, 1)
    for _ in range(n_iter):
        for i, (words, repetition) in enumerate(occurrences):
            _update_counts(n_texts, word_counts, n_words, clusters[i], words, -1)
            positions = np.arange(len(words))
            log_p = np.log(n_texts + alpha)  # (K,)
            log_p += np.log(word_counts[words] + (beta + repetition)[:, None]).sum(0)
            log_p -= np.log(n_words + (V * beta + positions)[:, None]).sum(0)
            p = np.exp(log_p - log_p.max()).cumsum()
            clusters[i] = min(int(np.searchsorted(p, rng.random() * p[-1])), K - 1)
            _update_counts(n_texts, word_counts, n_words, clusters[i], words, 1)
    return clusters


def _list_occurrences(counts: csr_matrix, row: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """List each occurrence of a word in a text, and how many occurrences of the same word precede it."""
    columns = slice(counts.indptr[row], counts.indptr[row + 1])
    frequencies = counts.data[columns].astype(np.int64)
    words = np.repeat(counts.indices[columns], frequencies).astype(np.int64)
    if not len(frequencies):
        return words, np.zeros(0, dtype=np.int64)
    return words, np.concatenate([np.arange(n) for n in frequencies])


def _update_counts(
    n_texts: NDArray[np.float64],
    word_counts: NDArray[np.float64],
    n_words: NDArray[np.float64],
    cluster: int,
    words: NDArray[np.int64],
    sign: int,
) -> None:
    """Add a text to the counts of a cluster (sign 1), or remove it (sign -1)."""
    n_texts[cluster] += sign
    np.add.at(word_counts[:, cluster], words, sign)
    n_words[cluster] += sign * len(words)
