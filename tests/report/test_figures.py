"""Figures of a run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from rstc.report.figures import write_figures
from rstc.results.comparisons import ComparisonRequest, compute_comparisons
from rstc.results.corrected_run import CorrectedRun


def test_figures_are_deterministic(finished_run: Path, tmp_path: Path) -> None:
    run = CorrectedRun.read(finished_run)
    run.correct({"do": "rename", "cluster": 0, "name": "$ under_scores and <b> $"})
    run.correct({"do": "noise", "rows": [0, 1]})
    files = write_figures(run, tmp_path / "one")
    assert [path.name for path in files] == [
        f"{name}.{kind}" for name in ("map", "hierarchy", "sizes", "curves") for kind in ("png", "svg")
    ]
    assert all(path.stat().st_size > 5000 for path in files)
    again = write_figures(run, tmp_path / "two")
    assert [path.read_bytes() for path in files] == [path.read_bytes() for path in again]


def test_comparisons_are_drawn(finished_run: Path, tmp_path: Path) -> None:
    run, rng = CorrectedRun.read(finished_run), np.random.default_rng(0)
    n = len(run.points.texts)
    columns = pd.DataFrame(
        {
            "when": np.where(run.clusters == 0, "2015-03-01", "2015-01-01"),
            "a/b": rng.choice(["$1 and $2", "a name that is longer than a column of the figure", "x"], n),
            "a b": rng.integers(1, 6, n),
        }
    )
    columns["when"] = pd.to_datetime(columns["when"]) + pd.to_timedelta(rng.integers(0, 90, n), "D")
    comparisons = compute_comparisons(run, columns, ComparisonRequest("when", "week", ["a/b", "a b"]))
    files = write_figures(run, tmp_path / "one", comparisons)[8:]
    assert [path.name for path in files[::2]] == ["over_time.png", "by_a_b.png", "by_a_b_2.png"]
    assert all(path.stat().st_size > 5000 for path in files)
    again = write_figures(run, tmp_path / "two", comparisons)[8:]
    assert [path.read_bytes() for path in files] == [path.read_bytes() for path in again]


def test_missing_matplotlib_names_the_extra(
    finished_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    from rstc import InputError

    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(InputError, match=r"rstc\[figures\]"):
        write_figures(CorrectedRun.read(finished_run), tmp_path)
