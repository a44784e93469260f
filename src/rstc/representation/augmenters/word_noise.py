"""Augmenters that leave out words or put them in another order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rstc.representation.augmenters.base import check_share


@dataclass(frozen=True)
class WordDeletion:
    """Leaves out each word with probability `share`, and never all of them.

    >>> WordDeletion(0.5)(["the parcel never came", "help"], np.random.default_rng(0))
    ['the', 'help']
    """

    share: float = 0.1

    def __post_init__(self) -> None:
        """Refuse what is no share."""
        check_share(self.share)

    def __call__(self, texts: Sequence[str], rng: np.random.Generator) -> list[str]:
        """Return the texts with words left out."""
        return [self._thin(text.split(), rng) or text for text in texts]

    def _thin(self, words: list[str], rng: np.random.Generator) -> str:
        kept = rng.random(len(words)) >= self.share
        if len(words) and not kept.any():
            kept[rng.integers(len(words))] = True
        return " ".join(word for word, keep in zip(words, kept, strict=True) if keep)


@dataclass(frozen=True)
class WordSwap:
    """Lets each word change places with the next one with probability `share`.

    >>> WordSwap(0.5)(["my parcel never came", "help"], np.random.default_rng(1))
    ['my parcel came never', 'help']
    """

    share: float = 0.1

    def __post_init__(self) -> None:
        """Refuse what is no share."""
        check_share(self.share)

    def __call__(self, texts: Sequence[str], rng: np.random.Generator) -> list[str]:
        """Return the texts with words in another order."""
        return [self._swapped(text.split(), rng) or text for text in texts]

    def _swapped(self, words: list[str], rng: np.random.Generator) -> str:
        for place in np.flatnonzero(rng.random(max(len(words) - 1, 0)) < self.share):
            words[place], words[place + 1] = words[place + 1], words[place]
        return " ".join(words)
