"""What an augmenter is, how several become one, and how any function of texts becomes one."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np
import torch

from rstc.errors import InputError
from rstc.representation.encoder import Encoder

Augmenter = Callable[[Sequence[str], np.random.Generator], list[str]]
Advance = Callable[[int, int], None]  # done, total
Made = TypeVar("Made")

_GENERATOR_NAMES = ("rng", "generator", "random_state")
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


@dataclass
class Tools:
    """What augmenters may need: an encoder, loaded when it is first asked for; a device; a listener; other models."""

    load: Callable[[], Encoder]
    device: torch.device
    advance: Advance | None = None
    _made: dict[str, Any] = field(default_factory=dict, repr=False)

    @cached_property
    def encoder(self) -> Encoder:
        """The encoder."""
        return self.load()

    def once(self, name: str, make: Callable[[], Made]) -> Made:
        """Return what is called so, made when it is first asked for: both views may need the same model."""
        if name not in self._made:
            self._made[name] = make()
        made: Made = self._made[name]
        return made

    def put_away(self) -> None:
        """Let go of what was made; it is made again if it is asked for."""
        self._made.clear()


@runtime_checkable
class GetsReady(Protocol):
    """An augmenter that has to see all texts, or a tool, before it changes any."""

    def prepared(self, texts: Sequence[str], tools: Tools) -> Augmenter:
        """Return the augmenter that does the work."""


@dataclass(frozen=True)
class Composed:
    """Several augmenters, one after the other."""

    parts: tuple[Augmenter, ...]

    def __post_init__(self) -> None:
        """Take plain functions too."""
        object.__setattr__(self, "parts", tuple(as_augmenter(part) for part in self.parts))

    @property
    def lasting(self) -> bool:
        """Whether what it makes is worth keeping for all epochs: if that of any part is."""
        return any(lasts(part) for part in self.parts)

    def prepared(self, texts: Sequence[str], tools: Tools) -> Composed:
        """Prepare the parts, each for the texts as they are given."""
        return Composed(tuple(prepared(part, texts, tools) for part in self.parts))

    def __call__(self, texts: Sequence[str], rng: np.random.Generator) -> list[str]:
        """Return the texts, changed by each part in turn."""
        for part in self.parts:
            texts = changed(part, texts, rng)
        return list(texts)


@dataclass(frozen=True)
class PlainFunction:
    """A user's function of texts alone: as its result may depend on anything, it is asked once."""

    function: Callable[[list[str]], Sequence[Any]]
    lasting = True

    def __call__(self, texts: Sequence[str], rng: np.random.Generator) -> list[str]:
        """Return what the function makes of the texts."""
        return list(self.function(list(texts)))


def as_augmenter(function: Callable[..., Any]) -> Augmenter:
    """Return a function of (texts, rng), or of texts alone, as an augmenter.

    It takes a generator if its second argument must be given, or is called like one.

    >>> as_augmenter(lambda texts: [text.upper() for text in texts])(["late"], np.random.default_rng(0))
    ['LATE']
    """
    if not callable(function):
        raise InputError(f"an augmenter is a function of texts, got {function!r}")
    try:
        parameters = [one for one in inspect.signature(function).parameters.values() if one.kind in _POSITIONAL]
    except ValueError:  # built-in functions may not tell what they take
        parameters = []
    if len(parameters) > 1:
        second = parameters[1]
        if second.default is inspect.Parameter.empty or second.name in _GENERATOR_NAMES:
            return function
    return PlainFunction(function)


def prepared(augmenter: Augmenter, texts: Sequence[str], tools: Tools) -> Augmenter:
    """Return an augmenter that has seen what it needs."""
    return augmenter.prepared(texts, tools) if isinstance(augmenter, GetsReady) else augmenter


def lasts(augmenter: Augmenter | None) -> bool:
    """Whether what an augmenter makes is to be kept for all epochs, rather than made anew in each."""
    return augmenter is None or bool(getattr(augmenter, "lasting", False))


def changed(augmenter: Augmenter | None, texts: Sequence[str], rng: np.random.Generator) -> list[str]:
    """Return a changed version of each text; the text itself stands in where there would be none.

    >>> changed(lambda texts, rng: ["", "gone"], ["stays", "goes"], np.random.default_rng(0))
    ['stays', 'gone']
    """
    if augmenter is None:
        return list(texts)
    made = augmenter(texts, rng)
    if len(made) != len(texts):
        raise InputError(f"the augmenter made {len(made)} texts of {len(texts)}; it must return one for each")
    for one in made:
        if not isinstance(one, str):
            raise InputError(f"the augmenter returned {one!r}, which is not a text")
    # A lone surrogate is no character; the tokenizer refuses it.
    made = [one.encode("utf-8", "replace").decode("utf-8") for one in made]
    return [one if one.strip() else text for one, text in zip(made, texts, strict=True)]


def check_share(share: float) -> None:
    """Refuse what is no share of words."""
    if not 0 <= share <= 1:
        raise InputError(f"share={share!r} must lie between 0 and 1")
