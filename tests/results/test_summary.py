"""The summary of a run: what is written is what is read, also from version 0.1.0."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from rstc import InputError
from rstc.results.run_files import SUMMARY
from rstc.results.run_folder import read_summary, write_summary
from rstc.results.summary import Summary

OLD_RUN = Path(__file__).parents[1] / "data/run-0.1.0"


def load(folder: Path) -> dict[str, Any]:
    return dict(json.loads((folder / SUMMARY).read_text(encoding="utf-8")))


def test_summary_of_0_1_0_is_written_as_it_was_read(tmp_path: Path) -> None:
    write_summary(tmp_path, read_summary(OLD_RUN))
    written, old = (json.loads((folder / SUMMARY).read_text()) for folder in (tmp_path, OLD_RUN))
    assert written.pop("checksum")
    assert json.dumps(written) == json.dumps(old)


def test_summary_of_a_run_is_written_as_it_was_read(finished_run: Path, tmp_path: Path) -> None:
    summary = read_summary(finished_run)
    shutil.copytree(finished_run, tmp_path, dirs_exist_ok=True)
    (tmp_path / SUMMARY).unlink()
    write_summary(tmp_path, summary)
    assert (tmp_path / SUMMARY).read_bytes() == (finished_run / SUMMARY).read_bytes()
    assert read_summary(tmp_path) == summary


def test_all_parts_survive_a_round_trip() -> None:
    values = load(OLD_RUN)
    values["count"] = {
        "n_clusters": 4,
        "low": 3,
        "high": 5,
        "sure": "fair",
        "runners_up": [9],
        "candidates": [{"n_clusters": 4, "told": 0.5, "apart": 0.25, "stable": 0.125}],
    }
    values["noise"] = {"asked": 0.01, "texts": 3, "expected_left": 0.004}
    values["update"] = {
        "file": "new.csv",
        "rows": 2,
        "texts": 2,
        "shares": [1.0, 0.0],
        "shares_before": [0.5, 0.5],
        "distance": 0.5,
        "expected": 0.1,
        "confidence": 0.5,
        "confidence_before": 0.75,
        "moved": 0.0,
    }
    values["truth"] = {
        "column": "topic",
        "texts": 60,
        "acc": 0.5,
        "nmi": 0.5,
        "ari": 0.5,
        "classes": ["a", "b"],
        "clusters": [0, 1],
        "matrix": [[1, 0], [0, 1]],
    }
    values["languages"] = {"de": 0.75, "en": 0.25}
    summary = Summary.from_json(values)
    assert json.dumps(summary.to_json()) == json.dumps(values)
    assert summary.outliers is not None
    assert summary.update is not None
    assert summary.truth is not None
    assert (summary.outliers.n_texts, summary.update.n_rows, summary.truth.n_texts) == (3, 2, 60)


def test_missing_newer_keys_have_defaults() -> None:
    values = load(OLD_RUN)
    for key in ("count", "noise", "hierarchy", "losses", "resumed_at", "update"):
        del values[key]
    for key in ("view_columns", "guard_formulas", "shown", "processes"):
        del values["input"][key]
    for entry in values["clusters"]:
        del entry["label"]
    summary = Summary.from_json(values)
    assert summary.input.n_shown == summary.input.n_texts == 60
    assert (summary.n_clusters_search, summary.outliers, summary.update, summary.hierarchy) == (None, None, None, [])
    assert [entry.label for entry in summary.clusters] == [None] * 4


@pytest.mark.parametrize("content", ["", "[]", "3", "null", "{}", '{"clusters_found": 3}', '{"input": []}'])
def test_file_that_is_no_summary_is_refused(content: str, tmp_path: Path) -> None:
    (tmp_path / SUMMARY).write_text(content)
    with pytest.raises(InputError, match=r"is not the summary of a run|is not JSON"):
        read_summary(tmp_path)
