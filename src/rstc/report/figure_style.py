"""What all figures share: names cut to a length, and axes without a frame."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_NAME_LENGTH = 28  # characters of a name in a figure


def shorten_name(name: str, max_length: int = MAX_NAME_LENGTH) -> str:
    """Cut a name to a length and escape what matplotlib would read as mathematics.

    >>> shorten_name("late parcels", 6), shorten_name("$ and $", 20)
    ('late …', '\\\\$ and \\\\$')
    """
    return (name if len(name) <= max_length else name[: max_length - 1] + "…").replace("$", r"\$")


def remove_frame(axes: Axes) -> None:
    """Remove the lines above and to the right of a figure's axes."""
    axes.spines[["top", "right"]].set_visible(False)
