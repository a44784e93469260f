"""The words of a batch, looked up once: one gradient of the whole vocabulary a step, instead of one for every piece."""

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
def looked_up_once(words: nn.Embedding, tokens: Sequence[NDArray[np.int32]]) -> Iterator[None]:
    """Let an embedding of many words use a table of those that occur in `tokens`, for as long as this lasts.

    The backward pass of a lookup fills a gradient as large as the vocabulary, whatever the number of words. Taken from
    a table of the batch's own words, only the taking does.
    """
    pad = words.padding_idx
    here = np.unique(np.concatenate([*tokens, np.array([] if pad is None else [pad], dtype=np.int32)]))
    known = torch.from_numpy(here.astype(np.int64)).to(words.weight.device)
    table = words.weight[known]  # (words of the batch, D)
    pad_here = None if pad is None else int(np.searchsorted(here, pad))

    def look_up(ids: Tensor) -> Tensor:
        return F.embedding(torch.searchsorted(known, ids), table, padding_idx=pad_here)

    words.forward = look_up  # type: ignore[method-assign, assignment]
    try:
        yield
    finally:
        del words.forward


def plain_embedding(transformer: nn.Module) -> nn.Embedding | None:
    """Return a transformer's embedding of words if it does nothing but look them up."""
    inner: Any = getattr(transformer, "auto_model", transformer)
    words = inner.get_input_embeddings() if hasattr(inner, "get_input_embeddings") else None
    if type(words) is nn.Embedding and words.max_norm is None and not words.scale_grad_by_freq and not words.sparse:
        return words
    return None
