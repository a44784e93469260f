"""What the commands print: progress bars on a terminal and plain lines elsewhere, tables, and result lines."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from rstc.cli.exit_codes import Interruption
from rstc.cli.messages import is_main_process
from rstc.cli.terminal import CleanConsole
from rstc.runtime.progress import STAGES, Listener
from rstc.runtime.signals import StopRequested

if TYPE_CHECKING:
    import pandas as pd

    from rstc.pseudo_labels.cluster_count import ClusterCount
    from rstc.results.levels import Level, ShownLevel
    from rstc.results.proposals import Proposal
    from rstc.results.reliability import ClusterReliability
    from rstc.results.summary import ClusterEntry, OutlierSummary

SECONDS_BETWEEN_LINES = 15.0
DEFAULT_WIDTH = 110  # where standard output is not a terminal
MAX_SHOWN_CLUSTERS = 15  # the table of a run is at most one screen
MAX_CLUSTERS_WITH_TWO_TEXTS = 7
MIN_RATED_WIDTH = 100  # columns of a terminal, from which on the table shows how often a cluster is found again

_width = None if CleanConsole().is_terminal or "COLUMNS" in os.environ else DEFAULT_WIDTH
output = CleanConsole(width=_width)
notes = CleanConsole(stderr=True)


@contextmanager
def show_progress(source: str | Path, run: Path | None = None) -> Iterator[Listener]:
    """Yield a listener that shows the stages of a run on standard error; report an interruption in one sentence.

    Parameters
    ----------
    source : str or Path
        The file or the folder that is read first; a line says so before anything is imported that takes long.
    run : Path, optional
        The run folder that is written; an interruption after its clusters were written is reported as such.
    """
    try:
        with _open_listener() as listen:
            listen(f"reading {'standard input' if str(source) == '-' else shorten(str(source), 80)}", 0, 0)
            yield listen
    except KeyboardInterrupt as stop:
        message = _describe_interruption(stop, run)
        if is_main_process():
            notes.print(message, soft_wrap=True)
        raise Interruption(stop, message.removeprefix("rstc: ")) from None


def _describe_interruption(stop: KeyboardInterrupt, run: Path | None) -> str:
    """Return what an interruption left, and how to go on."""
    from rstc.results.run_files import is_unfinished

    if run is not None and is_unfinished(run):
        return f"rstc: stopped; the clusters are in {run}, and `rstc report {run}` makes the map and the page"
    if isinstance(stop, StopRequested):
        return "rstc: stopped; the same command resumes from the last checkpoint"
    return "rstc: interrupted; nothing was written"


def _open_listener() -> AbstractContextManager[Listener]:
    """Return a listener with bars on a terminal, lines elsewhere, and nothing in processes other than the main one."""
    if not is_main_process():
        return nullcontext(lambda stage, done, total: None)
    return _bar_listener() if notes.is_terminal else nullcontext(_line_listener())


@contextmanager
def _bar_listener() -> Iterator[Listener]:
    """Yield a listener that draws a progress bar for each stage and removes them at the end."""
    columns = (TextColumn("{task.description:<20}", markup=False), BarColumn(), TextColumn("{task.completed:,.0f}"))
    with Progress(*columns, TimeElapsedColumn(), TimeRemainingColumn(), console=notes, transient=True) as bars:
        tasks: dict[str, TaskID] = {}
        uncounted: set[str] = set()  # stages without a total, which end when another one begins

        def listen(stage: str, done: int, total: int) -> None:
            for ended in uncounted - {stage}:
                bars.remove_task(tasks.pop(ended))
            uncounted.intersection_update({stage})
            if not total:
                uncounted.add(stage)
            if stage not in tasks:
                tasks[stage] = bars.add_task(STAGES.get(stage, stage), total=total or None)
            bars.update(tasks[stage], completed=done, total=total or None)

        yield listen


def _line_listener() -> Listener:
    """Return a listener that prints a line when a stage begins and every few seconds while it lasts."""
    stage_shown, last = "", 0.0

    def listen(stage: str, done: int, total: int) -> None:
        nonlocal stage_shown, last
        now = time.monotonic()
        if stage == "renew" or (stage == stage_shown and now - last < SECONDS_BETWEEN_LINES and done != total):
            return
        stage_shown, last = stage, now
        count = f": {done:,} of {total:,}" if total else f": {done:,}" if done else ""
        notes.print(STAGES.get(stage, stage) + count)

    return listen


def print_clusters(clusters: Sequence[ClusterEntry], folder: Path, show_all: bool = False) -> None:
    """Print the clusters of a run, the largest first: as many as fit on a screen, and a line for the others."""
    shown = sorted(clusters, key=lambda entry: -entry.size)
    if show_all:
        output.print(cluster_table(shown))
        return
    hidden = shown[MAX_SHOWN_CLUSTERS:]
    output.print(short_cluster_table(shown[:MAX_SHOWN_CLUSTERS], output.width))
    if hidden:
        from rstc.results.run_files import REPORT

        n_texts = sum(entry.size for entry in hidden)
        count = f"{len(hidden):,} smaller clusters" if len(hidden) > 1 else "1 smaller cluster"
        output.print(
            f"and {count} ({n_texts:,} {'text' if n_texts == 1 else 'texts'}); all of them: {folder / REPORT} or "
            f"`rstc info {folder} --all`",
            soft_wrap=True,
        )


def short_cluster_table(clusters: Sequence[ClusterEntry], width: int) -> Table:
    """Return a table of clusters that is at most `width` wide: a line for each, or for each of its typical texts.

    Two typical texts are shown of each of few clusters, and one of more. A narrow table does not show how often a
    cluster is found again.
    """
    is_rated = width >= MIN_RATED_WIDTH and any(entry.reliability for entry in clusters)
    n_typical = 2 if len(clusters) <= MAX_CLUSTERS_WITH_TWO_TEXTS else 1
    numbers = {
        "cluster": [str(entry.cluster) for entry in clusters],
        "size": [f"{entry.size:,}" for entry in clusters],
        "confidence": [_format_confidence(entry) for entry in clusters],
    }
    if is_rated:
        numbers["found again"] = [_format_found(entry.reliability) for entry in clusters]
    widths = [max(map(len, [name, *cells])) for name, cells in numbers.items()]
    for_words = max(width - sum(widths) - 3 * (len(widths) + 2) - 1, 24)  # each column has a border and two spaces
    keyword_width = min(30, for_words * 2 // 5)
    table = Table(expand=False)
    for name, column_width in zip(numbers, widths, strict=True):
        table.add_column(name, justify="right", width=column_width, no_wrap=True)
    table.add_column("keywords", width=keyword_width, no_wrap=True)
    table.add_column("typical texts" if n_typical > 1 else "typical text", max_width=for_words - keyword_width)
    for row, entry in enumerate(clusters):
        texts = [_cut("· " * (n_typical > 1) + text, for_words - keyword_width) for text in entry.typical[:n_typical]]
        keywords = _cut(", ".join(entry.keywords[:6]), keyword_width)
        table.add_row(*(cells[row] for cells in numbers.values()), keywords, Text("\n").join(texts))
    return table


def _cut(text: str, width: int) -> Text:
    """Return a text in one line that is at most so wide on a terminal, where some characters take two columns."""
    line = Text(shorten(text, max(len(text), 1)))
    line.truncate(width, overflow="ellipsis")
    return line


def cluster_table(clusters: Sequence[ClusterEntry], typical: int = 2) -> Table:
    """Return a table of clusters: size, mean confidence, how often it is found again, keywords and typical texts."""
    table = Table(show_lines=True, expand=False)
    table.add_column("cluster", justify="right")
    table.add_column("size", justify="right")
    table.add_column("confidence", justify="right")
    is_rated = any(entry.reliability for entry in clusters)
    if is_rated:
        table.add_column("found again", justify="right")
    table.add_column("keywords", max_width=30)
    table.add_column("typical texts", max_width=64)
    for entry in clusters:
        texts = "\n".join("· " + shorten(text, 120) for text in entry.typical[:typical])
        table.add_row(
            str(entry.cluster),
            f"{entry.size:,}",
            _format_confidence(entry),
            *([_format_found(entry.reliability)] if is_rated else []),
            Text(", ".join(entry.keywords[:6])),
            Text(texts),
        )
    return table


def _format_confidence(entry: ClusterEntry) -> str:
    """Return the mean confidence of a cluster and its level."""
    from rstc.io.predictions import level_of  # imports numpy

    return "–" if entry.confidence is None else f"{entry.confidence:.2f} {level_of(entry.confidence)}"


def _format_found(reliability: ClusterReliability | None) -> str:
    """Return in how many repeats a cluster is found again."""
    return "–" if reliability is None else f"{reliability.n_found} of {reliability.n_repeats}"


def proposal_table(folder: Path, proposals: list[Proposal], names: Mapping[int, str], typical: int = 2) -> Table:
    """Return a table of proposed clusters: number, size, stability, keywords, typical texts and the nearest cluster."""
    from rstc.results.points import read_points  # imports pandas

    texts = read_points(folder).texts
    table = Table(show_lines=True, expand=False, title="Proposed clusters")
    table.add_column("proposal", justify="right")
    table.add_column("size", justify="right")
    table.add_column("found again", justify="right")
    table.add_column("keywords", max_width=30)
    table.add_column("typical texts", max_width=50)
    table.add_column("nearest cluster", max_width=24)
    for proposal in proposals:
        quotes = "\n".join("· " + shorten(texts[row], 100) for row in proposal.typical[:typical])
        near = "" if proposal.near is None else names.get(proposal.near, f"cluster {proposal.near}")
        table.add_row(
            str(proposal.id),
            f"{proposal.size:,}",
            "–" if proposal.stability is None else f"{proposal.stability:.0%}",
            Text(", ".join(proposal.keywords[:6])),
            Text(quotes),
            Text(near),
        )
    return table


def augmentation_table(texts: pd.DataFrame) -> Table:
    """Return a table of texts beside their augmented versions."""
    table = Table(show_lines=True, expand=False)
    for column in texts.columns:
        table.add_column(str(column), max_width=48)
    for row in texts.itertuples(index=False):
        table.add_row(*(Text(shorten(str(text), 120)) for text in row))
    return table


def shorten(text: str, max_length: int) -> str:
    """Return a text as one line without control characters, truncated to a maximum length."""
    line = "".join(c if c.isprintable() else " " for c in " ".join(text.split()))
    return line if len(line) <= max_length else line[: max_length - 1] + "…"


def format_seconds(seconds: dict[str, float]) -> str:
    """Format the seconds of each stage."""
    return ", ".join(f"{name} {value:.1f}" for name, value in seconds.items())


def format_n_clusters(count: ClusterCount) -> str:
    """Format the estimated number of clusters with its certainty and the alternatives.

    >>> from rstc.pseudo_labels.cluster_count import ClusterCount
    >>> format_n_clusters(ClusterCount(16, 15, 18, certainty="fair", runners_up=(5,), candidates=()))
    'Estimated number of clusters: 16 (fairly certain); 15 to 18 fit about as well; another candidate is 5'
    """
    certainty = {"clear": "clear", "fair": "fairly certain", "weak": "uncertain"}[count.certainty]
    line = f"Estimated number of clusters: {count.n_clusters} ({certainty})"
    if count.low < count.high:
        line += f"; {count.low} to {count.high} fit about as well"
    if count.runners_up:
        others = ", ".join(map(str, count.runners_up))
        line += f"; another candidate is {others}" if len(count.runners_up) == 1 else f"; other candidates: {others}"
    return line


def format_levels(levels: Sequence[Level | ShownLevel], folder: Path) -> str:
    """Format the levels of detail of a run and how to switch between them.

    >>> from rstc.results.levels import ShownGroup, ShownLevel
    >>> groups = [ShownGroup(name, [0]) for name in "abc"]
    >>> format_levels([ShownLevel("coarse", False, groups[:2]), ShownLevel("medium", True, groups)], Path("run"))
    'Levels: coarse 2, medium 3 (`rstc detail run coarse` switches, as does the page)'
    """
    numbers = ", ".join(f"{level.name} {len(level.groups)}" for level in levels)
    other = next(level.name for level in levels if not level.is_chosen)
    return f"Levels: {numbers} (`rstc detail {folder} {other}` switches, as does the page)"


def format_outliers(outliers: OutlierSummary) -> str:
    """Format how many outliers were found, and how many are expected among the other texts.

    >>> from rstc.results.summary import OutlierSummary
    >>> format_outliers(OutlierSummary(requested=0.01, n_texts=40, expected_left=0.0081))
    '40 outliers (cluster -1); about 0.8 % of the other texts are expected to be outliers too'
    """
    n_outliers = f"{outliers.n_texts:,} {'outlier' if outliers.n_texts == 1 else 'outliers'} (cluster -1)"
    remaining = f"{outliers.expected_left:.1%}".replace("%", " %")
    return f"{n_outliers}; about {remaining} of the other texts are expected to be outliers too"
