"""Batches of token ids: similar lengths together, bounded and padded."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rstc.representation.padding import pad_ids, sort_by_length, split_into_batches


@given(st.lists(st.integers(1, 30), max_size=40), st.integers(1, 60))
def test_batches_hold_every_sequence_once_within_the_token_limit(lengths: list[int], max_tokens: int) -> None:
    sequences = [[0] * length for length in lengths]
    order = sort_by_length(sequences)
    batches = split_into_batches(order, sequences, max_tokens)
    assert np.concatenate([np.zeros(0, np.int64), *batches]).tolist() == order.tolist()
    for batch in batches:
        assert len(batch) == 1 or len(batch) * max(lengths[i] for i in batch) <= max_tokens


def test_padded_ids_are_masked() -> None:
    ids, mask = pad_ids([[5, 6, 7], [8]], pad_id=1)
    assert ids.tolist() == [[5, 6, 7], [8, 1, 1]]
    assert mask.tolist() == [[1, 1, 1], [1, 0, 0]]
