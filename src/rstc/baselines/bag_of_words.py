"""What the baselines on words share: texts to a sparse matrix of words, and k-means of its rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.cluster import KMeans
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

from rstc.errors import InputError
from rstc.pseudo_labels.kmeans import fitted


def count_matrix(texts: Sequence[str]) -> csr_matrix:
    """Return how often each text holds each word, (N, W); scikit-learn decides what a word is.

    >>> count_matrix(["late parcel", "parcel parcel"]).toarray().tolist()
    [[1.0, 1.0], [0.0, 2.0]]
    """
    return _matrix(CountVectorizer(dtype=np.float64), texts)


def tfidf_matrix(texts: Sequence[str]) -> csr_matrix:
    """Return the TF-IDF of each text, (N, W), rows of length one; a text without a word is a row of zeros."""
    return _matrix(TfidfVectorizer(), texts)


def sparse_kmeans(X: csr_matrix, n_clusters: int, rng: np.random.Generator, starts: int) -> NDArray[np.int64]:
    """Cluster the rows of X (N, W) by k-means++, the best of `starts` runs; return the clusters (N,)."""
    if (distinct := _distinct_rows(X)) < n_clusters:
        raise InputError(
            f"n_clusters={n_clusters} needs at least {n_clusters} texts of different words, got {distinct}"
        )
    # Elkan's bounds give what Lloyd's steps give, and skip most of the distances where there are many clusters.
    kmeans = KMeans(n_clusters, n_init=starts, algorithm="elkan", random_state=int(rng.integers(2**31)))
    return np.asarray(fitted(kmeans, X).labels_, dtype=np.int64)


def _matrix(vectorizer: Any, texts: Sequence[str]) -> csr_matrix:
    """Return what a vectorizer makes of texts, after a look at whether they hold words."""
    # The vectorizer raises the same type for other reasons, so the vocabulary is looked at and not the exception.
    split = vectorizer.build_analyzer()
    if not any(split(text) for text in texts):
        raise InputError(f"none of the {len(texts)} texts holds a word of at least two letters or digits")
    return csr_matrix(vectorizer.fit_transform(texts))


def _distinct_rows(X: csr_matrix) -> int:
    """Count the rows that differ, up to rounding."""
    values = np.round(X.data, 9)
    ends = zip(X.indptr[:-1], X.indptr[1:], strict=True)
    return len({(X.indices[start:end].tobytes(), values[start:end].tobytes()) for start, end in ends})
