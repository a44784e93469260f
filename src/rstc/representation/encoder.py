"""The sentence encoder Phi: texts to token ids, tokenised once, to embeddings E (N, D) by pooling over the tokens."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from rstc.errors import InputError
from rstc.runtime.device import map_on_cores
from rstc.representation.fast_dropout import quicken_dropout
from rstc.representation.split_encoder import Cut
from rstc.representation.padding import LONGEST_TEXT, TOKENS_A_PIECE, by_length, padded_ids, pieces
from rstc.representation.embedding_lookup import looked_up_once, plain_embedding

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

logger = logging.getLogger("rstc")

TOKENS_A_PIECE_ELSEWHERE = 16384  # a GPU has no core's cache to stay in, and wants more work at a time
TEXTS_AT_A_TIME = 4096  # texts that are worked on between two reports of progress

TokenIds = NDArray[np.int32]  # of one text, (L,)
States = NDArray[np.float16]  # what the frozen layers give for one text, (L, D)
Sequences = Sequence[NDArray[Any]]  # of one kind or the other
Piece = TypeVar("Piece")


class Encoder(nn.Module):
    """A transformer with a pooling on top, held as the Sentence-Transformers model that it is saved as.

    Args:
        model: the Sentence-Transformers model.
        max_tokens: texts are cut to this many tokens, the special ones included.
        precision: of the encoder's arithmetic; parameters and embeddings stay in float32.
    """

    def __init__(self, model: SentenceTransformer, max_tokens: int, precision: torch.dtype = torch.float32) -> None:
        super().__init__()
        self.model = model
        quicken_dropout(model)
        if max_tokens > _longest_input(self.model):
            raise InputError(f"max_tokens={max_tokens}, but the encoder reads at most {_longest_input(self.model)}")
        self.max_tokens, self.precision = max_tokens, precision
        self._longest = _longest_input(self.model)  # before the next line, which tells the tokenizer another length
        self.model.max_seq_length = max_tokens
        self._pad = self.model.tokenizer.pad_token_id or 0
        self._learning: Sequence[nn.Module] = [self.model]
        self._cut: Cut | None = None

    @property
    def dim(self) -> int:
        """D, the length of an embedding."""
        return int(self.model.get_embedding_dimension())

    @property
    def device(self) -> torch.device:
        """Where the encoder computes."""
        return torch.device(self.model.device)

    @property
    def is_cut(self) -> bool:
        """Whether there are frozen layers whose output can be kept."""
        return self._cut is not None

    @property
    def learns(self) -> bool:
        """Whether any of its layers learns."""
        return bool(self._learning)

    @property
    def state_dim(self) -> int:
        """The length of what the transformer says of a token."""
        return int(self.model[0].get_embedding_dimension())

    def tokenize(self, texts: Sequence[str], most: int | None = None) -> list[TokenIds]:
        """Return each text's token ids, cut to `most`, as a rule `max_tokens`, not padded."""
        most = min(most or self.max_tokens, self._longest)
        tokens: list[TokenIds] = []
        for start in range(0, len(texts), TEXTS_AT_A_TIME):  # a tokenizer's own notes on a text take a kilobyte or two
            some = [text[:LONGEST_TEXT] for text in texts[start : start + TEXTS_AT_A_TIME]]
            ids = self.model.tokenizer(some, truncation=True, max_length=most)["input_ids"]
            tokens += [np.asarray(row, dtype=np.int32) for row in ids]
        return tokens

    def forward(self, sequences: Sequences) -> Tensor:
        """Return the embeddings (B, D) of texts, in their order, from their token ids or the frozen layers' states.

        Where layers are frozen, what they give is rounded to half precision before the others see it, whether it was
        kept or not: so a text's embedding is the same in training and in prediction.
        """
        if self._cut is not None and sequences[0].ndim == 1:
            sequences = self.frozen_states(sequences)
        order = by_length(sequences)
        with self._prepared(sequences):
            parts = self._in_pieces(self._encode, order, sequences)
        back = torch.from_numpy(np.argsort(order, kind="stable"))
        return torch.cat(parts)[back.to(parts[0].device)]

    def _prepared(self, sequences: Sequences) -> AbstractContextManager[None]:
        """Make the model ready for the pieces of one call."""
        if self._cut is not None:
            return self._cut.entering()
        words = plain_embedding(self.model[0]) if torch.is_grad_enabled() else None
        return nullcontext() if words is None else looked_up_once(words, sequences)

    @torch.no_grad()
    def frozen_states(self, tokens: Sequence[TokenIds]) -> list[States]:
        """Return what the frozen layers give for tokenised texts, in half precision."""
        if not tokens:
            return []
        assert self._cut is not None
        order = by_length(tokens)
        with self._cut.parting():
            parts = self._in_pieces(self._freeze, order, tokens)
        found = [states for part in parts for states in part]
        return [found[i] for i in np.argsort(order, kind="stable")]

    @torch.no_grad()
    def token_states(self, tokens: Sequence[TokenIds]) -> list[NDArray[np.float32]]:
        """Return what the transformer says of each token of tokenised texts, (L, D) each, in evaluation mode."""
        self.eval()
        order = by_length(tokens)
        parts = self._in_pieces(self._read, order, tokens) if len(tokens) else []
        found = [states for part in parts for states in part]
        return [found[i] for i in np.argsort(order, kind="stable")]

    def _read(self, tokens: Sequences) -> list[NDArray[np.float32]]:
        """Run the transformer on a few texts of similar length, padded to the longest."""
        with self._autocast():
            states = self.model[0](self._padded_ids(tokens))["token_embeddings"].float().cpu().numpy()  # (B, L, D)
        return [states[row, : len(text)].copy() for row, text in enumerate(tokens)]

    def _encode(self, sequences: Sequences) -> Tensor:
        """Embed a few texts of similar length, padded to the longest."""
        with self._autocast():
            if self._cut is not None:
                return self._cut.upper(*self._padded_states(sequences)).float()
            E: Tensor = self.model(self._padded_ids(sequences))["sentence_embedding"]
            return E.float()

    def _freeze(self, tokens: Sequences) -> list[States]:
        """Run the frozen layers on a few texts of similar length, padded to the longest."""
        assert self._cut is not None
        with self._autocast():
            states = self._cut.lower(self._padded_ids(tokens)).cpu().numpy()  # (B, L, D)
        return [states[row, : len(text)].copy() for row, text in enumerate(tokens)]

    def _in_pieces(
        self, work: Callable[[Sequences], Piece], order: NDArray[np.int64], sequences: Sequences
    ) -> list[Piece]:
        """Return what `work` makes of the sequences, a piece of similar lengths at a time, in the given order."""
        on_cpu = self.device.type == "cpu"
        most = TOKENS_A_PIECE if on_cpu else TOKENS_A_PIECE_ELSEWHERE
        parts = [[sequences[i] for i in piece] for piece in pieces(order, sequences, most)]
        if torch.is_grad_enabled() or not on_cpu:
            return [work(part) for part in parts]
        return map_on_cores(torch.no_grad()(work), parts)

    def _padded_ids(self, tokens: Sequences) -> dict[str, Tensor]:
        ids, mask = padded_ids(tokens, self._pad)
        features = {"input_ids": torch.from_numpy(ids), "attention_mask": torch.from_numpy(mask)}
        return {name: value.to(self.device) for name, value in features.items()}

    def _padded_states(self, sequences: Sequences) -> tuple[Tensor, Tensor]:
        longest = max(map(len, sequences))
        states = np.zeros((len(sequences), longest, sequences[0].shape[1]), dtype=np.float16)  # (B, L, D)
        mask = np.zeros((len(sequences), longest), dtype=np.int64)
        for row, text in enumerate(sequences):
            states[row, : len(text)] = text
            mask[row, : len(text)] = 1
        return torch.from_numpy(states).to(self.device), torch.from_numpy(mask).to(self.device)

    def _autocast(self) -> torch.autocast:
        lower = self.precision != torch.float32
        return torch.autocast(self.device.type, dtype=self.precision if lower else None, enabled=lower)

    @torch.inference_mode()
    def embed(
        self,
        tokens: Sequence[TokenIds],
        progress: Callable[[int, int], None] | None = None,
        states_of: Callable[[Sequence[TokenIds]], Sequence[States]] | None = None,
    ) -> Tensor:
        """Return the embeddings (N, D) of any number of tokenised texts, in evaluation mode; equal ones once.

        Args:
            tokens: the tokenised texts.
            progress: called with how many are done and how many there are.
            states_of: gives the frozen layers' output, where it is kept.
        """
        self.eval()
        position: dict[bytes, int] = {}
        where = np.array([position.setdefault(row.tobytes(), len(position)) for row in tokens], dtype=np.int64)
        distinct = [np.frombuffer(key, dtype=np.int32) for key in position]
        order = by_length(distinct)
        E = torch.empty(len(tokens), self.dim)
        first = np.zeros(len(distinct), dtype=np.int64)  # where each distinct text stands first
        first[where[::-1]] = np.arange(len(tokens))[::-1]
        for start in range(0, len(order), TEXTS_AT_A_TIME):
            chosen = order[start : start + TEXTS_AT_A_TIME]
            texts = [distinct[i] for i in chosen]
            E[torch.from_numpy(first[chosen])] = self(states_of(texts) if states_of else texts).cpu()
            if progress:
                progress(min(start + TEXTS_AT_A_TIME, len(order)), len(order))
        again = np.flatnonzero(first[where] != np.arange(len(tokens)))
        for rows in np.array_split(again, len(again) // TEXTS_AT_A_TIME + 1):
            E[torch.from_numpy(rows)] = E[torch.from_numpy(first[where[rows]])]
        return E

    def train_layers(self, layers: int | str) -> None:
        """Let only the last `layers` transformer layers learn, or "all" parameters, or with 0 none."""
        self._learning, self._cut = [self.model], None
        if layers != "all":
            cut = Cut(self.model, int(layers))
            self._learning = cut.learning
            self.eval()
            if cut.works(self._padded_ids(self.tokenize(["a text", "and another one"]))):
                self._cut = cut
            else:
                logger.warning("this encoder's layers cannot be run apart: every step runs the frozen ones too")
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
