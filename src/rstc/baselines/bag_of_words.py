"""Sparse bag-of-words matrices of texts, and k-means of their rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.cluster import KMeans
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

from rstc.errors import InputError
from rstc.pseudo_labels.kmeans import fit_single_threaded


def count_matrix(texts: Sequence[str]) -> csr_matrix:
    """Count the words of each text, (N, V), with scikit-learn's tokenisation.

    Examples
    --------
    >>> count_matrix(["late parcel", "parcel parcel"]).toarray().tolist()
    [[1.0, 1.0], [0.0, 2.0]]
    """
    return _vectorize(CountVectorizer(dtype=np.float64), texts)


def tfidf_matrix(texts: Sequence[str], stop_words: str | None = None) -> csr_matrix:
    """Compute the TF-IDF vector of each text, (N, V), with rows of length one; a text without words is a zero row.

    With stop_words="english", words that scikit-learn lists as English stop words are left out.
    """
    return _vectorize(TfidfVectorizer(stop_words=stop_words), texts)


def sparse_kmeans(X: csr_matrix, n_clusters: int, rng: np.random.Generator, starts: int) -> NDArray[np.int64]:
    """Cluster the rows of a sparse matrix by k-means++.

    Parameters
    ----------
    X : csr_matrix of shape (N, V)
        The rows to cluster.
    n_clusters : int
        Number of clusters.
    rng : Generator
        Source of randomness.
    starts : int
        Number of k-means runs, of which the one with the lowest inertia is kept.

    Returns
    -------
    ndarray of shape (N,)
        Cluster of each row.

    Raises
    ------
    InputError
        If fewer than `n_clusters` rows differ.
    """
    require_distinct_rows(X, n_clusters)
    # Elkan's algorithm gives the same clusters as Lloyd's and skips most distances where there are many clusters.
    kmeans = KMeans(n_clusters, n_init=starts, algorithm="elkan", random_state=int(rng.integers(2**31)))
    return np.asarray(fit_single_threaded(kmeans, X).labels_, dtype=np.int64)


def require_distinct_rows(X: csr_matrix, n_clusters: int) -> None:
    """Raise an InputError if fewer than `n_clusters` rows differ."""
    if (n_distinct := _count_distinct_rows(X)) < n_clusters:
        raise InputError(
            f"n_clusters={n_clusters} needs at least {n_clusters} texts of different words, got {n_distinct}"
        )


def _vectorize(vectorizer: Any, texts: Sequence[str]) -> csr_matrix:
    """Fit a vectorizer and transform the texts; raise if no text has a word."""
    # The vectorizer raises ValueError for other reasons as well, so the words are checked here first.
    split_words = vectorizer.build_analyzer()
    if not any(split_words(text) for text in texts):
        raise InputError(f"none of the {len(texts)} texts holds a word of at least two letters or digits")
    return csr_matrix(vectorizer.fit_transform(texts))


def _count_distinct_rows(X: csr_matrix) -> int:
    """Count the rows that differ after rounding to nine decimals."""
    values = np.round(X.data, 9)
    bounds = zip(X.indptr[:-1], X.indptr[1:], strict=True)
    return len({(X.indices[start:end].tobytes(), values[start:end].tobytes()) for start, end in bounds})
