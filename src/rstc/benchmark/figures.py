"""The paper's figures, drawn from stored runs: maps of representations, effects of settings, curves over steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from rstc.benchmark.datasets import DATASETS, SMALL_SETS
from rstc.benchmark.methods import METHODS, SCHEDULED
from rstc.errors import InputError
from rstc.io.atomic import replaced_file

Runs = Sequence[dict[str, Any]]

# Readable in print: type of the size of a paper's text, and line styles and markers that need no colour.
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
# Okabe and Ito's colours, told apart by readers with any colour vision.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
LINES = ("-", "--", "-.", ":")


class MissingRunsError(Exception):
    """The store lacks the runs that a figure is made of."""


def draw_all(runs: Runs, out: Path, schedule: str = "cpu") -> dict[str, str | None]:
    """Draw every figure whose runs are there, of those on a schedule; return for each name what is missing, or None."""
    runs = on_schedule(runs, schedule)
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise InputError(f"{out} cannot be made: {problem.strerror or problem}") from problem
    missing: dict[str, str | None] = {}
    for name, draw in FIGURES.items():
        try:
            with mpl.rc_context(STYLE):
                figure = draw(runs)
                for ending in ("pdf", "png"):
                    # A fixed date: the same runs give the same file.
                    metadata = {"CreationDate": None} if ending == "pdf" else {"Software": None}
                    with replaced_file(out / f"{name}.{ending}") as temporary:
                        figure.savefig(temporary, format=ending, metadata=metadata)
            missing[name] = None
        except MissingRunsError as problem:
            missing[name] = str(problem)
    return missing


def on_schedule(runs: Runs, schedule: str) -> Runs:
    """Return the runs on a schedule, the schedule no longer a change; those of methods without one are on any."""

    def fits(run: dict[str, Any]) -> bool:
        scheduled = METHODS[run["method"]].family in SCHEDULED
        return not scheduled or run["changes"].get("schedule", "cpu") == schedule

    return [
        {**run, "changes": {name: value for name, value in run["changes"].items() if name != "schedule"}}
        for run in runs
        if run["method"] in METHODS and fits(run)
    ]


def representations(runs: Runs) -> Figure:
    """Draw t-SNE maps of SBERT, RSTC-C, RSTC-I and RSTC, a colour a true class (the paper's Fig. 2)."""
    methods = ("sbert", "rstc-c", "rstc-i", "rstc-paper")
    sets = [name for name in DATASETS if all(_find(runs, name, one, has="map") for one in methods)]
    sets = [name for name in sets if _find(runs, name, methods[0])[0]["classes"] <= 20]  # colours for more do not exist
    if not sets:
        raise MissingRunsError(f"no set has runs of seed 0 of {', '.join(methods)}")
    figure = Figure(figsize=(7.2, 1.95 * len(sets)))
    for axes, (name, one) in zip(
        np.ravel(figure.subplots(len(sets), len(methods), squeeze=False)),
        [(name, one) for name in sets for one in methods],
        strict=True,
    ):
        places = _find(runs, name, one, has="map")[0]["map"]
        classes = len(set(places["class"]))
        axes.scatter(
            places["x"],
            places["y"],
            c=places["class"],
            s=1.5,
            lw=0,
            cmap="tab10" if classes <= 10 else "tab20",
            rasterized=True,
        )
        axes.set(xticks=[], yticks=[])
        axes.grid(False)
        if name == sets[0]:
            axes.set_title(METHODS[one].title, fontsize=9)
        if one == methods[0]:
            axes.set_ylabel(DATASETS[name].title)
    return figure


def effect_of_eps(runs: Runs) -> Figure:
    """Draw ACC against eps1 and eps2 (the paper's Fig. 3)."""
    figure = Figure(figsize=(7.2, 2.8))
    left, right = figure.subplots(1, 2, sharey=True)
    _effect(left, runs, "eps1", "acc", "ε₁")
    _effect(right, runs, "eps2", "acc", "ε₂")
    right.set_ylabel("")
    _legend(figure, left, right)
    return figure


def effect_of_lambda(runs: Runs) -> Figure:
    """Draw ACC and NMI against lambda_I (the paper's Fig. 4)."""
    figure = Figure(figsize=(7.2, 2.8))
    left, right = figure.subplots(1, 2)
    _effect(left, runs, "lambda_i", "acc", "λ of the instance-wise contrast")
    _effect(right, runs, "lambda_i", "nmi", "λ of the instance-wise contrast")
    _legend(figure, left, right)
    return figure


def estimators(runs: Runs) -> Figure:
    """Draw ACC and predicted clusters over the steps for M1, M2 and M3 (the paper's Fig. 5)."""
    methods = {"rstc-paper": "M1 (SAOT)", "rstc-m2": "M2 (moving average)", "rstc-m3": "M3 (KL)"}
    wanted = [["googlenews-t"], ["stackoverflow", "stackoverflow-4k"]]
    sets = [
        next((n for n in names if all(_find(runs, n, one, has="curve") for one in methods)), None) for names in wanted
    ]
    if None in sets:
        raise MissingRunsError(f"runs of {', '.join(methods)} on googlenews-t and stackoverflow or stackoverflow-4k")
    figure = Figure(figsize=(7.2, 4.6))
    rows = figure.subplots(2, 2)
    for name, (accuracy, clusters) in zip(sets, rows, strict=True):
        assert name is not None
        for number, (one, label) in enumerate(methods.items()):
            _curve(accuracy, _find(runs, name, one, has="curve"), "acc", label, number)
            _curve(clusters, _find(runs, name, one, has="curve"), "clusters", label, number)
        accuracy.set(title=DATASETS[name].title, xlabel="step", ylabel="ACC, %")
        clusters.set(title=DATASETS[name].title, xlabel="step", ylabel="predicted clusters")
        classes = _find(runs, name, "rstc-paper")[0]["classes"]
        clusters.yaxis.set_major_locator(MaxNLocator(integer=True))
        clusters.axhline(classes, color="grey", lw=0.8, label="true classes")
    _legend(figure, *rows[0])
    return figure


def degeneracy(runs: Runs) -> Figure:
    """Draw predicted clusters over the steps for RSTC and SCCL on GoogleNews-T (the paper's Fig. 6)."""
    sets = [name for name in SMALL_SETS if all(_find(runs, name, one, has="curve") for one in ("rstc-paper", "sccl"))]
    if "googlenews-t" not in sets:
        raise MissingRunsError("runs of rstc-paper and sccl on googlenews-t")
    shown = ["googlenews-t", *(name for name in sets if name == "tweet")]
    figure = Figure(figsize=(3.6 * len(shown), 2.8))
    for axes, name in zip(np.ravel(figure.subplots(1, len(shown), squeeze=False)), shown, strict=True):
        for number, one in enumerate(("rstc-paper", "sccl")):
            found = _find(runs, name, one, has="curve")
            _curve(axes, found, "clusters", "RSTC" if one == "rstc-paper" else "SCCL", number)
        axes.axhline(found[0]["classes"], color="grey", lw=0.8, label="true classes")
        axes.set(title=DATASETS[name].title, xlabel="step", ylabel="predicted clusters", ylim=(0, None))
    _legend(figure, axes)
    return figure


FIGURES: dict[str, Callable[[Runs], Figure]] = {
    "representations": representations,
    "eps": effect_of_eps,
    "lambda": effect_of_lambda,
    "estimators": estimators,
    "degeneracy": degeneracy,
}


def _legend(figure: Figure, *panels: Axes) -> None:
    """Draw one legend below the panels, with everything that any of them shows."""
    named: dict[str, Any] = {}
    for axes in panels:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            named.setdefault(label, handle)
    figure.legend(named.values(), named.keys(), loc="outside lower center", ncols=min(len(named), 4), fontsize=8)


def _find(runs: Runs, dataset: str, method: str, has: str | None = None) -> list[dict[str, Any]]:
    """Return the runs of a method as it is on a set, by seed; those alone that have something, if asked."""
    found = [run for run in runs if (run["dataset"], run["method"], run["changes"]) == (dataset, method, {})]
    return sorted((run for run in found if has is None or run.get(has)), key=lambda run: run["seed"])


def _effect(axes: Axes, runs: Runs, name: str, metric: str, label: str) -> None:
    """Draw a metric against a setting of RSTC, a line a set; even steps along the axis.

    A point is the mean over those seeds that all points of its line have.
    """
    values, swept = _values(runs, name), {run["dataset"] for run in runs if set(run["changes"]) == {name}}
    drawn = 0
    for dataset in DATASETS:
        points = {
            value: {
                run["seed"]: run[metric] for run in runs if run["dataset"] == dataset and _is_point(run, name, value)
            }
            for value in values
        }
        places = [place for place, value in enumerate(values) if points[value]]
        if dataset not in swept or len(places) < 2:  # the run at the method's own setting alone is no sweep
            continue
        seeds = set.intersection(*(set(points[values[place]]) for place in places))
        means = [np.mean([points[values[place]][seed] for seed in seeds]) for place in places]
        style: dict[str, Any] = {
            "color": COLOURS[drawn % 7],
            "marker": MARKERS[drawn % 7],
            "ls": LINES[drawn % 4],
            "ms": 4,
        }
        axes.plot(places, means, label=DATASETS[dataset].title, **style)
        drawn += 1
    if not drawn:
        raise MissingRunsError(f"a sweep of {name}: rstc benchmark sweep --param {name} --values …")
    axes.set_xticks(range(len(values)), [f"{value:g}" for value in values])
    axes.set(xlabel=label, ylabel=f"{metric.upper()}, %")


def _is_point(run: dict[str, Any], name: str, value: float) -> bool:
    """Tell whether a run belongs to a sweep of a setting: RSTC with nothing else changed.

    RSTC-C is RSTC with lambda_I = 0, and so the first point of that sweep.
    """
    as_asked = run["method"] == "rstc-paper" or (run["method"] == "rstc-c" and name == "lambda_i")
    return as_asked and not set(run["changes"]) - {name} and run["settings"].get(name) == value


def _values(runs: Runs, name: str) -> list[float]:
    """Return the values of a setting that runs were made with, the method's own among them where a set has a sweep."""
    swept = [run for run in runs if run["method"] == "rstc-paper" and set(run["changes"]) == {name}]
    sets = {run["dataset"] for run in swept}
    own = [run for run in runs if run["dataset"] in sets and not run["changes"]]
    found = {run["settings"].get(name) for run in [*swept, *own]}
    return sorted(value for value in found if value is not None and any(_is_point(run, name, value) for run in runs))


def _curve(axes: Axes, runs: Runs, metric: str, label: str, number: int) -> None:
    """Draw a metric over the steps: each seed thin, their mean thick over the steps that all of them have."""
    style: dict[str, Any] = {"color": COLOURS[number], "ls": LINES[number]}
    curves = [{point["step"]: point[metric] for point in run["curve"]} for run in runs]
    for curve in curves if len(curves) > 1 else []:
        axes.plot(list(curve), list(curve.values()), lw=0.6, alpha=0.5, **style)
    steps = sorted(set.intersection(*map(set, curves)))
    axes.plot(steps, [np.mean([curve[step] for curve in curves]) for step in steps], lw=1.6, label=label, **style)
