"""The words of the texts as a second witness beside the encoder: TF-IDF, and what is left of it in few dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import normalize

TOPICS = 200  # dimensions of the words' own space


@dataclass(frozen=True)
class Words:
    """The words of the texts: TF-IDF (N, V) and in few dimensions (N, 200). They do not change while a run goes on."""

    X: csr_matrix
    topics: NDArray[np.float32]


def read_words(texts: Sequence[str], rng: np.random.Generator) -> Words:
    """Return the words of texts."""
    X = tfidf(texts)
    return Words(X, topics(X, rng))


def tfidf(texts: Sequence[str]) -> csr_matrix:
    """Return the TF-IDF of texts (N, V), each row of length one, or of zeros where no word comes in two texts.

    >>> X = tfidf(["late parcel", "parcel lost", "refund, please", "no refund"])
    >>> X.shape, X.toarray().round(1).tolist()[0]
    ((4, 2), [1.0, 0.0])
    """
    vectorizer = TfidfVectorizer(sublinear_tf=True, min_df=2, stop_words="english", dtype=np.float32)
    try:
        return csr_matrix(vectorizer.fit_transform(texts))
    except ValueError:  # of a vocabulary in which nothing is left
        return csr_matrix((len(texts), 1), dtype=np.float32)


def topics(X: csr_matrix, rng: np.random.Generator) -> NDArray[np.float32]:
    """Return TF-IDF in a few dimensions (N, at most 200), each row of length one (latent semantic analysis)."""
    dimensions = min(TOPICS, *(size - 1 for size in X.shape))
    if dimensions < 1 or X.nnz == 0:
        return np.zeros((X.shape[0], 1), dtype=np.float32)
    svd = TruncatedSVD(dimensions, random_state=int(rng.integers(2**31)))
    with np.errstate(invalid="ignore"):  # of texts that are all the same, it divides by their variance
        return np.asarray(normalize(svd.fit_transform(X)), dtype=np.float32)
