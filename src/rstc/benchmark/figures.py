"""The paper's figures from stored runs: t-SNE maps of representations, effects of settings, training curves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from rstc.benchmark.datasets import DATASETS, SMALL_DATASETS
from rstc.benchmark.methods import METHODS, SCHEDULED_FAMILIES
from rstc.errors import InputError
from rstc.io.atomic import replace_file

Runs = Sequence[dict[str, Any]]

# For print: the text has the font size of a paper, and line styles and markers do not depend on colour.
STYLE: dict[Any, Any] = {
    "font.size": 9,
    "axes.grid": True,
    "grid.alpha": 0.3,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "figure.constrained_layout.use": True,
    "pdf.fonttype": 42,
    "savefig.dpi": 200,
}
# The colours of Okabe and Ito, distinguishable with any colour vision.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
LINES = ("-", "--", "-.", ":")
MAX_CLASS_COLOURS = 20


class MissingRunsError(Exception):
    """The store lacks runs that a figure shows."""


def draw_figures(runs: Runs, out: Path, schedule: str = "cpu") -> dict[str, str | None]:
    """Draw every figure whose runs are in the store, as PDF and PNG.

    Parameters
    ----------
    runs : sequence of dict
        Runs of the store.
    out : Path
        Folder of the figures.
    schedule : {"cpu", "paper"}
        Schedule of the runs to draw.

    Returns
    -------
    dict
        For each figure the missing runs, or None if it was drawn.
    """
    runs = select_schedule(runs, schedule)
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise InputError(f"{out} cannot be created: {problem.strerror or problem}") from problem
    missing: dict[str, str | None] = {}
    for name, draw in FIGURES.items():
        try:
            with mpl.rc_context(STYLE):
                figure = draw(runs)
                for ending in ("pdf", "png"):
                    # Without a date, so that the same runs give the same file.
                    metadata = {"CreationDate": None} if ending == "pdf" else {"Software": None}
                    with replace_file(out / f"{name}.{ending}") as temporary:
                        figure.savefig(temporary, format=ending, metadata=metadata)
            missing[name] = None
        except MissingRunsError as problem:
            missing[name] = str(problem)
    return missing


def select_schedule(runs: Runs, schedule: str) -> Runs:
    """Select the runs on a schedule, and those of methods without one; `schedule` is removed from their changes."""

    def is_on_schedule(run: dict[str, Any]) -> bool:
        has_schedule = METHODS[run["method"]].family in SCHEDULED_FAMILIES
        return not has_schedule or run["changes"].get("schedule", "cpu") == schedule

    return [
        {**run, "changes": {name: value for name, value in run["changes"].items() if name != "schedule"}}
        for run in runs
        if run["method"] in METHODS and is_on_schedule(run)
    ]


def draw_representations(runs: Runs) -> Figure:
    """Draw t-SNE maps of SBERT, RSTC-C, RSTC-I and RSTC, coloured by true class (the paper's Fig. 2).

    The paper shows SearchSnippets; other data sets with few classes are drawn where its runs are missing.
    """
    methods = ("sbert", "rstc-c", "rstc-i", "rstc-paper")
    names = [name for name in DATASETS if all(_select_runs(runs, name, method, key="map") for method in methods)]
    names = [name for name in names if _select_runs(runs, name, methods[0])[0]["classes"] <= MAX_CLASS_COLOURS]
    names = ["searchsnippets"] if "searchsnippets" in names else names
    if not names:
        raise MissingRunsError(f"no data set has runs of seed 0 of {', '.join(methods)}")
    figure = Figure(figsize=(7.2, 2.1 * len(names)))
    panels = np.ravel(figure.subplots(len(names), len(methods), squeeze=False))
    pairs = [(name, method) for name in names for method in methods]
    for axes, (name, method) in zip(panels, pairs, strict=True):
        points = _select_runs(runs, name, method, key="map")[0]["map"]
        axes.scatter(
            points["x"],
            points["y"],
            c=points["class"],
            s=1.5,
            lw=0,
            cmap="tab10" if len(set(points["class"])) <= 10 else "tab20",
            rasterized=True,
        )
        axes.set(xticks=[], yticks=[])
        axes.grid(False)
        if name == names[0]:
            axes.set_title(METHODS[method].title, fontsize=9)
        if method == methods[0]:
            axes.set_ylabel(DATASETS[name].title)
    return figure


def draw_eps_sweeps(runs: Runs) -> Figure:
    """Draw ACC against eps1 and eps2 (the paper's Fig. 3)."""
    figure = Figure(figsize=(7.2, 2.8))
    left, right = figure.subplots(1, 2, sharey=True)
    _plot_sweep(left, runs, "eps1", "acc", "ε₁")
    _plot_sweep(right, runs, "eps2", "acc", "ε₂")
    right.set_ylabel("")
    _add_legend(figure, left, right)
    return figure


def draw_lambda_sweeps(runs: Runs) -> Figure:
    """Draw ACC and NMI against lambda_I (the paper's Fig. 4)."""
    figure = Figure(figsize=(7.2, 2.8))
    left, right = figure.subplots(1, 2)
    _plot_sweep(left, runs, "lambda_i", "acc", "λ of the instance-wise contrast")
    _plot_sweep(right, runs, "lambda_i", "nmi", "λ of the instance-wise contrast")
    _add_legend(figure, left, right)
    return figure


def draw_estimators(runs: Runs) -> Figure:
    """Draw ACC and the number of predicted clusters over the steps for M1, M2 and M3 (the paper's Fig. 5)."""
    methods = {"rstc-paper": "M1 (SAOT)", "rstc-m2": "M2 (moving average)", "rstc-m3": "M3 (KL)"}
    alternatives = [["googlenews-t"], ["stackoverflow", "stackoverflow-4k"]]
    names = [
        next((n for n in options if all(_select_runs(runs, n, method, key="curve") for method in methods)), None)
        for options in alternatives
    ]
    if None in names:
        raise MissingRunsError(f"runs of {', '.join(methods)} on googlenews-t and stackoverflow or stackoverflow-4k")
    figure = Figure(figsize=(7.2, 4.6))
    rows = figure.subplots(2, 2)
    for name, (accuracy, clusters) in zip(names, rows, strict=True):
        assert name is not None
        for number, (method, label) in enumerate(methods.items()):
            _plot_curve(accuracy, _select_runs(runs, name, method, key="curve"), "acc", label, number)
            _plot_curve(clusters, _select_runs(runs, name, method, key="curve"), "clusters", label, number)
        accuracy.set(title=DATASETS[name].title, xlabel="step", ylabel="ACC, %")
        clusters.set(title=DATASETS[name].title, xlabel="step", ylabel="predicted clusters")
        clusters.yaxis.set_major_locator(MaxNLocator(integer=True))
        _plot_n_classes(clusters, _select_runs(runs, name, "rstc-paper"))
    _add_legend(figure, *rows[0])
    return figure


def draw_degeneracy(runs: Runs) -> Figure:
    """Draw the number of predicted clusters over the steps for RSTC and SCCL on GoogleNews-T (the paper's Fig. 6)."""
    methods = {"rstc-paper": "RSTC", "sccl": "SCCL"}
    available = [
        name for name in SMALL_DATASETS if all(_select_runs(runs, name, method, key="curve") for method in methods)
    ]
    if "googlenews-t" not in available:
        raise MissingRunsError("runs of rstc-paper and sccl on googlenews-t")
    names = ["googlenews-t", *(name for name in available if name == "tweet")]
    figure = Figure(figsize=(3.6 * len(names), 2.8))
    for axes, name in zip(np.ravel(figure.subplots(1, len(names), squeeze=False)), names, strict=True):
        for number, (method, label) in enumerate(methods.items()):
            _plot_curve(axes, _select_runs(runs, name, method, key="curve"), "clusters", label, number)
        _plot_n_classes(axes, _select_runs(runs, name, "sccl", key="curve"))
        axes.set(title=DATASETS[name].title, xlabel="step", ylabel="predicted clusters", ylim=(0, None))
    _add_legend(figure, axes)
    return figure


FIGURES: dict[str, Callable[[Runs], Figure]] = {
    "representations": draw_representations,
    "eps": draw_eps_sweeps,
    "lambda": draw_lambda_sweeps,
    "estimators": draw_estimators,
    "degeneracy": draw_degeneracy,
}


def _add_legend(figure: Figure, *panels: Axes) -> None:
    """Add one legend below the panels, with the labels of all of them."""
    handles: dict[str, Any] = {}
    for axes in panels:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=min(len(handles), 4), fontsize=8)


def _select_runs(runs: Runs, dataset: str, method: str, key: str | None = None) -> list[dict[str, Any]]:
    """Select the runs of an unchanged method on a data set, sorted by seed; with `key`, those that have it."""
    selected = [run for run in runs if (run["dataset"], run["method"], run["changes"]) == (dataset, method, {})]
    return sorted((run for run in selected if key is None or run.get(key)), key=lambda run: run["seed"])


def _plot_sweep(axes: Axes, runs: Runs, setting: str, metric: str, label: str) -> None:
    """Plot a metric against the values of a setting of RSTC, one line per data set, at equal distances.

    A point is the mean over the seeds that all points of its line have, with their standard deviation as error bar.
    """
    values = _list_swept_values(runs, setting)
    swept = {run["dataset"] for run in runs if set(run["changes"]) == {setting}}
    n_lines = 0
    for dataset in DATASETS:
        scores = {
            value: {
                run["seed"]: run[metric] for run in runs if run["dataset"] == dataset and _is_point(run, setting, value)
            }
            for value in values
        }
        positions = [position for position, value in enumerate(values) if scores[value]]
        if dataset not in swept or len(positions) < 2:  # the run with the method's own value alone is no sweep
            continue
        seeds = set.intersection(*(set(scores[values[position]]) for position in positions))
        points = [[scores[values[position]][seed] for seed in seeds] for position in positions]
        style: dict[str, Any] = {
            "color": COLOURS[n_lines % len(COLOURS)],
            "marker": MARKERS[n_lines % len(MARKERS)],
            "ls": LINES[n_lines % len(LINES)],
            "ms": 4,
        }
        n_seeds = f"{len(seeds)} seeds" if len(seeds) > 1 else "1 seed"
        axes.plot(positions, np.mean(points, axis=1), label=f"{DATASETS[dataset].title}, {n_seeds}", **style)
        if len(seeds) > 1:
            deviations = np.std(points, axis=1, ddof=1)
            axes.errorbar(positions, np.mean(points, axis=1), deviations, fmt="none", ecolor=style["color"], capsize=2)
        n_lines += 1
    if not n_lines:
        raise MissingRunsError(f"a sweep of {setting}: rstc benchmark sweep --param {setting} --values …")
    axes.set_xticks(range(len(values)), [f"{value:g}" for value in values])
    axes.set(xlabel=label, ylabel=f"{metric.upper()}, %")


def _is_point(run: dict[str, Any], setting: str, value: float) -> bool:
    """Check whether a run is RSTC with a value of one setting and no other change.

    RSTC-C is RSTC with lambda_I = 0, and so the first point of that sweep.
    """
    is_rstc = run["method"] == "rstc-paper" or (run["method"] == "rstc-c" and setting == "lambda_i")
    return is_rstc and not set(run["changes"]) - {setting} and run["settings"].get(setting) == value


def _list_swept_values(runs: Runs, setting: str) -> list[float]:
    """List the values of a setting in its sweeps, with the method's own values on the swept data sets."""
    swept = [run for run in runs if run["method"] == "rstc-paper" and set(run["changes"]) == {setting}]
    datasets = {run["dataset"] for run in swept}
    unchanged = [run for run in runs if run["dataset"] in datasets and not run["changes"]]
    values = {run["settings"].get(setting) for run in [*swept, *unchanged]}
    return sorted(v for v in values if v is not None and any(_is_point(run, setting, v) for run in runs))


def _plot_curve(axes: Axes, runs: Runs, metric: str, label: str, number: int) -> None:
    """Plot a metric over the steps: a thin line per seed, and a thick line for the mean over their common steps."""
    style: dict[str, Any] = {"color": COLOURS[number], "ls": LINES[number]}
    curves = [{point["step"]: point[metric] for point in run["curve"]} for run in runs]
    for curve in curves if len(curves) > 1 else []:
        axes.plot(list(curve), list(curve.values()), lw=0.6, alpha=0.5, **style)
    steps = sorted(set.intersection(*map(set, curves)))
    axes.plot(steps, [np.mean([curve[step] for curve in curves]) for step in steps], lw=1.6, label=label, **style)


def _plot_n_classes(axes: Axes, runs: Runs) -> None:
    """Draw a horizontal line at the number of true classes."""
    axes.axhline(runs[0]["classes"], color="grey", lw=0.8, label="true classes")
