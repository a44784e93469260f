"""The sentence encoder Phi: texts to token ids, and token ids to embeddings E (N, D) by pooling over the tokens."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from rstc.errors import InputError
from rstc.representation.embedding_lookup import find_word_embedding, share_embedding_lookup
from rstc.representation.fast_dropout import replace_dropout
from rstc.representation.padding import (
    MAX_BATCH_TOKENS,
    pad_ids,
    prepare_text,
    sort_by_length,
    split_by_length,
    split_into_batches,
)
from rstc.representation.prompts import count_prompt_tokens
from rstc.representation.split_encoder import LayerSplit
from rstc.representation.token_limit import MIN_TOKENS
from rstc.runtime.threads import parallel_map

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

logger = logging.getLogger("rstc")

MAX_BATCH_TOKENS_GPU = 16384  # a GPU needs larger batches than a CPU core, whose cache limits them
CHUNK_TEXTS = 4096  # texts between two reports of progress
UNLIMITED_TOKENS = 10**6  # tokenizers without a limit report a larger number

TokenIds = NDArray[np.int32]  # of one text, (L,)
HiddenStates = NDArray[np.float16]  # of one text at the split, (L, D)
Sequences = Sequence[NDArray[Any]]  # token ids or hidden states of several texts
Result = TypeVar("Result")


class Encoder(nn.Module):
    """A Sentence-Transformers model: a transformer followed by pooling.

    Parameters
    ----------
    model : SentenceTransformer
        The model.
    max_tokens : int or "auto"
        Texts are truncated to this many tokens, the special ones included. "auto": to 32, or to as many as the
        transformer reads, until `limit_tokens` sets another number.
    precision : torch.dtype
        The precision of the encoder's arithmetic; parameters and embeddings stay in float32.
    prompt : str
        The words that the model expects in front of each text.
    """

    def __init__(
        self,
        model: SentenceTransformer,
        max_tokens: int | Literal["auto"],
        precision: torch.dtype = torch.float32,
        prompt: str = "",
    ) -> None:
        super().__init__()
        self.model = model
        replace_dropout(model)
        self.max_input_tokens = _max_input_tokens(model)
        self.precision, self.prompt = precision, prompt
        n_prompt_tokens = count_prompt_tokens(model, prompt)
        self.further_features = {"prompt_length": n_prompt_tokens} if n_prompt_tokens else {}
        self.limit_tokens(min(MIN_TOKENS, self.max_input_tokens) if max_tokens == "auto" else max_tokens)
        self._pad_id = self.model.tokenizer.pad_token_id or 0
        self._trainable_modules: Sequence[nn.Module] = [self.model]
        self._split: LayerSplit | None = None

    @property
    def dim(self) -> int:
        """D, the dimension of the embeddings."""
        return int(self.model.get_embedding_dimension())

    @property
    def hidden_dim(self) -> int:
        """The dimension of the transformer's hidden states."""
        return int(self.model[0].get_embedding_dimension())

    @property
    def device(self) -> torch.device:
        """The device on which the encoder computes."""
        return torch.device(self.model.device)

    @property
    def is_split(self) -> bool:
        """Whether there are frozen layers whose hidden states can be cached."""
        return self._split is not None

    @property
    def n_trainable_layers(self) -> int | str:
        """The number of trainable transformer layers, "all" if every parameter of the encoder is trainable."""
        return "all" if self._trainable_modules == [self.model] else len(self._trainable_modules)

    @property
    def is_trainable(self) -> bool:
        """Whether any of the layers is trainable."""
        return bool(self._trainable_modules)

    def tokenize(self, texts: Sequence[str], max_tokens: int | None = None) -> list[TokenIds]:
        """Return the token ids of each text, without padding.

        Parameters
        ----------
        texts : sequence of str
            The texts.
        max_tokens : int, optional
            Texts are truncated to this many tokens, or to as many as the transformer reads; None: `self.max_tokens`.
        """
        max_length = min(max_tokens or self.max_tokens, self.max_input_tokens)
        tokens: list[TokenIds] = []
        for ids in self._iter_ids(texts, max_length):
            tokens += [np.asarray(row, dtype=np.int32) for row in ids]
        return tokens

    def named_weights(self) -> Iterator[tuple[str, Tensor]]:
        """Yield the names and values of all that the encoder stores: its parameters, and then what is never trained."""
        parameters = dict(self.named_parameters())
        yield from parameters.items()
        yield from ((name, values) for name, values in self.state_dict().items() if name not in parameters)

    def limit_tokens(self, max_tokens: int) -> None:
        """Truncate texts to this many tokens from now on, the special ones included."""
        if max_tokens > self.max_input_tokens:
            raise InputError(f"max_tokens={max_tokens}, but the encoder reads at most {self.max_input_tokens}")
        self.max_tokens = max_tokens
        self.model.max_seq_length = max_tokens

    def count_lengths(self, texts: Sequence[str], longest: int) -> NDArray[np.int64]:
        """Return the number of texts of each length in tokens, (longest + 1,); longer texts count as the longest."""
        counts = np.zeros(longest + 1, dtype=np.int64)
        for ids in self._iter_ids(texts, longest):
            counts += np.bincount([len(row) for row in ids], minlength=longest + 1)
        return counts

    def forward(self, sequences: Sequences, by_length: bool = False) -> Tensor:
        """Return the embeddings (B, D) of texts by their token ids or by the hidden states at the split.

        Hidden states at the split are rounded to half precision, cached or not, so that a text has the same embedding
        in training and in prediction.
        """
        if self._split is not None and sequences[0].ndim == 1:
            sequences = self.run_frozen_layers(sequences, by_length)
        order = sort_by_length(sequences)
        with self._forward_context(sequences):
            batches = self._map_batches(self._embed_batch, order, sequences, by_length)
        inverse = torch.from_numpy(np.argsort(order, kind="stable"))
        return torch.cat(batches)[inverse.to(batches[0].device)]

    @torch.no_grad()
    def run_frozen_layers(self, tokens: Sequence[TokenIds], by_length: bool = False) -> list[HiddenStates]:
        """Return the hidden states (L, D) of tokenised texts at the split, in half precision."""
        if not tokens:
            return []
        assert self._split is not None
        with self._split.stop_at_split():
            return self._map_texts(self._run_frozen_batch, tokens, by_length)

    @torch.no_grad()
    def embed_tokens(self, tokens: Sequence[TokenIds]) -> list[NDArray[np.float32]]:
        """Return the transformer's last hidden states (L, D) of tokenised texts, in evaluation mode."""
        self.eval()
        return self._map_texts(self._embed_tokens_batch, tokens) if len(tokens) else []

    @torch.inference_mode()
    def embed(
        self,
        tokens: Sequence[TokenIds],
        progress: Callable[[int, int], None] | None = None,
        get_states: Callable[[Sequence[TokenIds]], Sequence[HiddenStates]] | None = None,
        out: Tensor | None = None,
        by_length: bool = False,
    ) -> Tensor:
        """Return the embeddings (N, D) of tokenised texts in evaluation mode; equal texts are encoded once.

        Parameters
        ----------
        tokens : sequence of arrays
            The token ids of the texts, (L,) each.
        progress : callable, optional
            Called with the number of encoded and of all distinct texts.
        get_states : callable, optional
            Returns the hidden states at the split, for example `HiddenStateCache.get`; None: they are computed.
        out : Tensor of shape (N, D), optional
            Where the embeddings are written; by default in new memory.
        by_length : bool
            Whether a batch holds texts of one length only (`split_by_length`), so that on a CPU all bits of a text's
            embedding depend on the text alone.
        """
        self.eval()
        distinct_ids: dict[bytes, int] = {}
        inverse = np.array(
            [distinct_ids.setdefault(row.tobytes(), len(distinct_ids)) for row in tokens], dtype=np.int64
        )
        distinct = [np.frombuffer(key, dtype=np.int32) for key in distinct_ids]
        first_row = np.zeros(len(distinct), dtype=np.int64)  # first row of each distinct text
        first_row[inverse[::-1]] = np.arange(len(tokens))[::-1]
        order = sort_by_length(distinct)
        E = torch.empty(len(tokens), self.dim) if out is None else out
        for start in range(0, len(order), CHUNK_TEXTS):
            chunk = order[start : start + CHUNK_TEXTS]
            texts = [distinct[i] for i in chunk]
            E[torch.from_numpy(first_row[chunk])] = self(get_states(texts) if get_states else texts, by_length).cpu()
            if progress:
                progress(min(start + CHUNK_TEXTS, len(order)), len(order))
        duplicates = np.flatnonzero(first_row[inverse] != np.arange(len(tokens)))
        for rows in np.array_split(duplicates, len(duplicates) // CHUNK_TEXTS + 1):
            E[torch.from_numpy(rows)] = E[torch.from_numpy(first_row[inverse[rows]])]
        return E

    def train_layers(self, layers: int | str) -> None:
        """Make only the last `layers` transformer layers trainable, all parameters with "all", or none with 0."""
        self._trainable_modules, self._split = [self.model], None
        if layers == 0 and getattr(self.model[0], "runs_whole", False):
            self._trainable_modules = []
        elif layers != "all":
            split = LayerSplit(self.model, int(layers), self.further_features)
            self._trainable_modules = split.trainable_layers
            self.eval()
            if split.matches_whole_model(self._pad_token_ids(self.tokenize(["a text", "and another one"]))):
                self._split = split
            else:
                logger.warning("the encoder cannot be split into layers; the frozen layers run in every step")
        self.requires_grad_(False)
        for module in self._trainable_modules:
            module.requires_grad_(True)

    def train(self, mode: bool = True) -> Encoder:
        """Switch the trainable layers to training mode; the frozen ones stay in evaluation mode, without dropout."""
        super().train(False)
        for module in self._trainable_modules:
            module.train(mode)
        return self

    def save(self, folder: Path) -> None:
        """Write the encoder in Sentence-Transformers layout."""
        tokenizer = self.model.tokenizer
        template = getattr(tokenizer, "chat_template", None)  # code of a language model, which encoders do not run
        with silence_transformers():
            try:
                if template is not None:
                    tokenizer.chat_template = None
                self.model.save(str(folder), create_model_card=False)
            finally:
                if template is not None:
                    tokenizer.chat_template = template

    def _iter_ids(self, texts: Sequence[str], max_length: int) -> Iterator[list[list[int]]]:
        """Yield the token ids of texts in chunks, because a tokenizer's output takes 1 to 2 KB per text."""
        for start in range(0, len(texts), CHUNK_TEXTS):
            chunk = [self.prompt + prepare_text(text) for text in texts[start : start + CHUNK_TEXTS]]
            yield self.model.tokenizer(chunk, truncation=True, max_length=max_length)["input_ids"]

    def _forward_context(self, sequences: Sequences) -> AbstractContextManager[None]:
        """Return the context in which the batches of one forward pass run."""
        if self._split is not None:
            return self._split.start_at_split()
        embedding = find_word_embedding(self.model[0]) if torch.is_grad_enabled() else None
        return nullcontext() if embedding is None else share_embedding_lookup(embedding, sequences)

    def _map_texts(
        self, function: Callable[[Sequences], list[NDArray[Any]]], tokens: Sequence[TokenIds], by_length: bool = False
    ) -> list[NDArray[Any]]:
        """Apply `function` to batches of texts, and return its arrays in the order of the texts."""
        order = sort_by_length(tokens)
        arrays = [array for batch in self._map_batches(function, order, tokens, by_length) for array in batch]
        return [arrays[i] for i in np.argsort(order, kind="stable")]

    def _map_batches(
        self,
        function: Callable[[Sequences], Result],
        order: NDArray[np.int64],
        sequences: Sequences,
        by_length: bool = False,
    ) -> list[Result]:
        """Apply `function` to batches of sequences of similar length; without gradients, in parallel on a CPU.

        The batches follow `order`. With `by_length`, the sequences of a batch have one length, and each batch is
        computed on one core.
        """
        on_cpu = self.device.type == "cpu"
        max_tokens = MAX_BATCH_TOKENS if on_cpu else MAX_BATCH_TOKENS_GPU
        if by_length:
            return self._map_by_length(function, sequences, max_tokens)
        batches = [[sequences[i] for i in batch] for batch in split_into_batches(order, sequences, max_tokens)]
        if torch.is_grad_enabled() or not on_cpu:
            return [function(batch) for batch in batches]
        return parallel_map(torch.no_grad()(function), batches)

    def _map_by_length(
        self, function: Callable[[Sequences], Result], sequences: Sequences, max_tokens: int
    ) -> list[Result]:
        """Apply `function` to batches of sequences of one length, and drop what it returns for repeated ones."""

        def run(batch: NDArray[np.int64]) -> Result:
            results: Any = function([sequences[i] for i in batch])
            kept: Result = results[: int((batch < batch[-1]).sum()) + 1]
            return kept

        return parallel_map(torch.no_grad()(run), split_by_length(sequences, max_tokens))

    def _embed_batch(self, sequences: Sequences) -> Tensor:
        """Return the embeddings of a batch."""
        with self._autocast():
            if self._split is not None:
                return self._split.run_upper(*self._pad_states(sequences)).float()
            E: Tensor = self.model(self._pad_token_ids(sequences))["sentence_embedding"]
            return E.float()

    def _run_frozen_batch(self, tokens: Sequences) -> list[NDArray[Any]]:
        """Return the hidden states of a batch at the split."""
        assert self._split is not None
        with self._autocast():
            states = self._split.run_lower(self._pad_token_ids(tokens)).cpu().numpy()  # (B, L, D)
        return [states[row, : len(text)].copy() for row, text in enumerate(tokens)]

    def _embed_tokens_batch(self, tokens: Sequences) -> list[NDArray[Any]]:
        """Return the transformer's last hidden states of a batch."""
        with self._autocast():
            states = self.model[0](self._pad_token_ids(tokens))["token_embeddings"].float().cpu().numpy()  # (B, L, D)
        return [states[row, : len(text)].copy() for row, text in enumerate(tokens)]

    def _pad_token_ids(self, tokens: Sequences) -> dict[str, Any]:
        """Return padded token ids and their attention mask as the model's input features."""
        ids, mask = pad_ids(tokens, self._pad_id)
        features = {"input_ids": torch.from_numpy(ids), "attention_mask": torch.from_numpy(mask)}
        return {name: value.to(self.device) for name, value in features.items()} | self.further_features

    def _pad_states(self, sequences: Sequences) -> tuple[Tensor, Tensor]:
        """Return padded hidden states (B, L, D) and their attention mask (B, L)."""
        length = max(map(len, sequences))
        states = np.zeros((len(sequences), length, sequences[0].shape[1]), dtype=np.float16)
        mask = np.zeros((len(sequences), length), dtype=np.int64)
        for row, text in enumerate(sequences):
            states[row, : len(text)] = text
            mask[row, : len(text)] = 1
        return torch.from_numpy(states).to(self.device), torch.from_numpy(mask).to(self.device)

    def _autocast(self) -> torch.autocast:
        """Return the context that computes in the encoder's precision."""
        enabled = self.precision != torch.float32
        return torch.autocast(self.device.type, dtype=self.precision if enabled else None, enabled=enabled)


@contextmanager
def silence_transformers() -> Iterator[None]:
    """Silence the progress bars and warnings of transformers."""
    from transformers.utils import logging

    verbosity, had_progress_bar = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if had_progress_bar:
            logging.enable_progress_bar()


def fingerprint_weights(named_weights: Iterable[tuple[str, Tensor]]) -> str:
    """Return a hash of names and values of weights, 32 hexadecimal digits."""
    digest = hashlib.sha256()
    for name, values in named_weights:
        digest.update(name.encode())
        digest.update(values.detach().cpu().numpy().data)
    return digest.hexdigest()[:32]


def _max_input_tokens(model: SentenceTransformer) -> int:
    """Return the largest number of input tokens, by the transformer's configuration and its tokenizer."""
    positions = getattr(getattr(model[0], "config", None), "max_position_embeddings", 0)
    limits = (positions, model.tokenizer.model_max_length)
    return min((limit for limit in limits if limit and 0 < limit < UNLIMITED_TOKENS), default=UNLIMITED_TOKENS)
