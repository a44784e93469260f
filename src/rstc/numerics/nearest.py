"""The nearest neighbours of each text by embeddings and words: exact for up to 50,000 texts, by an index beyond.

The similarity of two texts is (1 - w) <e_i, e_j> + w <x_i, x_j>, where e are embeddings, x are rows of TF-IDF, all of
length one, and w is the weight of the words.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from types import ModuleType
from typing import cast

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from rstc.runtime.distributed import SINGLE_PROCESS, ProcessGroup
from rstc.runtime.distributed_rows import BLOCK_ROWS, DistributedRows
from rstc.runtime.threads import parallel_map

logger = logging.getLogger("rstc")

MAX_EXACT_TEXTS = 50_000  # with more, each text is compared with candidates from an index only
BLOCK_VALUES = 2**22  # similarities held in memory at a time, by each thread
SPARSE_BLOCK_ROWS = 4096  # rows of the sparse product that finds candidates by words
CANDIDATES_PER_NEIGHBOUR = 4
INDEX_DIMENSIONS = 128
PROBE_FRACTION = 1 / 32  # share of the index's cells that a query visits
MIN_PROBES, MAX_PROBES = 4, 10  # bounds of the visited cells, which limit the time for millions of texts
MAX_DOCUMENT_FREQUENCY = 1000  # more frequent words are ignored in the search for candidates

NO_NEIGHBOUR = -1

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class TextVectors:
    """The vectors of n texts by which they are compared.

    Attributes
    ----------
    E : (n, D) array
        Embeddings of length one.
    tfidf : (n, V) sparse matrix or None
        TF-IDF with rows of length one; None: the embeddings alone decide.
    """

    E: Floats
    tfidf: csr_matrix | None

    def __len__(self) -> int:
        return len(self.E)


@dataclass(frozen=True)
class Neighbours:
    """The most similar texts of n texts, most similar first.

    Attributes
    ----------
    similarity : (n, k) array
        Their similarity; infinite for the text itself, which comes before its duplicates.
    rows : (n, k) array
        Their rows; `NO_NEIGHBOUR` where fewer than k were found.
    """

    similarity: Floats
    rows: Ints

    def merge(self, others: Neighbours, k: int) -> Neighbours:
        """Return the k most similar of these and of other neighbours of the same texts."""
        similarity = np.hstack([self.similarity, others.similarity])
        best = np.argsort(-similarity, axis=1, kind="stable")[:, :k]
        rows = np.take_along_axis(np.hstack([self.rows, others.rows]), best, axis=1)
        return Neighbours(np.take_along_axis(similarity, best, axis=1), rows)


def nearest_neighbours(
    E: Floats,
    tfidf: csr_matrix | None,
    k: int,
    word_weight: float = 0.5,
    processes: ProcessGroup = SINGLE_PROCESS,
) -> Ints:
    """Find the k most similar texts of each text.

    With more than `MAX_EXACT_TEXTS` texts the search is approximate if faiss is installed, and misses a few neighbours.

    Texts may be distributed over processes. Each finds the neighbours of its own texts, block by block of the texts of
    all, so that it holds one block beside its own texts. An index is built of each block.

    Parameters
    ----------
    E : (n, D) array
        Embeddings of length one, of this process's texts.
    tfidf : (n, V) sparse matrix or None
        TF-IDF with rows of length one; None: the embeddings alone decide.
    k : int
        Number of neighbours, the text itself included.
    word_weight : float
        Share of the words in the similarity, 0 to 1.
    processes : ProcessGroup
        The processes that the texts are distributed over.

    Returns
    -------
    (n, k) array
        Row numbers among the texts of all processes, most similar first; the text itself is always the first. Fewer
        columns if there are fewer than k texts.

    >>> E = np.array([[1.0, 0.0], [0.8, 0.6], [0.0, 1.0]], dtype=np.float32)
    >>> nearest_neighbours(E, None, 2).tolist()
    [[0, 1], [1, 0], [2, 1]]
    """
    rows, texts = DistributedRows.from_local_count(len(E), processes), TextVectors(E, tfidf)
    k = min(k, rows.n_rows)
    faiss, block_rows = None, BLOCK_ROWS
    if rows.n_rows > MAX_EXACT_TEXTS:
        faiss, block_rows = import_faiss(), MAX_EXACT_TEXTS
        if faiss is None:
            logger.info("exact search of neighbours among %d texts; `pip install rstc[large]` is faster", rows.n_rows)
    nearest: Neighbours | None = None
    for first_row, (other_E, other_tfidf) in rows.iter_blocks(E, tfidf, block_rows=block_rows):
        others, offset = TextVectors(cast(Floats, other_E), other_tfidf), rows.local.start - first_row
        if faiss is None:
            found = _search_exactly(texts, others, offset, k, word_weight)
        else:
            candidates = find_candidates(faiss, texts, others, offset, CANDIDATES_PER_NEIGHBOUR * k)
            found = _rank_candidates(candidates, texts, others, offset, k, word_weight)
        found.rows[found.rows != NO_NEIGHBOUR] += first_row
        nearest = found if nearest is None else nearest.merge(found, k)
    assert nearest is not None
    own = np.arange(rows.local.start, rows.local.stop)[:, None]
    return np.where(nearest.rows == NO_NEIGHBOUR, own, nearest.rows)


def _search_exactly(texts: TextVectors, others: TextVectors, offset: int, k: int, word_weight: float) -> Neighbours:
    """Compare texts with all others; text i is the other text i + offset, if there is one of that number."""
    k = min(k, len(others))
    found = Neighbours(np.empty((len(texts), k), dtype=np.float32), np.empty((len(texts), k), dtype=np.int64))
    E, other_E = (torch.from_numpy(np.ascontiguousarray(vectors.E)) for vectors in (texts, others))

    def search(block: slice) -> None:
        similarity = E[block] @ other_E.T  # (rows, others)
        if texts.tfidf is not None and others.tfidf is not None:
            similarity *= 1 - word_weight
            similarity += word_weight * torch.from_numpy((texts.tfidf[block] @ others.tfidf.T).toarray())
        positions = torch.from_numpy(_find_own(block, offset, len(others)))
        own = (positions != NO_NEIGHBOUR).nonzero()[:, 0]
        similarity[own, positions[own]] = torch.inf  # the text itself comes before its duplicates
        best = similarity.topk(k, dim=1)
        found.similarity[block], found.rows[block] = best.values.numpy(), best.indices.numpy()

    parallel_map(search, _split_into_blocks(len(texts), len(others)))
    return found


def _find_own(block: slice, offset: int, n: int) -> Ints:
    """Return the position of each text of a block among n other texts; `NO_NEIGHBOUR` if it is not one of them.

    >>> _find_own(slice(0, 4), -1, 2).tolist()
    [-1, 0, 1, -1]
    """
    positions = np.arange(block.start, block.stop) + offset
    return np.where((positions >= 0) & (positions < n), positions, NO_NEIGHBOUR)


def import_faiss() -> ModuleType | None:
    """Return faiss, which comes with the extra `large`, or None."""
    try:
        import faiss
    except ImportError:
        return None
    return faiss


def find_candidates(faiss: ModuleType, texts: TextVectors, others: TextVectors, offset: int, n: int) -> Ints:
    """Find candidates for the neighbours of each text, n by embeddings and n by words.

    Parameters
    ----------
    faiss : module
        The library of the index.
    texts, others : TextVectors
        The texts whose neighbours are searched, N, and the texts among which they are.
    offset : int
        Text i is the other text i + offset, if there is one of that number.
    n : int
        Number of candidates of each kind.

    Returns
    -------
    (N, n + 1) array, or (N, 2 n + 1) with words
        Distinct positions among the others, the text itself included, padded by `NO_NEIGHBOUR`.
    """
    own = _find_own(slice(0, len(texts)), offset, len(others))[:, None]
    by_words = []
    if texts.tfidf is not None and others.tfidf is not None:
        by_words.append(find_candidates_by_words(texts.tfidf, others.tfidf, n))
    candidates = np.hstack([own, _find_candidates_by_embedding(faiss, texts.E, others.E, n), *by_words])
    candidates.sort(axis=1)
    candidates[:, 1:][candidates[:, 1:] == candidates[:, :-1]] = NO_NEIGHBOUR
    return candidates


def find_candidates_by_words(tfidf: csr_matrix, other_tfidf: csr_matrix, n: int) -> Ints:
    """Find the n other texts (N, n) with the largest TF-IDF product, over words that are not too frequent in them."""
    document_frequency = np.bincount(other_tfidf.indices, minlength=other_tfidf.shape[1])
    rare_words = np.flatnonzero(document_frequency <= MAX_DOCUMENT_FREQUENCY)
    rare, transposed = tfidf[:, rare_words].tocsr(), other_tfidf[:, rare_words].T.tocsr()
    candidates = np.full((tfidf.shape[0], n), NO_NEIGHBOUR, dtype=np.int64)
    for start in range(0, len(candidates), SPARSE_BLOCK_ROWS):
        products = rare[start : start + SPARSE_BLOCK_ROWS] @ transposed  # (rows, others), sparse
        for row, (first, last) in enumerate(zip(products.indptr[:-1], products.indptr[1:], strict=True), start):
            texts, similarity = products.indices[first:last], products.data[first:last]
            if len(texts) > n:
                texts = texts[np.argpartition(-similarity, n - 1)[:n]]
            candidates[row, : len(texts)] = texts
    return candidates


def _find_candidates_by_embedding(faiss: ModuleType, E: Floats, other_E: Floats, n: int) -> Ints:
    """Find about the n nearest other texts (N, n) by an inverted file index, which searches the nearest cells only.

    The index compares principal components, which is faster; candidates are ranked by all dimensions.
    """
    n_cells = max(int(len(other_E) ** 0.5), 1)
    reduction = f"PCA{INDEX_DIMENSIONS}," if min(E.shape[1], len(other_E)) > INDEX_DIMENSIONS else ""
    index = faiss.index_factory(E.shape[1], f"{reduction}IVF{n_cells},Flat", faiss.METRIC_INNER_PRODUCT)
    vectors = np.ascontiguousarray(other_E)
    index.train(vectors)
    index.add(vectors)
    probes = int(np.clip(PROBE_FRACTION * n_cells, MIN_PROBES, MAX_PROBES))
    faiss.extract_index_ivf(index).nprobe = probes
    return np.asarray(index.search(np.ascontiguousarray(E), n)[1], dtype=np.int64)


def _rank_candidates(
    candidates: Ints, texts: TextVectors, others: TextVectors, offset: int, k: int, word_weight: float
) -> Neighbours:
    """Return the k most similar candidates of each text, the text itself first if it is among them."""
    k = min(k, candidates.shape[1])
    found = Neighbours(np.empty((len(texts), k), dtype=np.float32), np.empty((len(texts), k), dtype=np.int64))
    for block in _split_into_blocks(len(texts), candidates.shape[1] * texts.E.shape[1]):
        positions = candidates[block]  # (rows, candidates)
        similarity = np.einsum("rd,rpd->rp", texts.E[block], others.E[positions])
        if texts.tfidf is not None and others.tfidf is not None:
            repeated = texts.tfidf[np.repeat(np.arange(block.start, block.stop), positions.shape[1])]
            products = np.asarray(repeated.multiply(others.tfidf[positions.ravel()]).sum(1)).reshape(positions.shape)
            similarity = (1 - word_weight) * similarity + word_weight * products
        similarity[positions == _find_own(block, offset, len(others))[:, None]] = np.inf
        similarity[positions == NO_NEIGHBOUR] = -np.inf
        best = np.argsort(-similarity, axis=1, kind="stable")[:, :k]
        found.rows[block] = np.take_along_axis(positions, best, axis=1)
        found.similarity[block] = np.take_along_axis(similarity, best, axis=1)
    return found


def _split_into_blocks(n_rows: int, values_per_row: int) -> list[slice]:
    """Split rows into blocks of at most `BLOCK_VALUES` values."""
    rows = max(1, BLOCK_VALUES // values_per_row)
    return [slice(start, min(start + rows, n_rows)) for start in range(0, n_rows, rows)]
