"""Tables of results by method and data set, over seeds and beside the paper's numbers, in Markdown, LaTeX and CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rstc.benchmark.datasets import DATASETS
from rstc.benchmark.methods import METHODS, SCHEDULED_FAMILIES, name_encoder
from rstc.benchmark.published import published_scores
from rstc.benchmark.store import Job
from rstc.errors import InputError

METRICS = ("acc", "nmi", "ari", "ami")
SHOWN_METRICS = ("acc", "nmi")  # as in the paper's table; the CSV has all
SWEPT_SETTINGS = {"eps1", "eps2", "lambda_i"}  # their effect is shown in figures


@dataclass(frozen=True)
class Cell:
    """The runs of one method on one data set, which differ in the seed alone.

    Attributes
    ----------
    means : dict
        Mean ACC, NMI, ARI and AMI over the seeds, in percent; NaN if a run lacks the metric.
    deviations : dict
        Their standard deviations; None for a single seed.
    n_seeds : int
        Number of runs.
    layers : str or None
        Number of trained encoder layers; None for a method without an encoder.
    clusters, seconds : float
        Mean number of clusters and mean time over the seeds.
    views : str or None
        Origin of the two views; None for a method without views.
    """

    means: dict[str, float]
    deviations: dict[str, float | None]
    n_seeds: int
    layers: str | None
    clusters: float
    seconds: float
    views: str | None


@dataclass(frozen=True)
class ResultTable:
    """Cells by variant of a method and by data set.

    Attributes
    ----------
    datasets : list of str
        Names of the data sets, which are the columns.
    rows : dict of dict of Cell
        Cells by variant and data set; variants in the order of METHODS.
    methods : dict of str
        Method of each variant.
    changes : dict of dict
        Changed settings of each variant.
    """

    datasets: list[str]
    rows: dict[str, dict[str, Cell]]
    methods: dict[str, str]
    changes: dict[str, dict[str, Any]]

    def row_title(self, variant: str) -> str:
        """Return the title of a row; "short schedule" is a method of the paper on the CPU schedule."""
        method, changes = METHODS[self.methods[variant]], dict(self.changes[variant])
        schedule = changes.pop("schedule", "cpu" if method.family in SCHEDULED_FAMILIES else None)
        suffix = {"cpu": ", short schedule", "paper": ", the paper's schedule", None: ""}[schedule]
        return method.title + suffix + "".join(f", {name} = {value}" for name, value in changes.items())

    def column_title(self, dataset: str) -> str:
        """Return the title of a column: the data set and the origin of its views, if a method uses them."""
        views = {cells[dataset].views for cells in self.rows.values() if dataset in cells} - {None}
        return DATASETS[dataset].title + "".join(f", views: {origin}" for origin in sorted(map(str, views)))


def build_table(runs: Sequence[dict[str, Any]], datasets: Sequence[str]) -> ResultTable:
    """Summarise runs as a table of methods by data sets.

    Parameters
    ----------
    runs : sequence of dict
        Runs of the store. Runs that change a setting of SWEPT_SETTINGS are left out.
    datasets : sequence of str
        Names of the data sets to show.

    Returns
    -------
    ResultTable
    """
    groups: dict[str, dict[str, list[dict[str, Any]]]] = {}
    methods, changes = {}, {}
    for run in runs:
        if run["method"] not in METHODS:
            raise InputError(f"the store has a run of the unknown method {run['method']!r}")
    for run in sorted(runs, key=lambda run: list(METHODS).index(run["method"])):
        if run["dataset"] not in datasets or set(run["changes"]) & SWEPT_SETTINGS:
            continue
        variant = Job(run["dataset"], run["method"], run["seed"], run["changes"]).variant
        groups.setdefault(variant, {}).setdefault(run["dataset"], []).append(run)
        methods[variant], changes[variant] = run["method"], run["changes"]
    rows = {
        variant: {name: summarise_runs(group) for name, group in by_dataset.items()}
        for variant, by_dataset in groups.items()
    }
    return ResultTable(list(datasets), rows, methods, changes)


def summarise_runs(runs: list[dict[str, Any]]) -> Cell:
    """Average the runs of a method on a data set, which may differ in the seed alone."""
    first = name_encoder(runs[0]["settings"])
    for run in runs[1:]:
        settings = name_encoder(run["settings"])
        if different := {name for name in settings if name in first and settings[name] != first[name]}:
            raise InputError(
                f"the runs of {run['method']} on {run['dataset']} have different {', '.join(sorted(different))}: "
                "delete those with the settings that you do not want"
            )

    def mean(name: str) -> float:
        return float(np.mean([run.get(name, np.nan) for run in runs]))

    def deviation(name: str) -> float | None:
        return float(np.std([run.get(name, np.nan) for run in runs], ddof=1)) if len(runs) > 1 else None

    return Cell(
        {name: mean(name) for name in METRICS},
        {name: deviation(name) for name in METRICS},
        len(runs),
        _trained_layers(runs[0]),
        mean("clusters"),
        mean("seconds"),
        runs[0]["views"],
    )


def _trained_layers(run: dict[str, Any]) -> str | None:
    if run["method"] == "sbert":
        return "0"
    layers = run["settings"].get("trainable_layers")
    return None if layers is None else str(layers)


def render(table: ResultTable, format: str, metrics: Sequence[str] = SHOWN_METRICS) -> str:
    """Format a table as "markdown", "latex" or "csv"; the CSV has all metrics."""
    if format not in FORMATS:
        raise InputError(f"format={format!r} is not one of {', '.join(FORMATS)}")
    if unknown := set(metrics) - set(METRICS):
        raise InputError(f"unknown metric {min(unknown)!r}; the metrics are {', '.join(METRICS)}")
    return FORMATS[format](table, metrics)


def format_markdown(table: ResultTable, metrics: Sequence[str] = SHOWN_METRICS) -> str:
    """Format a table in Markdown, with the metrics and in brackets the number of seeds and of trained layers."""
    rows = []
    for variant, cells in table.rows.items():
        texts = [
            _format_cell(table, variant, name, metrics, "**{}**", "<u>{}</u>", "±") if name in cells else ""
            for name in table.datasets
        ]
        rows.append([table.row_title(variant), *texts])
        if published := _format_published(table, variant, metrics):
            rows.append([f"*{METHODS[table.methods[variant]].title}, as published*", *published])
    return markdown_table(["method", *map(table.column_title, table.datasets)], rows) + "\n"


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Format a header and rows of cells as a Markdown table.

    Examples
    --------
    >>> print(markdown_table(["N", "seconds"], [[10, 0.5]]))
    | N | seconds |
    | --- | --- |
    | 10 | 0.5 |
    """
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(str(cell).strip().replace("|", "\\|") for cell in line) + " |" for line in lines)


def format_latex(table: ResultTable, metrics: Sequence[str] = SHOWN_METRICS) -> str:
    """Format a table in LaTeX, for the package booktabs."""
    header = ["method", *(_escape_latex(table.column_title(name)) for name in table.datasets)]
    lines = [" & ".join(header) + r" \\", r"\midrule"]
    for variant, cells in table.rows.items():
        texts = [
            _format_cell(table, variant, name, metrics, r"\textbf{{{}}}", r"\underline{{{}}}", r"$\pm$")
            if name in cells
            else ""
            for name in table.datasets
        ]
        lines.append(" & ".join([_escape_latex(table.row_title(variant)), *texts]) + r" \\")
        if published := _format_published(table, variant, metrics):
            title = rf"\emph{{{_escape_latex(METHODS[table.methods[variant]].title)}, as published}}"
            lines.append(" & ".join([title, *published]) + r" \\")
    begin = rf"\begin{{tabular}}{{l{'c' * len(table.datasets)}}}"
    return "\n".join([begin, r"\toprule", *lines, r"\bottomrule", r"\end{tabular}", ""])


def format_csv(table: ResultTable, metrics: Sequence[str] = METRICS) -> str:
    """Format a table as CSV with a line per method and data set, unrounded, always with all metrics."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    scores = [f"{metric}_{statistic}" for metric in METRICS for statistic in ("mean", "std")]
    keys = ["dataset", "method", "changes", "seeds", "layers", "views"]
    writer.writerow([*keys, *scores, "clusters", "seconds", "paper_acc", "paper_nmi"])
    for variant, cells in table.rows.items():
        method = table.methods[variant]
        changes = " ".join(f"{name}={value}" for name, value in table.changes[variant].items())
        for name, cell in cells.items():
            values = [value for metric in METRICS for value in (cell.means[metric], cell.deviations[metric])]
            published = published_scores(method, name) or ("", "")
            made_with = [name, method, changes, cell.n_seeds, cell.layers, cell.views]
            writer.writerow([*made_with, *values, cell.clusters, cell.seconds, *published])
    return out.getvalue()


FORMATS: dict[str, Callable[[ResultTable, Sequence[str]], str]] = {
    "markdown": format_markdown,
    "latex": format_latex,
    "csv": format_csv,
}


def format_scores(
    cell: Cell,
    plus_minus: str = "±",
    emphasise: Callable[[str, str], str] | None = None,
    metrics: Sequence[str] = SHOWN_METRICS,
) -> str:
    """Format metrics, by default ACC / NMI, with the standard deviations over the seeds.

    Parameters
    ----------
    cell : Cell
        The scores.
    plus_minus : str
        The sign before a deviation.
    emphasise : callable, optional
        Maps a metric and its formatted mean to the text to show.
    metrics : sequence of str
        Names of the metrics; one that a run lacks is shown as "–".
    """
    parts = []
    for metric in metrics:
        if np.isnan(cell.means[metric]):
            parts.append("–")
            continue
        text = f"{cell.means[metric]:.1f}"
        if emphasise is not None:
            text = emphasise(metric, text)
        deviation = cell.deviations[metric]
        parts.append(text if deviation is None else f"{text} {plus_minus} {deviation:.1f}")
    return " / ".join(parts)


def _format_cell(
    table: ResultTable,
    variant: str,
    dataset: str,
    metrics: Sequence[str],
    best: str,
    second: str,
    plus_minus: str,
) -> str:
    """Format the scores of a cell, the best and the second best of the column marked, with seeds and layers."""
    cell = table.rows[variant][dataset]

    def emphasise(metric: str, text: str) -> str:
        means = [cells[dataset].means[metric] for cells in table.rows.values() if dataset in cells]
        column = sorted({round(mean, 1) for mean in means if not np.isnan(mean)})
        rank = column[::-1].index(round(cell.means[metric], 1))
        return (best, second)[rank].format(text) if rank < 2 and len(column) > 1 else text

    made_with = f"{cell.n_seeds}s" if cell.layers is None else f"{cell.n_seeds}s {cell.layers}L"
    return f"{format_scores(cell, plus_minus, emphasise, metrics)} ({made_with})"


def _format_published(table: ResultTable, variant: str, metrics: Sequence[str]) -> list[str]:
    """Format the paper's scores of a variant, ACC and NMI; empty if there are none, or other metrics are shown."""
    if tuple(metrics) != SHOWN_METRICS or set(table.changes[variant]) - {"schedule"}:
        return []
    if "schedule" not in table.changes[variant] and f"{variant}+schedule=paper" in table.rows:
        return []  # they are shown below the run on the paper's schedule
    scores = [published_scores(table.methods[variant], name) for name in table.datasets]
    return ["–" if pair is None else f"{pair[0]:.2f} / {pair[1]:.2f}" for pair in scores] if any(scores) else []


def _escape_latex(text: str) -> str:
    r"""Escape the special characters of LaTeX.

    >>> print(_escape_latex("STC²-LPI, encoder = org_a/50%"))
    STC$^2$-LPI, encoder = org\_a/50\%
    """
    special = {character: "\\" + character for character in "&%$#_{}"}
    special |= {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "²": "$^2$"}
    return "".join(special.get(character, character) for character in text)
