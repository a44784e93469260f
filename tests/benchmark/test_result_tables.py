from __future__ import annotations

import csv
import io
from collections.abc import Callable
from typing import Any

import pytest

from rstc.benchmark.tables import render, result_table
from rstc.errors import InputError

Runs = list[dict[str, Any]]


@pytest.fixture(scope="module")
def runs(made_up: Callable[..., dict[str, Any]]) -> Runs:
    one, all_layers = {"trainable_layers": 1}, {"trainable_layers": "all"}
    return [
        made_up("tweet", "sbert", 0, acc=60.0, nmi=80.0),
        made_up("tweet", "sbert", 1, acc=64.0, nmi=80.0),
        made_up("tweet", "bow", 0, acc=50.0, nmi=70.0),
        made_up("tweet", "tfidf", 0, acc=55.0, nmi=75.0),
        made_up("tweet", "rstc-paper", 0, acc=70.0, nmi=75.0, settings=one),
        made_up("agnews-4k", "bow", 0, acc=30.0, nmi=5.0),
        made_up("tweet", "rstc-paper", 0, acc=99.0, changes={"eps2": 1.0}),
        made_up("tweet", "rstc-paper", 0, acc=71.0, changes=all_layers, settings=all_layers),
    ]


def cells_of(text: str, row: str) -> list[str]:
    line = next(line for line in text.splitlines() if line.startswith(f"| {row} |"))
    return [cell.strip() for cell in line.strip("|").split("|")][1:]


def test_mean_deviation_seeds_and_layers_are_in_the_cell(runs: Runs) -> None:
    text = render(result_table(runs, ["tweet"]), "markdown")
    assert cells_of(text, "SBERT (k-means)") == ["62.0 ± 2.8 / **80.0** ± 0.0 (2s 0L)"]
    assert cells_of(text, "BOW") == ["50.0 / 70.0 (1s)"]


def test_the_best_is_bold_and_the_runner_up_underlined(runs: Runs) -> None:
    text = render(result_table(runs, ["tweet"]), "markdown")
    assert cells_of(text, "RSTC (M1), squeezed") == ["<u>70.0</u> / <u>75.0</u> (1s 1L)"]
    assert cells_of(text, "TF-IDF") == ["55.0 / <u>75.0</u> (1s)"]
    assert cells_of(text, "RSTC (M1), squeezed, trainable_layers = all")[0].startswith("**71.0**")


def test_the_papers_row_stands_below_ours(runs: Runs) -> None:
    lines = render(result_table(runs, ["tweet", "agnews-4k"]), "markdown").splitlines()
    ours = next(place for place, line in enumerate(lines) if line.startswith("| RSTC (M1), squeezed |"))
    assert lines[ours + 1] == "| *RSTC (M1), as published* | 75.20 / 87.35 | – |"


def test_sweeps_are_left_out(runs: Runs) -> None:
    assert "99.0" not in render(result_table(runs, ["tweet"]), "markdown")


def test_what_was_not_run_is_empty(runs: Runs) -> None:
    text = render(result_table(runs, ["tweet", "agnews-4k"]), "markdown")
    assert cells_of(text, "TF-IDF")[1] == ""
    assert cells_of(text, "BOW")[1] == "30.0 / 5.0 (1s)"


def test_latex_has_a_row_for_each_of_ours_and_each_of_the_papers(runs: Runs) -> None:
    text = render(result_table(runs, ["tweet"]), "latex")
    assert r"\underline{70.0} / \underline{75.0} (1s 1L) \\" in text
    assert r"SBERT (k-means) & 62.0 $\pm$ 2.8 / \textbf{80.0} $\pm$ 0.0 (2s 0L) \\" in text
    assert r"trainable\_layers" in text
    assert text.count(r" \\") == 1 + 5 + 4


def test_csv_holds_everything_unrounded(runs: Runs) -> None:
    rows = list(csv.DictReader(io.StringIO(render(result_table(runs, ["tweet"]), "csv"))))
    sbert = next(row for row in rows if row["method"] == "sbert")
    assert float(sbert["acc_mean"]) == 62
    assert float(sbert["acc_std"]) == pytest.approx(8**0.5)
    assert (sbert["seeds"], sbert["layers"], sbert["paper_acc"]) == ("2", "0", "53.44")


def test_an_unknown_format_is_answered_with_those_there_are(runs: Runs) -> None:
    with pytest.raises(InputError, match="format='html' is not one of markdown, latex, csv"):
        render(result_table(runs, ["tweet"]), "html")


def test_an_empty_store_gives_an_empty_table() -> None:
    assert render(result_table([], ["tweet"]), "markdown").splitlines() == ["| method | Tweet |", "| --- | --- |"]


def test_the_papers_row_stands_below_the_run_on_its_schedule_where_there_is_one(runs: Runs) -> None:
    whole = {**runs[4], "changes": {"schedule": "paper"}, "settings": {"trainable_layers": "all"}}
    lines = render(result_table([*runs, whole], ["tweet"]), "markdown").splitlines()
    theirs = [place for place, line in enumerate(lines) if "RSTC (M1), as published" in line]
    assert len(theirs) == 1
    assert lines[theirs[0] - 1].startswith("| RSTC (M1), the paper's schedule |")


def test_columns_say_where_the_views_came_from(made_up: Callable[..., dict[str, Any]]) -> None:
    found = [made_up("tweet", "sccl", views="given"), made_up("tweet", "bow")]
    assert render(result_table(found, ["tweet"]), "markdown").startswith("| method | Tweet, views: given |")


def test_runs_of_different_settings_are_not_averaged(made_up: Callable[..., dict[str, Any]]) -> None:
    found = [made_up("tweet", "bow", seed, settings={"kmeans_starts": seed + 1}) for seed in range(2)]
    with pytest.raises(InputError, match="runs of bow on tweet have different kmeans_starts"):
        result_table(found, ["tweet"])


def test_what_would_break_a_table_is_escaped(made_up: Callable[..., dict[str, Any]]) -> None:
    found = [made_up("tweet", "sbert", changes={"encoder": "a|b_50%"})]
    assert r"encoder = a\|b_50%" in render(result_table(found, ["tweet"]), "markdown")
    assert r"encoder = a|b\_50\%" in render(result_table(found, ["tweet"]), "latex")
