"""Augmenters that look around in the encoder's space: a near word for a word, a near text for a text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import normalize

from rstc.numerics.nearest import nearest
from rstc.representation.augmenters.base import Augmenter, Tools, check_share
from rstc.representation.augmenters.spans import like, replaced, words_of

MOST_WORDS = 30_000  # of the texts, the most frequent ones, that have synonyms and are some


@dataclass(frozen=True)
class Synonyms:
    """Replaces each word that has synonyms with probability `share` by one of them, as the encoder sees it.

    The words are those of the texts, each embedded by itself. A word has as synonyms those of its `k` nearest that are
    at least `least` similar to it, by cosine; one that has none stays.
    """

    share: float = 0.1
    k: int = 5
    least: float = 0.7

    def __post_init__(self) -> None:
        """Refuse what is no share."""
        check_share(self.share)

    def prepared(self, texts: Sequence[str], tools: Tools) -> Augmenter:
        """Find the synonyms of the words of texts."""
        counts = Counter(text[start:end].lower() for text in texts for start, end in words_of(text))
        words = [word for word, _ in counts.most_common(MOST_WORDS)]
        E, near = _neighbours(words, self.k + 1, tools)
        synonyms = {}
        for row, word in enumerate(words):
            similar = [i for i in near[row, 1:] if E[row] @ E[i] >= self.least]
            synonyms[word] = [words[i] for i in similar]
        return KnownSynonyms(self.share, synonyms)

    def __call__(self, texts: Sequence[str], rng: np.random.Generator) -> list[str]:
        """Not before it is prepared."""
        raise TypeError("synonyms must be found first: use rstc.augment, or RSTC(views=...)")


@dataclass(frozen=True)
class KnownSynonyms:
    """Replaces each word that has synonyms with probability `share` by one of them.

    >>> KnownSynonyms(1.0, {"late": ["delayed"]})(["Late again"], np.random.default_rng(0))
    ['Delayed again']
    """

    share: float
    synonyms: Mapping[str, Sequence[str]]

    def __call__(self, texts: Sequence[str], rng: np.random.Generator) -> list[str]:
        """Return the texts with some words replaced."""
        return [self._replaced(text, rng) for text in texts]

    def _replaced(self, text: str, rng: np.random.Generator) -> str:
        changes = []
        for start, end in words_of(text):
            word = text[start:end]
            others = self.synonyms.get(word.lower())
            if others and rng.random() < self.share:
                changes.append(((start, end), like(others[int(rng.integers(len(others)))], word)))
        return replaced(text, changes)


@dataclass(frozen=True)
class NearestTexts:
    """Puts one of a text's `k` nearest other texts in its place. Meant for the second view only."""

    k: int = 5

    def prepared(self, texts: Sequence[str], tools: Tools) -> Augmenter:
        """Find the neighbours of texts."""
        distinct = list(dict.fromkeys(texts))
        _, near = _neighbours(distinct, self.k + 1, tools)
        return KnownNeighbours({text: [distinct[i] for i in near[row, 1:]] for row, text in enumerate(distinct)})

    def __call__(self, texts: Sequence[str], rng: np.random.Generator) -> list[str]:
        """Not before it is prepared."""
        raise TypeError("neighbours must be found first: use rstc.augment, or RSTC(views=...)")


@dataclass(frozen=True)
class KnownNeighbours:
    """Puts one of a text's neighbours in its place; a text that is not known stays.

    >>> KnownNeighbours({"late": ["slow"]})(["late", "new"], np.random.default_rng(0))
    ['slow', 'new']
    """

    neighbours: Mapping[str, Sequence[str]]

    def __call__(self, texts: Sequence[str], rng: np.random.Generator) -> list[str]:
        """Return a neighbour of each text."""
        found = (self.neighbours.get(text) or [text] for text in texts)
        return [near[int(rng.integers(len(near)))] for near in found]


def _neighbours(texts: Sequence[str], k: int, tools: Tools) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return the embeddings of texts at length one (N, D) and the k nearest of each (N, k), itself first."""
    encoder = tools.encoder
    if not texts:
        return np.zeros((0, encoder.dim), np.float32), np.zeros((0, 1), np.int64)
    E = np.asarray(normalize(encoder.embed(encoder.tokenize(texts), tools.advance).numpy()), dtype=np.float32)
    return E, nearest(E, None, k)
