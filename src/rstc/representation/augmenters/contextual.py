"""Contextual substitution: words replaced by others that a masked language model expects in their place.

A share of the words is masked, and for each the model names those that would fit. One of the likeliest is drawn, but
never the word that was there. What is drawn for a text depends on the seed, the model and the text alone, so that it
can be kept.
"""

from __future__ import annotations

import json
import os
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rstc.errors import InputError
from rstc.io.atomic import user_cache
from rstc.runtime.device import choose_device
from rstc.representation.augmenters.base import Advance, Augmenter, Tools, check_share
from rstc.representation.augmenters.cache import KeptTexts, key_of
from rstc.representation.augmenters.masked_lm import MaskedModel, PretrainedModel, identity_of
from rstc.representation.augmenters.encoder_mlm import learned_model
from rstc.representation.augmenters.spans import LONGEST_WORD, Span, like, replaced, words_of
from rstc.representation.encoder import Encoder
from rstc.representation.shelf import fingerprint

WORDS_A_WINDOW = 64  # a long text is worked on in parts, as a model reads no more than some hundreds of tokens
TEXTS_AT_A_TIME = 1024  # that are worked on between two reports of progress, and kept together
SIGNS_BEFORE = 2 * LONGEST_WORD  # that a model reads before a word where it cannot read all
SPARE = 4  # words more than are drawn from: some are the word itself, in another case or with accents
RULES = "2"  # to be raised when the same seed, model and text would be changed in another way


@dataclass(frozen=True)
class ContextualSubstitution:
    """Replaces a share of each text's words, at least one, by words that a masked language model expects there.

    Args:
        model: a Hugging Face masked language model: a folder or a hub name.
        share: of the words.
        top_k: how many of the likeliest words are drawn from.
        folder: where results are kept for later runs; None: in rstc's part of the user's cache.
    """

    model: str | os.PathLike[str]
    share: float = 0.1
    top_k: int = 10
    folder: Path | None = None
    lasting = True

    def __post_init__(self) -> None:
        """Refuse what is no share, or no number of words."""
        _check(self.share, self.top_k)

    def prepared(self, texts: Sequence[str], tools: Tools) -> Augmenter:
        """Return it with a device to compute on and a way to tell how far it is."""
        name = os.fspath(self.model)
        known = identity_of(name)
        if known is None:  # not here yet; the hub gives it, and then it is known
            tools.once(name, lambda: PretrainedModel(name, tools.device))
            known = identity_of(name)
        version, identity = (known.version, f"model {known.known_by}") if known else (None, None)
        return Substitution(
            lambda: tools.once(name, lambda: PretrainedModel(name, tools.device, version)),
            identity,
            self.share,
            self.top_k,
            self.folder,
            tools.advance,
        )

    def __call__(self, texts: Sequence[str], rng: np.random.Generator) -> list[str]:
        """Return the texts with words replaced."""
        return self.prepared(texts, Tools(_no_encoder, choose_device()))(texts, rng)


@dataclass(frozen=True)
class LearnedSubstitution:
    """Contextual substitution without a download: the model is the encoder, with a head that learns on the texts.

    Args:
        share: of the words.
        top_k: how many of the likeliest words are drawn from.
        folder: where results are kept for later runs; None: in rstc's part of the user's cache.
    """

    share: float = 0.1
    top_k: int = 10
    folder: Path | None = None
    lasting = True

    def __post_init__(self) -> None:
        """Refuse what is no share, or no number of words."""
        _check(self.share, self.top_k)

    def prepared(self, texts: Sequence[str], tools: Tools) -> Augmenter:
        """Return a substitution by a model that learns on these texts, when it is first needed."""
        encoder = tools.encoder
        how = f"{encoder.max_tokens} {encoder.precision} {_reading_of(encoder)}"
        identity = f"learned {key_of(fingerprint(encoder.named_parameters()), how, *texts).hex()}"
        return Substitution(
            lambda: tools.once(identity, lambda: learned_model(texts, encoder, tools.advance)),
            identity,
            self.share,
            self.top_k,
            self.folder,
            tools.advance,
        )

    def __call__(self, texts: Sequence[str], rng: np.random.Generator) -> list[str]:
        """Not before it is prepared."""
        raise TypeError("the model must learn first: use rstc.augment, or RSTC(views=...)")


@dataclass(frozen=True)
class Substitution:
    """Replaces words by those that a masked model expects.

    Attributes:
        load: returns the model; called when there is a text that was not kept.
        identity: what tells the model from any other; None: nobody knows, so nothing is kept.
    """

    load: Callable[[], MaskedModel]
    identity: str | None
    share: float
    top_k: int
    folder: Path | None = None
    advance: Advance | None = None
    lasting: bool = True

    def __call__(self, texts: Sequence[str], rng: np.random.Generator) -> list[str]:
        """Return the texts with words replaced."""
        seed = int(rng.integers(2**63))
        kept = KeptTexts(None if self.identity is None else self.folder or user_cache() / "views")
        how = f"{RULES} {self.identity} {self.share} {self.top_k} {seed}"
        keys = {text: key_of(how, text) for text in dict.fromkeys(texts)}
        found = kept.read(list(keys.values()))
        missing = [text for text, key in keys.items() if key not in found]
        for start in range(0, len(missing), TEXTS_AT_A_TIME):
            some = missing[start : start + TEXTS_AT_A_TIME]
            made = dict(zip((keys[text] for text in some), self._changed(some, seed), strict=True))
            kept.add(made)
            found |= made
            if self.advance:
                self.advance(min(start + TEXTS_AT_A_TIME, len(missing)), len(missing))
        return [found[keys[text]] for text in texts]

    def _changed(self, texts: Sequence[str], seed: int) -> list[str]:
        """Return texts with words replaced, all windows of all texts at once."""
        generators = [np.random.default_rng([seed, *key_of(text)]) for text in texts]
        windows = [
            (row, window)
            for row, text in enumerate(texts)
            for window in chosen_words(text, self.share, generators[row])
        ]
        changes: list[list[tuple[Span, str]]] = [[] for _ in texts]
        while windows:
            model = self.load()
            hidden = [masked(texts[row], window, model.mask) for row, window in windows]
            likely = model.likeliest(hidden, self.top_k + SPARE)
            unread = []
            for (row, window), places in zip(windows, likely, strict=True):
                for (start, end), (words, chances) in zip(window.chosen, places, strict=False):
                    word = texts[row][start:end]
                    if (other := _drawn(words, chances, word, self.top_k, generators[row])) is not None:
                        changes[row].append(((start, end), like(other, word)))
                unread += [(row, rest) for rest in window.after(len(places))]
            windows = unread
        return [replaced(text, sorted(changed)) for text, changed in zip(texts, changes, strict=True)]


@dataclass(frozen=True)
class Window:
    """A part of a text, from `start` to `end`, and where the words in it stand that are to be replaced."""

    start: int
    end: int
    chosen: tuple[Span, ...]

    def after(self, read: int) -> list[Window]:
        """Return what is left if a model read so many of the words only, for it reads no further than it can.

        A window that begins shortly before its first word and still was not read has nothing left to try.
        """
        left = self.chosen[read:]
        if not left:
            return []
        start = max(left[0][0] - SIGNS_BEFORE, self.chosen[read - 1][1] if read else self.start)
        return [Window(start, self.end, left)] if start > self.start else []


def chosen_words(text: str, share: float, rng: np.random.Generator) -> list[Window]:
    """Draw the words of a text that are to be replaced: a share of them, at least one in each window; of none, none."""
    words = words_of(text) if share else []
    windows = []
    for first in range(0, len(words), WORDS_A_WINDOW):
        some = words[first : first + WORDS_A_WINDOW]
        wanted = max(1, round(share * len(some)))
        places = np.sort(rng.choice(len(some), min(wanted, len(some)), replace=False))
        start = 0 if first == 0 else some[0][0]
        end = len(text) if first + WORDS_A_WINDOW >= len(words) else words[first + WORDS_A_WINDOW][0]
        windows.append(Window(start, end, tuple(some[i] for i in places)))
    return windows


def masked(text: str, window: Window, mask: str) -> str:
    """Return a window of a text with masks in place of the chosen words.

    What lies between is cut where it has no end, so that the model still reads the masks.

    >>> masked("my parcel is late", Window(0, 17, ((3, 9),)), "[MASK]")
    'my [MASK] is late'
    """
    pieces, last = [], window.start
    for start, end in window.chosen:
        pieces += [_between(text[last:start], mask), mask]
        last = end
    return "".join([*pieces, _between(text[last : window.end], mask)])


def _between(text: str, mask: str) -> str:
    """Return what stands between two masks, without masks of its own and without what is too long to be words."""
    text = text.replace(mask, " ")
    if len(text) <= LONGEST_WORD:
        return text
    words = [word[:LONGEST_WORD] for word in text.split()]
    middle = " ".join([*words[:WORDS_A_WINDOW], *words[WORDS_A_WINDOW:][-WORDS_A_WINDOW:]])
    return (" " if text[:1].isspace() else "") + middle + (" " if text[-1:].isspace() else "")


def _drawn(
    words: Sequence[str], chances: NDArray[np.float64], not_this: str, top_k: int, rng: np.random.Generator
) -> str | None:
    """Draw one of the likeliest words by their chances, but not the one that was there."""
    others = [i for i, word in enumerate(words) if _bare(word) != _bare(not_this)][:top_k]
    if not others:
        return None
    weights = np.maximum(chances[others], np.finfo(np.float64).tiny)  # beside a sure word the others may have none
    return words[others[int(rng.choice(len(others), p=weights / weights.sum()))]]


def _bare(word: str) -> str:
    """Return a word as models see it that know neither case nor accents.

    >>> _bare("Café")
    'cafe'
    """
    return "".join(c for c in unicodedata.normalize("NFD", word.casefold()) if not unicodedata.combining(c))


def _reading_of(encoder: Encoder) -> str:
    """Return how an encoder's tokenizer reads a text; at which length it stops at the moment is no part of it."""
    rules = json.loads(encoder.model.tokenizer.backend_tokenizer.to_str())
    return json.dumps({name: rule for name, rule in rules.items() if name not in ("truncation", "padding")})


def _no_encoder() -> Encoder:
    """Tell that a masked language model needs no encoder beside it."""
    raise TypeError("no encoder is needed here")


def _check(share: float, top_k: int) -> None:
    """Refuse what is no share, or no number of words."""
    check_share(share)
    if top_k < 1:
        raise InputError(f"top_k={top_k!r} must be at least 1")
