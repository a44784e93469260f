"""Runs so many `rstc predict` at once, all with one model; tells how each ended."""

from __future__ import annotations

import json
import os
import sys

os.environ["OMP_NUM_THREADS"] = "1"

from fork_server import ended, load_libraries, started

if __name__ == "__main__":
    asked = json.loads(sys.argv[1])
    load_libraries()
    running = [started([*asked["command"], "--out", out]) for out in asked["outs"]]
    print(json.dumps([ended(process) for process in running]))
