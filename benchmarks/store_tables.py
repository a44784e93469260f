"""Tables from the store of runs: methods by sets, and what our default does from its first labels on."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from rstc.benchmark.datasets import DATASETS, NOISY_SETS, SMALL_SETS, UNEVEN_SETS, WHOLE_SETS
from rstc.benchmark.store import Store
from rstc.benchmark.tables import cell_of, render, result_table
from rstc.config import Config

STORE = Path(__file__).parent / "store"
VIEWS = Path(__file__).parent / "results" / "views.json"
OURS = "rstc"

# The best that we know of, as remembered from the article on COTC (2024), which trains on a GPU; not checked.
BEST_PUBLISHED = {
    "agnews": "87.6 / 67.1",
    "searchsnippets": "90.3 / 77.1",
    "stackoverflow": "87.8 / 79.2",
    "biomedical": "53.2 / 46.1",
    "googlenews-ts": "90.5 / 96.3",
    "googlenews-t": "83.5 / 92.1",
    "googlenews-s": "86.1 / 93.5",
    "tweet": "91.3 / 95.1",
}
# Ways to find labels in the encoder's own space, from plain ones to that of the default.
_PLAIN = {"trainable_layers": 0, "rounds": 0, "neighbours": 0, "words": 0.0}
_NEAR = {"trainable_layers": 0, "rounds": 0, "words": 0.0}
_NEAR_AND_WORDS = {"trainable_layers": 0, "rounds": 0}
LINKAGE = {**_PLAIN, "start": "linkage"}
STARTS: list[tuple[str, dict[str, Any]]] = [
    ("k-means", {**_PLAIN, "start": "kmeans", "swaps": False}),
    ("k-means with neighbours", {**_NEAR, "start": "kmeans", "swaps": False}),
    ("k-means with neighbours and words", {**_NEAR_AND_WORDS, "start": "kmeans", "swaps": False}),
    ("the same with swaps", {**_NEAR_AND_WORDS, "start": "kmeans"}),
    ("the same with rounds", {"trainable_layers": 0, "start": "kmeans"}),
    ("average linkage", LINKAGE),
    ("linkage with neighbours", {**_NEAR, "start": "linkage"}),
    ("linkage with neighbours and words", {**_NEAR_AND_WORDS, "start": "linkage"}),
    ("the same with rounds", {"trainable_layers": 0, "start": "linkage"}),
    ("what the data choose, with rounds", {"trainable_layers": 0}),
]
ABLATIONS: list[tuple[str, dict[str, Any]]] = [
    ("the default", {}),
    ("k-means as the only start", {"start": "kmeans"}),
    ("linkage as the only start", {"start": "linkage"}),
    ("no words", {"words": 0.0}),
    ("no neighbours", {"neighbours": 0}),
    ("no swaps", {"swaps": False}),
    ("one run of k-means", {"kmeans_starts": 1}),
    ("no rounds", {"rounds": 0}),
    ("8 rounds", {"rounds": 8}),
    ("eps2 = 0.1", {"eps2": 0.1}),
    ("labels by transport of predictions", {"labels": "saot", "renewals": 6}),
    ("the encoder frozen", {"trainable_layers": 0}),
]

VIEW_SETS = ["tweet", "stackoverflow-4k", "agnews-4k"]
VIEW_RECIPES = [
    "virtual",
    "cutoff@0.1",
    "deletion@0.1",
    "swap@0.1",
    "typos@0.1",
    "synonyms@0.1",
    "learned@0.1",
    "neighbours",
    "deletion@0.1+typos@0.1",
]
GIVEN = "given"
DEFAULT_VIEWS = str(Config().views)

Run = dict[str, Any]


def table(head: list[str], rows: list[list[Any]]) -> str:
    """Return a Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(str(cell).strip() for cell in line) + " |" for line in lines)


def methods_table(*datasets: str, methods: tuple[str, ...] | None = None) -> str:
    """Return all methods on some sets, or some methods; of our default the ablations are left out."""
    runs = [run for run in _runs() if methods is None or run["method"] in methods]
    runs = [run for run in runs if run["method"] != OURS or not run["changes"]]
    return render(result_table(runs, datasets), "markdown").rstrip()


def datasets_table() -> str:
    """Return the sets as the runs describe them; what only the texts tell is printed by `rstc benchmark datasets`."""
    found = {run["dataset"]: run for run in _runs() if run["method"] == "rstc-paper"}
    rows = [
        [DATASETS[name].title, f"{run['texts']:,}", run["classes"], DATASETS[name].imbalance, run["views"]]
        for name, run in sorted(found.items(), key=lambda one: list(DATASETS).index(one[0]))
    ]
    return table(["set", "texts", "classes", "imbalance", "views of `rstc-paper` and SCCL"], rows)


def loop_table() -> str:
    """Return what our default begins with and ends with on the eight sets, beside the best that was published."""
    rows, starts, ends = [], [], []
    for name in WHOLE_SETS:
        if not (runs := _of(name, OURS, {})):
            continue
        first = [{**run, **run["curve"][0]} for run in runs]
        starts.append(_means(first))
        ends.append(_means(runs))
        chosen = "k-means" if runs[0]["history"][0]["start"] == "kmeans" else "linkage"
        rows.append([DATASETS[name].title, len(runs), chosen, _cell(first), _cell(runs), BEST_PUBLISHED[name]])
    mean = [" / ".join(f"{value:.1f}" for value in np.mean(values, axis=0)) for values in (starts, ends)]
    rows.append(["mean", "", "", *mean, _mean_published()])
    return table(
        ["set", "seeds", "start of seed 0", "first labels", "after training", "best published, as remembered"], rows
    )


def starts_table() -> str:
    """Return what each way to find labels gives on the eight sets, the encoder frozen."""
    rows = [[title, *(_cell(_of(name, OURS, changes)) for name in WHOLE_SETS)] for title, changes in STARTS]
    return table(["", *(DATASETS[name].title for name in WHOLE_SETS)], rows)


def ablation_table() -> str:
    """Return what each step of the default is worth on the small sets."""
    rows = [[title, *(_cell(_of(name, OURS, changes)) for name in SMALL_SETS)] for title, changes in ABLATIONS]
    return table(["", *(DATASETS[name].title for name in SMALL_SETS)], rows)


def noise_table() -> str:
    """Return k-means and our default on clean and on noisy texts."""
    rows = []
    for name in NOISY_SETS:
        clean = DATASETS[name].source
        cells = []
        for method in ("sbert", OURS):
            before, after = _of(clean, method, {}), _of(name, method, {})
            cells += [_cell(before), _cell(after)]
            cells.append(f"{_means(after)[0] - _means(before)[0]:+.1f}" if before and after else "")
        rows.append([DATASETS[clean].title, *cells])
    return table(["set", "k-means", "with noise", "ACC", "rstc", "with noise", "ACC"], rows)


def uneven_table() -> str:
    """Return k-means, average linkage and our default on the more and more uneven sets."""
    methods = {"k-means": ("sbert", {}), "average linkage": (OURS, LINKAGE), "rstc": (OURS, {})}
    rows = []
    for title, (method, changes) in methods.items():
        cells = []
        for name in UNEVEN_SETS:
            runs = _of(name, method, changes)
            least = min((run["clusters"] for run in runs), default=0)
            cells.append(f"{_cell(runs)}, {least} clusters" if runs else "")
        rows.append([title, *cells])
    heads = ["StackOverflow, 1:1", *(DATASETS[name].title for name in UNEVEN_SETS[1:])]
    return table(["", *heads], rows)


def views_table() -> str:
    """Return what each way to make views changes, and the clusters that are learned from it."""
    measured = {(row["dataset"], row["views"]): row for row in json.loads(VIEWS.read_text())["rows"]}
    rows = []
    for recipe in (*VIEW_RECIPES, GIVEN):
        facts = [measured[key] for key in ((name, recipe) for name in VIEW_SETS) if key in measured]
        changes = ["", "", ""]
        if facts:
            words, cosine = (np.mean([fact[name] for fact in facts]) for name in ("words_changed", "cosine"))
            speeds = [fact["texts_a_second"] for fact in facts if fact["texts_a_second"]]
            changes = [f"{100 * words:.0f} %", f"{cosine:.2f}", f"{min(speeds):,}" if speeds else ""]
        method = "rstc-given" if recipe == GIVEN else OURS
        changed = {} if recipe in (GIVEN, DEFAULT_VIEWS) else {"views": recipe}
        rows.append([f"`{recipe}`", *changes, *(_cell(_of(name, method, changed)) for name in VIEW_SETS)])
    heads = ["views", "words changed", "cosine", "texts a second", *(DATASETS[name].title for name in VIEW_SETS)]
    return table(heads, rows)


@cache
def _runs() -> list[Run]:
    return Store(STORE).runs()


def _of(dataset: str, method: str, changes: dict[str, Any]) -> list[Run]:
    """Return the runs of a method on a set, all seeds."""
    asked = (dataset, method, changes)
    return [run for run in _runs() if (run["dataset"], run["method"], run["changes"]) == asked]


def _means(runs: list[Run]) -> list[float]:
    return [cell_of(runs).means[name] for name in ("acc", "nmi")]


def _cell(runs: list[Run]) -> str:
    """Return the mean of ACC and NMI, with the standard deviation of several seeds."""
    if not runs:
        return ""
    cell = cell_of(runs)
    spreads = {name: "" if spread is None else f" ± {spread:.1f}" for name, spread in cell.deviations.items()}
    return " / ".join(f"{cell.means[name]:.1f}{spreads[name]}" for name in ("acc", "nmi"))


def _mean_published() -> str:
    values = [[float(part) for part in BEST_PUBLISHED[name].split(" / ")] for name in WHOLE_SETS]
    return " / ".join(f"{value:.1f}" for value in np.mean(values, axis=0))
