"""Contextual substitution: words replaced by others that a masked language model expects in their place.

A share of the words is masked, the model predicts the likeliest words for each mask, and one of these is drawn, but
never the word itself. The result depends on the seed, the model and the text alone, so that it can be cached.
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
from rstc.io.atomic import user_cache_dir
from rstc.representation.augmenters.base import Augmenter, AugmenterResources, ProgressCallback, check_share
from rstc.representation.augmenters.cache import TextCache, hash_strings
from rstc.representation.augmenters.encoder_mlm import fit_encoder_mlm
from rstc.representation.augmenters.masked_lm import MaskedLanguageModel, PretrainedMaskedLM, identify_model
from rstc.representation.augmenters.spans import MAX_WORD_CHARS, Span, find_words, match_case, replace_spans
from rstc.representation.encoder import Encoder, fingerprint_weights
from rstc.runtime.device import choose_device

WINDOW_WORDS = 64  # long texts are split into windows, since models read a few hundred tokens
CHUNK_TEXTS = 1024  # texts between two reports of progress, which are cached together
CONTEXT_CHARS = 2 * MAX_WORD_CHARS  # before the first masked word of a window that has to start later
EXTRA_CANDIDATES = 4  # beyond top_k, because some are the word itself in another case or with accents
CACHE_VERSION = "2"  # must change if the result for the same seed, model and text changes


@dataclass(frozen=True)
class ContextualSubstitution:
    """Replace words by others that a masked language model expects in their place, at least one in each text.

    The result is drawn once for all epochs, and cached on disk.

    Parameters
    ----------
    model : str or path
        A Hugging Face masked language model: a folder or a hub name.
    share : float, default=0.1
        The share of words that are replaced.
    top_k : int, default=10
        Number of the likeliest words to draw from.
    folder : Path, optional
        Where results are cached for later runs; None: in rstc's part of the user's cache.
    """

    model: str | os.PathLike[str]
    share: float = 0.1
    top_k: int = 10
    folder: Path | None = None
    draw_once = True

    def __post_init__(self) -> None:
        """Check the parameters."""
        _check_parameters(self.share, self.top_k)

    def prepare(self, texts: Sequence[str], resources: AugmenterResources) -> Augmenter:
        """Return the substitution, which loads the model when it is first needed."""
        name = os.fspath(self.model)
        identity = identify_model(name)
        if identity is None:  # the model must be downloaded before it can be identified
            resources.get_or_create(name, lambda: PretrainedMaskedLM(name, resources.device))
            identity = identify_model(name)
        revision, model_key = (identity.revision, f"model {identity.fingerprint}") if identity else (None, None)
        return MaskedSubstitution(
            lambda: resources.get_or_create(name, lambda: PretrainedMaskedLM(name, resources.device, revision)),
            model_key,
            self.share,
            self.top_k,
            self.folder,
            resources.progress,
        )

    def __call__(self, texts: Sequence[str], rng: np.random.Generator) -> list[str]:
        """Return the texts with words replaced."""
        return self.prepare(texts, AugmenterResources(_load_no_encoder, choose_device()))(texts, rng)


@dataclass(frozen=True)
class LearnedSubstitution:
    """Replace words as `ContextualSubstitution` does, by the encoder with a head that is trained on the texts.

    It needs no download. The result is drawn once for all epochs, and cached on disk.

    Parameters
    ----------
    share : float, default=0.1
        The share of words that are replaced.
    top_k : int, default=10
        Number of the likeliest words to draw from.
    folder : Path, optional
        Where results are cached for later runs; None: in rstc's part of the user's cache.
    """

    share: float = 0.1
    top_k: int = 10
    folder: Path | None = None
    draw_once = True

    def __post_init__(self) -> None:
        """Check the parameters."""
        _check_parameters(self.share, self.top_k)

    def prepare(self, texts: Sequence[str], resources: AugmenterResources) -> Augmenter:
        """Return the substitution, which trains its model on the texts when it is first needed."""
        encoder = resources.encoder
        tokenization = f"{encoder.max_tokens} {encoder.precision} {_describe_tokenizer(encoder)}"
        weights = fingerprint_weights(encoder.named_parameters())
        model_key = f"learned {hash_strings(weights, tokenization, *texts).hex()}"
        return MaskedSubstitution(
            lambda: resources.get_or_create(model_key, lambda: fit_encoder_mlm(texts, encoder, resources.progress)),
            model_key,
            self.share,
            self.top_k,
            self.folder,
            resources.progress,
        )

    def __call__(self, texts: Sequence[str], rng: np.random.Generator) -> list[str]:
        """Raise an error, because the augmenter must be prepared first."""
        raise TypeError("LearnedSubstitution must be prepared first: use rstc.augment, or RSTC(views=...)")


@dataclass(frozen=True)
class MaskedSubstitution:
    """Replace words by those that a masked language model predicts.

    Attributes
    ----------
    load : callable
        Returns the model; called if a text is not cached.
    model_key : str or None
        Identifies the model in the cache; None: nothing is cached.
    share : float
        The share of words that are replaced.
    top_k : int
        Number of the likeliest words to draw from.
    folder : Path or None
        Where results are cached; None: in rstc's part of the user's cache.
    progress : callable or None
        Called with the number of done and of all texts.
    """

    load: Callable[[], MaskedLanguageModel]
    model_key: str | None
    share: float
    top_k: int
    folder: Path | None = None
    progress: ProgressCallback | None = None
    draw_once: bool = True

    def __call__(self, texts: Sequence[str], rng: np.random.Generator) -> list[str]:
        """Return the texts with words replaced."""
        seed = int(rng.integers(2**63))
        cache = TextCache(None if self.model_key is None else self.folder or user_cache_dir() / "views")
        settings = f"{CACHE_VERSION} {self.model_key} {self.share} {self.top_k} {seed}"
        keys = {text: hash_strings(settings, text) for text in dict.fromkeys(texts)}
        versions = cache.read(list(keys.values()))
        missing = [text for text, key in keys.items() if key not in versions]
        for start in range(0, len(missing), CHUNK_TEXTS):
            chunk = missing[start : start + CHUNK_TEXTS]
            new = dict(zip((keys[text] for text in chunk), self._replace_words(chunk, seed), strict=True))
            cache.add(new)
            versions |= new
            if self.progress:
                self.progress(min(start + CHUNK_TEXTS, len(missing)), len(missing))
        return [versions[keys[text]] for text in texts]

    def _replace_words(self, texts: Sequence[str], seed: int) -> list[str]:
        """Return texts with words replaced, all windows of all texts at once."""
        rngs = [np.random.default_rng([seed, *hash_strings(text)]) for text in texts]
        windows = [
            (row, window) for row, text in enumerate(texts) for window in choose_windows(text, self.share, rngs[row])
        ]
        replacements: list[list[tuple[Span, str]]] = [[] for _ in texts]
        while windows:
            model = self.load()
            masked = [mask_window(texts[row], window, model.mask_token) for row, window in windows]
            predictions = model.predict_masks(masked, self.top_k + EXTRA_CANDIDATES)
            unread = []
            for (row, window), masks in zip(windows, predictions, strict=True):
                for (start, end), (words, probabilities) in zip(window.chosen, masks, strict=False):
                    word = texts[row][start:end]
                    other = _sample_word(words, probabilities, word, self.top_k, rngs[row])
                    if other is not None:
                        replacements[row].append(((start, end), match_case(other, word)))
                unread += [(row, rest) for rest in window.remaining(len(masks))]
            windows = unread
        return [replace_spans(text, sorted(spans)) for text, spans in zip(texts, replacements, strict=True)]


@dataclass(frozen=True)
class Window:
    """A part of a text, from `start` to `end`, and the spans of the words in it that are to be replaced."""

    start: int
    end: int
    chosen: tuple[Span, ...]

    def remaining(self, n_read: int) -> list[Window]:
        """Return a window of the masks after the first `n_read`, which the model has read.

        The list is empty if no mask remains, or if a later start is not possible.
        """
        unread = self.chosen[n_read:]
        if not unread:
            return []
        start = max(unread[0][0] - CONTEXT_CHARS, self.chosen[n_read - 1][1] if n_read else self.start)
        return [Window(start, self.end, unread)] if start > self.start else []


def choose_windows(text: str, share: float, rng: np.random.Generator) -> list[Window]:
    """Split a text into windows and draw the words to replace: a share of each window's words, at least one."""
    words = find_words(text) if share else []
    windows = []
    for first in range(0, len(words), WINDOW_WORDS):
        window_words = words[first : first + WINDOW_WORDS]
        n_chosen = max(1, round(share * len(window_words)))
        chosen = np.sort(rng.choice(len(window_words), min(n_chosen, len(window_words)), replace=False))
        start = 0 if first == 0 else window_words[0][0]
        end = len(text) if first + WINDOW_WORDS >= len(words) else words[first + WINDOW_WORDS][0]
        windows.append(Window(start, end, tuple(window_words[i] for i in chosen)))
    return windows


def mask_window(text: str, window: Window, mask_token: str) -> str:
    """Return a window of a text with mask tokens in place of the chosen words.

    Long stretches without words are shortened, so that the model still reads the masks.

    >>> mask_window("my parcel is late", Window(0, 17, ((3, 9),)), "[MASK]")
    'my [MASK] is late'
    """
    parts, position = [], window.start
    for start, end in window.chosen:
        parts += [_shorten(text[position:start], mask_token), mask_token]
        position = end
    return "".join([*parts, _shorten(text[position : window.end], mask_token)])


def _shorten(text: str, mask_token: str) -> str:
    """Return the text between two masks without mask tokens, with long words and long stretches cut."""
    text = text.replace(mask_token, " ")
    if len(text) <= MAX_WORD_CHARS:
        return text
    words = [word[:MAX_WORD_CHARS] for word in text.split()]
    middle = " ".join([*words[:WINDOW_WORDS], *words[WINDOW_WORDS:][-WINDOW_WORDS:]])
    return (" " if text[:1].isspace() else "") + middle + (" " if text[-1:].isspace() else "")


def _sample_word(
    words: Sequence[str], probabilities: NDArray[np.float64], original: str, top_k: int, rng: np.random.Generator
) -> str | None:
    """Draw one of the `top_k` likeliest words other than the original by their probabilities."""
    others = [i for i, word in enumerate(words) if _normalise(word) != _normalise(original)][:top_k]
    if not others:
        return None
    weights = np.maximum(probabilities[others], np.finfo(np.float64).tiny)  # all may be 0 if the original has 1
    return words[others[int(rng.choice(len(others), p=weights / weights.sum()))]]


def _normalise(word: str) -> str:
    """Return a word without case and accents, as uncased models read it.

    >>> _normalise("Café")
    'cafe'
    """
    return "".join(c for c in unicodedata.normalize("NFD", word.casefold()) if not unicodedata.combining(c))


def _describe_tokenizer(encoder: Encoder) -> str:
    """Return the rules of an encoder's tokenizer as JSON, without its current truncation and padding."""
    rules = json.loads(encoder.model.tokenizer.backend_tokenizer.to_str())
    return json.dumps({name: rule for name, rule in rules.items() if name not in ("truncation", "padding")})


def _load_no_encoder() -> Encoder:
    """Raise an error, because a pretrained masked language model needs no encoder."""
    raise TypeError("ContextualSubstitution needs no encoder")


def _check_parameters(share: float, top_k: int) -> None:
    """Check the parameters of a substitution."""
    check_share(share)
    if top_k < 1:
        raise InputError(f"top_k={top_k!r} must be at least 1")
