"""A run whose process was killed is resumed, and ends as if it had not been interrupted."""

from __future__ import annotations

import itertools
import os
import random
import shutil
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from fork_server import TIMEOUT, ForkedProcess, run_rstc

pytestmark = pytest.mark.chaos("kill -9 at any moment")

N_KILLS = int(os.environ.get("RSTC_KILLS", "8"))  # `make kills`: 20
MAX_ATTEMPTS = 6  # to kill a run before it ends


def run_and_kill(command: list[str], moment: float | str, out: Path) -> int:
    """Run `rstc` and return its exit code.

    It is killed after some seconds, or when it writes a checkpoint, writes the result or draws the map.
    """
    process, start = ForkedProcess(*command, "--out", out), time.monotonic()
    places = {
        "checkpoint": (out / "checkpoints", ".*.tmp"),
        "result": (out.parent, ".run.*.tmp"),
        "map": (out, "unfinished.safetensors"),
    }
    folder, pattern = places[moment] if isinstance(moment, str) else (out, "")
    for i in itertools.count():
        seconds = time.monotonic() - start
        if seconds > (moment if isinstance(moment, float) else TIMEOUT):
            break
        if isinstance(moment, str) and any(folder.glob(pattern)):
            break
        if i % 50 == 0 and process.poll() is not None:
            break
        time.sleep(0.0005)
    process.send_signal(signal.SIGKILL)
    return process.wait().returncode


def test_run_resumes_after_its_process_was_killed(tickets: Path, quick: dict[str, Any], tmp_path: Path) -> None:
    few = tickets.with_name("few.csv")  # a run on these takes a second
    few.write_text("".join(tickets.read_text().splitlines(keepends=True)[:49]))
    quicker = quick | {"renewals": 4, "max_steps": 6, "batch_size": 16, "kmeans_starts": 1}
    settings = [f"--set={name}={value}" for name, value in quicker.items()]
    command = ["cluster", str(few), "-k", "4", "--text-column", "text", *settings]

    start = time.monotonic()
    uninterrupted = run_rstc(*command, "--out", tmp_path / "uninterrupted")
    assert uninterrupted.returncode == 0, uninterrupted.stderr
    expected = (tmp_path / "uninterrupted" / "clusters.csv").read_bytes()
    seconds = time.monotonic() - start
    rng = random.Random(0)
    moments: list[float | str] = ["checkpoint"] * 2 + ["result"] * 2 + ["map"] * 2
    moments += [rng.uniform(0, seconds) for _ in range(N_KILLS - len(moments))]

    n_killed = n_with_checkpoint = 0
    for number, moment in enumerate(moments):
        out = tmp_path / f"killed{number}" / "run"
        out.parent.mkdir()
        for _ in range(MAX_ATTEMPTS):
            exit_code = run_and_kill(command, moment, out)
            if exit_code:
                break
            shutil.rmtree(out)
            moment = moment / 2 if isinstance(moment, float) else moment
        n_killed += exit_code == -signal.SIGKILL
        n_with_checkpoint += any((out / "checkpoints").glob("*.checkpoint"))
        is_complete = (out / "summary.json").exists() and not (out / "unfinished.safetensors").exists()
        if not is_complete:  # otherwise it was killed after all was written
            resumed = run_rstc(*command, "--out", out)
            assert resumed.returncode == 0, (moment, resumed.stderr)
        assert (out / "clusters.csv").read_bytes() == expected, moment
        assert (out / "report.html").exists()
        assert not (out / "unfinished.safetensors").exists()
        assert not (out / "checkpoints").exists()
        assert [path.name for path in out.parent.iterdir()] == ["run"], "nothing else is left"
    assert n_killed >= N_KILLS - 2, "one or two may end before they are killed"
    assert n_with_checkpoint > 0
