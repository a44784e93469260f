"""Texts as tokenizers read them, and sorting, batching and padding of token ids, without torch."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

MAX_TEXT_CHARS = 20_000  # a tokenizer would read all characters before it truncates
# Large enough for efficient matrix products, small enough for the activations to stay in a core's cache.
MAX_BATCH_TOKENS = 1024

# Korean letters of one syllable, and Japanese letters with a voicing mark, each as characters of their own.
_DECOMPOSED = re.compile("[\u1100-\u11ff]{2,}|[\u3041-\u30ff][\u3099\u309a]|[\uff66-\uff9d][\uff9e\uff9f]")


def prepare_text(text: str) -> str:
    """Return a text as it is given to a tokenizer: not too long, with Korean and Japanese letters composed.

    Tokenizers made of SentencePiece models compose letters as such a model does, but for these.

    >>> prepare_text("ｶﾞ\u1112\u1161\u11ab")
    'ガ한'
    """
    return _DECOMPOSED.sub(_compose, text[:MAX_TEXT_CHARS])


def _compose(match: re.Match[str]) -> str:
    return unicodedata.normalize("NFKC", match[0])


def sort_by_length(sequences: Sequence[Any]) -> NDArray[np.int64]:
    """Return the order of sequences from the shortest to the longest."""
    return np.argsort([len(sequence) for sequence in sequences], kind="stable")


def split_into_batches(
    order: NDArray[np.int64], sequences: Sequence[Any], max_tokens: int = MAX_BATCH_TOKENS
) -> list[NDArray[np.int64]]:
    """Split sequences into batches of similar length.

    Parameters
    ----------
    order : array (N,)
        The order of the sequences by length, as `sort_by_length` returns it.
    sequences : sequence of sequences
        The sequences.
    max_tokens : int
        Largest number of tokens in a batch, padding included; a longer sequence is a batch of its own.

    Returns
    -------
    list of arrays
        The indices of each batch's sequences; joined, they are `order`.

    Examples
    --------
    >>> texts = ["many", "a", "be"]
    >>> [batch.tolist() for batch in split_into_batches(sort_by_length(texts), texts, max_tokens=4)]
    [[1, 2], [0]]
    """
    batches, start = [], 0
    while start < len(order):
        end = start + 1
        while end < len(order) and (end + 1 - start) * len(sequences[order[end]]) <= max_tokens:
            end += 1
        batches.append(order[start:end])
        start = end
    return batches


def pad_ids(tokens: Sequence[Any], pad_id: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return token ids padded to the longest text, and the attention mask, (B, L) each."""
    ids = np.full((len(tokens), max(map(len, tokens))), pad_id, dtype=np.int64)
    mask = np.zeros_like(ids)
    for row, text in enumerate(tokens):
        ids[row, : len(text)] = text
        mask[row, : len(text)] = 1
    return ids, mask
