"""How views are asked for in one line: "deletion@0.2+typos", or "contextual:roberta-base,contextual:bert-base-uncased".

A way to change a text is a name, a model for `contextual`, and a share of the words after an @. Several in a row are
joined by +. A comma parts view 1 from view 2; without one, both are made in the same way. So a model's name holds none
of these signs; a function given in Python may do what a recipe cannot say.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches

from rstc.errors import InputError

WAYS = {
    "virtual": "the text as it is: the encoder's dropout alone makes two views of it",
    "cutoff": "tokens left out on their way through the encoder",
    "deletion": "words left out",
    "swap": "neighbouring words in the other order",
    "typos": "words mistyped",
    "synonyms": "words replaced by near ones in the encoder's space",
    "learned": "words replaced by what the encoder, taught on these texts, expects in their place",
    "contextual": "words replaced by what a masked language model expects (contextual:MODEL)",
    "neighbours": "in the second view, one of the nearest texts",
}
WITHOUT_SHARE = ("virtual", "neighbours")
IN_THE_ENCODER = ("virtual", "cutoff")  # no text is changed
DEFAULT_SHARE = 0.1
TO_WRITE = "deletion"  # what `rstc augment` does unless told otherwise


@dataclass(frozen=True)
class Step:
    """One way to change a text: its name in WAYS, the share of words or tokens, and the model of `contextual`."""

    way: str
    share: float = DEFAULT_SHARE
    model: str | None = None


Steps = tuple[Step, ...]


def read_recipe(recipe: str) -> tuple[Steps, Steps]:
    """Return the steps to view 1 and to view 2.

    >>> read_recipe("deletion@0.2+typos")[0]
    (Step(way='deletion', share=0.2, model=None), Step(way='typos', share=0.1, model=None))
    >>> [step.way for view in read_recipe("neighbours") for step in view]
    ['virtual', 'neighbours']
    """
    views = [read_view(view) for view in recipe.split(",")]
    if len(views) > 2:
        raise InputError(f"views={recipe!r} describes {len(views)} views; there are two")
    if len(views) == 1 and any(step.way == "neighbours" for step in views[0]):
        # Two neighbours of a text may have less to do with each other than either has with it.
        others = tuple(step for step in views[0] if step.way != "neighbours")
        views = [others or (Step("virtual"),), views[0]]
    return views[0], views[-1]


def read_view(recipe: str) -> Steps:
    """Return the steps to one view."""
    if "," in recipe:
        raise InputError(f"{recipe!r} describes more than one view")
    steps = [_step(part.strip()) for part in recipe.split("+")]
    if sum(step.way == "cutoff" for step in steps) > 1:
        raise InputError(f"{recipe!r} has more than one cutoff")
    # A text's neighbours are those of the text as it is, so they come before any change.
    return tuple(sorted(steps, key=lambda step: step.way != "neighbours"))


def _step(part: str) -> Step:
    """Read one step: name[:model][@share]."""
    name, share = part, DEFAULT_SHARE
    before, at, after = part.rpartition("@")
    if at:
        try:
            name, share = before, float(after)
        except ValueError:
            raise InputError(f"{part!r} has {after!r} for a share; it must be a number, as in deletion@0.1") from None
    way, colon, model = name.partition(":")
    if way not in WAYS:
        near = get_close_matches(way, WAYS, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(WAYS)}"
        raise InputError(f"{way!r} is no way to make a view; {hint}")
    if at and way in WITHOUT_SHARE:
        raise InputError(f"{way} takes no share, got {part!r}")
    if not 0 < share < 1:
        raise InputError(f"{part!r} has the share {share:g}; it must lie between 0 and 1")
    if way == "contextual" and not model:
        raise InputError("contextual needs a masked language model: contextual:roberta-base, say; `learned` needs none")
    if colon and way != "contextual":
        raise InputError(f"{way} takes no model, got {part!r}")
    return Step(way, share, model or None)
