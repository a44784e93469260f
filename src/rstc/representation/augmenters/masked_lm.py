"""Masked language models: which words are likely where a text has a mask."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rstc.errors import InputError, first_line
from rstc.io.atomic import sha256
from rstc.representation.encoder import TokenIds, quiet
from rstc.representation.loading import hub_in_reach

NUMBERS_AT_A_TIME = 2**27  # of logits: each token has one for each word of the vocabulary
LONGEST_SEQUENCE = 256  # tokens; a window of words has fewer unless its words are odd
# How tokenizers mark a token that begins a word (byte-pair encodings, SentencePiece) or goes on with one (WordPiece).
BEGINS = ("Ġ", "▁")
GOES_ON = "##"
ENDS = ("</w>", "@@")  # marks at the end of a token, of two other kinds
READ = (".safetensors", ".bin", ".json", ".txt", ".model")  # files of a model's folder

Likely = tuple[list[str], NDArray[np.float64]]  # words, the likeliest first, and their chances


class MaskedModel(Protocol):
    """A model that has an opinion on what a mask hides."""

    @property
    def mask(self) -> str:
        """What to write for a word that is to be guessed."""

    def likeliest(self, texts: Sequence[str], k: int) -> list[list[Likely]]:
        """Return the k likeliest words of each mask that it read of each text."""


class PretrainedModel:
    """A Hugging Face masked language model, from a folder or a hub, there in a certain version or the newest."""

    def __init__(self, name: str, device: torch.device, version: str | None = None) -> None:
        from transformers import AutoModelForMaskedLM, AutoTokenizer

        try:
            local = Path(name).is_dir() or not hub_in_reach()
            with quiet():
                where: dict[str, Any] = {"local_files_only": local, "revision": version or "main"}
                self._tokenizer: Any = AutoTokenizer.from_pretrained(name, truncation_side="right", **where)
                model: Any
                model, told = AutoModelForMaskedLM.from_pretrained(name, output_loading_info=True, **where)
        except Exception as problem:  # every library below has its own way to refuse a file; all mean the same here
            raise InputError(
                f"{name!r} is no masked language model that can be read: {first_line(problem)}"
            ) from problem
        if told["missing_keys"]:  # what is not in the file would be made up at random
            raise InputError(f"{name!r} is no masked language model: it lacks {min(told['missing_keys'])}")
        if self._tokenizer.mask_token is None:
            raise InputError(f"{name!r} has no mask, so it cannot guess what one hides")
        self._model = model.float().eval().to(device)
        positions = getattr(self._model.config, "max_position_embeddings", LONGEST_SEQUENCE + 2)
        self._longest = min(self._tokenizer.model_max_length, positions - 2, LONGEST_SEQUENCE)  # some begin at two
        self._words = WholeWords.of(self._tokenizer)
        self._ids = torch.from_numpy(self._words.ids).to(self._model.device)

    @property
    def mask(self) -> str:
        """What to write for a word that is to be guessed."""
        return str(self._tokenizer.mask_token)

    @torch.inference_mode()
    def likeliest(self, texts: Sequence[str], k: int) -> list[list[Likely]]:
        """Return the k likeliest words of each mask that it read of each text."""
        found: list[list[Likely]] = [[] for _ in texts]
        tokens = self._tokenizer(list(texts), truncation=True, max_length=self._longest)["input_ids"]
        for rows in self._pieces([len(row) for row in tokens]):
            features = self._tokenizer.pad({"input_ids": [tokens[i] for i in rows]}, return_tensors="pt")
            features = features.to(self._model.device)
            masks = features["input_ids"] == self._tokenizer.mask_token_id  # (B, L)
            logits = self._model(**features).logits[masks][:, self._ids].float().cpu()  # (masks, W)
            of_rows = rows[masks.nonzero()[:, 0].cpu().numpy()]
            for row, likely in zip(of_rows, likeliest_of(logits, self._words, k), strict=True):
                found[row].append(likely)
        return found

    def _pieces(self, lengths: Sequence[int]) -> Iterator[NDArray[np.int64]]:
        """Yield rows of like lengths, so many that their logits fit."""
        order = np.argsort(lengths, kind="stable")
        most = NUMBERS_AT_A_TIME // max(int(self._model.config.vocab_size), 1)
        start = 0
        while start < len(order):
            end = start + 1
            while end < len(order) and (end + 1 - start) * lengths[order[end]] <= most:
                end += 1
            yield order[start:end]
            start = end


@dataclass(frozen=True)
class WholeWords:
    """The tokens of a vocabulary that are words of letters.

    Attributes:
        ids: of these tokens, ascending, (W,).
        words: what they stand for.
        goes_on: for each id of the vocabulary, whether the token goes on with the word before it.
    """

    ids: NDArray[np.int64]
    words: Sequence[str]
    goes_on: NDArray[np.bool_]

    @classmethod
    def of(cls, tokenizer: Any) -> WholeWords:
        """Find them in a tokenizer's vocabulary."""
        vocabulary: dict[str, int] = tokenizer.get_vocab()
        if sum(token.endswith(ENDS) and len(token) > 4 for token in vocabulary) > len(vocabulary) / 10:
            raise InputError(
                "this model's tokenizer does not mark where a word begins, so whole words cannot be replaced"
            )
        begin = sum(token.startswith(BEGINS) and len(token) > 1 for token in vocabulary)
        marked = begin > sum(token.startswith(GOES_ON) and len(token) > 2 for token in vocabulary)
        special = set(tokenizer.all_special_ids)
        goes_on = np.zeros(max(vocabulary.values()) + 1, dtype=bool)
        found = []
        for token, i in vocabulary.items():
            if i in special:
                continue
            # Byte-pair encodings write letters beyond ASCII in signs of their own; the tokenizer can read them.
            word = tokenizer.convert_tokens_to_string([token]).strip() if marked else token
            part = not token.startswith(BEGINS) if marked else token.startswith(GOES_ON)
            goes_on[i] = part and any(sign.isalnum() for sign in word)
            if not part and len(word) > 1 and word.isalpha():
                found.append((i, word))
        if not found:
            raise InputError("this model's vocabulary holds no whole words, so it cannot replace any")
        found.sort()
        return cls(np.array([i for i, _ in found], dtype=np.int64), [word for _, word in found], goes_on)

    def within(self, texts: Sequence[TokenIds]) -> WholeWords:
        """Return those that are words of tokenised texts."""
        used = [tokens[self.alone(tokens)] for tokens in texts]
        there = np.flatnonzero(np.isin(self.ids, np.concatenate([np.zeros(0, np.int32), *used])))
        return WholeWords(self.ids[there], [self.words[i] for i in there], self.goes_on)

    def alone(self, tokens: TokenIds) -> NDArray[np.bool_]:
        """Tell which tokens of a text are words by themselves, rather than the beginning of one: (L,)."""
        alone = np.isin(tokens, self.ids)
        alone[:-1] &= ~self.goes_on[tokens[1:]]
        return alone

    def drawn(self, tokens: TokenIds, share: float, rng: np.random.Generator) -> NDArray[np.bool_]:
        """Draw a share of the words of a tokenised text, at least one if it has any that is one token: (L,)."""
        places = np.flatnonzero(self.alone(tokens))
        chosen = np.zeros(len(tokens), dtype=bool)
        if len(places):
            chosen[rng.choice(places, max(1, round(share * len(places))), replace=False)] = True
        return chosen


def likeliest_of(logits: Tensor, words: WholeWords, k: int) -> list[Likely]:
    """Return the k likeliest words of each mask by its logits (masks, W)."""
    chances, best = logits.softmax(1).topk(min(k, logits.shape[1]), dim=1)
    return [
        ([words.words[i] for i in these], their.double().numpy())
        for these, their in zip(best.tolist(), chances, strict=True)
    ]


@dataclass(frozen=True)
class Identity:
    """What tells a model from any other of that name: its files' checksums, or the version that the hub gave."""

    known_by: str
    version: str | None = None


def identity_of(name: str) -> Identity | None:
    """Return a model's identity; None for a model of the hub that is not here yet."""
    folder = Path(name)
    if folder.is_dir():
        files = sorted(file for file in folder.iterdir() if file.suffix in READ)
        return Identity(" ".join(f"{file.name} {sha256(file)}" for file in files))
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    try:
        config = try_to_load_from_cache(name, "config.json")
    except HFValidationError:
        raise InputError(f"{name!r} is neither a folder nor the name of a model") from None
    if not isinstance(config, str):
        return None
    version = Path(config).parent.name
    return Identity(f"{name} {version}", version)
