"""The figure of the map: each text as a point in the colour of its cluster, with the clusters' names beside them."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rstc.report.colours import GREY
from rstc.report.label_placement import find_anchor, place_labels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MAX_NAMES_ON_MAP = 60
LINE_LENGTH = 20  # characters of a line of a name, of which there are at most two
FONT_SIZE = 8.0
SEED = 0  # of the order in which points are drawn
MARGIN = 0.03  # of the map's extent, around it
TEXT_SHADE = 0.62  # how much darker a name is than its points


def draw_map(
    figure: Figure,
    layout: NDArray[Any],
    clusters: NDArray[np.int64],
    names: Mapping[int, str],
    colours: Mapping[int, str],
) -> None:
    """Draw a map of texts.

    The largest clusters are named; a name that does not fit beside its cluster is connected with it by a line.

    Parameters
    ----------
    figure : Figure
        An empty figure, which the map fills.
    layout : array of float, shape (N, 2)
        Position of each text; y points down, as on the page.
    clusters : array of int, shape (N,)
        The cluster of each text, negative for none.
    names : mapping
        The name of each cluster.
    colours : mapping
        The colour of each cluster in hexadecimal.
    """
    from matplotlib.patheffects import withStroke

    figure.set_layout_engine("none")
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    width, height = figure.get_size_inches() * 72  # points, the unit of font sizes
    points = _fit(layout, width, height)
    axes.set_xlim(0, width)
    axes.set_ylim(0, height)

    order = np.random.default_rng(SEED).permutation(len(points))  # no cluster hides the others
    order = order[np.argsort(clusters[order] >= 0, kind="stable")]  # but texts without cluster are behind all
    shown = np.array([colours.get(cluster, GREY) for cluster in range(int(clusters.max(initial=0)) + 1)] + [GREY])
    axes.scatter(
        points[order, 0],
        points[order, 1],
        s=max(0.8, min(22.0, 12_000 / max(len(points), 1))),
        c=shown[clusters[order]],
        linewidths=0,
        alpha=0.75,
        rasterized=True,
    )

    sizes = {cluster: int((clusters == cluster).sum()) for cluster in names}
    named = sorted((cluster for cluster in names if sizes[cluster]), key=lambda cluster: -sizes[cluster])
    labels = [
        axes.text(
            0,
            0,
            wrap_name(names[cluster]),
            ha="center",
            va="center",
            fontsize=FONT_SIZE,
            weight="bold",
            linespacing=1.0,
            color=_darken(colours.get(cluster, GREY)),
            path_effects=[withStroke(linewidth=2.5, foreground="white", alpha=0.85)],
            parse_math=False,
            zorder=4,
        )
        for cluster in named[:MAX_NAMES_ON_MAP]
    ]
    if not labels:
        return
    scale = 72 / figure.dpi
    extents = np.array([(box.width, box.height) for box in (label.get_window_extent() for label in labels)]) * scale
    anchors = np.array([find_anchor(points[clusters == cluster]) for cluster in named[: len(labels)]])
    places = place_labels(anchors, extents, points, width, height)
    for cluster, label, anchor, place in zip(named, labels, anchors, places, strict=False):
        if place is None:
            label.remove()
            continue
        label.set_position((place.x, place.y))
        if place.is_moved:
            colour = _darken(colours.get(cluster, GREY))
            axes.plot([anchor[0], place.x], [anchor[1], place.y], color="white", lw=1.8, alpha=0.7, zorder=2)
            axes.plot([anchor[0], place.x], [anchor[1], place.y], color=colour, lw=0.7, zorder=3)
            axes.plot(*anchor, "o", color=colour, ms=2.5, zorder=3)


def wrap_name(name: str) -> str:
    """Return a name in at most two lines.

    >>> wrap_name("late parcel, courier, tracking, depot")
    'late parcel,\\ncourier, tracking, …'
    """
    return "\n".join(
        textwrap.wrap(name, LINE_LENGTH, max_lines=2, placeholder=" …", break_on_hyphens=False) or [name[:LINE_LENGTH]]
    )


def _fit(layout: NDArray[Any], width: float, height: float) -> NDArray[np.float64]:
    """Return positions that fill the middle of a figure, all directions at the same scale, with y pointing up."""
    points = np.asarray(layout, dtype=np.float64) * (1, -1)
    low, high = points.min(axis=0), points.max(axis=0)
    free = np.array([width, height]) * (1 - 2 * MARGIN)
    scale = float((free / np.maximum(high - low, 1e-9)).min())
    return np.asarray((points - (low + high) / 2) * scale + np.array([width, height]) / 2)


def _darken(colour: str) -> str:
    """Return a colour in which text is readable on white."""
    channels = [int(int(colour[start : start + 2], 16) * TEXT_SHADE) for start in (1, 3, 5)]
    return "#" + "".join(f"{channel:02x}" for channel in channels)
