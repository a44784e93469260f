"""The interface of augmenters, their composition, and the conversion of functions to augmenters.

An augmenter is a callable `(texts, rng) -> texts` with two optional members. `prepare(texts, resources)` returns the
augmenter that does the work, for one that has to see all texts or the encoder first. `draw_once = True` keeps the
result for all epochs.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np
import torch

from rstc.errors import InputError
from rstc.representation.encoder import Encoder

Augmenter = Callable[[Sequence[str], np.random.Generator], list[str]]
ProgressCallback = Callable[[int, int], None]  # done, total
Resource = TypeVar("Resource")

_GENERATOR_NAMES = ("rng", "generator", "random_state")
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_DEPRECATED_HOOKS = {"prepared": "prepare", "lasting": "draw_once"}


@dataclass
class AugmenterResources:
    """Resources for the preparation of augmenters.

    Parameters
    ----------
    load : callable
        Returns the encoder; called when an augmenter first uses `encoder`.
    device : torch.device
        Where models compute.
    progress : callable, optional
        Called with the number of done and of all items.
    """

    load: Callable[[], Encoder]
    device: torch.device
    progress: ProgressCallback | None = None
    _cache: dict[str, Any] = field(default_factory=dict, repr=False)

    @cached_property
    def encoder(self) -> Encoder:
        """The encoder, loaded on first use."""
        return self.load()

    def get_or_create(self, name: str, create: Callable[[], Resource]) -> Resource:
        """Return the resource of that name, created on first use: both views may need the same model."""
        if name not in self._cache:
            self._cache[name] = create()
        resource: Resource = self._cache[name]
        return resource

    def release(self) -> None:
        """Free the created resources; they are created again on the next use."""
        self._cache.clear()


@runtime_checkable
class Preparable(Protocol):
    """An augmenter that has to see all texts, or a resource, before it changes any text."""

    def prepare(self, texts: Sequence[str], resources: AugmenterResources) -> Augmenter:
        """Return the augmenter that does the work."""


@dataclass(frozen=True)
class Composed:
    """Apply several augmenters one after the other.

    Parameters
    ----------
    parts : tuple of augmenters
        Callables of `(texts, rng)` or of `texts` alone, in the order in which they are applied.

    Attributes
    ----------
    draw_once : bool
        Whether the result is kept for all epochs, which holds if it does for any part.
    """

    parts: tuple[Augmenter, ...]

    def __post_init__(self) -> None:
        """Wrap parts that are plain functions of texts."""
        object.__setattr__(self, "parts", tuple(as_augmenter(part) for part in self.parts))

    @property
    def draw_once(self) -> bool:
        """Whether the result is kept for all epochs."""
        return any(is_drawn_once(part) for part in self.parts)

    def prepare(self, texts: Sequence[str], resources: AugmenterResources) -> Composed:
        """Prepare each part for the unchanged texts."""
        return Composed(tuple(prepare_augmenter(part, texts, resources) for part in self.parts))

    def __call__(self, texts: Sequence[str], rng: np.random.Generator) -> list[str]:
        """Return the texts, changed by each part in turn."""
        for part in self.parts:
            texts = apply_augmenter(part, texts, rng)
        return list(texts)


@dataclass(frozen=True)
class FunctionAugmenter:
    """A user's function of texts alone. It is called once, since its result may depend on anything."""

    function: Callable[[list[str]], Sequence[Any]]
    draw_once = True

    def __call__(self, texts: Sequence[str], rng: np.random.Generator) -> list[str]:
        """Return the result of the function."""
        return list(self.function(list(texts)))


def as_augmenter(function: Callable[..., Any]) -> Augmenter:
    """Return a function of `(texts, rng)`, or of `texts` alone, as an augmenter.

    Parameters
    ----------
    function : callable
        It gets a generator if its second positional parameter has no default or is named `rng`, `generator` or
        `random_state`.

    Returns
    -------
    Augmenter
        `function` itself, or a `FunctionAugmenter` around it.

    Examples
    --------
    >>> as_augmenter(lambda texts: [text.upper() for text in texts])(["late"], np.random.default_rng(0))
    ['LATE']
    """
    if not callable(function):
        raise InputError(f"an augmenter must be a function of texts, got {function!r}")
    for old, new in _DEPRECATED_HOOKS.items():
        if hasattr(function, old) and not hasattr(function, new):
            warnings.warn(
                f"an augmenter's `{old}` is deprecated, rename it to `{new}`", DeprecationWarning, stacklevel=2
            )
    try:
        parameters = [p for p in inspect.signature(function).parameters.values() if p.kind in _POSITIONAL]
    except ValueError:  # some built-in functions have no signature
        parameters = []
    if len(parameters) > 1:
        second = parameters[1]
        if second.default is inspect.Parameter.empty or second.name in _GENERATOR_NAMES:
            return function
    return FunctionAugmenter(function)


def prepare_augmenter(augmenter: Augmenter, texts: Sequence[str], resources: AugmenterResources) -> Augmenter:
    """Prepare an augmenter for the texts if it has to be prepared."""
    if isinstance(augmenter, Preparable):
        return augmenter.prepare(texts, resources)
    deprecated: Callable[..., Augmenter] | None = getattr(augmenter, "prepared", None)
    return augmenter if deprecated is None else deprecated(texts, resources)


def is_drawn_once(augmenter: Augmenter | None) -> bool:
    """Whether an augmenter's result is kept for all epochs, rather than drawn anew in each."""
    return augmenter is None or bool(getattr(augmenter, "draw_once", getattr(augmenter, "lasting", False)))


def apply_augmenter(augmenter: Augmenter | None, texts: Sequence[str], rng: np.random.Generator) -> list[str]:
    """Return a changed version of each text; a text whose version would be empty stays as it is.

    >>> apply_augmenter(lambda texts, rng: ["", "gone"], ["stays", "goes"], np.random.default_rng(0))
    ['stays', 'gone']
    """
    if augmenter is None:
        return list(texts)
    versions = augmenter(texts, rng)
    if len(versions) != len(texts):
        raise InputError(f"the augmenter returned {len(versions)} texts for {len(texts)}; it must return one for each")
    for version in versions:
        if not isinstance(version, str):
            raise InputError(f"the augmenter returned {version!r}, which is not a text")
    # Tokenizers refuse lone surrogates, which are no characters.
    versions = [version.encode("utf-8", "replace").decode("utf-8") for version in versions]
    return [version if version.strip() else text for version, text in zip(versions, texts, strict=True)]


def check_share(share: float) -> None:
    """Raise an error if a share of words is not between 0 and 1."""
    if not 0 <= share <= 1:
        raise InputError(f"share={share!r} must lie between 0 and 1")
