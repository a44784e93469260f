"""Commands in a container, where each of them is process 1: locks and leftovers do not depend on process numbers."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.chaos("process 1 of a container"), pytest.mark.slow]

CONTAINER = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"]


def is_possible() -> bool:
    if not shutil.which("unshare"):
        return False
    return subprocess.run([*CONTAINER, "true"], capture_output=True, check=False).returncode == 0


@pytest.fixture(autouse=True)
def _needs_containers() -> None:
    if not is_possible():
        pytest.skip("this system does not let unshare make a process 1")


def start(*words: Any) -> subprocess.Popen[str]:
    """Start `rstc` as process 1 of a namespace of its own."""
    script = "import os; assert os.getpid() == 1; from rstc.cli import main; main()"
    command = [*CONTAINER, sys.executable, "-c", script, *map(str, words)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def run(*words: Any) -> tuple[int, str]:
    process = start(*words)
    _, stderr = process.communicate(timeout=240)
    return process.returncode, stderr


@pytest.fixture
def command(tickets: Path, tiny_encoder: str, tmp_path: Path) -> list[Any]:
    settings = [f"encoder={tiny_encoder}", "training=always", "max_steps=6", "batch_size=16", "repeats=2"]
    return ["cluster", tickets, "-k", 4, "--text-column", "text", *(f"--set={s}" for s in settings), "--out"]


def test_the_same_command_goes_on_after_a_kill(command: list[Any], tmp_path: Path) -> None:
    process, out = start(*command, tmp_path / "runs" / "killed"), tmp_path / "runs" / "killed"
    deadline = time.monotonic() + 200
    while not list(out.glob("checkpoints/*.checkpoint")) and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    process.kill()  # with --kill-child its process 1 ends as well
    process.wait()
    assert list(out.glob("checkpoints/*.checkpoint")), "it was killed while it ran"
    code, stderr = run(*command, out)
    assert code == 0, stderr
    assert run(*command, tmp_path / "other")[0] == 0
    assert (out / "clusters.csv").read_bytes() == (tmp_path / "other" / "clusters.csv").read_bytes()
    assert [path.name for path in (tmp_path / "runs").rglob(".*")] == []


def test_of_two_commands_at_once_one_is_refused(run_folder: Path) -> None:
    processes = [start("merge", run_folder, "--to", number) for number in (3, 2)]
    said = [process.communicate(timeout=240)[1] for process in processes]
    codes = [process.returncode for process in processes]
    assert 0 in codes, said
    for code, stderr in zip(codes, said, strict=True):
        assert code == 0 or "is being written by" in stderr or "must be between 1 and" in stderr, stderr
    assert [path.name for path in run_folder.parent.glob(".*")] == []


def test_leftovers_of_another_process_one_are_removed(run_folder: Path) -> None:
    leftover = run_folder.with_name(f".{run_folder.name}.0123abcd.tmp")
    leftover.mkdir()
    run_folder.with_name(f".{run_folder.name}.lock").write_text('{"process": 1, "host": "here", "since": "now"}')
    code, stderr = run("info", run_folder)
    assert code == 0, stderr
    assert not leftover.exists()
    assert [path.name for path in run_folder.parent.glob(".*")] == []
