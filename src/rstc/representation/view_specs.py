"""View specifications: how views are made, in one line, such as "deletion@0.2+typos".

    specification = view ["," view]
    view          = step ("+" step)*
    step          = method [":" model] ["@" share]

A step is a method of `VIEW_METHODS`, for `contextual` with a model, and the share of words or tokens that it changes.
The steps of a view are applied in order. Without a comma, both views are made in the same way. The name of a model must
not contain these characters. Other views can be made by a function in Python.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches

from rstc.errors import InputError

VIEW_METHODS = {
    "virtual": "the text as it is: the encoder's dropout alone makes two views of it",
    "cutoff": "tokens left out on their way through the encoder",
    "deletion": "words left out",
    "swap": "neighbouring words in the other order",
    "typos": "words mistyped",
    "synonyms": "words replaced by near ones in the encoder's space",
    "learned": "words replaced by what the encoder, trained on these texts, expects in their place",
    "contextual": "words replaced by what a masked language model expects (contextual:MODEL)",
    "neighbours": "in the second view, one of the nearest texts",
}
METHODS_WITHOUT_SHARE = ("virtual", "neighbours")
ENCODER_METHODS = ("virtual", "cutoff")  # these do not change the text
DEFAULT_SHARE = 0.1
DEFAULT_AUGMENT_SPEC = "deletion"  # of `rstc augment`


@dataclass(frozen=True)
class ViewStep:
    """One step of a view specification.

    Attributes
    ----------
    method : str
        A key of `VIEW_METHODS`.
    share : float
        The share of words or tokens that are changed.
    model : str or None
        The masked language model of `contextual`.
    """

    method: str
    share: float = DEFAULT_SHARE
    model: str | None = None


ViewSpec = tuple[ViewStep, ...]  # the steps of one view


def parse_view_specs(spec: str) -> tuple[ViewSpec, ViewSpec]:
    """Parse the specification of both views.

    Parameters
    ----------
    spec : str
        One view, or two with a comma between them.

    Returns
    -------
    tuple of ViewSpec
        The steps of view 1 and of view 2.

    Examples
    --------
    >>> parse_view_specs("deletion@0.2+typos")[0]
    (ViewStep(method='deletion', share=0.2, model=None), ViewStep(method='typos', share=0.1, model=None))
    >>> [step.method for view in parse_view_specs("neighbours") for step in view]
    ['virtual', 'neighbours']
    """
    views = [parse_view_spec(view) for view in spec.split(",")]
    if len(views) > 2:
        raise InputError(f"the view specification {spec!r} describes {len(views)} views instead of one or two")
    if len(views) == 1 and any(step.method == "neighbours" for step in views[0]):
        # Two neighbours of a text may be less similar to each other than to the text.
        other_steps = tuple(step for step in views[0] if step.method != "neighbours")
        views = [other_steps or (ViewStep("virtual"),), views[0]]
    return views[0], views[-1]


def parse_view_spec(spec: str) -> ViewSpec:
    """Parse the specification of one view."""
    if "," in spec:
        raise InputError(f"the view specification {spec!r} describes more than one view")
    steps = [_parse_step(step.strip()) for step in spec.split("+")]
    if sum(step.method == "cutoff" for step in steps) > 1:
        raise InputError(f"the view specification {spec!r} has more than one cutoff")
    # Neighbours are looked up by the unchanged text, so they come before any change.
    return tuple(sorted(steps, key=lambda step: step.method != "neighbours"))


def _parse_step(step: str) -> ViewStep:
    """Parse one step: method[:model][@share]."""
    name, share = step, DEFAULT_SHARE
    before, at, after = step.rpartition("@")
    if at:
        try:
            name, share = before, float(after)
        except ValueError:
            raise InputError(
                f"the view specification {step!r} has the share {after!r}, which must be a number, as in deletion@0.1"
            ) from None
    method, colon, model = name.partition(":")
    if method not in VIEW_METHODS:
        matches = get_close_matches(method, VIEW_METHODS, n=1)
        hint = f"did you mean {matches[0]!r}?" if matches else f"choose from {', '.join(VIEW_METHODS)}"
        raise InputError(f"{method!r} in a view specification is not a method to make views; {hint}")
    if at and method in METHODS_WITHOUT_SHARE:
        raise InputError(f"the view specification {step!r} has a share, but {method} takes no share")
    if not 0 < share < 1:
        raise InputError(f"the view specification {step!r} has the share {share:g}, which must lie between 0 and 1")
    if method == "contextual" and not model:
        raise InputError(
            "the view specification 'contextual' needs a masked language model, as in contextual:roberta-base; "
            "'learned' needs none"
        )
    if colon and method != "contextual":
        raise InputError(f"the view specification {step!r} has a model, but {method} takes no model")
    return ViewStep(method, share, model or None)
