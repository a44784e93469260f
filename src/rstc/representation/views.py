"""Two views of every text, for the contrasts to pull together.

A view can be made in two places. An augmenter changes the text: a function (texts, rng) -> texts that returns one
changed text for each given one, never empty. A cutoff leaves tokens out of a sequence on its way through the encoder.
Contextual substitution belongs here as one more augmenter.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

Augmenter = Callable[[Sequence[str], np.random.Generator], list[str]]
TokenSequence = NDArray[Any]  # (L,) ids or (L, D) states


@dataclass(frozen=True)
class WordDeletion:
    """An augmenter that leaves out each word with probability `share`, and never all of them.

    >>> WordDeletion(0.5)(["the parcel never came", "help"], np.random.default_rng(0))
    ['the', 'help']
    """

    share: float

    def __call__(self, texts: Sequence[str], rng: np.random.Generator) -> list[str]:
        """Return the texts with words left out."""
        return [self._thin(text.split(), rng) or text for text in texts]

    def _thin(self, words: list[str], rng: np.random.Generator) -> str:
        kept = rng.random(len(words)) >= self.share
        if len(words) and not kept.any():
            kept[rng.integers(len(words))] = True
        return " ".join(word for word, keep in zip(words, kept, strict=True) if keep)


@dataclass(frozen=True)
class Cutoff:
    """Leaves out each token of a sequence with probability `share`; the first and the last, which are special, stay.

    Of token ids it leaves out words or parts of them. Of states that come out of frozen layers it leaves out a token
    whose neighbours have already read it, which is a milder change, and costs no pass through those layers.

    >>> Cutoff(0.5)([np.array([2, 10, 11, 12, 13, 3])], np.random.default_rng(0))
    [array([ 2, 13,  3])]
    """

    share: float

    def __call__(self, sequences: Sequence[TokenSequence], rng: np.random.Generator) -> list[TokenSequence]:
        """Return the sequences with tokens left out."""
        if self.share == 0:
            return list(sequences)
        return [self._thin(sequence, rng) for sequence in sequences]

    def _thin(self, sequence: TokenSequence, rng: np.random.Generator) -> TokenSequence:
        kept = rng.random(len(sequence)) >= self.share
        if len(sequence) > 2 and not kept[1:-1].any():
            kept[rng.integers(1, len(sequence) - 1)] = True
        kept[[0, -1]] = True
        return sequence[kept]


@dataclass(frozen=True)
class DrawnViews:
    """Views drawn anew: the texts by an augmenter in each epoch, if there is one, their tokens in each step."""

    texts: Sequence[str]
    augmenter: Augmenter | None
    cutoff: Cutoff

    @property
    def changes_texts(self) -> bool:
        """Whether the texts of the views are other than the texts themselves."""
        return self.augmenter is not None

    @property
    def fixed(self) -> bool:
        """Whether the texts of the views are the same in every epoch."""
        return self.augmenter is None

    def of(self, rows: Sequence[int]) -> DrawnViews:
        """Return the views of some of the texts."""
        return replace(self, texts=[self.texts[i] for i in rows])

    def draw(self, rng: np.random.Generator) -> tuple[Sequence[str], Sequence[str]]:
        """Return the texts of view 1 and view 2."""
        if self.augmenter is None:
            return self.texts, self.texts
        return self.augmenter(self.texts, rng), self.augmenter(self.texts, rng)


@dataclass(frozen=True)
class GivenViews:
    """Ready-made pairs, the same at every draw."""

    first: Sequence[str]
    second: Sequence[str]
    changes_texts = True
    fixed = True
    cutoff = Cutoff(0.0)

    def of(self, rows: Sequence[int]) -> GivenViews:
        """Return the views of some of the texts."""
        return GivenViews([self.first[i] for i in rows], [self.second[i] for i in rows])

    def draw(self, rng: np.random.Generator) -> tuple[Sequence[str], Sequence[str]]:
        """Return the texts of view 1 and view 2."""
        return self.first, self.second


Views = DrawnViews | GivenViews


def drawn_views(texts: Sequence[str], deletion_share: float, cutoff_share: float) -> DrawnViews:
    """Return views that leave out a share of the words, of the tokens, or of both."""
    return DrawnViews(texts, WordDeletion(deletion_share) if deletion_share else None, Cutoff(cutoff_share))


def given_views(texts: Sequence[str], first: Sequence[str | None], second: Sequence[str | None]) -> GivenViews:
    """Return ready-made pairs; where one is missing, the text itself stands in."""
    return GivenViews(*([made or text for made, text in zip(view, texts, strict=True)] for view in (first, second)))
