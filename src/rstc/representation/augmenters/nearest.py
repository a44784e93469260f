"""Augmenters that replace words or texts by their nearest neighbours in the encoder's space."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import InitVar, dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import normalize

from rstc.numerics.nearest import nearest_neighbours
from rstc.representation.augmenters.base import Augmenter, AugmenterResources, check_share
from rstc.representation.augmenters.spans import find_words, match_case, replace_spans

MAX_WORDS = 30_000  # the most frequent words of the texts; only these have synonyms and serve as synonyms


@dataclass(frozen=True)
class Synonyms:
    """Replace words by similar words of the texts, by the embeddings of single words.

    The synonyms of a word are those of its `k` nearest words whose cosine similarity to it is at least
    `min_similarity`; a word without synonyms stays.

    Parameters
    ----------
    share : float, default=0.1
        The probability that a word with synonyms is replaced.
    k : int, default=5
        Number of the nearest words to consider.
    min_similarity : float, default=0.7
        The smallest cosine similarity of a synonym.
    least : float, optional
        Deprecated name of `min_similarity`.
    """

    share: float = 0.1
    k: int = 5
    min_similarity: float = 0.7
    least: InitVar[float | None] = None

    def __post_init__(self, least: float | None) -> None:
        """Check the share."""
        if least is not None:
            message = "Synonyms(least=...) is deprecated, use Synonyms(min_similarity=...)"
            warnings.warn(message, DeprecationWarning, stacklevel=3)
            object.__setattr__(self, "min_similarity", least)
        check_share(self.share)

    def prepare(self, texts: Sequence[str], resources: AugmenterResources) -> Augmenter:
        """Find the synonyms of the words of texts."""
        counts = Counter(text[start:end].lower() for text in texts for start, end in find_words(text))
        words = [word for word, _ in counts.most_common(MAX_WORDS)]
        E, neighbours = _find_neighbours(words, self.k + 1, resources)
        synonyms = {}
        for row, word in enumerate(words):
            similar = [i for i in neighbours[row, 1:] if E[row] @ E[i] >= self.min_similarity]
            synonyms[word] = [words[i] for i in similar]
        return SynonymReplacement(self.share, synonyms)

    def __call__(self, texts: Sequence[str], rng: np.random.Generator) -> list[str]:
        """Raise an error, because the augmenter must be prepared first."""
        raise TypeError("Synonyms must be prepared first: use rstc.augment, or RSTC(views=...)")


@dataclass(frozen=True)
class SynonymReplacement:
    """Replace each word that has synonyms by one of them with probability `share`.

    >>> SynonymReplacement(1.0, {"late": ["delayed"]})(["Late again"], np.random.default_rng(0))
    ['Delayed again']
    """

    share: float
    synonyms: Mapping[str, Sequence[str]]

    def __call__(self, texts: Sequence[str], rng: np.random.Generator) -> list[str]:
        """Return the texts with some words replaced."""
        return [self._replace_words(text, rng) for text in texts]

    def _replace_words(self, text: str, rng: np.random.Generator) -> str:
        """Return a text with some words replaced."""
        replacements = []
        for start, end in find_words(text):
            word = text[start:end]
            synonyms = self.synonyms.get(word.lower())
            if synonyms and rng.random() < self.share:
                replacements.append(((start, end), match_case(synonyms[int(rng.integers(len(synonyms)))], word)))
        return replace_spans(text, replacements)


@dataclass(frozen=True)
class NearestTexts:
    """Replace each text by one of its `k` nearest other texts. Meant for the second view only.

    Parameters
    ----------
    k : int, default=5
        Number of the nearest texts to draw from.
    """

    k: int = 5

    def prepare(self, texts: Sequence[str], resources: AugmenterResources) -> Augmenter:
        """Find the neighbours of texts."""
        distinct = list(dict.fromkeys(texts))
        _, neighbours = _find_neighbours(distinct, self.k + 1, resources)
        return NeighbourReplacement(
            {text: [distinct[i] for i in neighbours[row, 1:]] for row, text in enumerate(distinct)}
        )

    def __call__(self, texts: Sequence[str], rng: np.random.Generator) -> list[str]:
        """Raise an error, because the augmenter must be prepared first."""
        raise TypeError("NearestTexts must be prepared first: use rstc.augment, or RSTC(views=...)")


@dataclass(frozen=True)
class NeighbourReplacement:
    """Replace each text by one of its neighbours; a text without neighbours stays.

    >>> NeighbourReplacement({"late": ["slow"]})(["late", "new"], np.random.default_rng(0))
    ['slow', 'new']
    """

    neighbours: Mapping[str, Sequence[str]]

    def __call__(self, texts: Sequence[str], rng: np.random.Generator) -> list[str]:
        """Return a neighbour of each text."""
        candidates = (self.neighbours.get(text) or [text] for text in texts)
        return [neighbours[int(rng.integers(len(neighbours)))] for neighbours in candidates]


def _find_neighbours(
    texts: Sequence[str], k: int, resources: AugmenterResources
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return the embeddings of texts at unit length (N, D) and the k nearest of each (N, k), itself first."""
    encoder = resources.encoder
    if not texts:
        return np.zeros((0, encoder.dim), np.float32), np.zeros((0, 1), np.int64)
    E = np.asarray(normalize(encoder.embed(encoder.tokenize(texts), resources.progress).numpy()), dtype=np.float32)
    return E, nearest_neighbours(E, None, k)
