"""Masked language models, which predict the likeliest words in place of a mask token."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rstc.errors import InputError, first_line
from rstc.io.atomic import sha256
from rstc.representation.encoder import TokenIds, silence_transformers
from rstc.representation.padding import sort_by_length, split_into_batches
from rstc.runtime.hub import is_hub_reachable

MAX_LOGITS = 2**27  # of a batch: each token has one for each word of the vocabulary
MAX_SEQUENCE_TOKENS = 256  # a window of words has fewer, unless its words are unusual
# How tokenizers mark a token that begins a word (byte-pair encodings, SentencePiece) or continues one (WordPiece).
WORD_START_MARKS = ("Ġ", "▁")
CONTINUATION_MARK = "##"
WORD_END_MARKS = ("</w>", "@@")  # marks at the end of a token, of tokenizers that are not supported
MODEL_SUFFIXES = (".safetensors", ".bin", ".json", ".txt", ".model")

Candidates = tuple[list[str], NDArray[np.float64]]  # words for a mask, the likeliest first, and their probabilities


class MaskedLanguageModel(Protocol):
    """A model that predicts the words behind mask tokens."""

    @property
    def mask_token(self) -> str:
        """The token that stands for a word to predict."""

    def predict_masks(self, texts: Sequence[str], k: int) -> list[list[Candidates]]:
        """Return the k likeliest words for each mask of each text; masks beyond the longest input are missing."""


class PretrainedMaskedLM:
    """A Hugging Face masked language model.

    Parameters
    ----------
    name : str
        A folder or a hub name.
    device : torch.device
        Device of the model.
    revision : str, optional
        Revision on the hub; None: the newest.
    """

    def __init__(self, name: str, device: torch.device, revision: str | None = None) -> None:
        from transformers import AutoModelForMaskedLM, AutoTokenizer

        try:
            local = Path(name).is_dir() or not is_hub_reachable()
            with silence_transformers():
                options: dict[str, Any] = {"local_files_only": local, "revision": revision or "main"}
                self._tokenizer: Any = AutoTokenizer.from_pretrained(name, truncation_side="right", **options)
                model: Any
                model, loading_info = AutoModelForMaskedLM.from_pretrained(name, output_loading_info=True, **options)
        except Exception as error:  # the libraries below raise exceptions of many types
            raise InputError(f"{name!r} cannot be loaded as a masked language model: {first_line(error)}") from error
        if loading_info["missing_keys"]:  # they would be initialised at random
            raise InputError(f"{name!r} is not a masked language model: it lacks {min(loading_info['missing_keys'])}")
        if self._tokenizer.mask_token is None:
            raise InputError(f"{name!r} has no mask token, so it cannot replace words")
        self._model = model.float().eval().to(device)
        positions = getattr(self._model.config, "max_position_embeddings", MAX_SEQUENCE_TOKENS + 2)
        # Some models number positions from two.
        self._max_tokens = min(self._tokenizer.model_max_length, positions - 2, MAX_SEQUENCE_TOKENS)
        self._vocabulary = WordVocabulary.from_tokenizer(self._tokenizer)
        self._ids = torch.from_numpy(self._vocabulary.ids).to(self._model.device)

    @property
    def mask_token(self) -> str:
        """The token that stands for a word to predict."""
        return str(self._tokenizer.mask_token)

    @torch.inference_mode()
    def predict_masks(self, texts: Sequence[str], k: int) -> list[list[Candidates]]:
        """Return the k likeliest words for each mask of each text; masks beyond the longest input are missing."""
        predictions: list[list[Candidates]] = [[] for _ in texts]
        tokens = self._tokenizer(list(texts), truncation=True, max_length=self._max_tokens)["input_ids"]
        max_batch_tokens = MAX_LOGITS // max(int(self._model.config.vocab_size), 1)
        for batch in split_into_batches(sort_by_length(tokens), tokens, max_batch_tokens):
            features = self._tokenizer.pad({"input_ids": [tokens[i] for i in batch]}, return_tensors="pt")
            features = features.to(self._model.device)
            is_mask = features["input_ids"] == self._tokenizer.mask_token_id  # (B, L)
            logits = self._model(**features).logits[is_mask][:, self._ids].float().cpu()  # (masks, W)
            rows = batch[is_mask.nonzero()[:, 0].cpu().numpy()]  # (masks,)
            for row, candidates in zip(rows, top_candidates(logits, self._vocabulary, k), strict=True):
                predictions[row].append(candidates)
        return predictions


@dataclass(frozen=True)
class WordVocabulary:
    """The tokens of a vocabulary that are whole words of letters.

    Attributes
    ----------
    ids : array (W,)
        The ids of these tokens, ascending.
    words : sequence of str
        The words, in the same order.
    is_continuation : array (V,)
        For each id of the whole vocabulary, whether the token continues the word before it.
    """

    ids: NDArray[np.int64]
    words: Sequence[str]
    is_continuation: NDArray[np.bool_]

    @classmethod
    def from_tokenizer(cls, tokenizer: Any) -> WordVocabulary:
        """Find the whole words in a tokenizer's vocabulary."""
        vocabulary: dict[str, int] = tokenizer.get_vocab()
        if sum(token.endswith(WORD_END_MARKS) and len(token) > 4 for token in vocabulary) > len(vocabulary) / 10:
            raise InputError(
                "this model's tokenizer does not mark where a word begins, so whole words cannot be replaced"
            )
        n_starts = sum(token.startswith(WORD_START_MARKS) and len(token) > 1 for token in vocabulary)
        n_continuations = sum(token.startswith(CONTINUATION_MARK) and len(token) > 2 for token in vocabulary)
        marks_starts = n_starts > n_continuations
        special_ids = set(tokenizer.all_special_ids)
        is_continuation = np.zeros(max(vocabulary.values()) + 1, dtype=bool)
        whole_words = []
        for token, i in vocabulary.items():
            if i in special_ids:
                continue
            # Byte-pair encodings spell letters beyond ASCII in characters of their own, which the tokenizer decodes.
            word = tokenizer.convert_tokens_to_string([token]).strip() if marks_starts else token
            begins_word = (
                token.startswith(WORD_START_MARKS) if marks_starts else not token.startswith(CONTINUATION_MARK)
            )
            is_continuation[i] = not begins_word and any(character.isalnum() for character in word)
            if begins_word and len(word) > 1 and word.isalpha():
                whole_words.append((i, word))
        if not whole_words:
            raise InputError("this model's vocabulary holds no whole words, so it cannot replace any")
        whole_words.sort()
        ids = np.array([i for i, _ in whole_words], dtype=np.int64)
        return cls(ids, [word for _, word in whole_words], is_continuation)

    def restrict_to(self, texts: Sequence[TokenIds]) -> WordVocabulary:
        """Return the vocabulary of the words that occur in tokenised texts."""
        used = [tokens[self.find_whole_words(tokens)] for tokens in texts]
        rows = np.flatnonzero(np.isin(self.ids, np.concatenate([np.zeros(0, np.int32), *used])))
        return WordVocabulary(self.ids[rows], [self.words[i] for i in rows], self.is_continuation)

    def find_whole_words(self, tokens: TokenIds) -> NDArray[np.bool_]:
        """Return which tokens of a text are whole words, rather than the beginning of one, (L,)."""
        is_whole = np.isin(tokens, self.ids)
        is_whole[:-1] &= ~self.is_continuation[tokens[1:]]
        return is_whole

    def sample_words(self, tokens: TokenIds, share: float, rng: np.random.Generator) -> NDArray[np.bool_]:
        """Draw a share of the whole words of a tokenised text, at least one if there is any, (L,)."""
        positions = np.flatnonzero(self.find_whole_words(tokens))
        chosen = np.zeros(len(tokens), dtype=bool)
        if len(positions):
            chosen[rng.choice(positions, max(1, round(share * len(positions))), replace=False)] = True
        return chosen


def top_candidates(logits: Tensor, vocabulary: WordVocabulary, k: int) -> list[Candidates]:
    """Return the k likeliest words for each mask by its logits (masks, W)."""
    probabilities, best = logits.softmax(1).topk(min(k, logits.shape[1]), dim=1)
    return [
        ([vocabulary.words[i] for i in indices], values.double().numpy())
        for indices, values in zip(best.tolist(), probabilities, strict=True)
    ]


@dataclass(frozen=True)
class ModelIdentity:
    """The version of a model.

    Attributes
    ----------
    fingerprint : str
        Checksums of its files, or its name and revision on the hub.
    revision : str or None
        Revision on the hub.
    """

    fingerprint: str
    revision: str | None = None


def identify_model(name: str) -> ModelIdentity | None:
    """Return the identity of a model by its folder or hub name; None if it is not downloaded yet."""
    folder = Path(name)
    if folder.is_dir():
        files = sorted(file for file in folder.iterdir() if file.suffix in MODEL_SUFFIXES)
        return ModelIdentity(" ".join(f"{file.name} {sha256(file)}" for file in files))
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    try:
        config = try_to_load_from_cache(name, "config.json")
    except HFValidationError:
        raise InputError(f"{name!r} is neither a folder nor the name of a model") from None
    if not isinstance(config, str):
        return None
    revision = Path(config).parent.name
    return ModelIdentity(f"{name} {revision}", revision)
