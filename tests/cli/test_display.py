"""What is shown: tables that fit, texts that cannot do harm, progress in both manners."""

from __future__ import annotations

import io

import pytest
import typer
from rich.console import Console

import rstc.cli.display as display
from rstc.cli.display import cluster_table, format_seconds, shorten, show_progress
from rstc.results.describe import ClusterDescription
from rstc.results.summary import build_cluster_entry

CLUSTERS = [
    build_cluster_entry(
        ClusterDescription(0, 1234, 0.876, ["parcel", "late"], typical=[0, 1, 2], doubtful=[], near=[]),
        ["[bold]where[/] is it\x1b[31m", "second", "third"],
        name="parcel, late",
        n_texts=2000,
    )
]


def test_the_table_shows_texts_as_they_are_and_two_of_them() -> None:
    console = Console(file=io.StringIO(), width=120)
    console.print(cluster_table(CLUSTERS))
    shown = console.file.getvalue()
    assert "1,234" in shown
    assert "0.88" in shown
    assert "parcel, late" in shown
    assert "[bold]where[/] is it" in shown
    assert "\x1b" not in shown
    assert "third" not in shown


def test_long_texts_are_cut_to_one_line() -> None:
    assert shorten("a\nb\tc   d", 20) == "a b c d"
    assert shorten("x" * 50, 10) == "x" * 9 + "…"


def test_time_is_told_longest_first() -> None:
    assert format_seconds({"read": 0.01, "train": 60.04, "encode": 2.5}) == "read 0.0, train 60.0, encode 2.5"


def test_without_a_terminal_progress_is_plain_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    console = Console(file=io.StringIO(), force_terminal=False)
    monkeypatch.setattr(display, "notes", console)
    with show_progress("tickets.csv") as listen:
        for done in range(1, 101):
            listen("train", done, 100)
    assert console.file.getvalue().splitlines() == ["reading tickets.csv", "training: 1 of 100", "training: 100 of 100"]


def test_an_interruption_is_said_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    console = Console(file=io.StringIO(), force_terminal=False)
    monkeypatch.setattr(display, "notes", console)
    with pytest.raises(typer.Exit) as ended, show_progress("run"):
        raise KeyboardInterrupt
    assert ended.value.exit_code == 130
    assert "interrupted; nothing was written" in console.file.getvalue()


def test_on_a_terminal_progress_is_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    console = Console(file=io.StringIO(), force_terminal=True, width=100)
    monkeypatch.setattr(display, "notes", console)
    with show_progress("tickets.csv") as listen:
        listen("load", 0, 0)
        listen("encode", 5, 10)
        listen("predict", 5, 0)
    assert "encoding the texts" in console.file.getvalue()
    assert "━" in console.file.getvalue()
