"""The feature sets of texts (embedding, static word vectors, words, a user's own array) and their weighted mixes.

Words are TF-IDF; where points are needed, they are reduced by truncated SVD (latent semantic analysis, LSA).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import cast

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.sparse import csr_matrix
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.preprocessing import normalize

from rstc.language.detection import MAX_TEXTS, measure_languages
from rstc.language.terms import make_term_splitter
from rstc.numerics.nearest import nearest_neighbours
from rstc.pseudo_labels.centring import center_if_alike
from rstc.runtime.distributed import SINGLE_PROCESS, ProcessGroup
from rstc.runtime.distributed_rows import DistributedRows
from rstc.runtime.threads import limit_library_threads

MIN_DOCUMENT_FREQUENCY = 2  # of a word: one that occurs in a single text says nothing about others
LSA_DIMENSIONS = 200
# Of so many texts of several processes the first one gathers the features and finds the labels, those of one process to
# the last bit. The search gains little from sharing so few, and rounding may decide between duplicates.
MAX_GATHERED_TEXTS = 20_000
SVD_OVERSAMPLING, SVD_ITERATIONS = 10, 5  # scikit-learn's defaults
REDUCED_DIMENSIONS = 128  # of the points that k-means clusters
BLOCK_ROWS = 8192
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


def build_word_features(
    texts: Sequence[str], rng: np.random.Generator, processes: ProcessGroup = SINGLE_PROCESS
) -> WordFeatures:
    """Compute TF-IDF and LSA of texts, which may be distributed over processes; `rng` seeds the randomized SVD."""
    tfidf = compute_tfidf(texts, processes)
    return WordFeatures(tfidf, compute_lsa(tfidf, rng, processes))


def compute_tfidf(texts: Sequence[str], processes: ProcessGroup = SINGLE_PROCESS) -> csr_matrix:
    """Compute the TF-IDF of texts over words that occur in at least two texts, without stop words of their languages.

    Words are those of `rstc.language.terms`; English texts have scikit-learn's words and stop words.

    Parameters
    ----------
    texts : sequence of str
        n texts of this process.
    processes : ProcessGroup
        The processes that the texts are distributed over. All use the same words and document frequencies.

    Returns
    -------
    (n, V) sparse matrix
        Each row has length one, or is zero if the text has no such word.

    >>> X = compute_tfidf(["late parcel", "parcel lost", "refund, please", "no refund"])
    >>> X.shape, X.toarray().round(1).tolist()[0]
    ((4, 2), [1.0, 0.0])
    """
    counts, own_words = _count_words(texts, _measure_languages(texts, processes))
    n_texts = int(processes.total(len(texts)))
    words, frequencies = _merge_document_frequencies(own_words, counts, processes)
    if not words:
        return csr_matrix((len(texts), 1), dtype=np.float32)
    column_of = {word: column for column, word in enumerate(words)}
    columns = np.array([column_of.get(word, -1) for word in own_words], dtype=np.int32)  # of this process's words
    is_kept = columns >= 0
    counts = counts[:, np.flatnonzero(is_kept)]
    # The weights of scikit-learn's TfidfVectorizer with sublinear_tf.
    idf = np.log(np.float32(1 + n_texts) / (frequencies + 1)) + 1  # (V,)
    tfidf = csr_matrix(
        (np.log(counts.data) + 1, columns[is_kept][counts.indices], counts.indptr), (len(texts), len(words))
    )
    tfidf.data *= idf[tfidf.indices]
    return csr_matrix(normalize(tfidf, copy=False))


def _measure_languages(texts: Sequence[str], processes: ProcessGroup) -> dict[str, float]:
    """Return the share of each language in texts that are distributed over processes, from a sample of each process."""
    if processes.is_single:
        return measure_languages(texts)
    step = max(-(-len(texts) * processes.size // MAX_TEXTS), 1)
    samples = processes.gather_objects(list(texts[::step]))
    return measure_languages([text for sample in samples for text in sample])


def _count_words(texts: Sequence[str], shares: Mapping[str, float]) -> tuple[csr_matrix, list[str]]:
    """Count the words of each text, (n, V), without stop words; return the counts and the words."""
    vectorizer = CountVectorizer(analyzer=make_term_splitter(shares), dtype=np.float32)
    try:
        counts = vectorizer.fit_transform(texts)
    except ValueError:  # the vocabulary is empty
        return csr_matrix((len(texts), 0), dtype=np.float32), []
    return csr_matrix(counts), vectorizer.get_feature_names_out().tolist()


def _merge_document_frequencies(
    own_words: list[str], counts: csr_matrix, processes: ProcessGroup
) -> tuple[list[str], Floats]:
    """Return the words that occur in at least two texts of all processes, sorted, and the number of texts with each."""
    own_frequencies = np.bincount(counts.indices, minlength=len(own_words)).tolist()
    gathered = processes.gather_lists(list(zip(own_words, own_frequencies, strict=True)))

    def merge() -> tuple[list[str], Floats]:
        frequencies: Counter[str] = Counter()
        for word, frequency in gathered or ():
            frequencies[word] += frequency
        words = sorted(word for word, frequency in frequencies.items() if frequency >= MIN_DOCUMENT_FREQUENCY)
        return words, np.array([frequencies[word] for word in words], dtype=np.float32)

    return processes.run_on_first(merge)


@limit_library_threads("blas")  # on several threads, sums would be rounded differently
def compute_lsa(tfidf: csr_matrix, rng: np.random.Generator, processes: ProcessGroup = SINGLE_PROCESS) -> Floats:
    """Reduce TF-IDF to at most 200 dimensions by truncated SVD, each row at length one (LSA).

    Parameters
    ----------
    tfidf : (n, V) sparse matrix
        Rows of this process.
    rng : numpy.random.Generator
        Seeds the randomized SVD; the same in all processes.
    processes : ProcessGroup
        The processes that the rows are distributed over.

    Returns
    -------
    (n, T) array
        Of more than `MAX_GATHERED_TEXTS` distributed rows, the same subspace as of one process, in other axes.
    """
    n_texts, n_stored = (int(processes.total(count)) for count in (tfidf.shape[0], tfidf.nnz))
    dimensions = min(LSA_DIMENSIONS, n_texts - 1, tfidf.shape[1] - 1)
    if dimensions < 1 or n_stored == 0:
        return np.zeros((tfidf.shape[0], 1), dtype=np.float32)
    seed = int(rng.integers(2**31))
    if n_texts > MAX_GATHERED_TEXTS and not processes.is_single:
        return _normalize(project_on_singular_vectors(tfidf, dimensions, seed, processes))
    rows = DistributedRows.from_local_count(tfidf.shape[0], processes)
    gathered = rows.gather(tfidf)

    def decompose() -> Floats:
        with np.errstate(invalid="ignore"):  # if all texts are the same, it divides by a variance of 0
            return _normalize(TruncatedSVD(dimensions, random_state=seed).fit_transform(gathered))

    return processes.run_on_first(decompose)[rows.local]


def project_on_singular_vectors(A: csr_matrix, dimensions: int, seed: int, processes: ProcessGroup) -> Floats:
    """Project the distributed rows of a matrix on its first right singular vectors.

    The randomized SVD of Halko, Martinsson and Tropp (2011), step by step as in scikit-learn's TruncatedSVD, so that
    both find the same vectors, up to their signs and rounding: a subspace that has not converged depends on its start
    and on its last step. Each product A^T A Q is a sum over rows.

    Parameters
    ----------
    A : (n, V) sparse matrix
        Rows of this process.
    dimensions : int
        T, the number of singular vectors.
    seed : int
        Seeds the first Q; the same in all processes.
    processes : ProcessGroup
        The processes that the rows are distributed over.

    Returns
    -------
    (n, T) array
    """
    rows, V = DistributedRows.from_local_count(A.shape[0], processes), A.shape[1]
    width, random_state = dimensions + SVD_OVERSAMPLING, np.random.RandomState(seed)
    if has_few_rows := rows.n_rows < V:  # scikit-learn iterates on the transpose
        start = random_state.normal(size=(rows.n_rows, width))[rows.local].astype(np.float32)
        Q = processes.all_reduce_array(np.asarray(A.T @ start))
    else:
        Q = random_state.normal(size=(V, width)).astype(np.float32)

    def multiply(Q: Floats) -> Floats:
        return processes.all_reduce_array(np.asarray(A.T @ (A @ Q)))

    for _ in range(SVD_ITERATIONS):
        # Copied from the first process: libraries of different machines may choose other signs.
        Q = processes.broadcast_array(np.linalg.qr(multiply(Q))[0])  # (V, width), or (V, V) if that is less
    if has_few_rows:
        projected = np.asarray(A @ Q)
        gram, width = processes.all_reduce_array((projected.T @ projected).astype(np.float64)), Q.shape[1]
        vectors = processes.run_on_first(lambda: eigh(gram, subset_by_index=(width - dimensions, width - 1))[1])
        return np.asarray(projected @ vectors[:, ::-1].astype(np.float32))
    products = multiply(Q)
    components = processes.run_on_first(lambda: _find_row_space(Q, products, dimensions))
    return np.asarray(A @ components)


def _find_row_space(Q: Floats, products: Floats, dimensions: int) -> Floats:
    """Return the first right singular vectors, (V, T), of a matrix A whose columns are projected on those of A Q.

    With U an orthonormal basis of the columns of A Q, these are the left singular vectors of A^T U, which follows from
    A^T A Q (`products`) and from the eigenvectors of (A Q)^T (A Q).
    """
    values, vectors = eigh((Q.T @ products).astype(np.float64))
    kept = values > np.finfo(np.float32).eps * values[-1]  # A Q may have dependent columns
    vectors = vectors[:, kept] / np.sqrt(values[kept])
    components = np.linalg.svd(products.astype(np.float64) @ vectors, full_matrices=False)[0]
    return np.asarray(components[:, :dimensions], dtype=np.float32)


def _normalize(rows: Floats) -> Floats:
    """Scale rows to length one; rows of zeros stay zero."""
    return np.asarray(normalize(rows), dtype=np.float32)


@dataclass(frozen=True)
class TextFeatures:
    """The feature sets of n texts of this process, of N texts of all processes.

    Attributes
    ----------
    dense : dict of (n, D) arrays
        Feature sets by name, the embedding first; each row has length one or is zero.
    words : WordFeatures or None
        TF-IDF and LSA; None: words are not used.
    processes : ProcessGroup
        The processes that the texts are distributed over.
    can_center : bool
        Whether dense feature sets may be centred; not where the direction of a point stands for its place.
    """

    dense: dict[str, Floats]
    words: WordFeatures | None = None
    processes: ProcessGroup = SINGLE_PROCESS
    can_center: bool = True

    def __len__(self) -> int:
        return len(self.embedding)

    @cached_property
    def rows(self) -> DistributedRows:
        """The rows of the texts among those of all processes; the first call waits for all processes."""
        return DistributedRows.from_local_count(len(self), self.processes)

    @property
    def embedding(self) -> Floats:
        """The embeddings, (N, D)."""
        return self.dense[EMBEDDING]

    @cached_property
    def contrasted(self) -> dict[str, Floats]:
        """The dense feature sets for neighbours and points: centred where texts look alike; waits for all processes."""
        if not self.can_center:
            return self.dense
        return {name: center_if_alike(matrix, self.rows) for name, matrix in self.dense.items()}

    @property
    def texts_look_alike(self) -> bool:
        """Whether the embedding is centred, because texts look alike to the encoder."""
        return self.contrasted[EMBEDDING] is not self.embedding

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the feature sets."""
        return (*self.dense, *([WORDS] if self.words else []))

    def select(self, rows: Ints) -> TextFeatures:
        """Return the features of some of the texts of this process."""
        dense = {name: matrix[rows] for name, matrix in self.dense.items()}
        return replace(self, dense=dense, words=self.words and self.words.select(rows))

    def gather_sample(self, max_texts: int, rng: np.random.Generator) -> TextFeatures | None:
        """Return the features of a random sample of all texts in the first process; None in the others."""
        return self.gather(self.draw_sample(max_texts, rng))

    def draw_sample(self, max_texts: int, rng: np.random.Generator) -> Ints | None:
        """Draw rows of all texts, in ascending order; None, and nothing is drawn, if there are at most `max_texts`."""
        if self.rows.n_rows <= max_texts:
            return None
        return np.sort(rng.choice(self.rows.n_rows, max_texts, replace=False))

    def gather(self, rows: Ints | None) -> TextFeatures | None:
        """Return the features of rows of all texts (None: of all) in the first process; None in the others."""
        if self.processes.is_single:
            return self if rows is None else self.select(rows)
        dense = {name: self.rows.gather(matrix, rows) for name, matrix in self.dense.items()}
        words = None
        if self.words:
            tfidf, lsa = self.rows.gather(self.words.tfidf, rows), self.rows.gather(self.words.lsa, rows)
            words = WordFeatures(tfidf, cast(Floats, lsa))
        if not self.processes.is_first:
            return None
        return TextFeatures(cast(dict[str, Floats], dense), words, can_center=self.can_center)

    def replace_embedding(self, E: Floats) -> TextFeatures:
        """Return the features with another embedding (N, D)."""
        return replace(self, dense={**self.dense, EMBEDDING: E})

    def find_neighbours(self, mix: Mix, k: int) -> Ints:
        """Find the k most similar texts of each text, itself included: rows among the texts of all processes, (n, k).

        The similarity is the mean of the cosines of the feature sets, weighted by the squares of their weights, as in
        the inner product of concatenated features.
        """
        word_weight = mix.get(WORDS, 0.0) if self.words else 0.0
        squares = 1 + sum(mix.get(name, 0.0) ** 2 for name in self.dense if name != EMBEDDING)
        tfidf = self.words.tfidf if self.words and word_weight else None
        share_of_words = word_weight**2 / (squares + word_weight**2)
        return nearest_neighbours(self._concatenate(mix, lsa=False), tfidf, k, share_of_words, self.processes)

    def build_points(self, mix: Mix, neighbours: Ints | None) -> Floats:
        """Concatenate the weighted feature sets to the points to be clustered.

        Parameters
        ----------
        mix : mapping of str to float
            Weight of each feature set; one that is missing has none.
        neighbours : (n, k) array or None
            Neighbours of each text, the text itself included, that its point is averaged over; None: nothing is.

        Returns
        -------
        (n, D) array
            Points of length one.
        """
        points = self._concatenate(mix, lsa=True)
        return points if neighbours is None else average_over_neighbours(points, neighbours, self.rows)

    def _concatenate(self, mix: Mix, lsa: bool) -> Floats:
        """Concatenate the dense feature sets, and words reduced by LSA, with their weights, at length one."""
        weighted = [
            (1.0 if name == EMBEDDING else mix.get(name, 0.0), matrix) for name, matrix in self.contrasted.items()
        ]
        if lsa and self.words:
            weighted.append((mix.get(WORDS, 0.0), self.words.lsa))
        used = [(weight, matrix) for weight, matrix in weighted if weight]
        if len(used) == 1:
            return used[0][1]
        points = np.empty((len(self), sum(matrix.shape[1] for _, matrix in used)), dtype=np.float32)
        end = 0
        for weight, matrix in used:  # without the copies of a stack, because these are the largest arrays of a run
            start, end = end, end + matrix.shape[1]
            np.multiply(matrix, weight, out=points[:, start:end])
        return np.asarray(normalize(points, copy=False))


def sum_over_neighbours(values: Floats, neighbours: Ints, rows: DistributedRows) -> Floats:
    """Sum values over the neighbours of texts.

    One column of neighbours is added at a time, and in blocks of texts, because indexing with all at once would take k
    times the memory.

    Parameters
    ----------
    values : (n, D) array
        Values of this process's texts.
    neighbours : (m, k) array
        Neighbours, as rows among the texts of all processes.
    rows : DistributedRows
        The rows of the texts, which neighbours in other processes are fetched by.

    Returns
    -------
    (m, D) array
    """
    total = np.empty((len(neighbours), values.shape[1]), dtype=values.dtype)
    # The same number of blocks in all processes, because each fetches from the others.
    n_blocks = max(1, int(rows.processes.max(-(-len(neighbours) // BLOCK_ROWS))))
    for block in np.array_split(np.arange(len(neighbours)), n_blocks):
        own = neighbours[block]
        block_total = rows.fetch(values, own[:, 0])
        for column in own.T[1:]:
            block_total += rows.fetch(values, column)
        total[block] = block_total
    return total


def average_over_neighbours(points: Floats, neighbours: Ints, rows: DistributedRows) -> Floats:
    """Average points (n, D) over the neighbours (n, k) of each text and scale to length one."""
    return np.asarray(normalize(sum_over_neighbours(points, neighbours, rows), copy=False))


def reduce_dimensions(points: Floats, processes: ProcessGroup = SINGLE_PROCESS) -> Floats:
    """Project points (n, D) on their first singular vectors, (n, 128), which k-means needs less time for.

    The singular vectors are those of evenly spaced rows of all processes, if there are many. The points are not
    centred, so that inner products stay almost the same.

    >>> reduce_dimensions(np.ones((300, 200), dtype=np.float32)).shape
    (300, 128)
    """
    if points.shape[1] <= REDUCED_DIMENSIONS:
        return points
    rows, D = DistributedRows.from_local_count(len(points), processes), points.shape[1]
    sample = points[rows.take_every(-(-rows.n_rows // REDUCTION_ROWS))]
    gram = processes.all_reduce_array((sample.T @ sample).astype(np.float64))
    vectors = processes.run_on_first(lambda: eigh(gram, subset_by_index=(D - REDUCED_DIMENSIONS, D - 1))[1])
    return np.asarray(points @ vectors.astype(np.float32), dtype=np.float32)  # (n, 128)
