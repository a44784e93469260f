"""Two processes that write the same run or file: one wins, and the other is refused in a sentence."""

from __future__ import annotations

import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pandas as pd
import pytest

from rstc import InputError
from rstc.io.locks import lock
from rstc.pipelines.apply_edits import apply_edits, merge_to
from rstc.pipelines.cluster import cluster_file
from rstc.pipelines.compare import compare_run
from rstc.pipelines.edit_session import EditSession
from rstc.pipelines.predict import predict_file
from rstc.pipelines.request import RunRequest
from rstc.pipelines.score import score_run
from rstc.pipelines.update import update_run
from rstc.results.edits import read_log
from rstc.results.run_folder import read_summary

pytestmark = pytest.mark.chaos("two writers")

WRITERS = {
    "update": lambda run, file: update_run(run, str(file), again=True),
    "merge": lambda run, file: merge_to(run, 2),
    "apply": lambda run, file: apply_edits(run),
    "compare": lambda run, file: compare_run(run, by=["topic"]),
    "score": lambda run, file: score_run(run, "topic"),
    "cluster --overwrite": lambda run, file: cluster_file(RunRequest(str(file), run, 4, overwrite=True)),
}


@pytest.mark.parametrize("name", WRITERS)
def test_a_command_is_refused_while_another_process_writes(name: str, run_folder: Path, tickets: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in run_folder.rglob("*")}
    with lock(run_folder), ThreadPoolExecutor() as pool:  # another thread does not hold the lock, like a process
        refused = pool.submit(WRITERS[name], run_folder, tickets).exception()
    assert isinstance(refused, InputError)
    assert "is being written by process" in str(refused)
    assert {path: path.stat().st_mtime_ns for path in run_folder.rglob("*")} == before


def test_of_two_updates_none_is_lost_without_an_error(run_folder: Path, tickets: Path, tmp_path: Path) -> None:
    rows = pd.read_csv(tickets, dtype=str).drop(columns="id")
    processes = []
    for name in ("a", "b"):
        rows.assign(text=rows["text"] + f" {name}").head(30).to_csv(tmp_path / f"{name}.csv", index=False)
        command = [sys.executable, "-m", "rstc", "update", str(run_folder), str(tmp_path / f"{name}.csv")]
        processes.append(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True))
    errors = [process.communicate()[1] for process in processes]
    n_won = sum(process.returncode == 0 for process in processes)
    assert n_won >= 1, errors
    assert all("is being written" in e for p, e in zip(processes, errors, strict=True) if p.returncode), errors
    assert read_summary(run_folder).input.n_rows == 120 + 30 * n_won


def test_a_file_of_predictions_has_one_writer(run_folder: Path, tickets: Path, tmp_path: Path) -> None:
    out = tmp_path / "labelled.csv"
    with lock(out), ThreadPoolExecutor() as pool:
        refused = pool.submit(predict_file, run_folder, str(tickets), out, text_column="text").exception()
    assert "is being written by process" in str(refused)
    assert not out.exists()


def test_a_correction_waits_for_a_short_write(run_folder: Path) -> None:
    session = EditSession(run_folder)
    with ThreadPoolExecutor() as pool:
        with lock(run_folder):
            saved = pool.submit(session.correct, {"do": "rename", "cluster": 0, "name": "mine"})
            assert not saved.done()
        assert saved.result()["edits"] == 1
    assert len(read_log(run_folder).edits) == 1


def test_explore_says_that_the_texts_were_replaced(run_folder: Path, tickets: Path) -> None:
    session = EditSession(run_folder)
    update_run(run_folder, str(tickets), again=True)
    with pytest.raises(InputError, match="was changed by another process"):
        session.correct({"do": "rename", "cluster": 0, "name": "mine"})
    assert read_log(run_folder).edits == ()
    session.page()  # as the browser does when it reloads
    assert session.correct({"do": "rename", "cluster": 0, "name": "mine"})["edits"] == 1


def test_the_next_command_restores_a_folder_that_a_killed_process_was_replacing(run_folder: Path) -> None:
    before = (run_folder / "summary.json").read_bytes()
    shutil.copytree(run_folder, run_folder.with_name(f".{run_folder.name}.0123abcd.tmp"))
    run_folder.rename(run_folder.with_name(f".{run_folder.name}.0123abcd.old"))
    (run_folder.parent / f".{run_folder.name}.lock").write_text("")
    read_summary(run_folder)
    assert (run_folder / "summary.json").read_bytes() == before
    assert [path.name for path in run_folder.parent.iterdir() if path.name.startswith(".")] == []


def test_the_next_command_removes_temporary_files_inside_the_folder(run_folder: Path) -> None:
    (run_folder / ".edits.json.0123abcd.tmp").write_text("{")
    (run_folder / ".clusters.csv.0123abcd.tmp").write_text("id")
    read_summary(run_folder)
    assert [path.name for path in run_folder.iterdir() if path.name.startswith(".")] == []
