"""Search the texts of a run: by words, ignoring case and accents, and by the embedding of a query."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

BLOCK_ROWS = 65_536  # embeddings that are compared at a time


def find_rows_with_words(texts: Sequence[str], query: str) -> NDArray[np.int64]:
    """Return the numbers of the texts that hold all words of a query, in any order and as parts of words.

    >>> find_rows_with_words(["Late again", "a café", "LATER, again"], "again late").tolist()
    [0, 2]
    >>> find_rows_with_words(["a café", "tea"], "Cafe").tolist()
    [0]
    """
    words = fold(query).split()
    rows = [row for row, text in enumerate(texts) if words and all(word in fold(text) for word in words)]
    return np.array(rows, dtype=np.int64)


def find_near_rows(U: NDArray[np.float16], query: NDArray[np.float32], n: int) -> list[tuple[int, float]]:
    """Return the numbers and cosine similarities of the texts nearest to a query, nearest first.

    Parameters
    ----------
    U : array of float16, shape (N, D)
        The embeddings of the texts at unit length.
    query : array of float, shape (D,)
        The embedding of the query.
    n : int
        Number of texts.
    """
    unit = query / (float(np.linalg.norm(query)) or 1.0)
    blocks = (U[start : start + BLOCK_ROWS].astype(np.float32) @ unit for start in range(0, len(U), BLOCK_ROWS))
    similarity = np.concatenate([np.zeros(0, dtype=np.float32), *blocks])
    best = np.argsort(-similarity, kind="stable")[:n]
    return [(int(row), float(similarity[row])) for row in best]


def fold(text: str) -> str:
    """Return a text in lower case and without accents."""
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    return "".join(character for character in decomposed if not unicodedata.combining(character))
