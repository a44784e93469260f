"""The sentence encoder Phi: texts to token ids, tokenised once, to embeddings E (N, D) by pooling over the tokens."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from rstc.errors import InputError

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

# A forward pass works through the texts in pieces of about this many tokens, shortest texts first: large enough
# for the matrix products to be efficient, small enough that little padding and memory is spent.
TOKENS_A_PIECE = 1024

TokenIds = NDArray[np.int32]


class Encoder(nn.Module):
    """A transformer with a pooling on top, held as the Sentence-Transformers model that it is saved as.

    Args:
        model: the Sentence-Transformers model.
        max_tokens: texts are cut to this many tokens, the special ones included.
    """

    def __init__(self, model: SentenceTransformer, max_tokens: int) -> None:
        super().__init__()
        self.model = model
        if max_tokens > _longest_input(self.model):
            raise InputError(f"max_tokens={max_tokens}, but the encoder reads at most {_longest_input(self.model)}")
        self.max_tokens = max_tokens
        self.model.max_seq_length = max_tokens
        self._pad = self.model.tokenizer.pad_token_id or 0
        self._learning: Sequence[nn.Module] = [self.model]

    @property
    def dim(self) -> int:
        """D, the length of an embedding."""
        return int(self.model.get_embedding_dimension())

    def tokenize(self, texts: Sequence[str]) -> list[TokenIds]:
        """Return each text's token ids, cut to `max_tokens`, not padded."""
        if not texts:
            return []
        ids = self.model.tokenizer(list(texts), truncation=True, max_length=self.max_tokens)["input_ids"]
        return [np.asarray(row, dtype=np.int32) for row in ids]

    def forward(self, tokens: Sequence[TokenIds]) -> Tensor:
        """Return the embeddings (B, D) of tokenised texts, in their order."""
        order = np.argsort([len(row) for row in tokens], kind="stable")
        parts = [self._encode([tokens[i] for i in piece]) for piece in _pieces(order, tokens)]
        back = torch.from_numpy(np.argsort(order, kind="stable"))
        return torch.cat(parts)[back.to(parts[0].device)]

    def _encode(self, tokens: Sequence[TokenIds]) -> Tensor:
        """Pad a few texts of similar length to the longest and encode them."""
        ids = np.full((len(tokens), max(map(len, tokens))), self._pad, dtype=np.int64)  # (B, L)
        mask = np.zeros_like(ids)
        for row, text in enumerate(tokens):
            ids[row, : len(text)] = text
            mask[row, : len(text)] = 1
        features = {"input_ids": torch.from_numpy(ids), "attention_mask": torch.from_numpy(mask)}
        device = self.model.device
        E: Tensor = self.model({name: value.to(device) for name, value in features.items()})["sentence_embedding"]
        return E

    @torch.inference_mode()
    def embed(
        self, tokens: Sequence[TokenIds], progress: Callable[[int, int], None] | None = None, rows: int = 4096
    ) -> Tensor:
        """Return the embeddings (N, D) of any number of tokenised texts, in evaluation mode; equal ones once."""
        self.eval()
        position: dict[bytes, int] = {}
        where = [position.setdefault(row.tobytes(), len(position)) for row in tokens]
        distinct = [np.frombuffer(key, dtype=np.int32) for key in position]
        order = np.argsort([len(row) for row in distinct], kind="stable")
        E = torch.empty(len(distinct), self.dim)
        for start in range(0, len(order), rows):
            chosen = order[start : start + rows]
            E[torch.from_numpy(chosen)] = self([distinct[i] for i in chosen]).float().cpu()
            if progress:
                progress(min(start + rows, len(order)), len(order))
        return E[where]

    def train_layers(self, layers: int | str) -> None:
        """Let only the last `layers` transformer layers learn, or "all" parameters, or with 0 none."""
        if layers == "all":
            self._learning = [self.model]
        else:
            blocks = _transformer_layers(self.model)
            first = len(blocks) - int(layers)
            if first < 0:
                raise InputError(f"trainable_layers={layers}, but the encoder has {len(blocks)} layers")
            self._learning = list(blocks)[first:]
        self.requires_grad_(False)
        for module in self._learning:
            module.requires_grad_(True)

    def train(self, mode: bool = True) -> Encoder:
        """Switch the layers that learn to training mode; the frozen ones stay as in evaluation, without dropout."""
        super().train(False)
        for module in self._learning:
            module.train(mode)
        return self

    def save(self, folder: Path) -> None:
        """Write the encoder in Sentence-Transformers layout."""
        with quiet():
            self.model.save(str(folder), create_model_card=False)


@contextmanager
def quiet() -> Iterator[None]:
    """Keep transformers' progress bars and notices from what a caller shows, for as long as this lasts."""
    from transformers.utils import logging

    verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()


def _longest_input(model: SentenceTransformer) -> int:
    """Return how many tokens the transformer has positions for, as far as it or its tokenizer says."""
    positions = getattr(getattr(model[0], "config", None), "max_position_embeddings", 0)
    return min((n for n in (positions, model.tokenizer.model_max_length) if n and 0 < n < 10**6), default=10**6)


def _transformer_layers(model: SentenceTransformer) -> nn.ModuleList:
    """Find the stack of layers: the first list of modules of one kind inside the transformer."""
    for module in model[0].modules():
        if isinstance(module, nn.ModuleList) and len({type(layer) for layer in module}) == 1:
            return module
    raise InputError("trainable_layers needs a transformer with a list of layers; this encoder has none: use 'all'")


def _pieces(order: NDArray[np.int64], tokens: Sequence[TokenIds]) -> list[NDArray[np.int64]]:
    """Cut a length-sorted order into runs of at most TOKENS_A_PIECE tokens once padded."""
    pieces, start = [], 0
    while start < len(order):
        end = start + 1
        while end < len(order) and (end + 1 - start) * len(tokens[order[end]]) <= TOKENS_A_PIECE:
            end += 1
        pieces.append(order[start:end])
        start = end
    return pieces
