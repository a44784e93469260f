"""The nearest texts of each text, by embeddings and words; of many texts by an index, without comparing all pairs."""

from __future__ import annotations

import logging
from types import ModuleType

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

logger = logging.getLogger("rstc")

NUMBERS_A_PIECE = 2**24  # similarities that are held at a time
TEXTS_TO_COMPARE_ALL = 50_000  # beyond, each text is compared with those that an index proposes, if there is one
PROPOSALS_A_NEIGHBOUR = 4
SHARE_TO_VISIT = 1 / 32  # of the index's cells...
FEWEST_TO_VISIT, MOST_TO_VISIT = 4, 10  # ...within bounds: a share of a million texts would take an hour
TEXTS_A_WORD = 1000  # words that are in more texts propose nobody: there are too many, and they have little in common
ROWS_A_PIECE = 4096

NOBODY = -1

Floats = NDArray[np.float32]


def nearest(E: Floats, X: csr_matrix | None, k: int, share: float = 0.5) -> NDArray[np.int64]:
    """Return the k most similar texts of each text, (N, k), most similar first: the text itself, then the others.

    With many texts it needs faiss to be quick; then it misses a few neighbours.

    Args:
        E: embeddings of length one, (N, D).
        X: words of length one, (N, V); None: the embeddings alone decide.
        k: how many, the text itself included.
        share: of the words in the similarity; the rest is the encoder's.

    >>> E = np.array([[1.0, 0.0], [0.8, 0.6], [0.0, 1.0]], dtype=np.float32)
    >>> nearest(E, None, 2).tolist()
    [[0, 1], [1, 0], [2, 1]]
    """
    k = min(k, len(E))
    if len(E) > TEXTS_TO_COMPARE_ALL:
        if (faiss := faiss_if_there()) is not None:
            return _nearest_proposed(faiss, E, X, k, share)
        logger.info("comparing each text with each; `pip install rstc[large]` is quicker for so many")
    found = np.empty((len(E), k), dtype=np.int64)
    vectors = torch.from_numpy(np.ascontiguousarray(E))
    for part in _pieces(len(E), len(E)):
        similarity = vectors[part] @ vectors.T  # (rows, N)
        if X is not None:
            similarity *= 1 - share
            similarity += share * torch.from_numpy((X[part] @ X.T).toarray())
        own = torch.arange(part.start, part.stop)
        similarity[own - part.start, own] = torch.inf  # before its duplicates
        found[part] = similarity.topk(k, dim=1).indices.numpy()
    return found


def _nearest_proposed(faiss: ModuleType, E: Floats, X: csr_matrix | None, k: int, share: float) -> NDArray[np.int64]:
    """Return what `nearest` returns, looking at proposals only."""
    proposed = proposals(faiss, E, X, PROPOSALS_A_NEIGHBOUR * k)
    found = np.empty((len(E), k), dtype=np.int64)
    for part in _pieces(len(E), proposed.shape[1] * E.shape[1]):
        others = proposed[part]  # (rows, proposals)
        own = np.arange(part.start, part.stop)[:, None]
        similarity = np.einsum("rd,rpd->rp", E[part], E[others])
        if X is not None:
            mine = X[np.repeat(own, others.shape[1])]
            common = np.asarray(mine.multiply(X[others.ravel()]).sum(1)).reshape(others.shape)
            similarity = (1 - share) * similarity + share * common
        similarity[others == own] = np.inf
        similarity[others == NOBODY] = -np.inf
        best = np.argsort(-similarity, axis=1, kind="stable")[:, :k]
        found[part] = np.take_along_axis(others, best, axis=1)
        found[part] = np.where(found[part] == NOBODY, own, found[part])
    return found


def _pieces(N: int, numbers_a_row: int) -> list[slice]:
    """Cut N rows into pieces, of which none holds too many numbers at a time."""
    rows = max(1, NUMBERS_A_PIECE // numbers_a_row)
    return [slice(start, min(start + rows, N)) for start in range(0, N, rows)]


def faiss_if_there() -> ModuleType | None:
    """Return faiss, which comes with the extra `large`."""
    try:
        import faiss
    except ImportError:
        return None
    return faiss


def proposals(faiss: ModuleType, E: NDArray[np.float32], X: csr_matrix | None, n: int) -> NDArray[np.int64]:
    """Return texts that may be near each text (N, n or 2n, and one): by embeddings (N, D), by words (N, V), or by both.

    Each text is among its own; none is proposed twice; NOBODY fills up where there are fewer.
    """
    own = np.arange(len(E))[:, None]
    found = np.hstack([own, _by_embedding(faiss, E, n), *([] if X is None else [by_words(X, n)])])
    found.sort(axis=1)
    found[:, 1:][found[:, 1:] == found[:, :-1]] = NOBODY
    return found


def _by_embedding(faiss: ModuleType, E: NDArray[np.float32], n: int) -> NDArray[np.int64]:
    """Return the n nearest texts (N, n), but for some that it misses.

    The index keeps texts in cells around centres, and looks for a text's neighbours in the nearest cells only.
    """
    cells = max(int(len(E) ** 0.5), 1)
    index = faiss.index_factory(E.shape[1], f"IVF{cells},Flat", faiss.METRIC_INNER_PRODUCT)
    vectors = np.ascontiguousarray(E)
    index.train(vectors)
    index.add(vectors)
    index.nprobe = int(np.clip(SHARE_TO_VISIT * cells, FEWEST_TO_VISIT, MOST_TO_VISIT))
    return np.asarray(index.search(vectors, n)[1], dtype=np.int64)


def by_words(X: csr_matrix, n: int) -> NDArray[np.int64]:
    """Return the n texts (N, n) that share most with each, of the words that are not too common."""
    rare = X[:, np.flatnonzero(np.bincount(X.indices, minlength=X.shape[1]) <= TEXTS_A_WORD)].tocsr()
    found = np.full((X.shape[0], n), NOBODY, dtype=np.int64)
    others = rare.T.tocsr()
    for start in range(0, len(found), ROWS_A_PIECE):
        common = rare[start : start + ROWS_A_PIECE] @ others
        for row, (first, last) in enumerate(zip(common.indptr[:-1], common.indptr[1:], strict=True), start):
            texts, shared = common.indices[first:last], common.data[first:last]
            if len(texts) > n:
                texts = texts[np.argpartition(-shared, n - 1)[:n]]
            found[row, : len(texts)] = texts
    return found
