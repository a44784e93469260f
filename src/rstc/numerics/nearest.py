"""The nearest neighbours of each text by embeddings and words: exact for up to 50,000 texts, by an index beyond.

The similarity of two texts is (1 - w) <e_i, e_j> + w <x_i, x_j>, where e are embeddings, x are rows of TF-IDF, all of
length one, and w is the weight of the words.
"""

from __future__ import annotations

import logging
from types import ModuleType

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from rstc.runtime.threads import parallel_map

logger = logging.getLogger("rstc")

MAX_EXACT_TEXTS = 50_000  # with more, each text is compared with candidates from an index only
BLOCK_VALUES = 2**22  # similarities held in memory at a time, by each thread
BLOCK_ROWS = 4096  # rows of the sparse product that finds candidates by words
CANDIDATES_PER_NEIGHBOUR = 4
PROBE_FRACTION = 1 / 32  # share of the index's cells that a query visits
MIN_PROBES, MAX_PROBES = 4, 10  # bounds of the visited cells, which limit the time for millions of texts
MAX_DOCUMENT_FREQUENCY = 1000  # more frequent words are ignored in the search for candidates

NO_NEIGHBOUR = -1

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]


def nearest_neighbours(E: Floats, tfidf: csr_matrix | None, k: int, word_weight: float = 0.5) -> Ints:
    """Find the k most similar texts of each text.

    With more than `MAX_EXACT_TEXTS` texts the search is approximate if faiss is installed, and misses a few neighbours.

    Parameters
    ----------
    E : (N, D) array
        Embeddings of length one.
    tfidf : (N, V) sparse matrix or None
        TF-IDF with rows of length one; None: the embeddings alone decide.
    k : int
        Number of neighbours, the text itself included.
    word_weight : float
        Share of the words in the similarity, 0 to 1.

    Returns
    -------
    (N, k) array
        Row numbers, most similar first; the text itself is always the first. Fewer columns if N < k.

    >>> E = np.array([[1.0, 0.0], [0.8, 0.6], [0.0, 1.0]], dtype=np.float32)
    >>> nearest_neighbours(E, None, 2).tolist()
    [[0, 1], [1, 0], [2, 1]]
    """
    k = min(k, len(E))
    if len(E) > MAX_EXACT_TEXTS:
        if (faiss := import_faiss()) is not None:
            candidates = find_candidates(faiss, E, tfidf, CANDIDATES_PER_NEIGHBOUR * k)
            return _rank_candidates(candidates, E, tfidf, k, word_weight)
        logger.info("exact search of neighbours among %d texts; `pip install rstc[large]` is faster", len(E))
    neighbours = np.empty((len(E), k), dtype=np.int64)
    vectors = torch.from_numpy(np.ascontiguousarray(E))

    def search(block: slice) -> None:
        similarity = vectors[block] @ vectors.T  # (rows, N)
        if tfidf is not None:
            similarity *= 1 - word_weight
            similarity += word_weight * torch.from_numpy((tfidf[block] @ tfidf.T).toarray())
        own = torch.arange(block.start, block.stop)
        similarity[own - block.start, own] = torch.inf  # the text itself comes before its duplicates
        neighbours[block] = similarity.topk(k, dim=1).indices.numpy()

    parallel_map(search, _split_into_blocks(len(E), len(E)))
    return neighbours


def import_faiss() -> ModuleType | None:
    """Return faiss, which comes with the extra `large`, or None."""
    try:
        import faiss
    except ImportError:
        return None
    return faiss


def find_candidates(faiss: ModuleType, E: Floats, tfidf: csr_matrix | None, n: int) -> Ints:
    """Find candidates for the neighbours of each text, n by embeddings and n by words.

    Returns
    -------
    (N, n + 1) array, or (N, 2 n + 1) with words
        Distinct row numbers, the text itself included, padded by `NO_NEIGHBOUR`.
    """
    own = np.arange(len(E))[:, None]
    by_words = [] if tfidf is None else [find_candidates_by_words(tfidf, n)]
    candidates = np.hstack([own, _find_candidates_by_embedding(faiss, E, n), *by_words])
    candidates.sort(axis=1)
    candidates[:, 1:][candidates[:, 1:] == candidates[:, :-1]] = NO_NEIGHBOUR
    return candidates


def find_candidates_by_words(tfidf: csr_matrix, n: int) -> Ints:
    """Find the n texts (N, n) with the largest TF-IDF product, over words that are not too frequent."""
    document_frequency = np.bincount(tfidf.indices, minlength=tfidf.shape[1])
    rare = tfidf[:, np.flatnonzero(document_frequency <= MAX_DOCUMENT_FREQUENCY)].tocsr()
    transposed = rare.T.tocsr()
    candidates = np.full((tfidf.shape[0], n), NO_NEIGHBOUR, dtype=np.int64)
    for start in range(0, len(candidates), BLOCK_ROWS):
        products = rare[start : start + BLOCK_ROWS] @ transposed  # (rows, N), sparse
        for row, (first, last) in enumerate(zip(products.indptr[:-1], products.indptr[1:], strict=True), start):
            texts, similarity = products.indices[first:last], products.data[first:last]
            if len(texts) > n:
                texts = texts[np.argpartition(-similarity, n - 1)[:n]]
            candidates[row, : len(texts)] = texts
    return candidates


def _find_candidates_by_embedding(faiss: ModuleType, E: Floats, n: int) -> Ints:
    """Find about the n nearest texts (N, n) by an inverted file index, which searches the nearest cells only."""
    n_cells = max(int(len(E) ** 0.5), 1)
    index = faiss.index_factory(E.shape[1], f"IVF{n_cells},Flat", faiss.METRIC_INNER_PRODUCT)
    vectors = np.ascontiguousarray(E)
    index.train(vectors)
    index.add(vectors)
    index.nprobe = int(np.clip(PROBE_FRACTION * n_cells, MIN_PROBES, MAX_PROBES))
    return np.asarray(index.search(vectors, n)[1], dtype=np.int64)


def _rank_candidates(candidates: Ints, E: Floats, tfidf: csr_matrix | None, k: int, word_weight: float) -> Ints:
    """Return the k most similar candidates of each text, (N, k), the text itself first."""
    neighbours = np.empty((len(E), k), dtype=np.int64)
    for block in _split_into_blocks(len(E), candidates.shape[1] * E.shape[1]):
        others = candidates[block]  # (rows, candidates)
        own = np.arange(block.start, block.stop)[:, None]
        similarity = np.einsum("rd,rpd->rp", E[block], E[others])
        if tfidf is not None:
            repeated = tfidf[np.repeat(own, others.shape[1])]
            products = np.asarray(repeated.multiply(tfidf[others.ravel()]).sum(1)).reshape(others.shape)
            similarity = (1 - word_weight) * similarity + word_weight * products
        similarity[others == own] = np.inf
        similarity[others == NO_NEIGHBOUR] = -np.inf
        best = np.argsort(-similarity, axis=1, kind="stable")[:, :k]
        neighbours[block] = np.take_along_axis(others, best, axis=1)
        neighbours[block] = np.where(neighbours[block] == NO_NEIGHBOUR, own, neighbours[block])
    return neighbours


def _split_into_blocks(n_rows: int, values_per_row: int) -> list[slice]:
    """Split rows into blocks of at most `BLOCK_VALUES` values."""
    rows = max(1, BLOCK_VALUES // values_per_row)
    return [slice(start, min(start + rows, n_rows)) for start in range(0, n_rows, rows)]
