"""Every setting of a run: its default, its symbol in the paper, and the named presets.

A preset is a function that returns a Config. `default` is what we recommend on a CPU; `paper` is what the paper
and its authors' configuration say, as far as one preset can be.
"""

from __future__ import annotations

import math
import numbers
import types
import typing
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from difflib import get_close_matches
from typing import Any, Literal

import numpy as np

from rstc.errors import InputError
from rstc.representation.view_specs import read_recipe

Pooling = Literal["mean", "cls", "max", "model"]
LabelSource = Literal["crossfit", "saot", "ot-random", "ot-uniform", "ot-average", "ot-near"]
Precision = Literal["auto", "float32", "bfloat16", "float16"]
Start = Literal["auto", "kmeans", "linkage"]
Imbalance = Literal["balanced", "light", "heavy"]


@dataclass(frozen=True)
class Config:
    """The settings of a run. Symbols in brackets are the paper's."""

    # the encoder, Phi
    encoder: str | None = None  # folder or hub name of a Sentence-Transformers model; None: the embedded MiniLM
    pooling: Pooling = "mean"  # over the tokens of the last layer: mean, cls, max; model: the encoder's own
    max_tokens: int = 32  # maximum input length
    trainable_layers: int | Literal["all"] = 1  # how many of the last transformer layers learn; 0: none

    # the two networks on top, G_p and G_z
    dropout: float = 0.5  # in G_p
    projection_dim: int = 128  # D2

    # the two views, X1 and X2
    views: str | None = "cutoff@0.1"  # a recipe (representation/recipes.py); None: by an augmenter of the caller's

    # the first labels, and in "crossfit" all labels
    start: Start = "auto"  # k-means for even clusters, linkage for uneven ones; auto: both, and the data decide
    words: float = 1.0  # weight of the words beside the encoder, whose own is 1; 0: no words
    neighbours: int = 10  # the nearest texts, itself included, that a text is averaged with; 0: none
    swaps: bool = True  # whether each run of k-means is repaired by merging two clusters and splitting another
    kmeans_starts: int = 10  # runs of k-means, of which the best is kept; fewer where clusters are many
    unit_length: bool = True  # whether k-means sees the embeddings at length one; words and neighbours need it
    rounds: int = 3  # cross-fitted rounds: labels from models that have not seen them; 0: the start as it is
    contrast_steps: int = 0  # steps of L_I alone before the first labels
    head_start: float = 0.9  # G_p alone learns the first labels until it agrees with this share of them; 0: not

    # the renewal of pseudo-labels
    # where Q comes from: crossfit finds it anew as at the start; the others transport what the network predicts, to a b
    # that saot estimates (M1); that ot-random and ot-uniform hold fixed; that in ot-average follows the counts of the
    # predictions (M2) and in ot-near is found near the last one (M3), both beginning with a random b
    labels: LabelSource = "crossfit"
    eps1: float = 0.5  # [epsilon_1] weight of the plan's entropy
    eps2: float | Literal["auto"] = "auto"  # [epsilon_2] weight of the penalty on b; auto: by the sizes at the start
    transport_method: Literal["newton", "alternating"] = "newton"
    renewals: int = 2  # Q is renewed at the steps last * (i / (renewals - 1))^2 between first and last, and at the last
    first_renewal: int = 0  # no renewal before this many steps with L_C

    # texts that belong nowhere
    noise: float = 0.0  # put strange texts aside until so small a share of the others is expected to be; 0: none

    # the losses
    class_contrast: bool = True  # whether L_C is used; without it clusters come from k-means (RSTC-I)
    lambda_i: float = 1.0  # [lambda_I] weight of L_I; 0 leaves it out (RSTC-C)
    tau: float = 0.5  # [tau] temperature in L_I

    # the optimisation
    batch_size: int = 200  # [N] texts in a step
    encoder_lr: float = 1e-4  # learning rate of the encoder
    head_lr: float = 5e-4  # learning rate of G_p and G_z
    max_steps: int = 50  # the most steps, those of L_I alone included
    max_epochs: int = 20  # the most passes over the texts, for sets that are small; 0: no such limit
    delta: float = 0.01  # [delta] stop when fewer texts than this share change their cluster...
    stop_interval: int = 50  # ...between two renewals that are at least this many steps apart

    # the machine
    max_fit_texts: int = (
        100_000  # of more texts a sample trains that has room for the rare, the rest is predicted; 0: all
    )
    memory_gb: float = 0.0  # what a run may take, by an estimate before it starts; 0: what is free
    device: str = "auto"  # cpu, cuda, cuda:1, mps; auto: a GPU where there is one
    precision: Precision = "auto"  # of the encoder's arithmetic; auto: bfloat16 where the hardware has it
    cache_mb: int = 1024  # memory for what the frozen layers gave; beyond it a temporary file takes over
    cache_folder: str | None = None  # where it is kept for later runs on the same texts; None: nowhere

    def __post_init__(self) -> None:
        """Take numbers of any library as plain ones, and reject values that cannot be used."""
        for name, hint in _HINTS.items():
            object.__setattr__(self, name, _coerced(name, getattr(self, name), _kinds(hint)))
        for name, least in _AT_LEAST.items():
            if not getattr(self, name) >= least:
                raise InputError(f"{name}={getattr(self, name)!r} must be at least {least}")
        for name in ("eps1", "tau", "encoder_lr", "head_lr"):
            if not getattr(self, name) > 0:
                raise InputError(f"{name}={getattr(self, name)!r} must be positive")
        for name in ("dropout", "delta", "head_start", "noise"):
            if not 0 <= getattr(self, name) < 1:
                raise InputError(f"{name}={getattr(self, name)!r} must be from 0 up to, but not including, 1")
        for name, choices in _CHOICES.items():
            if getattr(self, name) not in choices:
                raise InputError(f"{name}={getattr(self, name)!r} is not one of {', '.join(choices)}")
        if self.eps2 != "auto" and (isinstance(self.eps2, str) or not self.eps2 >= 0):
            raise InputError(f"eps2={self.eps2!r} must be 'auto' or a number from 0 on")
        beside = self.words or self.neighbours or self.rounds or self.start != "kmeans" or self.labels == "crossfit"
        if not self.unit_length and beside:
            raise InputError(
                "unit_length=False goes with words=0, neighbours=0, rounds=0, start='kmeans' and labels of a transport"
            )
        if self.views is not None:
            read_recipe(self.views)
        layers = self.trainable_layers
        if layers != "all" and (isinstance(layers, str) or layers < 0):
            raise InputError(f"trainable_layers={layers!r} must be 'all' or a number from 0 on")
        if self.labels == "ot-near" and self.eps2 == 0:
            raise InputError("labels='ot-near' with eps2=0 holds b near nothing; eps2 must be positive")
        if not self.class_contrast and self.lambda_i == 0:
            raise InputError("class_contrast=False with lambda_i=0 leaves nothing to learn from")
        if not self.class_contrast and layers == 0:
            raise InputError("class_contrast=False with trainable_layers=0 changes nothing that clusters come from")

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as plain values."""
        return asdict(self)


_AT_LEAST: dict[str, float] = {
    "max_tokens": 3,
    "projection_dim": 1,
    "kmeans_starts": 1,
    "contrast_steps": 0,
    "words": 0,
    "neighbours": 0,
    "rounds": 0,
    "renewals": 1,
    "first_renewal": 0,
    "lambda_i": 0,
    "batch_size": 2,
    "max_steps": 1,
    "max_epochs": 0,
    "stop_interval": 1,
    "max_fit_texts": 0,
    "cache_mb": 0,
    "memory_gb": 0,
}
_HINTS = typing.get_type_hints(Config)
_CHOICES = {
    name: typing.get_args(_HINTS[name]) for name in ("pooling", "start", "labels", "transport_method", "precision")
}


def _coerced(name: str, value: Any, kinds: tuple[Any, ...]) -> Any:
    """Return a value as one of the plain types that a setting may have."""
    if value is None and type(None) in kinds:
        return None
    if isinstance(value, str) and str in kinds:
        return value
    if isinstance(value, (bool, np.bool_)):
        if bool in kinds:
            return bool(value)
    elif isinstance(value, numbers.Integral) and (int in kinds or float in kinds):
        return int(value) if int in kinds else float(value)
    elif isinstance(value, numbers.Real) and float in kinds and math.isfinite(value):
        return float(value)
    raise InputError(f"{name}={value!r} is not a value for this setting")


def default() -> Config:
    """Return the settings we recommend on a CPU."""
    return Config()


def paper(imbalance: Imbalance = "balanced") -> Config:
    """Return the paper's settings for data of a declared imbalance.

    The paper sets eps2 by imbalance; its authors' configuration also varies the number of renewals and the steps
    of L_I alone from set to set, of which each group's most common value is taken here. They lay the renewals out
    over 4,000 steps and stop at 3,000; here it is 3,000 steps with the renewals that fall into them.
    """
    try:
        eps2, renewals, contrast_steps = _PAPER_BY_IMBALANCE[imbalance]
    except KeyError:
        raise InputError(f"imbalance={imbalance!r} is not one of {', '.join(_PAPER_BY_IMBALANCE)}") from None
    return Config(
        trainable_layers="all",
        views="deletion@0.1",
        start="kmeans",
        words=0.0,
        neighbours=0,
        swaps=False,
        unit_length=False,
        rounds=0,
        labels="saot",
        eps1=0.1,
        contrast_steps=contrast_steps,
        head_start=0.0,
        eps2=eps2,
        renewals=renewals,
        first_renewal=40,
        lambda_i=10.0,
        tau=1.0,
        encoder_lr=5e-6,
        max_steps=3000,
        max_epochs=0,
        max_fit_texts=0,
    )


_PAPER_BY_IMBALANCE: dict[str, tuple[float, int, int]] = {
    "balanced": (0.1, 43, 0),  # of 50 in 4,000 steps
    "light": (0.01, 64, 600),  # of 74
    "heavy": (0.001, 71, 600),  # of 82
}
PRESETS = ("default", "paper")


def make_config(preset: str = "default", settings: Mapping[str, Any] | None = None) -> Config:
    """Return a preset with some settings changed; `imbalance` is a setting of the preset `paper`.

    >>> make_config("paper", {"imbalance": "heavy", "batch_size": 64}).eps2
    0.001
    """
    changes = dict(settings or {})
    imbalance = changes.pop("imbalance", None)
    if preset == "paper":
        base = paper(imbalance or "balanced")
    elif preset == "default":
        if imbalance is not None:
            raise InputError("imbalance is declared in preset 'paper' only; in 'default' set eps2 itself")
        base = default()
    else:
        raise InputError(f"preset={preset!r} is not one of {', '.join(PRESETS)}")
    for name in changes:
        if name not in _HINTS:
            near = get_close_matches(name, _HINTS, n=1)
            raise InputError(
                f"there is no setting {name!r}; "
                + (f"did you mean {near[0]!r}?" if near else f"settings are {', '.join(_HINTS)}, imbalance")
            )
    return replace(base, **changes)


def parse_setting(assignment: str) -> tuple[str, Any]:
    """Turn "name=value" from a command line into the name and a value of the setting's type.

    >>> parse_setting("trainable_layers=2"), parse_setting("class_contrast=false")
    (('trainable_layers', 2), ('class_contrast', False))
    """
    name, equals, text = assignment.partition("=")
    name, text = name.strip(), text.strip()
    if not equals or not name:
        raise InputError(f"a setting is written name=value, got {assignment!r}")
    if name not in _HINTS:
        return name, text  # make_config says which names there are
    for kind in _kinds(_HINTS[name]):
        if kind in _PARSERS:
            try:
                return name, _PARSERS[kind](text)
            except ValueError:
                continue
    raise InputError(f"{name}={text!r} is not a value for this setting")


def _kinds(hint: Any) -> tuple[Any, ...]:
    """Flatten a type hint into the plain types a value may have, narrow ones first."""
    origin = typing.get_origin(hint)
    if origin is Literal:
        return (str,)
    if origin in (typing.Union, types.UnionType):
        return tuple(kind for part in typing.get_args(hint) for kind in _kinds(part))
    return (hint,)


def _parse_bool(text: str) -> bool:
    truth = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
    if text.lower() not in truth:
        raise ValueError(text)
    return truth[text.lower()]


_PARSERS: dict[Any, Any] = {bool: _parse_bool, int: int, float: float, str: str}
