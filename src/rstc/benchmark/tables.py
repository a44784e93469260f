"""Tables of results: mean and standard deviation over seeds, the paper's figures beside ours; Markdown, LaTeX, CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rstc.benchmark.datasets import DATASETS
from rstc.benchmark.methods import METHODS, SCHEDULED
from rstc.benchmark.published import published
from rstc.benchmark.store import Job
from rstc.errors import InputError

METRICS = ("acc", "nmi", "ari")
SWEPT = {"eps1", "eps2", "lambda_i"}  # settings whose effect the figures show
SHOWN = ("acc", "nmi")  # as in the paper's table; ARI is in the CSV


@dataclass(frozen=True)
class Cell:
    """The runs of one method on one set.

    Attributes:
        means, deviations: of ACC, NMI and ARI over the seeds, in percent; a single seed has no deviation.
        seeds: how many runs there are.
        layers: how many layers of the encoder learned; None where there is no encoder.
        clusters, seconds: means over the seeds.
        views: where the two views came from; None where there are none.
    """

    means: dict[str, float]
    deviations: dict[str, float | None]
    seeds: int
    layers: str | None
    clusters: float
    seconds: float
    views: str | None


@dataclass(frozen=True)
class ResultTable:
    """Cells by row and set; rows in the order of METHODS, those with changed settings after the method's own."""

    datasets: list[str]
    rows: dict[str, dict[str, Cell]]
    methods: dict[str, str]
    changes: dict[str, dict[str, Any]]

    def title(self, row: str) -> str:
        """How a row is called; "squeezed" is a method on the CPU's schedule in place of the paper's."""
        asked, changed = METHODS[self.methods[row]], dict(self.changes[row])
        schedule = changed.pop("schedule", "cpu" if asked.family in SCHEDULED else None)
        told = {"cpu": ", squeezed", "paper": ", the paper's schedule", None: ""}[schedule]
        return asked.title + told + "".join(f", {name} = {value}" for name, value in changed.items())

    def head(self, dataset: str) -> str:
        """How a column is called: the set, and where the views of methods that use them came from."""
        found = {cells[dataset].views for cells in self.rows.values() if dataset in cells} - {None}
        return DATASETS[dataset].title + "".join(f", views: {views}" for views in sorted(map(str, found)))


def result_table(runs: Sequence[dict[str, Any]], datasets: Sequence[str]) -> ResultTable:
    """Gather runs into a table of methods by sets.

    Sweeps of a setting are for the figures and left out; other changed settings make a row of their own.
    """
    groups: dict[str, dict[str, list[dict[str, Any]]]] = {}
    methods, changes = {}, {}
    for run in runs:
        if run["method"] not in METHODS:
            raise InputError(f"the store has a run of the method {run['method']!r}, which there is not")
    for run in sorted(runs, key=lambda run: list(METHODS).index(run["method"])):
        if run["dataset"] not in datasets or set(run["changes"]) & SWEPT:
            continue
        row = Job(run["dataset"], run["method"], run["seed"], run["changes"]).row
        groups.setdefault(row, {}).setdefault(run["dataset"], []).append(run)
        methods[row], changes[row] = run["method"], run["changes"]
    cells = {row: {name: cell_of(found) for name, found in by_set.items()} for row, by_set in groups.items()}
    return ResultTable(list(datasets), cells, methods, changes)


def cell_of(runs: list[dict[str, Any]]) -> Cell:
    """Sum up the runs of a method on a set, which differ in the seed alone."""
    for run in runs[1:]:
        shared = set(run["settings"]) & set(runs[0]["settings"])
        if other := {name for name in shared if run["settings"][name] != runs[0]["settings"][name]}:
            raise InputError(
                f"the runs of {run['method']} on {run['dataset']} have different {', '.join(sorted(other))}: "
                "delete those of the settings that you do not want"
            )

    def mean(name: str) -> float:
        return float(np.mean([run[name] for run in runs]))

    def deviation(name: str) -> float | None:
        return float(np.std([run[name] for run in runs], ddof=1)) if len(runs) > 1 else None

    return Cell(
        {name: mean(name) for name in METRICS},
        {name: deviation(name) for name in METRICS},
        len(runs),
        _layers(runs[0]),
        mean("clusters"),
        mean("seconds"),
        runs[0]["views"],
    )


def _layers(run: dict[str, Any]) -> str | None:
    """Return how many layers of the encoder learned in a run."""
    if run["method"] == "sbert":
        return "0"
    layers = run["settings"].get("trainable_layers")
    return None if layers is None else str(layers)


def render(table: ResultTable, format: str) -> str:
    """Write a table as "markdown", "latex" or "csv"."""
    if format not in FORMATS:
        raise InputError(f"format={format!r} is not one of {', '.join(FORMATS)}")
    return FORMATS[format](table)


def markdown(table: ResultTable) -> str:
    """Write a table in Markdown: ACC / NMI, then in brackets how many seeds and how many learning layers."""
    heads = ["method", *map(table.head, table.datasets)]
    lines = [heads, ["---"] * len(heads)]
    for row, cells in table.rows.items():
        texts = [
            _cell_text(table, row, name, "**{}**", "<u>{}</u>", "±") if name in cells else "" for name in table.datasets
        ]
        lines.append([table.title(row), *texts])
        if theirs := _published_texts(table, row):
            lines.append([f"*{METHODS[table.methods[row]].title}, as published*", *theirs])
    return "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |\n" for line in lines)


def latex(table: ResultTable) -> str:
    """Write a table in LaTeX, for the package booktabs."""
    heads = ["method", *(_escaped(table.head(name)) for name in table.datasets)]
    lines = [" & ".join(heads) + r" \\", r"\midrule"]
    for row, cells in table.rows.items():
        texts = [
            _cell_text(table, row, name, r"\textbf{{{}}}", r"\underline{{{}}}", r"$\pm$") if name in cells else ""
            for name in table.datasets
        ]
        lines.append(" & ".join([_escaped(table.title(row)), *texts]) + r" \\")
        if theirs := _published_texts(table, row):
            title = rf"\emph{{{_escaped(METHODS[table.methods[row]].title)}, as published}}"
            lines.append(" & ".join([title, *theirs]) + r" \\")
    begin = rf"\begin{{tabular}}{{l{'c' * len(table.datasets)}}}"
    return "\n".join([begin, r"\toprule", *lines, r"\bottomrule", r"\end{tabular}", ""])


def comma_separated(table: ResultTable) -> str:
    """Write a table as CSV, a line for each method and set, unrounded."""
    out = io.StringIO()
    names = [f"{metric}_{kind}" for metric in METRICS for kind in ("mean", "std")]
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(
        [
            "dataset",
            "method",
            "changes",
            "seeds",
            "layers",
            "views",
            *names,
            "clusters",
            "seconds",
            "paper_acc",
            "paper_nmi",
        ]
    )
    for row, cells in table.rows.items():
        for name, cell in cells.items():
            numbers = [value for metric in METRICS for value in (cell.means[metric], cell.deviations[metric])]
            changed = " ".join(f"{key}={value}" for key, value in table.changes[row].items())
            theirs = published(table.methods[row], name) or ("", "")
            start = [name, table.methods[row], changed, cell.seeds, cell.layers, cell.views]
            writer.writerow([*start, *numbers, cell.clusters, cell.seconds, *theirs])
    return out.getvalue()


FORMATS: dict[str, Callable[[ResultTable], str]] = {"markdown": markdown, "latex": latex, "csv": comma_separated}


def _cell_text(table: ResultTable, row: str, dataset: str, best: str, second: str, plus_minus: str) -> str:
    """Return ACC / NMI with deviations, the best and the runner-up marked, and what the cell was made with."""
    cell = table.rows[row][dataset]
    parts = []
    for metric in SHOWN:
        text = f"{cell.means[metric]:.1f}"
        values = sorted({round(cells[dataset].means[metric], 1) for cells in table.rows.values() if dataset in cells})
        place = values[::-1].index(round(cell.means[metric], 1))
        if place < 2 and len(values) > 1:
            text = (best, second)[place].format(text)
        spread = cell.deviations[metric]
        parts.append(text if spread is None else f"{text} {plus_minus} {spread:.1f}")
    made = f"{cell.seeds}s" if cell.layers is None else f"{cell.seeds}s {cell.layers}L"
    return " / ".join(parts) + f" ({made})"


def _published_texts(table: ResultTable, row: str) -> list[str]:
    """Return the paper's cells of a row, or nothing if it has none."""
    if set(table.changes[row]) - {"schedule"}:
        return []
    if "schedule" not in table.changes[row] and f"{row}+schedule=paper" in table.rows:
        return []  # they stand below the row that ran as the paper did
    found = [published(table.methods[row], name) for name in table.datasets]
    return ["–" if one is None else f"{one[0]:.2f} / {one[1]:.2f}" for one in found] if any(found) else []


def _escaped(text: str) -> str:
    """Return a text as LaTeX shows it.

    >>> _escaped("STC²-LPI, encoder = org_a/50%")
    'STC$^2$-LPI, encoder = org\\\\_a/50\\\\%'
    """
    special = {character: "\\" + character for character in "&%$#_{}"}
    special |= {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "²": "$^2$"}
    return "".join(special.get(character, character) for character in text)
