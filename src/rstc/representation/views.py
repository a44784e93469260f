"""Two views of every text, X1 and X2, for the losses L_C and L_I.

A view can differ from its text in two ways: an augmenter changes the text, and a cutoff leaves out tokens inside the
encoder. A view specification (view_specs.py) names both. Precomputed pairs need neither.
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
    AugmenterResources,
    Composed,
    apply_augmenter,
    as_augmenter,
    is_drawn_once,
    prepare_augmenter,
)
from rstc.representation.augmenters.contextual import ContextualSubstitution, LearnedSubstitution
from rstc.representation.augmenters.nearest import NearestTexts, Synonyms
from rstc.representation.augmenters.word_noise import Typos, WordDeletion, WordSwap
from rstc.representation.view_specs import ENCODER_METHODS, ViewSpec, ViewStep, parse_view_spec, parse_view_specs

TokenSequence = NDArray[Any]  # token ids (L,) or hidden states (L, D)
TokenMask = NDArray[np.bool_] | slice  # which tokens of a sequence are kept
ViewPair = tuple[Sequence[str], Sequence[str]]  # the texts of view 1 and view 2
ViewLike = str | Callable[..., Any]  # a view specification, or an augmenter


@dataclass(frozen=True)
class Cutoff:
    """Leave out each token of a sequence with probability `share`; the first and the last, which are special, stay.

    Applied to token ids, it leaves out words or parts of words. Applied to the hidden states of the frozen layers, it
    leaves out tokens to which other tokens have already attended: a milder change, which needs no pass through these
    layers.

    >>> Cutoff(0.5)([np.array([2, 10, 11, 12, 13, 3])], np.random.default_rng(0))
    [array([ 2, 13,  3])]
    """

    share: float

    def __call__(self, sequences: Sequence[TokenSequence], rng: np.random.Generator) -> list[TokenSequence]:
        """Return the sequences with tokens left out."""
        masks = self.draw_masks([len(sequence) for sequence in sequences], rng)
        return [sequence[mask] for sequence, mask in zip(sequences, masks, strict=True)]

    def draw_masks(self, lengths: Sequence[int], rng: np.random.Generator) -> list[TokenMask]:
        """Draw which tokens are kept of sequences of these lengths."""
        if self.share == 0:
            return [slice(None)] * len(lengths)
        return [self._draw_mask(length, rng) for length in lengths]

    def _draw_mask(self, length: int, rng: np.random.Generator) -> NDArray[np.bool_]:
        """Draw which tokens are kept of one sequence: both ends and, if there are others, at least one of these."""
        keep = rng.random(length) >= self.share
        if length > 2 and not keep[1:-1].any():
            keep[rng.integers(1, length - 1)] = True
        keep[[0, -1]] = True
        return np.asarray(keep)


@dataclass(frozen=True)
class View:
    """How one view of a text is made: by an augmenter, if any, and a cutoff."""

    augmenter: Augmenter | None = None
    cutoff: Cutoff = Cutoff(0.0)

    def prepare(self, texts: Sequence[str], resources: AugmenterResources) -> View:
        """Return the view with an augmenter that is prepared for the texts."""
        if self.augmenter is None:
            return self
        return replace(self, augmenter=prepare_augmenter(self.augmenter, texts, resources))


@dataclass(frozen=True)
class AugmentedViews:
    """Views that augmenters and cutoffs make of texts.

    Augmenters draw anew in each epoch, unless their result is kept for all epochs; cutoffs draw in each step.

    Attributes
    ----------
    texts : sequence of str
        The texts, (N,).
    first, second : View
        How view 1 and view 2 are made.
    fixed_rngs : pair of numpy generators, optional
        What the augmenters draw from whose result is kept for all epochs, one for each view; set by `prepare`.
    """

    texts: Sequence[str]
    first: View
    second: View
    fixed_rngs: tuple[np.random.Generator, np.random.Generator] | None = field(default=None, compare=False)

    @property
    def changes_texts(self) -> bool:
        """Whether the texts of the views differ from the texts themselves."""
        return self.first.augmenter is not None or self.second.augmenter is not None

    @property
    def fixed(self) -> bool:
        """Whether the texts of the views are the same in every epoch."""
        return is_drawn_once(self.first.augmenter) and is_drawn_once(self.second.augmenter)

    def select(self, rows: Sequence[int]) -> AugmentedViews:
        """Return the views of some of the texts."""
        return replace(self, texts=[self.texts[i] for i in rows])

    def prepare(self, resources: AugmenterResources, rng: np.random.Generator) -> AugmentedViews:
        """Return the views with augmenters that are prepared for the texts.

        Texts that are kept for all epochs are drawn from a generator of each view's own. So they are the same, and
        found in the cache, whatever else is drawn in a run of that seed.
        """
        first = self.first.prepare(self.texts, resources)
        second = first if self.second == self.first else self.second.prepare(self.texts, resources)
        rng1, rng2 = rng.spawn(2)
        return replace(self, first=first, second=second, fixed_rngs=(rng1, rng2))

    def draw(self, rng: np.random.Generator, previous: ViewPair | None = None) -> ViewPair:
        """Return the texts of view 1 and view 2; a view that is drawn once keeps its `previous` texts."""
        first, second = (self._draw_view(index, rng, previous) for index in (0, 1))
        return first, second

    def _draw_view(self, index: int, rng: np.random.Generator, previous: ViewPair | None) -> Sequence[str]:
        """Return the texts of one view."""
        augmenter = (self.first, self.second)[index].augmenter
        if not is_drawn_once(augmenter):
            return apply_augmenter(augmenter, self.texts, rng)
        if previous:
            return previous[index]
        return apply_augmenter(augmenter, self.texts, self.fixed_rngs[index] if self.fixed_rngs else rng)

    def draw_masks(self, lengths: Sequence[int], rng: np.random.Generator) -> list[TokenMask]:
        """Draw which tokens are kept of sequences of these lengths, all first views before all second views."""
        half = len(lengths) // 2
        return self.first.cutoff.draw_masks(lengths[:half], rng) + self.second.cutoff.draw_masks(lengths[half:], rng)


@dataclass(frozen=True)
class PrecomputedViews:
    """Pairs of views that were made beforehand, the same at every draw."""

    first: Sequence[str]
    second: Sequence[str]
    changes_texts = True
    fixed = True
    draw_masks = Cutoff(0.0).draw_masks

    def select(self, rows: Sequence[int]) -> PrecomputedViews:
        """Return the views of some of the texts."""
        return PrecomputedViews([self.first[i] for i in rows], [self.second[i] for i in rows])

    def prepare(self, resources: AugmenterResources, rng: np.random.Generator) -> PrecomputedViews:
        """Return the views, which need no preparation."""
        return self

    def draw(self, rng: np.random.Generator, previous: ViewPair | None = None) -> ViewPair:
        """Return the texts of view 1 and view 2."""
        return self.first, self.second


Views = AugmentedViews | PrecomputedViews


def make_views(
    texts: Sequence[str], views: ViewLike | tuple[ViewLike, ViewLike], folder: Path | None = None
) -> AugmentedViews:
    """Return views of texts by a view specification or an augmenter, or by one for each view.

    Parameters
    ----------
    texts : sequence of str
        The texts.
    views : str, callable or a pair of these
        How the views are made.
    folder : Path, optional
        Where texts that are costly to make are cached; None: in rstc's part of the user's cache.
    """
    if isinstance(views, str):
        first, second = (_build_view(spec, folder) for spec in parse_view_specs(views))
    else:
        pair = views if isinstance(views, tuple) else (views, views)
        if len(pair) != 2:
            raise InputError(f"views must be one view specification or augmenter, or two of them, got {len(pair)}")
        first, second = (_as_view(view, folder) for view in pair)
    return AugmentedViews(texts, first, second)


def use_precomputed_views(
    texts: Sequence[str], first: Sequence[str | None], second: Sequence[str | None]
) -> PrecomputedViews:
    """Return precomputed pairs as views; a missing view is replaced by the text itself."""
    return PrecomputedViews(*([v or text for v, text in zip(view, texts, strict=True)] for view in (first, second)))


def _as_view(view: ViewLike, folder: Path | None) -> View:
    """Return a view by its specification or its augmenter."""
    return _build_view(parse_view_spec(view), folder) if isinstance(view, str) else View(as_augmenter(view))


def _build_view(spec: ViewSpec, folder: Path | None) -> View:
    """Return a view by the steps of its specification."""
    augmenters = tuple(_build_augmenter(step, folder) for step in spec if step.method not in ENCODER_METHODS)
    cutoff = next((step.share for step in spec if step.method == "cutoff"), 0.0)
    if len(augmenters) < 2:
        return View(augmenters[0] if augmenters else None, Cutoff(cutoff))
    return View(Composed(augmenters), Cutoff(cutoff))


def _build_augmenter(step: ViewStep, folder: Path | None) -> Augmenter:
    """Return the augmenter of a step."""
    if step.method == "contextual":
        return ContextualSubstitution(step.model or "", step.share, folder=folder)
    if step.method == "learned":
        return LearnedSubstitution(step.share, folder=folder)
    if step.method == "neighbours":
        return NearestTexts()
    return _AUGMENTERS[step.method](step.share)


_AUGMENTERS: dict[str, Callable[[float], Augmenter]] = {
    "deletion": WordDeletion,
    "swap": WordSwap,
    "typos": Typos,
    "synonyms": Synonyms,
}
