"""Two views of every text, for the contrasts to pull together.

An augmenter is a function (texts, rng) -> texts that returns one changed text for each given one, never empty.
`Views` draws a pair of them for a whole set of texts; ready-made pairs are views that do not change.
Contextual substitution belongs here as one more augmenter.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

Augmenter = Callable[[Sequence[str], np.random.Generator], list[str]]


@dataclass(frozen=True)
class WordDeletion:
    """An augmenter that leaves out each word with probability `share`, and never all of them.

    >>> WordDeletion(0.5)(["the parcel never came", "help"], np.random.default_rng(0))
    ['the', 'help']
    """

    share: float

    def __call__(self, texts: Sequence[str], rng: np.random.Generator) -> list[str]:
        """Return the texts with words left out."""
        if self.share == 0:
            return list(texts)
        return [self._thin(text.split(), rng) or text for text in texts]

    def _thin(self, words: list[str], rng: np.random.Generator) -> str:
        kept = rng.random(len(words)) >= self.share
        if len(words) and not kept.any():
            kept[rng.integers(len(words))] = True
        return " ".join(word for word, keep in zip(words, kept, strict=True) if keep)


class DrawnViews:
    """Views made by an augmenter, drawn anew each time they are asked for."""

    fixed = False

    def __init__(self, texts: Sequence[str], augmenter: Augmenter) -> None:
        self._texts, self._augmenter = texts, augmenter

    def draw(self, rng: np.random.Generator) -> tuple[list[str], list[str]]:
        """Return view 1 and view 2 of all texts."""
        return self._augmenter(self._texts, rng), self._augmenter(self._texts, rng)


class GivenViews:
    """Ready-made pairs, the same at every draw."""

    fixed = True

    def __init__(self, first: Sequence[str], second: Sequence[str]) -> None:
        self._pair = list(first), list(second)

    def draw(self, rng: np.random.Generator) -> tuple[list[str], list[str]]:
        """Return view 1 and view 2 of all texts."""
        return self._pair


Views = DrawnViews | GivenViews


def given_views(texts: Sequence[str], first: Sequence[str | None], second: Sequence[str | None]) -> GivenViews:
    """Return ready-made pairs; where one is missing, the text itself stands in."""
    return GivenViews(*([made or text for made, text in zip(view, texts, strict=True)] for view in (first, second)))
