"""`rstc benchmark` in real processes: from a run to a table, and what it says when it cannot."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest

from rstc.benchmark.datasets import DATASETS
from rstc.benchmark.methods import METHODS
from rstc.cli import main


@pytest.fixture
def rstc(tmp_path: Path) -> Any:
    def call(*arguments: Any) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "COLUMNS": "120", "XDG_CACHE_HOME": str(tmp_path / "cache")}
        command = [sys.executable, "-m", "rstc", "benchmark", *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment, timeout=300)

    return call


def test_from_runs_to_a_table_and_figures(rstc: Any, tmp_path: Path) -> None:
    done = rstc("run", "--datasets", "sample", "--methods", "bow,tfidf", "--seeds", 2, "--jobs", 2)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("ACC") == 4
    shown = rstc("table", "--datasets", "sample").stdout
    assert "| method | the bundled sample |" in shown
    assert "(2s)" in shown
    assert "**" in shown
    assert "<u>" in shown
    assert rstc("table", "--datasets", "sample", "--format", "csv", "--out", "table.csv").returncode == 0
    assert len((tmp_path / "table.csv").read_text().splitlines()) == 3
    figures = rstc("figures")
    assert figures.returncode == 0, figures.stderr
    assert "eps is not drawn: a sweep of eps1" in figures.stderr


@pytest.mark.slow
def test_a_changed_setting_makes_a_row_of_its_own(rstc: Any, tmp_path: Path) -> None:
    rstc("run", "--datasets", "sample", "--methods", "bow", "--seeds", 1, "--set", "kmeans_starts=1")
    assert (tmp_path / "benchmarks" / "store" / "sample" / "bow+kmeans_starts=1" / "0.json").is_file()
    assert "BOW, kmeans_starts = 1" in rstc("table", "--datasets", "sample").stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "--datasets", "twitter"], "there is no set 'twitter'; the sets are agnews"),
        (["run", "--methods", "lda"], "there is no method 'lda'; the methods are bow"),
        (["run", "--datasets", "sample", "--methods", "bow", "--set", "eps2=1"], "bow has no setting 'eps2'"),
        (["run", "--datasets", "sample", "--methods", "bow", "--time-limit", "soon"], "written 300s, 90m or 2h"),
        (["sweep", "--param", "eps2", "--values", "a"], "eps2='a' must be 'auto' or a number from 0 on"),
        (["sweep", "--param", "epsilon", "--values", "1"], "rstc-paper has no setting 'epsilon'"),
        (["table"], "there are no runs in benchmarks/store; `rstc benchmark run` makes them"),
        (["table", "--datasets", "twitter"], "there are no runs in benchmarks/store"),
        (["run", "--datasets", ","], "',' names nothing"),
        (["run", "--datasets", "sample", "--methods", "bow", "--time-limit", "infs"], "must be positive"),
        (["datasets"], "run `rstc benchmark download`, or name a folder with --data"),
    ],
)
def test_mistakes_end_in_one_sentence(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(sys, "argv", ["rstc", "benchmark", *arguments])
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)  # main changes it
    with pytest.raises(SystemExit) as ended:
        main()  # in this process: a new one for each would spend its time on importing torch
    assert ended.value.code == 2
    said = capfd.readouterr().err
    assert message in said
    assert said.count("\n") == 1


def test_the_help_names_every_set_and_every_method(rstc: Any) -> None:
    shown = set(re.findall(r"[\w-]+", rstc("run", "--help").stdout))
    assert set(METHODS) | set(DATASETS) <= shown


def test_sets_that_are_not_there_are_said_and_the_call_fails(rstc: Any) -> None:
    done = rstc("run", "--datasets", "tweet", "--methods", "bow", "--seeds", 1)
    assert done.returncode == 2
    assert "there is no tweet.csv" in done.stderr
