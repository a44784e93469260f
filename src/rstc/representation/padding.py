"""Token ids of texts of any lengths, put together to be computed: by length, in pieces, padded. Needs no torch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

LONGEST_TEXT = 20_000  # characters that are looked at; a tokenizer would go through all before it cuts
# Large enough for the matrix products to be efficient, small enough that what passes from layer to layer stays in a
# core's cache.
TOKENS_A_PIECE = 1024


def by_length(sequences: Sequence[Any]) -> NDArray[np.int64]:
    """Return the order of sequences, the shortest first."""
    return np.argsort([len(row) for row in sequences], kind="stable")


def pieces(order: NDArray[np.int64], sequences: Sequence[Any], most: int = TOKENS_A_PIECE) -> list[NDArray[np.int64]]:
    """Cut a length-sorted order into runs of a bounded number of tokens once padded.

    >>> texts = ["many", "a", "be"]
    >>> [piece.tolist() for piece in pieces(by_length(texts), texts, most=4)]
    [[1, 2], [0]]
    """
    found, start = [], 0
    while start < len(order):
        end = start + 1
        while end < len(order) and (end + 1 - start) * len(sequences[order[end]]) <= most:
            end += 1
        found.append(order[start:end])
        start = end
    return found


def padded_ids(tokens: Sequence[Any], pad: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return token ids padded to the longest, and the mask of those that are no padding, (B, L) each."""
    ids = np.full((len(tokens), max(map(len, tokens))), pad, dtype=np.int64)
    mask = np.zeros_like(ids)
    for row, text in enumerate(tokens):
        ids[row, : len(text)] = text
        mask[row, : len(text)] = 1
    return ids, mask
