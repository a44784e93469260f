"""Pictures of a run for slides: map, sizes and training curves, from the same data as the page."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rstc.errors import InputError
from rstc.runtime.optional import from_extra
from rstc.report.colours import GREY, HUES, colour_of
from rstc.results.corrected_run import RunNow

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NAMES_ON_THE_MAP = 30
LONGEST_NAME = 28
LARGEST = 100  # clusters in the picture of sizes
CURVES = {
    "loss_class": "class-wise loss",
    "loss_instance": "instance-wise loss",
    "clusters": "clusters predicted",
    "moved": "share of texts that changed cluster",
    "confidence": "mean confidence",
}


def write_figures(run: RunNow, out: Path) -> list[Path]:
    """Draw map, sizes and curves of a run into a folder, each as PNG and SVG; return the files."""
    mpl = from_extra("matplotlib", "figures")
    from matplotlib.figure import Figure

    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise InputError(f"{out} cannot be written: {problem.strerror or problem}") from problem
    written = []
    draws: dict[str, Callable[[Figure, RunNow], None]] = {"map": draw_map, "sizes": draw_sizes, "curves": draw_curves}
    with mpl.rc_context({"svg.hashsalt": "rstc", "font.size": 9}):
        for name, draw in draws.items():
            figure = Figure(figsize=(8, 5.5), layout="constrained")
            draw(figure, run)
            for suffix in ("png", "svg"):
                path = out / f"{name}.{suffix}"
                figure.savefig(path, dpi=200, metadata={"Date": None} if suffix == "svg" else None)
                written.append(path)
    return written


def draw_map(figure: Figure, run: RunNow) -> None:
    """Draw each text as a point in its cluster's colour, with the names of the larger clusters."""
    axes = figure.add_subplot()
    places, clusters = run.points.places.astype(float), run.clusters
    colours = np.array([colour_of(cluster) for cluster in range(int(clusters.max(initial=0)) + 1)] + [GREY])
    axes.scatter(
        places[:, 0],
        places[:, 1],
        s=max(0.5, min(20.0, 8000 / len(places))),
        c=colours[clusters],
        linewidths=0,
        alpha=0.8,
        rasterized=True,
    )
    for one in sorted(run.entries(), key=lambda one: -one["size"])[:NAMES_ON_THE_MAP]:
        x, y = np.median(places[clusters == one["cluster"]], axis=0)
        axes.annotate(
            _short(one["name"]),
            (x, y),
            ha="center",
            fontsize=8,
            weight="bold",
            bbox={"fc": "white", "ec": "none", "alpha": 0.7, "pad": 1},
        )
    axes.invert_yaxis()  # as on the page, where y goes down
    axes.set_aspect("equal")
    axes.set_axis_off()


def draw_sizes(figure: Figure, run: RunNow) -> None:
    """Draw the share of each cluster, counted (bars) and estimated by the transport (marks)."""
    from matplotlib.patches import Patch

    axes = figure.add_subplot()
    entries = sorted(run.entries(), key=lambda one: one["size"])[-LARGEST:]
    if len(run.entries()) > LARGEST:
        axes.set_title(f"the {LARGEST} largest of {len(run.entries())} clusters", fontsize=9)
    figure.set_figheight(max(3.0, 0.22 * len(entries) + 1))
    rows = np.arange(len(entries))
    axes.barh(rows, [100 * one["share"] for one in entries], color=[colour_of(one["cluster"]) for one in entries])
    estimated = [(100 * one["estimated_share"], row) for row, one in enumerate(entries) if one["estimated_share"]]
    handles: list[Any] = [Patch(color=GREY, label="counted")]
    if estimated:
        handles += axes.plot(*zip(*estimated, strict=True), "|", color="black", ms=9, label="estimated (b)")
    axes.set_yticks(rows, [_short(one["name"]) for one in entries])
    axes.set_xlabel("share of the texts, %")
    axes.legend(handles=handles, loc="lower right", frameon=False)
    _without_frame(axes)


def draw_curves(figure: Figure, run: RunNow) -> None:
    """Draw what was seen at each renewal of the labels."""
    losses = [
        {"step": step, "loss_class": L_C, "loss_instance": L_I}
        for step, (L_C, L_I) in enumerate(run.summary["losses"], start=1)
    ]
    history: list[dict[str, Any]] = losses + [
        {name: value for name, value in entry.items() if not name.startswith("loss")}
        for entry in run.summary["history"]
    ]
    shown = {name: said for name, said in CURVES.items() if any(entry.get(name) is not None for entry in history)}
    all_axes = np.atleast_1d(figure.subplots(2, 3)).ravel()
    for axes, (name, said) in zip(all_axes, shown.items(), strict=False):
        seen = [entry for entry in history if entry.get(name) is not None]
        axes.plot(
            [entry["step"] for entry in seen],
            [entry[name] for entry in seen],
            color=HUES[0],
            marker="o" if len(seen) < 40 else "",
            ms=3,
        )
        axes.set_title(said, fontsize=9)
        axes.set_xlabel("step")
        axes.set_ylim(0, 1.08 * max(max(entry[name] for entry in seen), 1e-9))
        _without_frame(axes)
    for axes in all_axes[len(shown) :]:
        axes.set_axis_off()


def _short(name: str) -> str:
    """Return a name that fits, without what matplotlib would read as mathematics."""
    return (name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 1] + "…").replace("$", r"\$")


def _without_frame(axes: Axes) -> None:
    axes.spines[["top", "right"]].set_visible(False)
