"""Tables from the runs of `rstc benchmark` in results/paper."""

from __future__ import annotations

from functools import cache
from typing import Any

from ablations import ABLATIONS, LINKAGE, OURS
from measuring import PAPER_RUNS
from rstc.benchmark.datasets import DATASETS, IMBALANCED_DATASETS, NOISY_DATASETS, SMALL_DATASETS
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


def methods_table(*datasets: str) -> str:
    """All methods on some data sets, without the ablations of the default."""
    runs = [run for run in read_runs() if run["method"] != OURS or not run["changes"]]
    return format_markdown(build_table(runs, datasets)).rstrip()


def datasets_table() -> str:
    """The data sets as the runs describe them; `rstc benchmark datasets` prints what needs the texts."""
    runs = {run["dataset"]: run for run in read_runs() if run["method"] == "rstc-paper"}
    rows = [
        [entry.title, f"{runs[name]['texts']:,}", runs[name]["classes"], entry.imbalance, runs[name]["views"]]
        for name, entry in DATASETS.items()
        if name in runs
    ]
    return markdown_table(["set", "texts", "classes", "imbalance", "views of `rstc-paper` and SCCL"], rows)


def ablations_table() -> str:
    """The default with one part changed, on the small data sets."""
    rows = [
        [title, *(scores_cell(select_runs(name, OURS, changes)) for name in SMALL_DATASETS)]
        for title, changes in ABLATIONS
    ]
    return markdown_table(["", *titles(SMALL_DATASETS)], rows)


def noise_table() -> str:
    """k-means and the default on clean and on noisy texts, and the change of ACC."""
    rows = []
    for name in NOISY_DATASETS:
        clean = DATASETS[name].source
        cells = []
        for method in ("sbert", OURS):
            before, after = select_runs(clean, method, {}), select_runs(name, method, {})
            change = f"{_mean_scores(after)[0] - _mean_scores(before)[0]:+.1f}" if before and after else ""
            cells += [scores_cell(before), scores_cell(after), change]
        rows.append([DATASETS[clean].title, *cells])
    return markdown_table(["set", "k-means", "with noise", "ACC", "rstc", "with noise", "ACC"], rows)


def imbalance_table() -> str:
    """k-means, average linkage and the default on more and more imbalanced data sets."""
    methods = {"k-means": ("sbert", {}), "average linkage": (OURS, LINKAGE), "rstc": (OURS, {})}
    rows = []
    for title, (method, changes) in methods.items():
        by_dataset = [select_runs(name, method, changes) for name in IMBALANCED_DATASETS]
        cells = [
            f"{scores_cell(runs)}, {min(run['clusters'] for run in runs)} clusters" if runs else ""
            for runs in by_dataset
        ]
        rows.append([title, *cells])
    return markdown_table(["", "StackOverflow, 1:1", *titles(IMBALANCED_DATASETS[1:])], rows)


def _mean_scores(runs: list[Run]) -> list[float]:
    cell = summarise_runs(runs)
    return [cell.means[metric] for metric in SHOWN_METRICS]
