"""Two views of every text, for the contrasts to pull together.

A view can be made in two places. An augmenter changes the text. A cutoff leaves tokens out of a sequence on its way
through the encoder. A recipe (recipes.py) names both; ready-made pairs need neither.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rstc.errors import InputError
from rstc.representation.augmenters.base import (
    Augmenter,
    Composed,
    Tools,
    as_augmenter,
    changed,
    lasts,
    prepared,
)
from rstc.representation.augmenters.contextual import ContextualSubstitution, LearnedSubstitution
from rstc.representation.augmenters.nearest import NearestTexts, Synonyms
from rstc.representation.augmenters.typos import Typos
from rstc.representation.augmenters.word_noise import WordDeletion, WordSwap
from rstc.representation.view_specs import IN_THE_ENCODER, Step, Steps, read_recipe, read_view

TokenSequence = NDArray[Any]  # (L,) ids or (L, D) states
Mask = NDArray[np.bool_] | slice  # which tokens of a sequence stay
Pair = tuple[Sequence[str], Sequence[str]]  # the texts of view 1 and view 2
AskedView = str | Callable[..., Any]  # a recipe, or an augmenter


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
        masks = self.masks([len(sequence) for sequence in sequences], rng)
        return [sequence[mask] for sequence, mask in zip(sequences, masks, strict=True)]

    def masks(self, lengths: Sequence[int], rng: np.random.Generator) -> list[Mask]:
        """Draw which tokens stay of sequences of these lengths."""
        if self.share == 0:
            return [slice(None)] * len(lengths)
        return [self._drawn(length, rng) for length in lengths]

    def _drawn(self, length: int, rng: np.random.Generator) -> NDArray[np.bool_]:
        kept = rng.random(length) >= self.share
        if length > 2 and not kept[1:-1].any():
            kept[rng.integers(1, length - 1)] = True
        kept[[0, -1]] = True
        return np.asarray(kept)


@dataclass(frozen=True)
class View:
    """How one view of a text is made: by an augmenter, if any, and a cutoff."""

    augmenter: Augmenter | None = None
    cutoff: Cutoff = Cutoff(0.0)

    def prepared(self, texts: Sequence[str], tools: Tools) -> View:
        """Return it with an augmenter that has seen what it needs."""
        if self.augmenter is None:
            return self
        return replace(self, augmenter=prepared(self.augmenter, texts, tools))


@dataclass(frozen=True)
class DrawnViews:
    """Views that are made: their texts anew in each epoch, unless they are worth keeping; their tokens in each step."""

    texts: Sequence[str]
    first: View
    second: View
    lasting_rng: tuple[np.random.Generator, np.random.Generator] | None = field(default=None, compare=False)

    @property
    def changes_texts(self) -> bool:
        """Whether the texts of the views are other than the texts themselves."""
        return self.first.augmenter is not None or self.second.augmenter is not None

    @property
    def fixed(self) -> bool:
        """Whether the texts of the views are the same in every epoch."""
        return lasts(self.first.augmenter) and lasts(self.second.augmenter)

    def of(self, rows: Sequence[int]) -> DrawnViews:
        """Return the views of some of the texts."""
        return replace(self, texts=[self.texts[i] for i in rows])

    def prepared(self, tools: Tools, rng: np.random.Generator) -> DrawnViews:
        """Return the views with augmenters that have seen what they need.

        What lasts is drawn by a generator of its own, one for each view, so that it is the same, and found where it was
        kept, whatever else is drawn in a run of that seed.
        """
        first = self.first.prepared(self.texts, tools)
        alike = self.second == self.first  # and need not be prepared twice
        second = first if alike else self.second.prepared(self.texts, tools)
        own, other = rng.spawn(2)
        return replace(self, first=first, second=second, lasting_rng=(own, other))

    def draw(self, rng: np.random.Generator, last: Pair | None = None) -> Pair:
        """Return the texts of view 1 and view 2; of the last ones those that are to stay."""
        first, second = (self._drawn(number, rng, last) for number in (0, 1))
        return first, second

    def _drawn(self, number: int, rng: np.random.Generator, last: Pair | None) -> Sequence[str]:
        """Return the texts of one view."""
        augmenter = (self.first, self.second)[number].augmenter
        if not lasts(augmenter):
            return changed(augmenter, self.texts, rng)
        own = self.lasting_rng[number] if self.lasting_rng else rng
        return last[number] if last else changed(augmenter, self.texts, own)

    def masks(self, lengths: Sequence[int], rng: np.random.Generator) -> list[Mask]:
        """Draw which tokens stay of some texts' first, and then of their second views, of these lengths."""
        half = len(lengths) // 2
        return self.first.cutoff.masks(lengths[:half], rng) + self.second.cutoff.masks(lengths[half:], rng)


@dataclass(frozen=True)
class GivenViews:
    """Ready-made pairs, the same at every draw."""

    first: Sequence[str]
    second: Sequence[str]
    changes_texts = True
    fixed = True
    masks = Cutoff(0.0).masks

    def of(self, rows: Sequence[int]) -> GivenViews:
        """Return the views of some of the texts."""
        return GivenViews([self.first[i] for i in rows], [self.second[i] for i in rows])

    def prepared(self, tools: Tools, rng: np.random.Generator) -> GivenViews:
        """Return the views, for which nothing needs to be prepared."""
        return self

    def draw(self, rng: np.random.Generator, last: Pair | None = None) -> Pair:
        """Return the texts of view 1 and view 2."""
        return self.first, self.second


Views = DrawnViews | GivenViews


def drawn_views(
    texts: Sequence[str], asked: AskedView | tuple[AskedView, AskedView], folder: Path | None = None
) -> DrawnViews:
    """Return views of texts by a recipe or an augmenter, or by one for each view.

    What is costly to make is kept in a folder; None: in rstc's part of the user's cache.
    """
    if isinstance(asked, str):
        first, second = (_view(steps, folder) for steps in read_recipe(asked))
    else:
        pair = asked if isinstance(asked, tuple) else (asked, asked)
        if len(pair) != 2:
            raise InputError(f"views are made in one way or in two, got {len(pair)}")
        one, other = pair
        first, second = _asked(one, folder), _asked(other, folder)
    return DrawnViews(texts, first, second)


def given_views(texts: Sequence[str], first: Sequence[str | None], second: Sequence[str | None]) -> GivenViews:
    """Return ready-made pairs; where one is missing, the text itself stands in."""
    return GivenViews(*([made or text for made, text in zip(view, texts, strict=True)] for view in (first, second)))


def _asked(view: AskedView, folder: Path | None) -> View:
    """Return a view by its recipe or its augmenter."""
    return _view(read_view(view), folder) if isinstance(view, str) else View(as_augmenter(view))


def _view(steps: Steps, folder: Path | None) -> View:
    """Return a view by its steps."""
    augmenters = tuple(_augmenter(step, folder) for step in steps if step.way not in IN_THE_ENCODER)
    cutoff = next((step.share for step in steps if step.way == "cutoff"), 0.0)
    if len(augmenters) < 2:
        return View(augmenters[0] if augmenters else None, Cutoff(cutoff))
    return View(Composed(augmenters), Cutoff(cutoff))


def _augmenter(step: Step, folder: Path | None) -> Augmenter:
    """Return the augmenter of a step."""
    if step.way == "contextual":
        return ContextualSubstitution(step.model or "", step.share, folder=folder)
    if step.way == "learned":
        return LearnedSubstitution(step.share, folder=folder)
    if step.way == "neighbours":
        return NearestTexts()
    return _BY_SHARE[step.way](step.share)


_BY_SHARE: dict[str, Callable[[float], Augmenter]] = {
    "deletion": WordDeletion,
    "swap": WordSwap,
    "typos": Typos,
    "synonyms": Synonyms,
}
