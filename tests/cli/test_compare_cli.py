"""`rstc compare`, and what comparisons print at the end of a run."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

from fork_server import run_rstc
from rstc.cli.compare import describe_dates, draw_sparkline, group_table, over_time_table, style_cell
from rstc.results.find_trends import compute_over_time
from rstc.results.group_shares import compute_group_shares
from rstc.results.groups import cut_groups
from rstc.results.over_time import OverTime

NAMES = {0: "parcels that are late and nobody says why", 1: "refund"}


def compute(n_days: int = 70, every: str | None = None) -> OverTime:
    """Return two clusters over time, of which one grows from nothing."""
    rng = np.random.default_rng(0)
    days = np.repeat(np.arange(n_days), 10)
    clusters = (rng.random(len(days)) > days / n_days).astype(np.int64)
    dates = (np.datetime64("2015-01-05") + days).astype("datetime64[s]")
    dates[::50] = np.datetime64("NaT")
    return compute_over_time(dates, clusters, np.ones(len(days), dtype=np.float32), NAMES, "posted", every)


def test_a_run_is_compared_and_repeats_it(run_folder: Path, tmp_path: Path) -> None:
    done = run_rstc("compare", run_folder, "--by", "topic", "--out", tmp_path / "shares.csv")
    assert done.returncode == 0, done.stderr
    assert "Share of each group's texts by topic" in done.stdout
    assert "By topic: the association is strong" in done.stdout
    assert "▲" in done.stdout
    assert "times as frequent where topic is" in done.stdout or "occurs only where topic is" in done.stdout
    assert set(pd.read_csv(tmp_path / "shares.csv")["value"]) == {"parcel", "password", "refund", "recipe"}
    repeated = run_rstc("compare", run_folder)
    assert (
        repeated.stdout.splitlines()[:-1]
        == [line for line in done.stdout.splitlines() if "shares.csv" not in line][:-1]
    )


def test_a_run_prints_what_it_was_asked_in_few_lines(tickets: Path, tmp_path: Path, tiny_encoder: str) -> None:
    rows = pd.read_csv(tickets)
    rows.assign(day=pd.date_range("2015-01-01", periods=len(rows)).astype(str)).to_csv(tickets, index=False)
    settings = [f"encoder={tiny_encoder}", "training=always", "max_steps=4", "batch_size=32"]
    options = [part for setting in settings for part in ("--set", setting)]
    done = run_rstc(
        "cluster", tickets, "-k", 4, "-o", tmp_path / "run", *options, "--time", "day", "--by", "topic",
        "--text-column", "text",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "By week (day): " in done.stdout
    assert "By topic: the association is" in done.stdout
    assert f"rstc compare {tmp_path / 'run'}" in done.stdout.replace("\n", "")
    assert (tmp_path / "run" / "comparisons.json").is_file()


@pytest.mark.parametrize("width", [60, 80, 100, 140])
def test_tables_fit_the_terminal(width: int) -> None:
    result = compute(400, "week")
    groups = cut_groups(pd.Series([f"a long name {i % 12}" for i in range(4000)], name="town"))
    clusters = np.arange(4000) % 2
    shares = compute_group_shares(groups, clusters, NAMES, "town", np.random.default_rng(0))
    for table in (over_time_table(result, width), group_table(shares, width)):
        console = Console(width=width, file=io.StringIO())
        with console.capture() as printed:
            console.print(table)
        lines = printed.get().splitlines()
        assert max(map(len, lines)) <= width
        assert len(lines) <= 10  # no cell takes two lines
        assert "…" not in lines[2]


def test_sparkline_is_highest_where_the_share_is() -> None:
    result = compute()
    bars = draw_sparkline(result.clusters[0], result.totals, 1)
    assert len(bars) == len(result.periods)
    assert bars[0] < bars[-1] == "█"
    assert len(draw_sparkline(result.clusters[0], result.totals, 3)) == -(-len(result.periods) // 3)


def test_notes_tell_what_was_left_out() -> None:
    assert describe_dates(compute()) == ["14 texts without a date are left out"]
    short = describe_dates(compute(25, "month"))
    assert short[-1].startswith("There are too few periods")


def test_cells_without_a_finding_are_dim() -> None:
    assert style_cell(3.0, 0) == "dim"
    assert style_cell(3.0, 1) != style_cell(1.2, 1) != style_cell(0.2, -1)
    assert style_cell(0.0, -1) == style_cell(0.1, -1)
