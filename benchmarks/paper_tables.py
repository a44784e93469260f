"""Tables from the runs of `rstc benchmark` in results/paper."""

from __future__ import annotations

from functools import cache
from statistics import fmean
from typing import Any

from measuring import PAPER_RUNS
from rstc.benchmark.datasets import DATASETS, PAPER_DATASETS
from rstc.benchmark.methods import METHODS
from rstc.benchmark.significance import compare_methods
from rstc.benchmark.store import Store
from rstc.benchmark.tables import (
    SHOWN_METRICS,
    build_table,
    format_markdown,
    format_scores,
    markdown_table,
    summarise_runs,
)

Run = dict[str, Any]

SHOWN_CHANGES = {"schedule", "trainable_layers"}  # of the table of all methods
COMPARED = [
    ("rstc", "sbert"),
    ("rstc", "rstc-paper"),
    ("rstc-paper", "sbert"),
    ("rstc-paper", "kmeans-ic"),
    ("rstc-paper", "sccl"),
    ("rstc-paper", "rstc-ot"),
    ("rstc-paper", "rstc-c"),
    ("rstc-paper", "rstc-i"),
    ("sccl", "sbert"),
    ("kmeans-ic", "tfidf"),
]
SOLVERS: list[tuple[str, dict[str, Any]]] = [
    ("Newton, solved to 1e-8", {}),
    ("alternating, exact b", {"transport_method": "alternating"}),
    ("Algorithm 1, literal", {"transport_method": "literal"}),
]
_NO_WARM_UP = {"yes": {}, "no": {"head_start": 0.0}}
M2_DATASETS = ["googlenews-t", "tweet", "stackoverflow-4k"]


@cache
def read_runs() -> list[Run]:
    """Read all runs of the store, once."""
    return Store(PAPER_RUNS).runs()


def select_runs(dataset: str, method: str, changes: dict[str, Any]) -> list[Run]:
    """Select the runs of a method with changed settings on a data set, of all seeds."""
    wanted = (dataset, method, changes)
    return [run for run in read_runs() if (run["dataset"], run["method"], run["changes"]) == wanted]


def scores_cell(runs: list[Run]) -> str:
    """Format the mean ACC / NMI of runs with their standard deviation; empty without runs."""
    return format_scores(summarise_runs(runs)) if runs else ""


def titles(names: list[str]) -> list[str]:
    """Return the titles of data sets."""
    return [DATASETS[name].title for name in names]


def methods_table(*datasets: str, metrics: tuple[str, ...] = SHOWN_METRICS) -> str:
    """All methods on some data sets, without the ablations of the default and the other solvers of RSTC."""
    runs = [run for run in read_runs() if not set(run["changes"]) - SHOWN_CHANGES]
    if "ami" in metrics:
        runs = [run for run in runs if "ami" in run]
    return format_markdown(build_table(runs, datasets), metrics).rstrip()


def significance_table() -> str:
    """Pairs of methods on the data sets of the paper: mean differences, and the p-values of sign-flip tests."""
    rows = []
    for first, second in COMPARED:
        groups = [[run for name in PAPER_DATASETS for run in select_runs(name, m, {})] for m in (first, second)]
        comparisons = [compare_methods(*groups, metric=metric) for metric in SHOWN_METRICS]
        if comparisons[0] is None:
            continue
        cells = [f"{c.mean:+.1f} (p = {c.p_value:.3f})" for c in comparisons if c]
        counts = f"{comparisons[0].wins} of {comparisons[0].n_sets}"
        rows.append([METHODS[first].title, METHODS[second].title, counts, comparisons[0].n_pairs, *cells])
    return markdown_table(["method", "against", "ACC higher on", "pairs of runs", "ACC", "NMI"], rows)


def collapse_table() -> str:
    """RSTC on Tweet, seed 0, by solver and warm-up: the number of clusters during training, and the scores."""
    rows = []
    for title, changes in SOLVERS:
        for warmed_up in ("yes", "no"):
            found = [r for r in select_runs("tweet", "rstc-paper", changes | _NO_WARM_UP[warmed_up]) if r["seed"] == 0]
            for run in found:
                points = {point["step"]: point["clusters"] for point in run["curve"]}
                steps = [min(points, key=lambda step, goal=goal: abs(step - goal)) for goal in (0, 25, 50, 75, 100)]
                counts = ", ".join(f"{points[step]}" for step in dict.fromkeys(steps))
                rows.append([title, warmed_up, counts, f"{run['acc']:.1f} / {run['nmi']:.1f}"])
    return markdown_table(["solver", "warm-up", "clusters over the steps", "ACC / NMI"], rows)


def m2_table() -> str:
    """M1, M2 as written, M2 as released and M3: scores and numbers of clusters."""
    methods = ("rstc-paper", "rstc-m2", "rstc-m2-released", "rstc-m3")
    rows = []
    for method in methods:
        by_dataset = [select_runs(name, method, {}) for name in M2_DATASETS]
        cells = [
            f"{scores_cell(runs)} ({len(runs)}s), {fmean(run['clusters'] for run in runs):.0f} clusters" if runs else ""
            for runs in by_dataset
        ]
        rows.append([METHODS[method].title, *cells])
    return markdown_table(["", *titles(M2_DATASETS)], rows)


def datasets_table() -> str:
    """The data sets as the runs describe them; `rstc benchmark datasets` prints what needs the texts."""
    runs = {run["dataset"]: run for run in read_runs() if run["method"] == "rstc-paper"}
    rows = [
        [entry.title, f"{runs[name]['texts']:,}", runs[name]["classes"], entry.imbalance, runs[name]["views"]]
        for name, entry in DATASETS.items()
        if name in runs
    ]
    return markdown_table(["set", "texts", "classes", "imbalance", "views of `rstc-paper` and SCCL"], rows)
