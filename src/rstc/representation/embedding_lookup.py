"""One lookup of a step's words in the embedding matrix, shared by the batches that its texts are encoded in.

The backward pass of a lookup fills a gradient as large as the vocabulary, however few words are looked up. With a small
table of the words that occur, this happens once in an optimizer step instead of once for each batch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F


@contextmanager
def share_embedding_lookup(embedding: nn.Embedding, tokens: Sequence[NDArray[np.int32]]) -> Iterator[None]:
    """Make an embedding look up the words of `tokens` in a small table, copied once from its weights.

    Parameters
    ----------
    embedding : nn.Embedding
        A result of `find_word_embedding`.
    tokens : sequence of arrays
        The token ids of all texts that are encoded in this context, (L,) each.
    """
    pad_id = embedding.padding_idx
    distinct = np.unique(np.concatenate([*tokens, np.array([] if pad_id is None else [pad_id], dtype=np.int32)]))
    ids = torch.from_numpy(distinct.astype(np.int64)).to(embedding.weight.device)  # (W,), sorted
    table = embedding.weight[ids]  # (W, D)
    pad_row = None if pad_id is None else int(np.searchsorted(distinct, pad_id))

    def look_up(input_ids: Tensor) -> Tensor:
        return F.embedding(torch.searchsorted(ids, input_ids), table, padding_idx=pad_row)

    embedding.forward = look_up  # type: ignore[method-assign, assignment]
    try:
        yield
    finally:
        del embedding.forward


def find_word_embedding(transformer: nn.Module) -> nn.Embedding | None:
    """Return a transformer's word embedding, or None if it does more than look up rows."""
    inner: Any = getattr(transformer, "auto_model", transformer)
    embedding = inner.get_input_embeddings() if hasattr(inner, "get_input_embeddings") else None
    if type(embedding) is not nn.Embedding:
        return None
    is_plain = embedding.max_norm is None and not embedding.scale_grad_by_freq and not embedding.sparse
    return embedding if is_plain else None
