from __future__ import annotations

import csv
import io
from collections.abc import Callable
from typing import Any

import pytest

from rstc.benchmark.tables import build_table, render
from rstc.errors import InputError

Runs = list[dict[str, Any]]


@pytest.fixture(scope="module")
def runs(make_run: Callable[..., dict[str, Any]]) -> Runs:
    one, all_layers = {"trainable_layers": 1}, {"trainable_layers": "all"}
    return [
        make_run("tweet", "sbert", 0, acc=60.0, nmi=80.0),
        make_run("tweet", "sbert", 1, acc=64.0, nmi=80.0),
        make_run("tweet", "bow", 0, acc=50.0, nmi=70.0),
        make_run("tweet", "tfidf", 0, acc=55.0, nmi=75.0),
        make_run("tweet", "rstc-paper", 0, acc=70.0, nmi=75.0, settings=one),
        make_run("agnews-4k", "bow", 0, acc=30.0, nmi=5.0),
        make_run("tweet", "rstc-paper", 0, acc=99.0, changes={"eps2": 1.0}),
        make_run("tweet", "rstc-paper", 0, acc=71.0, changes=all_layers, settings=all_layers),
    ]


def cells_of(text: str, row: str) -> list[str]:
    line = next(line for line in text.splitlines() if line.startswith(f"| {row} |"))
    return [cell.strip() for cell in line.strip("|").split("|")][1:]


def test_cell_shows_mean_deviation_seeds_and_layers(runs: Runs) -> None:
    text = render(build_table(runs, ["tweet"]), "markdown")
    assert cells_of(text, "SBERT (k-means)") == ["62.0 ± 2.8 / **80.0** ± 0.0 (2s 0L)"]
    assert cells_of(text, "BOW") == ["50.0 / 70.0 (1s)"]


def test_best_is_bold_and_second_best_underlined(runs: Runs) -> None:
    text = render(build_table(runs, ["tweet"]), "markdown")
    assert cells_of(text, "RSTC (M1), short schedule") == ["<u>70.0</u> / <u>75.0</u> (1s 1L)"]
    assert cells_of(text, "TF-IDF") == ["55.0 / <u>75.0</u> (1s)"]
    assert cells_of(text, "RSTC (M1), short schedule, trainable_layers = all")[0].startswith("**71.0**")


def test_published_row_follows_ours(runs: Runs) -> None:
    lines = render(build_table(runs, ["tweet", "agnews-4k"]), "markdown").splitlines()
    ours = next(place for place, line in enumerate(lines) if line.startswith("| RSTC (M1), short schedule |"))
    assert lines[ours + 1] == "| *RSTC (M1), as published* | 75.20 / 87.35 | – |"


def test_sweeps_are_left_out(runs: Runs) -> None:
    assert "99.0" not in render(build_table(runs, ["tweet"]), "markdown")


def test_missing_runs_give_an_empty_cell(runs: Runs) -> None:
    text = render(build_table(runs, ["tweet", "agnews-4k"]), "markdown")
    assert cells_of(text, "TF-IDF")[1] == ""
    assert cells_of(text, "BOW")[1] == "30.0 / 5.0 (1s)"


def test_latex_has_our_rows_and_the_published_rows(runs: Runs) -> None:
    text = render(build_table(runs, ["tweet"]), "latex")
    assert r"\underline{70.0} / \underline{75.0} (1s 1L) \\" in text
    assert r"SBERT (k-means) & 62.0 $\pm$ 2.8 / \textbf{80.0} $\pm$ 0.0 (2s 0L) \\" in text
    assert r"trainable\_layers" in text
    assert text.count(r" \\") == 1 + 5 + 4


def test_csv_is_unrounded(runs: Runs) -> None:
    rows = list(csv.DictReader(io.StringIO(render(build_table(runs, ["tweet"]), "csv"))))
    sbert = next(row for row in rows if row["method"] == "sbert")
    assert float(sbert["acc_mean"]) == 62
    assert float(sbert["acc_std"]) == pytest.approx(8**0.5)
    assert (sbert["seeds"], sbert["layers"], sbert["paper_acc"]) == ("2", "0", "53.44")


def test_unknown_format_lists_the_known_ones(runs: Runs) -> None:
    with pytest.raises(InputError, match="format='html' is not one of markdown, latex, csv"):
        render(build_table(runs, ["tweet"]), "html")


def test_no_runs_give_an_empty_table() -> None:
    assert render(build_table([], ["tweet"]), "markdown").splitlines() == ["| method | Tweet |", "| --- | --- |"]


def test_published_row_follows_the_run_on_the_papers_schedule(runs: Runs) -> None:
    whole = {**runs[4], "changes": {"schedule": "paper"}, "settings": {"trainable_layers": "all"}}
    lines = render(build_table([*runs, whole], ["tweet"]), "markdown").splitlines()
    published = [place for place, line in enumerate(lines) if "RSTC (M1), as published" in line]
    assert len(published) == 1
    assert lines[published[0] - 1].startswith("| RSTC (M1), the paper's schedule |")


def test_column_titles_name_the_origin_of_the_views(make_run: Callable[..., dict[str, Any]]) -> None:
    runs = [make_run("tweet", "sccl", views="given"), make_run("tweet", "bow")]
    assert render(build_table(runs, ["tweet"]), "markdown").startswith("| method | Tweet, views: given |")


def test_runs_with_different_settings_raise(make_run: Callable[..., dict[str, Any]]) -> None:
    runs = [make_run("tweet", "bow", seed, settings={"kmeans_starts": seed + 1}) for seed in range(2)]
    with pytest.raises(InputError, match="runs of bow on tweet have different kmeans_starts"):
        build_table(runs, ["tweet"])


def test_special_characters_are_escaped(make_run: Callable[..., dict[str, Any]]) -> None:
    runs = [make_run("tweet", "sbert", changes={"encoder": "a|b_50%"})]
    assert r"encoder = a\|b_50%" in render(build_table(runs, ["tweet"]), "markdown")
    assert r"encoder = a|b\_50\%" in render(build_table(runs, ["tweet"]), "latex")
