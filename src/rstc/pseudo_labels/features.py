"""The feature sets of texts (embedding, static word vectors, words, a user's own array) and their weighted mixes.

Words are TF-IDF; where points are needed, they are reduced by truncated SVD (latent semantic analysis, LSA).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.sparse import csr_matrix
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import normalize

from rstc.numerics.nearest import nearest_neighbours

LSA_DIMENSIONS = 200
REDUCED_DIMENSIONS = 128  # of the points that k-means clusters
REDUCTION_ROWS = 5000  # whose singular vectors are computed

EMBEDDING = "embedding"
STATIC = "static"
WORDS = "words"
CUSTOM = "features"

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]
Mix = Mapping[str, float]  # weight of each feature set; that of the embedding is 1


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

    def select(self, rows: Ints) -> WordFeatures:
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


@dataclass(frozen=True)
class TextFeatures:
    """The feature sets of N texts.

    Attributes
    ----------
    dense : dict of (N, D) arrays
        Feature sets by name, the embedding first; each row has length one or is zero.
    words : WordFeatures or None
        TF-IDF and LSA; None: words are not used.
    """

    dense: dict[str, Floats]
    words: WordFeatures | None = None

    def __len__(self) -> int:
        return len(self.embedding)

    @property
    def embedding(self) -> Floats:
        """The embeddings, (N, D)."""
        return self.dense[EMBEDDING]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the feature sets."""
        return (*self.dense, *([WORDS] if self.words else []))

    def select(self, rows: Ints) -> TextFeatures:
        """Return the features of some of the texts."""
        return TextFeatures(
            {name: matrix[rows] for name, matrix in self.dense.items()}, self.words and self.words.select(rows)
        )

    def replace_embedding(self, E: Floats) -> TextFeatures:
        """Return the features with another embedding (N, D)."""
        return replace(self, dense={**self.dense, EMBEDDING: E})

    def find_neighbours(self, mix: Mix, k: int) -> Ints:
        """Find the k most similar texts of each text, itself included, (N, k).

        The similarity is the mean of the cosines of the feature sets, weighted by the squares of their weights, as in
        the inner product of concatenated features.
        """
        word_weight = mix.get(WORDS, 0.0) if self.words else 0.0
        squares = 1 + sum(mix.get(name, 0.0) ** 2 for name in self.dense if name != EMBEDDING)
        tfidf = self.words.tfidf if self.words and word_weight else None
        return nearest_neighbours(
            self._concatenate(mix, lsa=False), tfidf, k, word_weight**2 / (squares + word_weight**2)
        )

    def build_points(self, mix: Mix, neighbours: Ints | None) -> Floats:
        """Concatenate the weighted feature sets to the points to be clustered.

        Parameters
        ----------
        mix : mapping of str to float
            Weight of each feature set; one that is missing has none.
        neighbours : (N, k) array or None
            Neighbours of each text, the text itself included, that its point is averaged over; None: nothing is.

        Returns
        -------
        (N, D) array
            Points of length one.
        """
        points = self._concatenate(mix, lsa=True)
        return points if neighbours is None else average_over_neighbours(points, neighbours)

    def _concatenate(self, mix: Mix, lsa: bool) -> Floats:
        """Concatenate the dense feature sets, and words reduced by LSA, with their weights, at length one."""
        weighted = [(1.0 if name == EMBEDDING else mix.get(name, 0.0), matrix) for name, matrix in self.dense.items()]
        if lsa and self.words:
            weighted.append((mix.get(WORDS, 0.0), self.words.lsa))
        used = [(weight, matrix) for weight, matrix in weighted if weight]
        if len(used) == 1:
            return used[0][1]
        return np.asarray(normalize(np.hstack([weight * matrix for weight, matrix in used])), dtype=np.float32)


def sum_over_neighbours(values: Floats, neighbours: Ints) -> Floats:
    """Sum rows of values (n, D) over the neighbours (N, k) of each text, (N, D).

    One column of neighbours is added at a time, because indexing with all at once would take k times the memory.
    """
    total = values[neighbours[:, 0]]
    for column in neighbours.T[1:]:
        total += values[column]
    return total


def average_over_neighbours(points: Floats, neighbours: Ints) -> Floats:
    """Average points (N, D) over the neighbours (N, k) of each text and scale to length one."""
    return np.asarray(normalize(sum_over_neighbours(points, neighbours), copy=False))


def reduce_dimensions(points: Floats) -> Floats:
    """Project points (N, D) on their first singular vectors, (N, 128), which k-means needs less time for.

    The singular vectors are those of evenly spaced rows, if there are many. The points are not centred, so that inner
    products stay almost the same.

    >>> reduce_dimensions(np.ones((300, 200), dtype=np.float32)).shape
    (300, 128)
    """
    if points.shape[1] <= REDUCED_DIMENSIONS:
        return points
    sample = points[:: -(-len(points) // REDUCTION_ROWS)]
    gram, D = (sample.T @ sample).astype(np.float64), points.shape[1]
    vectors = eigh(gram, subset_by_index=(D - REDUCED_DIMENSIONS, D - 1))[1].astype(np.float32)  # (D, 128)
    return np.asarray(points @ vectors, dtype=np.float32)
