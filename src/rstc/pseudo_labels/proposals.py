"""Which texts may be near a text, for sets where comparing each with each would take too long."""

from __future__ import annotations

from types import ModuleType

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

SHARE_TO_VISIT = 1 / 32  # of the index's cells...
FEWEST_TO_VISIT, MOST_TO_VISIT = 4, 10  # ...within bounds: a share of a million texts would take an hour
TEXTS_A_WORD = 1000  # words that are in more texts propose nobody: there are too many, and they have little in common
ROWS_A_PIECE = 4096

NOBODY = -1


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
    found = np.hstack([own, by_embedding(faiss, E, n), *([] if X is None else [by_words(X, n)])])
    found.sort(axis=1)
    found[:, 1:][found[:, 1:] == found[:, :-1]] = NOBODY
    return found


def by_embedding(faiss: ModuleType, E: NDArray[np.float32], n: int) -> NDArray[np.int64]:
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
