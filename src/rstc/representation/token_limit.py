"""The number of tokens to which texts are truncated, chosen by the lengths of the texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from rstc.runtime.distributed import SINGLE_PROCESS, ProcessGroup

if TYPE_CHECKING:
    from rstc.representation.encoder import Encoder

COVERED_SHARE = 0.95  # of the texts are not truncated
MIN_TOKENS, MAX_TOKENS = 32, 128  # of a limit that is chosen: encoding takes time in proportion to the tokens
MULTIPLE = 8  # lengths that matrix products are fast for
SAMPLE_TEXTS = 5000

T = TypeVar("T")


def limit_tokens(
    encoder: Encoder,
    texts: Sequence[str],
    max_tokens: int | Literal["auto"],
    processes: ProcessGroup = SINGLE_PROCESS,
) -> float:
    """Set the number of tokens to which an encoder truncates texts.

    Parameters
    ----------
    encoder : Encoder
        The encoder, whose limit is set.
    texts : sequence of str
        The texts of this process; a sample of them is tokenised.
    max_tokens : int or "auto"
        The limit, or "auto" to choose it by the lengths of the texts.
    processes : ProcessGroup
        The processes that the texts are distributed over; the limit is the same in all of them.

    Returns
    -------
    float
        The share of the texts that are truncated.
    """
    limit = MAX_TOKENS if max_tokens == "auto" else max_tokens
    counts = processes.all_reduce_array(encoder.count_lengths(sample_evenly(texts), limit + 1))
    if max_tokens == "auto":
        limit = choose_max_tokens(counts, encoder.max_input_tokens)
    encoder.limit_tokens(limit)
    return float(counts[limit + 1 :].sum() / max(counts.sum(), 1))


def choose_max_tokens(counts: NDArray[np.int64], encoder_limit: int) -> int:
    """Choose the limit that leaves 95 % of the texts whole, from 32 to 128 tokens.

    Parameters
    ----------
    counts : array of int, shape (L,)
        The number of texts of each length in tokens; the last entry may stand for longer texts, too.
    encoder_limit : int
        The largest number of tokens that the encoder reads.

    Returns
    -------
    int
        A multiple of 8, or the encoder's limit.

    Examples
    --------
    >>> counts = np.bincount([12] * 90 + [41] * 10)
    >>> choose_max_tokens(counts, 512), choose_max_tokens(counts, 40)
    (48, 40)
    """
    covered = np.cumsum(counts) >= COVERED_SHARE * counts.sum()
    length = int(covered.argmax()) if counts.sum() else 0
    rounded = -(-length // MULTIPLE) * MULTIPLE
    return min(max(rounded, MIN_TOKENS), MAX_TOKENS, encoder_limit)


def sample_evenly(texts: Sequence[T]) -> Sequence[T]:
    """Return at most `SAMPLE_TEXTS` texts, evenly spaced, whose lengths stand for those of all.

    >>> len(sample_evenly(range(12_000))), sample_evenly(range(12_000))[1]
    (4000, 3)
    """
    return texts[:: max(-(-len(texts) // SAMPLE_TEXTS), 1)]
