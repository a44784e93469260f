"""Presets, functions that return a `Config`, and how single settings of a preset are changed by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from difflib import get_close_matches
from typing import Any, Literal, get_args

from rstc.config.fields import Setting
from rstc.config.settings import SETTINGS, Config
from rstc.errors import InputError
from rstc.representation.encoder_choice import BUNDLED_NAME

Imbalance = Literal["balanced", "light", "heavy"]
PRESETS = ("default", "paper")

# What the authors' configuration varies from set to set: eps2, renewals, contrast_steps.
_PAPER_BY_IMBALANCE: dict[str, tuple[float, int, int]] = {
    "balanced": (0.1, 43, 0),  # 50 renewals in 4,000 steps
    "light": (0.01, 64, 600),  # 74
    "heavy": (0.001, 71, 600),  # 82
}


def default() -> Config:
    """Return the settings that are recommended, also on a CPU."""
    return Config()


def paper(imbalance: Imbalance = "balanced") -> Config:
    """Return the settings of the paper and of its authors' configuration.

    The authors spread the renewals over 4,000 steps and stop at 3,000; here they are spread over 3,000 steps, with the
    number of renewals that fall into them. Of the values that differ between data sets of like imbalance, the most
    common one is taken.

    Parameters
    ----------
    imbalance : {"balanced", "light", "heavy"}, default="balanced"
        How uneven the clusters are; sets `eps2`, `renewals` and `contrast_steps`.
    """
    if imbalance not in _PAPER_BY_IMBALANCE:
        raise InputError(f"imbalance={imbalance!r} must be one of {', '.join(map(repr, _PAPER_BY_IMBALANCE))}")
    eps2, renewals, contrast_steps = _PAPER_BY_IMBALANCE[imbalance]
    return Config(
        encoder=BUNDLED_NAME,
        pooling="mean",
        max_tokens=32,
        trainable_layers="all",
        views="deletion@0.1",
        start="kmeans",
        words=0.0,
        static=0.0,
        neighbours=0,
        swaps=False,
        unit_length=False,
        rounds=0,
        labels="saot",
        training="always",
        eps1=0.1,
        contrast_steps=contrast_steps,
        head_start=0.9,
        eps2=eps2,
        renewals=renewals,
        first_renewal=40,
        lambda_i=10.0,
        tau=1.0,
        encoder_lr=5e-6,
        max_steps=3000,
        max_epochs=0,
        max_fit_texts=0,
        row_order="given",
    )


def paper_values(name: str) -> list[Any]:
    """Return the values of a setting in the preset "paper": one, or where it depends on it, one for each imbalance.

    >>> paper_values("tau"), paper_values("eps2")
    ([1.0], [0.1, 0.01, 0.001])
    """
    values = [getattr(paper(imbalance), name) for imbalance in get_args(Imbalance)]
    return values if len(set(values)) > 1 else values[:1]


def make_config(preset: str = "default", settings: Mapping[str, Any] | None = None) -> Config:
    """Return a preset with some settings changed.

    Parameters
    ----------
    preset : {"default", "paper"}, default="default"
        Where the other settings come from.
    settings : mapping, optional
        Values by name of setting; with the preset "paper" also `imbalance`.

    Returns
    -------
    Config

    Examples
    --------
    >>> make_config("paper", {"imbalance": "heavy", "batch_size": 64}).eps2
    0.001
    """
    changes = dict(settings or {})
    imbalance = changes.pop("imbalance", None)
    if preset == "paper":
        base = paper(imbalance or "balanced")
    elif preset == "default":
        if imbalance is not None:
            raise InputError(f"imbalance={imbalance!r} is for preset 'paper' only; in preset 'default' set eps2 itself")
        base = default()
    else:
        raise InputError(f"preset={preset!r} must be one of {', '.join(map(repr, PRESETS))}")
    return replace(base, **{find_setting(name).name: value for name, value in changes.items()})


def find_setting(name: str) -> Setting:
    """Return the setting of this name; where there is none, the error proposes the most similar name."""
    if name in SETTINGS:
        return SETTINGS[name]
    matches = get_close_matches(name, SETTINGS, n=1)
    hint = f"did you mean {matches[0]!r}?" if matches else f"settings are {', '.join(SETTINGS)}, imbalance"
    raise InputError(f"there is no setting {name!r}; {hint}")


def parse_setting(assignment: str) -> tuple[str, Any]:
    """Split an assignment of the command line into the setting's name and a value of its type.

    A name that no setting has is returned with its text: `make_config` rejects it, or takes it for `imbalance`.

    Parameters
    ----------
    assignment : str
        As in "batch_size=64".

    Returns
    -------
    name : str
    value : bool, int, float or str

    Examples
    --------
    >>> parse_setting("trainable_layers=2"), parse_setting("class_contrast=false")
    (('trainable_layers', 2), ('class_contrast', False))
    >>> parse_setting('prompt="query: "')  # quotation marks keep spaces
    ('prompt', 'query: ')
    """
    name, equals, text = (part.strip() for part in assignment.partition("="))
    if not equals or not name:
        raise InputError(f"a setting is written NAME=VALUE, got {assignment!r}")
    if len(text) > 1 and text[0] == text[-1] == '"':
        text = text[1:-1]
    return name, SETTINGS[name].parse(text) if name in SETTINGS else text
