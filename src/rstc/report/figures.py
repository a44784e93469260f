"""Figures of a run for slides: map, sizes and training curves, from the same data as the page."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rstc.errors import InputError
from rstc.report.colours import GREY, HUES, colour_run
from rstc.results.corrected_run import CorrectedRun
from rstc.runtime.optional import import_optional

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MAX_NAMES_ON_MAP = 30
MAX_NAME_LENGTH = 28  # characters of a name in a figure
MAX_BARS = 100  # clusters in the figure of sizes
CURVES = {
    "loss_class": "class-wise loss",
    "loss_instance": "instance-wise loss",
    "clusters": "clusters predicted",
    "moved": "share of texts that changed cluster",
    "confidence": "mean confidence",
}


def write_figures(run: CorrectedRun, out: Path) -> list[Path]:
    """Draw the map, the sizes and the training curves of a run, each as PNG and SVG.

    Parameters
    ----------
    run : CorrectedRun
        The run.
    out : Path
        The folder to write to.

    Returns
    -------
    list of Path
        The files.
    """
    mpl = import_optional("matplotlib", "figures")
    from matplotlib.figure import Figure

    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{out} cannot be written: {error.strerror or error}") from error
    paths = []
    figures: dict[str, Callable[[Figure, CorrectedRun], None]] = {
        "map": draw_map,
        "sizes": draw_sizes,
        "curves": draw_curves,
    }
    with mpl.rc_context({"svg.hashsalt": "rstc", "font.size": 9}):
        for name, draw in figures.items():
            figure = Figure(figsize=(8, 5.5), layout="constrained")
            draw(figure, run)
            for suffix in ("png", "svg"):
                path = out / f"{name}.{suffix}"
                figure.savefig(path, dpi=200, metadata={"Date": None} if suffix == "svg" else None)
                paths.append(path)
    return paths


def draw_map(figure: Figure, run: CorrectedRun) -> None:
    """Draw each text as a point in the colour of its cluster, with the names of the largest clusters."""
    axes = figure.add_subplot()
    layout, clusters = run.points.layout.astype(float), run.clusters
    by_cluster = colour_run(run)
    colours = np.array([by_cluster.get(cluster, GREY) for cluster in range(int(clusters.max(initial=0)) + 1)] + [GREY])
    axes.scatter(
        layout[:, 0],
        layout[:, 1],
        s=max(0.5, min(20.0, 8000 / len(layout))),
        c=colours[clusters],
        linewidths=0,
        alpha=0.8,
        rasterized=True,
    )
    for entry in sorted(run.entries(), key=lambda entry: -entry.size)[:MAX_NAMES_ON_MAP]:
        x, y = np.median(layout[clusters == entry.cluster], axis=0)
        axes.annotate(
            _shorten_name(entry.name),
            (x, y),
            ha="center",
            fontsize=8,
            weight="bold",
            bbox={"fc": "white", "ec": "none", "alpha": 0.7, "pad": 1},
        )
    axes.invert_yaxis()  # as on the page, where y points down
    axes.set_aspect("equal")
    axes.set_axis_off()


def draw_sizes(figure: Figure, run: CorrectedRun) -> None:
    """Draw the share of each cluster, as counted (bars) and as estimated by the transport (marks)."""
    from matplotlib.patches import Patch

    axes = figure.add_subplot()
    all_entries = run.entries()
    entries = sorted(all_entries, key=lambda entry: entry.size)[-MAX_BARS:]
    if len(all_entries) > MAX_BARS:
        axes.set_title(f"the {MAX_BARS} largest of {len(all_entries)} clusters", fontsize=9)
    figure.set_figheight(max(3.0, 0.22 * len(entries) + 1))
    rows, colours = np.arange(len(entries)), colour_run(run)
    axes.barh(rows, [100 * entry.share for entry in entries], color=[colours[entry.cluster] for entry in entries])
    estimated = [(100 * entry.estimated_share, row) for row, entry in enumerate(entries) if entry.estimated_share]
    handles: list[Any] = [Patch(color=GREY, label="counted")]
    if estimated:
        handles += axes.plot(*zip(*estimated, strict=True), "|", color="black", ms=9, label="estimated (b)")
    axes.set_yticks(rows, [_shorten_name(entry.name) for entry in entries])
    axes.set_xlabel("share of the texts, %")
    axes.legend(handles=handles, loc="lower right", frameon=False)
    _remove_frame(axes)


def draw_curves(figure: Figure, run: CorrectedRun) -> None:
    """Draw the losses of each step, and the measurements at each update of the pseudo-labels."""
    losses = [
        {"step": step, "loss_class": L_C, "loss_instance": L_I}
        for step, (L_C, L_I) in enumerate(run.summary.losses, start=1)
    ]
    history: list[dict[str, Any]] = losses + [
        {name: value for name, value in record.items() if not name.startswith("loss")} for record in run.summary.history
    ]
    titles = {name: title for name, title in CURVES.items() if any(record.get(name) is not None for record in history)}
    all_axes = np.atleast_1d(figure.subplots(2, 3)).ravel()
    for axes, (name, title) in zip(all_axes, titles.items(), strict=False):
        records = [record for record in history if record.get(name) is not None]
        axes.plot(
            [record["step"] for record in records],
            [record[name] for record in records],
            color=HUES[0],
            marker="o" if len(records) < 40 else "",
            ms=3,
        )
        axes.set_title(title, fontsize=9)
        axes.set_xlabel("step")
        axes.set_ylim(0, 1.08 * max(max(record[name] for record in records), 1e-9))
        _remove_frame(axes)
    for axes in all_axes[len(titles) :]:
        axes.set_axis_off()


def _shorten_name(name: str) -> str:
    """Cut a name to `MAX_NAME_LENGTH` and escape what matplotlib would read as mathematics."""
    return (name if len(name) <= MAX_NAME_LENGTH else name[: MAX_NAME_LENGTH - 1] + "…").replace("$", r"\$")


def _remove_frame(axes: Axes) -> None:
    axes.spines[["top", "right"]].set_visible(False)
