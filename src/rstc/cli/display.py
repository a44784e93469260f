"""What the commands show: progress as bars on a terminal and plain lines elsewhere, and tables of clusters."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from rstc.cli.messages import is_speaker
from rstc.runtime.progress import Listener
from rstc.runtime.signals import Stopped

if TYPE_CHECKING:
    import pandas as pd

STAGES = {
    "load": "loading the model",
    "encode": "encoding the texts",
    "count": "counting clusters",
    "views": "making views",
    "train": "training",
    "renew": "renewing the labels",
    "predict": "labelling",
    "sample": "choosing texts",
}
SECONDS_BETWEEN_LINES = 15.0

output = Console() if Console().is_terminal or "COLUMNS" in os.environ else Console(width=110)
notes = Console(stderr=True)


@contextmanager
def shown_progress() -> Iterator[Listener]:
    """Yield a listener that shows the stages of a run on standard error; an interruption ends in one sentence."""
    try:
        with _shown() as listen:
            listen("load", 0, 0)
            from rstc.runtime.device import use_granted_cores  # it loads torch, which takes a while

            use_granted_cores()
            yield listen
    except Stopped as stop:
        if is_speaker():
            notes.print("rstc: stopped; the same command goes on from where it was")
        raise typer.Exit(128 + stop.signal_number) from None
    except KeyboardInterrupt:
        if is_speaker():
            notes.print("rstc: interrupted; nothing was written")
        raise typer.Exit(130) from None


def _shown() -> AbstractContextManager[Listener]:
    """Return what shows progress: bars on a terminal, lines elsewhere, nothing in all but the first of processes."""
    if not is_speaker():
        return nullcontext(lambda stage, done, total: None)
    return _bars() if notes.is_terminal else nullcontext(_plain_lines())


@contextmanager
def _bars() -> Iterator[Listener]:
    """Yield a listener that draws a bar for each stage and takes them away at the end."""
    columns = (TextColumn("{task.description:<20}"), BarColumn(), TextColumn("{task.completed:,.0f}"))
    with Progress(*columns, TimeElapsedColumn(), TimeRemainingColumn(), console=notes, transient=True) as bars:
        tasks: dict[str, TaskID] = {}

        def listen(stage: str, done: int, total: int) -> None:
            if stage != "load" and "load" in tasks:
                bars.remove_task(tasks.pop("load"))
            if stage not in tasks:
                tasks[stage] = bars.add_task(STAGES.get(stage, stage), total=total or None)
            bars.update(tasks[stage], completed=done, total=total or None)

        yield listen


def _plain_lines() -> Listener:
    """Return a listener that writes a line when a stage begins and every so often while it lasts."""
    stage_shown, last = "", 0.0

    def listen(stage: str, done: int, total: int) -> None:
        nonlocal stage_shown, last
        now = time.monotonic()
        if stage == "renew" or (stage == stage_shown and now - last < SECONDS_BETWEEN_LINES and done != total):
            return
        stage_shown, last = stage, now
        count = f": {done:,} of {total:,}" if total else f": {done:,}" if done else ""
        notes.print(STAGES.get(stage, stage) + count, highlight=False)

    return listen


def cluster_table(clusters: list[dict[str, Any]], typical: int = 2) -> Table:
    """Return the clusters of a summary as a table: size, confidence, keywords, typical texts."""
    table = Table(show_lines=True, expand=False)
    table.add_column("cluster", justify="right")
    table.add_column("size", justify="right")
    table.add_column("conf.", justify="right")
    table.add_column("keywords", max_width=30)
    table.add_column("typical texts", max_width=64)
    for one in clusters:
        texts = "\n".join("· " + shorten(text, 120) for text in one["typical"][:typical])
        table.add_row(
            str(one["cluster"]),
            f"{one['size']:,}",
            "–" if one["confidence"] is None else f"{one['confidence']:.2f}",
            Text(", ".join(one["keywords"][:6])),
            Text(texts),
        )
    return table


def changes_table(texts: pd.DataFrame) -> Table:
    """Return texts and their changed versions as a table."""
    table = Table(show_lines=True, expand=False)
    for column in texts.columns:
        table.add_column(str(column), max_width=48)
    for row in texts.itertuples(index=False):
        table.add_row(*(Text(shorten(str(text), 120)) for text in row))
    return table


def shorten(text: str, most: int) -> str:
    """Return a text on one line without control characters, cut to a length."""
    line = "".join(c if c.isprintable() else " " for c in " ".join(text.split()))
    return line if len(line) <= most else line[: most - 1] + "…"


def seconds_line(seconds: dict[str, float]) -> str:
    """Return where the time went, stage by stage."""
    return ", ".join(f"{name} {value:.1f}" for name, value in seconds.items())


def count_line(count: dict[str, Any]) -> str:
    """Say how many clusters the texts suggest, and how surely.

    >>> count_line({"n_clusters": 16, "low": 15, "high": 18, "sure": "fair", "runners_up": [5]})
    'The texts suggest 16 clusters (fairly sure); 15 to 18 would serve about as well, and so might 5'
    """
    sure = {"clear": "clearly", "fair": "fairly sure", "weak": "a weak guess"}[count["sure"]]
    low, high = count["low"], count["high"]
    about = f"{low} to {high} would serve about as well" if low < high else ""
    others = ", ".join(str(number) for number in count["runners_up"])
    also = [part for part in (about, f"{'and so' if about else 'so'} might {others}" if others else "") if part]
    return f"The texts suggest {count['n_clusters']} clusters ({sure})" + (f"; {', '.join(also)}" if also else "")


def noise_line(noise: dict[str, Any]) -> str:
    """Say how many texts belong nowhere, and how many more may.

    >>> noise_line({"asked": 0.01, "texts": 40, "expected_left": 0.0081})
    '40 texts belong nowhere (cluster -1); of the others about 0.8 % may not either'
    """
    left = f"of the others about {noise['expected_left']:.1%} may not either".replace("%", " %")
    verb = "text belongs" if noise["texts"] == 1 else "texts belong"
    return f"{noise['texts']:,} {verb} nowhere (cluster -1); {left}"
