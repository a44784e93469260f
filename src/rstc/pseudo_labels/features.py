"""Text features beside the embedding: TF-IDF, its truncated SVD (latent semantic analysis, LSA), and both combined."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import normalize

from rstc.pseudo_labels.neighbours import average_over_neighbours

LSA_DIMENSIONS = 200

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class WordFeatures:
    """Word features of N texts, which do not change during a run.

    Attributes
    ----------
    tfidf : (N, V) sparse matrix
        TF-IDF; each row has length one or is zero.
    lsa : (N, T) array
        TF-IDF reduced to at most 200 dimensions; each row has length one or is zero.
    """

    tfidf: csr_matrix
    lsa: Floats

    def select(self, rows: NDArray[np.int64]) -> WordFeatures:
        """Return the features of some of the texts."""
        return WordFeatures(self.tfidf[rows], self.lsa[rows])


def build_word_features(texts: Sequence[str], rng: np.random.Generator) -> WordFeatures:
    """Compute TF-IDF and LSA of texts; `rng` seeds the randomized SVD."""
    tfidf = compute_tfidf(texts)
    return WordFeatures(tfidf, compute_lsa(tfidf, rng))


def compute_tfidf(texts: Sequence[str]) -> csr_matrix:
    """Compute the TF-IDF of texts (N, V) over words that occur in at least two texts, without English stop words.

    Each row has length one, or is zero if the text has no such word.

    >>> X = compute_tfidf(["late parcel", "parcel lost", "refund, please", "no refund"])
    >>> X.shape, X.toarray().round(1).tolist()[0]
    ((4, 2), [1.0, 0.0])
    """
    vectorizer = TfidfVectorizer(sublinear_tf=True, min_df=2, stop_words="english", dtype=np.float32)
    try:
        return csr_matrix(vectorizer.fit_transform(texts))
    except ValueError:  # the vocabulary is empty
        return csr_matrix((len(texts), 1), dtype=np.float32)


def compute_lsa(tfidf: csr_matrix, rng: np.random.Generator) -> Floats:
    """Reduce TF-IDF (N, V) to at most 200 dimensions by truncated SVD, each row at length one (LSA)."""
    dimensions = min(LSA_DIMENSIONS, *(size - 1 for size in tfidf.shape))
    if dimensions < 1 or tfidf.nnz == 0:
        return np.zeros((tfidf.shape[0], 1), dtype=np.float32)
    svd = TruncatedSVD(dimensions, random_state=int(rng.integers(2**31)))
    with np.errstate(invalid="ignore"):  # if all texts are the same, it divides by a variance of 0
        return np.asarray(normalize(svd.fit_transform(tfidf)), dtype=np.float32)


def combine_features(E: Floats, lsa: Floats | None, word_weight: float, neighbours: NDArray[np.int64] | None) -> Floats:
    """Concatenate embeddings and word features, each averaged over the neighbours, to the points to be clustered.

    Parameters
    ----------
    E : (N, D) array
        Embeddings of length one.
    lsa : (N, T) array or None
        Word features; None: the embeddings alone.
    word_weight : float
        Weight of the words; that of the embeddings is 1.
    neighbours : (N, k) array or None
        Neighbours of each text, the text itself included; None: nothing is averaged.

    Returns
    -------
    (N, D + T) array
        Points of length one.
    """
    if lsa is None and neighbours is None:
        return E
    weighted = [(1.0, E)] if lsa is None else [(1.0, E), (word_weight, lsa)]
    if neighbours is not None:
        weighted = [(weight, average_over_neighbours(features, neighbours)) for weight, features in weighted]
    return np.asarray(normalize(np.hstack([weight * features for weight, features in weighted])), dtype=np.float32)
