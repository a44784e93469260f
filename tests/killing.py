"""Runs `rstc` again and again, each in a process of its own that is killed at some moment; tells what became of it."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import signal
import sys
import time
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"

from fork_server import ended, load_libraries, started


def killed(process: int, moment: float | str, out: Path) -> int:
    """Kill a process after some seconds, or as soon as it writes a checkpoint or the run's folder."""
    began = time.monotonic()
    while os.waitpid(process, os.WNOHANG) == (0, 0):
        if isinstance(moment, float):
            now = time.monotonic() - began > moment
        else:
            folder, pattern = (out / "checkpoints", ".*.tmp") if moment == "checkpoint" else (out.parent, ".run.*.tmp")
            now = any(folder.glob(pattern))
        if now:
            os.kill(process, signal.SIGKILL)
            return ended(process)
        time.sleep(0.0005)
    return 0


def main(asked: dict[str, object]) -> None:
    command, folder = list(map(str, asked["command"])), Path(str(asked["folder"]))  # type: ignore[call-overload]
    took = -time.monotonic()
    assert ended(started([*command, "--out", str(folder / "whole" / "run")])) == 0
    took += time.monotonic()
    rng = random.Random(0)
    moments: list[float | str] = ["checkpoint"] * 3 + ["run"] * 3
    moments += [rng.uniform(0, took) for _ in range(int(str(asked["kills"])) - len(moments))]
    for number, moment in enumerate(moments):
        out = folder / str(number) / "run"
        out.parent.mkdir()
        code = killed(started([*command, "--out", str(out)]), moment, out)
        for _ in range(5):  # it may have been quicker than we
            if code:
                break
            shutil.rmtree(out)
            moment = moment / 2 if isinstance(moment, float) else moment
            code = killed(started([*command, "--out", str(out)]), moment, out)
        begun = any((out / "checkpoints").glob("*.checkpoint"))
        written = (out / "summary.json").exists()  # killed after the last rename
        again = None if written else ended(started([*command, "--out", str(out)]))
        left = [path.name for path in out.parent.iterdir() if path.name != "run"]
        told = {"moment": moment, "code": code, "begun": begun, "again": again, "left": left}
        with contextlib.suppress(BrokenPipeError):
            os.write(3, (json.dumps(told) + "\n").encode())


if __name__ == "__main__":
    os.dup2(1, 3)
    load_libraries()
    main(json.loads(sys.argv[1]))
