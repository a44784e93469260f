"""What a command has confirmed survives a power cut: on a simulated disk that forgets what was not flushed."""

from __future__ import annotations

import filecmp
import shutil
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from forgetful_disk import ForgetfulDisk
from rstc import RSTC
from rstc.pipelines.apply_edits import apply_edits, merge_to
from rstc.pipelines.cluster import cluster_file
from rstc.pipelines.compare import compare_run
from rstc.pipelines.predict import predict_file, predict_files
from rstc.pipelines.request import RunRequest
from rstc.pipelines.update import update_run
from rstc.results.corrected_run import CorrectedRun
from rstc.training.checkpointing import CheckpointFolder

pytestmark = pytest.mark.chaos("power cuts")

Quick = dict[str, object]


@pytest.fixture
def disk(run_folder: Path, tickets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ForgetfulDisk:
    """A disk that holds a run and a file of texts."""
    root = tmp_path / "disk"
    root.mkdir()
    shutil.move(run_folder, root / "run")
    shutil.move(tickets, root / "tickets.csv")
    return ForgetfulDisk(root, monkeypatch)


def correct(folder: Path) -> None:
    run = CorrectedRun.read(folder)
    run.correct({"do": "merge", "cluster": 1, "into": 0})
    run.save(folder)


def apply(root: Path) -> None:
    correct(root / "run")
    apply_edits(root / "run")


def predict_many(root: Path) -> None:
    (root / "in").mkdir()
    for name in ("a.csv", "b.csv"):
        shutil.copy(root / "tickets.csv", root / "in" / name)
    predict_files(root / "run", str(root / "in" / "*.csv"), str(root / "labelled"), text_column="text")


COMMANDS: dict[str, tuple[Callable[[Path], object], str]] = {  # and what it writes
    "update": (lambda root: update_run(root / "run", str(root / "tickets.csv"), again=True), "run"),
    "merge": (lambda root: merge_to(root / "run", 2), "run"),
    "corrections": (lambda root: correct(root / "run"), "run"),
    "apply": (apply, "run"),
    "compare": (lambda root: compare_run(root / "run", by=["topic"], out=root / "shares.csv"), "run"),
    "predict csv": (
        lambda root: predict_file(root / "run", str(root / "tickets.csv"), root / "a.csv", text_column="text"),
        "a.csv",
    ),
    "predict parquet": (
        lambda root: predict_file(root / "run", str(root / "tickets.csv"), root / "a.parquet", text_column="text"),
        "a.parquet",
    ),
    "predict many": (predict_many, "labelled"),
    "save": (lambda root: RSTC.load(root / "run" / "model").save(root / "models" / "copy"), "models"),
    "export": (lambda root: RSTC.load(root / "run" / "model").export_onnx(root / "onnx"), "onnx"),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_what_a_command_wrote_survives(command: str, disk: ForgetfulDisk, tmp_path: Path) -> None:
    run, written = COMMANDS[command]
    run(disk.root)
    after = disk.cut_power(tmp_path / "after")
    assert_same(disk.root / written, after / written)


def test_a_clustered_file_survives(disk: ForgetfulDisk, tmp_path: Path, quick: Quick) -> None:
    cluster_file(RunRequest(str(disk.root / "tickets.csv"), disk.root / "runs" / "new", 4, settings=quick))
    assert_same(disk.root / "runs", disk.cut_power(tmp_path / "after") / "runs")


def test_a_checkpoint_survives(disk: ForgetfulDisk, tmp_path: Path, quick: Quick) -> None:
    texts = pd.read_csv(disk.root / "tickets.csv")["text"].tolist()
    saved = CheckpointFolder(disk.root / "deep" / "checkpoints")
    RSTC(4, random_state=0, **quick).fit(texts, checkpoints=saved)  # type: ignore[arg-type]
    after = disk.cut_power(tmp_path / "after") / "deep" / "checkpoints"
    newest = max(path.name for path in (disk.root / "deep" / "checkpoints").iterdir())
    assert (after / newest).read_bytes() == (disk.root / "deep" / "checkpoints" / newest).read_bytes()


def assert_same(written: Path, survived: Path) -> None:
    """Assert that all files of a folder, or a file, have survived."""
    if written.is_file():
        assert survived.read_bytes() == written.read_bytes()
        return
    for path in sorted(written.rglob("*")):
        other = survived / path.relative_to(written)
        if path.is_file():
            assert other.is_file(), f"{other} is lost"
            assert filecmp.cmp(path, other, shallow=False), f"{other} differs"
