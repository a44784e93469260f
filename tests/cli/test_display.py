"""What is shown: tables that fit, texts that cannot do harm, progress in both manners."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
import typer
from rich.cells import cell_len
from rich.console import Console

import rstc.cli.display as display
from rstc.cli.display import cluster_table, format_seconds, print_clusters, shorten, show_progress
from rstc.results.describe import ClusterDescription
from rstc.results.reliability import ClusterReliability
from rstc.results.summary import ClusterEntry, build_cluster_entry

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


def make_entries(
    n_clusters: int, text: str = "where is my late parcel, it was due last week " * 3
) -> list[ClusterEntry]:
    """Return clusters of 1, 2, ... texts, whose numbers are not in the order of their sizes."""
    reliability = ClusterReliability(
        n_found=28, n_repeats=30, separation=0.4, size_low=20, size_high=31, confused_with=None, confusion=0.0
    )
    return [
        build_cluster_entry(
            ClusterDescription(i, i + 1, 0.876, ["parcel", "delivery"] * 4, typical=[0, 1], doubtful=[], near=[]),
            [text, "second"],
            name=f"cluster {i}",
            n_texts=2000,
            reliability=reliability,
        )
        for i in range(n_clusters)
    ]


def print_at(
    width: int, clusters: list[ClusterEntry], monkeypatch: pytest.MonkeyPatch, show_all: bool = False
) -> list[str]:
    console = Console(file=io.StringIO(), width=width, highlight=False, markup=False)
    monkeypatch.setattr(display, "output", console)
    print_clusters(clusters, Path("run"), show_all)
    return console.file.getvalue().splitlines()


@pytest.mark.parametrize("width", [80, 110, 160])
@pytest.mark.parametrize("text", ["late parcel " * 20, "我的包裹在哪里" * 20, "a\tb\n" * 40])
def test_the_largest_clusters_take_one_screen(width: int, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    *table, last = print_at(width, make_entries(77, text), monkeypatch)
    assert len(table) == 15 + 4
    assert all(cell_len(line) <= width for line in table)
    sizes = [int(line.split("│")[2]) for line in table[3:-1]]
    assert sizes == list(range(77, 62, -1))
    assert last == "and 62 smaller clusters (1,953 texts); all of them: run/report.html or `rstc info run --all`"


def test_few_clusters_are_shown_with_two_texts_and_without_a_line_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = print_at(110, make_entries(7), monkeypatch)
    assert len(lines) == 2 * 7 + 4
    assert sum("· second" in line for line in lines) == 7
    assert "28 of 30" in lines[3]
    assert len(print_at(110, make_entries(15), monkeypatch)) == 15 + 4
    assert print_at(110, make_entries(16), monkeypatch)[-1].startswith("and 1 smaller cluster (1 text)")


def test_all_clusters_are_shown_on_request(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = print_at(110, make_entries(77), monkeypatch, show_all=True)
    assert sum("28 of 30" in line for line in lines) == 77


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
