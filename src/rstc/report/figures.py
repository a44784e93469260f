"""Figures of a run for slides, from the same data as the page: map, hierarchy, sizes, curves and comparisons."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rstc.errors import InputError
from rstc.io.atomic import check_writable, replace_file
from rstc.io.durability import make_folder
from rstc.report.colours import GREY, HUES, colour_run
from rstc.report.comparison_figures import draw_groups, draw_over_time, name_figure
from rstc.report.figure_style import remove_frame, shorten_name
from rstc.report.hierarchy_figure import draw_hierarchy
from rstc.report.html.content import build_tree_content
from rstc.report.map_figure import draw_map
from rstc.results.comparisons import Comparisons
from rstc.results.corrected_run import CorrectedRun
from rstc.runtime.optional import import_optional

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MAX_BARS = 100  # clusters in the figure of sizes
CURVES = {
    "loss_class": "class-wise loss",
    "loss_instance": "instance-wise loss",
    "clusters": "clusters predicted",
    "moved": "share of texts that changed cluster",
    "confidence": "mean confidence",
}


def write_figures(run: CorrectedRun, out: Path, comparisons: Comparisons | None = None) -> list[Path]:
    """Draw the map, the hierarchy, the sizes, the training curves and the comparisons of a run, as PNG and SVG.

    Parameters
    ----------
    run : CorrectedRun
        The run.
    out : Path
        The folder to write to.
    comparisons : Comparisons, optional
        The clusters over time and by group: over_time.*, and by_<column>.* for each column.

    Returns
    -------
    list of Path
        The files.
    """
    mpl = import_optional("matplotlib", "figures")
    from matplotlib.figure import Figure

    check_writable(out)
    try:
        make_folder(out)
    except OSError as error:
        raise InputError(f"{out} cannot be written: {error.strerror or error}") from error
    paths = []
    figures: dict[str, Callable[[Figure], None]] = {
        "map": partial(_draw_map, run=run),
        "hierarchy": partial(_draw_hierarchy, run=run),
        "sizes": partial(draw_sizes, run=run),
        "curves": partial(draw_curves, run=run),
    }
    if comparisons is not None and comparisons.over_time is not None:
        figures["over_time"] = partial(draw_over_time, result=comparisons.over_time, colours=colour_run(run))
    for shares in comparisons.groups if comparisons is not None else []:
        figures[name_figure(shares.column, figures)] = partial(draw_groups, shares=shares)
    with mpl.rc_context({"svg.hashsalt": "rstc", "font.size": 9}):
        for name, draw in figures.items():
            figure = Figure(figsize=(8, 5.5), layout="constrained")
            draw(figure)
            for suffix in ("png", "svg"):
                path = out / f"{name}.{suffix}"
                with replace_file(path) as temporary:
                    metadata = {"Date": None} if suffix == "svg" else None
                    figure.savefig(temporary, format=suffix, dpi=200, metadata=metadata)
                paths.append(path)
    return paths


def _draw_map(figure: Figure, run: CorrectedRun) -> None:
    names = {entry.cluster: entry.name for entry in run.entries()}
    draw_map(figure, run.points.layout, run.clusters, names, colour_run(run))


def _draw_hierarchy(figure: Figure, run: CorrectedRun) -> None:
    entries = run.entries()
    names, sizes = {entry.cluster: entry.name for entry in entries}, {entry.cluster: entry.size for entry in entries}
    draw_hierarchy(figure, build_tree_content(run), names, sizes, colour_run(run))


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
    axes.set_yticks(rows, [shorten_name(entry.name) for entry in entries])
    axes.set_xlabel("share of the texts, %")
    axes.legend(handles=handles, loc="lower right", frameon=False)
    remove_frame(axes)


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
        remove_frame(axes)
    for axes in all_axes[len(titles) :]:
        axes.set_axis_off()
