"""`rstc benchmark` in real processes: runs, tables, figures and error messages."""

from __future__ import annotations

import re
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

from fork_server import run_rstc
from rstc.benchmark.datasets import DATASETS
from rstc.benchmark.methods import METHODS
from rstc.cli import main

Benchmark = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def benchmark(tmp_path: Path) -> Benchmark:
    """Return a function that runs `rstc benchmark` in the test's folder, with a cache of its own."""

    def run(*arguments: object) -> subprocess.CompletedProcess[str]:
        return run_rstc("benchmark", *arguments, cwd=tmp_path, environment={"XDG_CACHE_HOME": str(tmp_path / "cache")})

    return run


def test_runs_are_shown_in_a_table_and_figures(benchmark: Benchmark, tmp_path: Path) -> None:
    done = benchmark("run", "--datasets", "sample", "--methods", "bow,tfidf", "--seeds", 2, "--jobs", 2)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("ACC") == 4
    shown = benchmark("table", "--datasets", "sample").stdout
    assert "| method | the bundled sample |" in shown
    assert "(2s)" in shown
    assert "**" in shown
    assert "<u>" in shown
    assert benchmark("table", "--datasets", "sample", "--format", "csv", "--out", "table.csv").returncode == 0
    assert len((tmp_path / "table.csv").read_text().splitlines()) == 3
    assert "–" not in benchmark("table", "--datasets", "sample", "--metrics", "ari,ami").stdout
    compared = benchmark("compare", "tfidf", "bow", "--datasets", "sample").stdout
    assert "TF-IDF − BOW: " in compared
    assert "of 1 sets (2 pairs of runs), p = 1.000" in compared
    figures = benchmark("figures")
    assert figures.returncode == 0, figures.stderr
    assert "eps is not drawn, missing: a sweep of eps1" in figures.stderr


@pytest.mark.slow
def test_changed_setting_is_a_row_of_its_own(benchmark: Benchmark, tmp_path: Path) -> None:
    benchmark("run", "--datasets", "sample", "--methods", "bow", "--seeds", 1, "--set", "kmeans_starts=1")
    assert (tmp_path / "benchmarks" / "results" / "paper" / "sample" / "bow+kmeans_starts=1" / "0.json").is_file()
    assert "BOW, kmeans_starts = 1" in benchmark("table", "--datasets", "sample").stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "--datasets", "twitter"], "unknown data set 'twitter'; the data sets are agnews"),
        (["run", "--methods", "lda"], "unknown method 'lda'; the methods are bow"),
        (["run", "--datasets", "sample", "--methods", "bow", "--set", "eps2=1"], "bow has no setting 'eps2'"),
        (["run", "--datasets", "sample", "--methods", "bow", "--time-limit", "soon"], "written as 300s, 90m or 2h"),
        (["sweep", "--param", "eps2", "--values", "a"], "eps2='a' must be 'auto' or a number >= 0"),
        (["sweep", "--param", "epsilon", "--values", "1"], "rstc-paper has no setting 'epsilon'"),
        (["table"], "benchmarks/results/paper has no runs; start some with `rstc benchmark run`"),
        (["table", "--datasets", "twitter"], "benchmarks/results/paper has no runs"),
        (["compare", "rstc", "sbert"], "no data set on which both methods were run with the same seed"),
        (["compare", "rstc", "sbert", "--metric", "f1"], "unknown metric 'f1'; the metrics are acc, nmi, ari, ami"),
        (["run", "--datasets", ","], "expected comma-separated names, got ','"),
        (["run", "--datasets", "sample", "--methods", "bow", "--time-limit", "infs"], "must be positive"),
        (["datasets"], "run `rstc benchmark download`, or name a folder with --data"),
    ],
)
def test_errors_are_one_line(
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
    with pytest.raises(SystemExit) as exit_info:
        main()  # in this process: a new one for each would spend its time on importing torch
    assert exit_info.value.code == 2
    message_shown = capfd.readouterr().err
    assert message in message_shown
    assert message_shown.count("\n") == 1


def test_help_names_every_data_set_and_method(benchmark: Benchmark) -> None:
    shown = set(re.findall(r"[\w-]+", benchmark("run", "--help").stdout))
    assert set(METHODS) | set(DATASETS) <= shown


def test_missing_data_sets_fail_with_a_message(benchmark: Benchmark) -> None:
    done = benchmark("run", "--datasets", "tweet", "--methods", "bow", "--seeds", 1)
    assert done.returncode == 2
    assert "has no tweet.csv" in done.stderr
