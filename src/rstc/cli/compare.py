"""`rstc compare`: compare the clusters of a run over time and between groups, as tables in the terminal."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rstc.cli.completion import complete_column, complete_period
from rstc.cli.documents.files import ComparisonsDocument

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from rich.table import Table

    from rstc.results.group_shares import GroupShares
    from rstc.results.over_time import ClusterOverTime, OverTime

TimeColumn = Annotated[
    str | None,
    typer.Option(
        "--time",
        metavar="COLUMN",
        help="Column of dates: show how the share of each cluster changes.",
        autocompletion=complete_column,
    ),
]
Every = Annotated[
    str | None,
    typer.Option(
        "--every",
        metavar="PERIOD",
        help="day, week, month, quarter or year; by default the span of the dates decides.",
        autocompletion=complete_period,
    ),
]
GroupColumns = Annotated[
    list[str] | None,
    typer.Option(
        "--by",
        metavar="COLUMN",
        help="Column of groups, such as a country or a rating, to compare; may be repeated.",
        autocompletion=complete_column,
    ),
]

MAX_ROWS = 15  # of a table, so that it fits a screen
MAX_SENTENCES = 5  # below a table
MAX_SENTENCES_OF_RUN = 3  # at the end of a run
MAX_NAME = 30  # characters of a cluster's name
MAX_VALUE = 14  # characters of a group's name
_BARS = "▁▂▃▄▅▆▇█"
_MAX_BARS = 40
_WIDE = 100  # characters of a terminal that all columns fit
_TREND_STYLES = {
    "new": "bold magenta",
    "growing": "bold green",
    "fading": "yellow",
    "gone": "bold red",
    "steady": "dim",
}
# Styles of significant cells by their ratio: from which on, and up to the inverse of which for lower ones.
_OVER = ((2.5, "bold black on dark_orange"), (1.5, "black on sandy_brown"), (1.0, "black on navajo_white1"))
_UNDER = ((2.5, "bold white on blue"), (1.5, "black on sky_blue2"), (1.0, "black on light_cyan1"))


def compare(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Run folder.")],
    time: TimeColumn = None,
    every: Every = None,
    by: GroupColumns = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="Write all numbers as a table: CSV, TSV, JSONL or Parquet."),
    ] = None,
) -> ComparisonsDocument:
    """Compare the clusters of a run over time and between groups.

    With --time, each cluster's share of the texts per period is printed, and whether the cluster is new, growing,
    steady, fading or gone. With --by, its share in each group, with marks (▲ ▼) where it is over- or under-represented.
    What is named or marked is significant after a correction for all clusters or cells.

    The result is shown on DIR/report.html, too, until the next comparison. Clusters count as they are after
    corrections. Without --time and --by, the last comparison is repeated.

    Examples:

        rstc compare run --time posted_at --every week

        rstc compare run --by airline --by rating --out shares.csv
    """
    from rstc.cli.display import output
    from rstc.pipelines.compare import compare_run
    from rstc.results.run_files import REPORT

    comparisons = compare_run(folder, time, every, by or [], out)
    if comparisons.over_time is not None:
        print_over_time(comparisons.over_time)
    for shares in comparisons.groups:
        print_groups(shares)
    if out is not None:
        output.print(f"Written to {out}", soft_wrap=True)
    output.print(f"Shown on {folder / REPORT}", soft_wrap=True)
    over_time = comparisons.over_time
    findings = over_time.list_findings() if over_time else []
    return ComparisonsDocument(
        folder=str(folder),
        out=None if out is None else str(out),
        over_time=over_time.to_json() if over_time else None,
        groups=[shares.to_json() for shares in comparisons.groups],
        findings=[*findings, *(sentence for shares in comparisons.groups for sentence in shares.list_findings())],
    )


def print_over_time(result: OverTime) -> None:
    """Print the clusters over time: a table of trends, and the strongest findings in sentences."""
    from rstc.cli.display import output

    output.print(over_time_table(result, output.width))
    for note in describe_dates(result):
        output.print(note)
    for sentence in result.list_findings()[:MAX_SENTENCES]:
        output.print(f"  {sentence}")


def print_groups(shares: GroupShares) -> None:
    """Print the clusters by group: a table of shares, and the strongest findings in sentences."""
    from rstc.cli.display import output

    output.print(group_table(shares, output.width))
    output.print(describe_association(shares))
    for sentence in shares.list_findings()[:MAX_SENTENCES]:
        output.print(f"  {sentence}")


def print_comparison_findings(folder: Path) -> list[str]:
    """Print what the comparisons of a finished run found, in a few lines, and return them; none if it has none."""
    from rstc.cli.display import output
    from rstc.results.comparisons import repeat_comparisons
    from rstc.results.corrected_run import CorrectedRun

    comparisons = repeat_comparisons(folder, CorrectedRun.read(folder))
    if comparisons is None:
        return []
    lines = []
    if result := comparisons.over_time:
        found = [entry.trend for entry in result.clusters if entry.trend != "steady"]
        counts = [f"{found.count(trend)} {trend}" for trend in dict.fromkeys(found)]
        lines.append(f"By {result.every} ({result.column}): {', '.join(counts) or 'no cluster changes its share'}")
        lines += [f"  {sentence}" for sentence in result.list_findings()[:MAX_SENTENCES_OF_RUN]]
    for shares in comparisons.groups:
        lines.append(describe_association(shares))
        lines += [f"  {sentence}" for sentence in shares.list_findings()[:MAX_SENTENCES_OF_RUN]]
    for line in lines:
        output.print(line)
    output.print(f"All of them: rstc compare {folder}", soft_wrap=True)
    return [line.strip() for line in lines]


def over_time_table(result: OverTime, width: int) -> Table:
    """Return a table of the clusters over time, those that change first, for a terminal of some width."""
    from rich.table import Table
    from rich.text import Text

    from rstc.cli.display import shorten
    from rstc.results.periods import shorten_period
    from rstc.results.wording import format_percent, format_ratio

    first, last = (shorten_period(result.periods[end], result.every) for end in (0, -1))
    entries = result.sort_by_strength()
    hidden = len(entries) - MAX_ROWS
    table = Table(
        title=f"Share of the texts by {result.every}, {first} to {last} (column {result.column!r})",
        title_justify="left",
        caption=f"and {hidden} more clusters" if hidden > 0 else None,
        caption_justify="left",
    )
    is_wide = width >= _WIDE
    left = width - (74 if is_wide else 46)  # of the columns but for the first and the bars
    step = -(-len(result.periods) // min(_MAX_BARS, max(4, left // 2)))
    name_length = max(10, min(MAX_NAME, left - -(-len(result.periods) // step)))
    table.add_column("cluster", no_wrap=True)
    table.add_column("texts", justify="right", no_wrap=True)
    if is_wide:
        table.add_column("share", justify="right", no_wrap=True)
    table.add_column("over time", no_wrap=True)
    table.add_column("trend", no_wrap=True)
    if is_wide:
        table.add_column("first to last", justify="right", no_wrap=True)
    table.add_column("peak", no_wrap=True)
    for entry in entries[:MAX_ROWS]:
        changes = entry.trend in ("growing", "fading")
        style = _TREND_STYLES[entry.trend]
        peak = "" if entry.peak is None else shorten_period(result.periods[entry.peak.period], result.every)
        share = format_percent(entry.counts.sum() / result.totals.sum())
        change = f"{format_percent(entry.first)} → {format_percent(entry.last)}" if changes else ""
        table.add_row(
            Text(shorten(f"{entry.cluster} {entry.name}", name_length)),
            f"{entry.counts.sum():,}",
            *([share] if is_wide else []),
            Text(draw_sparkline(entry, result.totals, step), style=style),
            Text(f"{entry.trend} × {format_ratio(entry.change)}" if changes else entry.trend, style=style),
            *([change] if is_wide else []),
            peak,
        )
    return table


def draw_sparkline(entry: ClusterOverTime, totals: NDArray[np.int64], step: int) -> str:
    """Return the shares of a cluster as a row of bars, one per period or per `step` of them."""
    import numpy as np

    starts = np.arange(0, len(totals), step)
    counts, sums = np.add.reduceat(entry.counts, starts), np.add.reduceat(totals, starts)
    shares = counts / np.maximum(sums, 1)
    levels = np.ceil(shares / max(shares.max(), 1e-12) * len(_BARS)).astype(int) - 1
    return "".join(" " if not total else _BARS[max(level, 0)] for level, total in zip(levels, sums, strict=True))


def describe_dates(result: OverTime) -> list[str]:
    """Return what else a reader of the table should know about the dates."""
    from rstc.results.periods import label_period

    notes = []
    if result.n_missing:
        far = f", {result.n_far:,} of them because their date is far from all others" if result.n_far else ""
        notes.append(f"{result.n_missing:,} texts without a date are left out{far}")
    incomplete = [
        label_period(start, result.every)
        for start, complete in zip(result.periods, result.is_complete, strict=True)
        if not complete
    ]
    if incomplete:
        notes.append(f"Incomplete, and left out of the trends: {' and '.join(incomplete)}")
    if not result.is_tested:
        notes.append("There are too few periods to test for trends; a shorter period may give more: --every")
    return notes


def group_table(shares: GroupShares, width: int) -> Table:
    """Return a table of the clusters by group that fits a width, with marks and colours where shares differ."""
    from rich.table import Table
    from rich.text import Text

    from rstc.cli.display import shorten
    from rstc.results.wording import format_percent

    cells = shares.list_cells()
    all_rows = range(len(shares.clusters))
    rows = sorted(all_rows, key=lambda row: (_rank(row, [cell[0] for cell in cells]), -shares.counts[row].sum()))
    labels = [shorten(value, MAX_VALUE) for value in shares.values]
    columns: list[int] = []
    left = width - MAX_NAME - 4
    for column in dict.fromkeys([*(cell[1] for cell in cells), *range(len(labels))]):  # with findings, then in order
        left -= max(len(labels[column]), 7) + 3
        if left >= 0 or not columns:
            columns.append(column)
    columns.sort()
    hidden = [
        f"{len(rows) - MAX_ROWS} more clusters" if len(rows) > MAX_ROWS else "",
        f"{len(labels) - len(columns)} more values" if len(columns) < len(labels) else "",
    ]
    table = Table(
        title=f"Share of each group's texts by {shares.column}",
        title_justify="left",
        caption=f"and {' and '.join(filter(None, hidden))}; --out FILE writes all" if any(hidden) else None,
        caption_justify="left",
    )
    table.add_column("cluster", no_wrap=True, max_width=MAX_NAME)
    for column in columns:
        table.add_column(Text(labels[column]), justify="right", no_wrap=True)
    signs = shares.signs
    for row in rows[:MAX_ROWS]:
        table.add_row(
            Text(shorten(f"{shares.clusters[row]} {shares.names[row]}", MAX_NAME)),
            *(
                Text(
                    f"{format_percent(shares.shares[row, column])} {' ▲▼'[signs[row, column]]}",
                    style=style_cell(float(shares.ratios[row, column]), int(signs[row, column])),
                )
                for column in columns
            ),
        )
    table.add_section()
    table.add_row("texts", *(f"{shares.totals[column]:,}  " for column in columns))
    return table


def style_cell(ratio: float, sign: int) -> str:
    """Return the style of a cell: a colour by its ratio where it is significant, else dim."""
    if not sign:
        return "dim"
    steps, excess = (_OVER, ratio) if sign > 0 else (_UNDER, 1 / max(ratio, 1e-9))
    return next((style for limit, style in steps if excess >= limit), steps[-1][1])


def describe_association(shares: GroupShares) -> str:
    """Return how strongly clusters and groups are associated."""
    missing = f"; {shares.n_missing:,} texts have no value" if shares.n_missing else ""
    if not (shares.signs != 0).any():
        return f"By {shares.column}: no cluster is more frequent in one group than in the others{missing}"
    strength = "weak" if shares.effect < 0.1 else "moderate" if shares.effect < 0.3 else "strong"
    return f"By {shares.column}: the association is {strength} (Cramer's V {shares.effect:.2f}){missing}"


def _rank(row: int, found: list[int]) -> int:
    """Return the position of a cluster's strongest finding; that of clusters without any is after all."""
    return found.index(row) if row in found else len(found)
