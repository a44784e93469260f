"""A run shared by one and by two processes: time, memory a process, and what they tell each other.

    python benchmarks/distributed.py --data DIR [--processes 1,2]

Training steps on StackOverflow's texts, and renewals by transport of 200,000 x 100 predictions, one after the other in
the same call. Into results/distributed.json. Each process has one thread.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from measuring import RESULTS, ResultFile, circumstances

STEPS, BATCH, ROWS, CLASSES = 30, 200, 200_000, 100


def shared_steps(data: Path) -> dict[str, Any]:
    """Train for some steps; return what a step takes."""
    import torch

    from rstc.benchmark.datasets import load
    from rstc.config import make_config
    from rstc.runtime.progress import Progress
    from rstc.runtime.distributed import join_ranks, share_of
    from rstc.representation.loading import load_encoder
    from rstc.representation.views import drawn_views
    from rstc.training.trainer import train

    ranks, texts = join_ranks(), load("stackoverflow", data).texts
    rows = share_of(len(texts), ranks)
    own = texts[rows.start : rows.stop]
    config = make_config("default", {"max_steps": STEPS, "batch_size": BATCH, "labels": "saot", "rounds": 0})
    progress, encoder = Progress(), load_encoder(None, "mean", 32)
    views = drawn_views(own, "cutoff@0.1")
    result = train(own, views, encoder, 20, config, np.random.default_rng(0), progress, ranks=ranks)
    learning = sum(p.numel() for p in result.network.parameters() if p.requires_grad)
    told = {"seconds_a_step": progress.seconds["train"] / STEPS, "seconds_to_encode": progress.seconds["encode"]}
    return told | {
        "texts_a_process": len(own),
        "gradient_bytes_a_step": 4 * learning * (ranks.size > 1),
        "bytes_of_all_else": ranks.bytes_sent,
        "peak_memory_mb": _peak_memory(),
        "loss": result.losses[-1][1],
        "threads": torch.get_num_threads(),
    }


def shared_renewal(data: Path) -> dict[str, Any]:
    """Solve a transport; return what it takes."""
    import torch

    from rstc.pseudo_labels.transport.saot import saot
    from rstc.runtime.distributed import join_ranks, share_of

    ranks, rng = join_ranks(), np.random.default_rng(0)
    sizes, rows = 2 * rng.normal(size=CLASSES), share_of(ROWS, join_ranks())
    log_p = np.random.default_rng(ranks.rank).normal(size=(len(rows), CLASSES)).astype(np.float32)
    own = torch.log_softmax(torch.from_numpy(3 * log_p + sizes.astype(np.float32)), dim=1)
    ranks.mean(own[:, 0])  # all are there
    start, before = time.perf_counter(), ranks.bytes_sent
    found = saot(own, 0.1, 0.01, ranks=ranks)
    told = {"seconds": time.perf_counter() - start, "steps": found.iterations, "residual": found.residual}
    return told | {"rows_a_process": len(rows), "bytes": ranks.bytes_sent - before, "peak_memory_mb": _peak_memory()}


def _peak_memory() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


TASKS = {"steps": shared_steps, "renewal": shared_renewal}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--processes", default="1,2")
    parser.add_argument("--task", choices=TASKS, help=argparse.SUPPRESS)
    parser.add_argument("--to", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.task:  # one of the processes
        told = TASKS[asked.task](asked.data)
        (asked.to / f"{os.environ.get('RANK', 0)}.json").write_text(json.dumps(told))
        return
    results = ResultFile(RESULTS / "distributed.json", circumstances(), key=("task", "processes"))
    for task in TASKS:
        for processes in map(int, asked.processes.split(",")):
            if results.has(task=task, processes=processes):
                continue
            with tempfile.TemporaryDirectory() as folder:
                command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
                command += [f"--nproc-per-node={processes}", __file__, "--data", str(asked.data)]
                command += ["--task", task, "--to", folder]
                subprocess.run(command, check=True, env=os.environ | {"OMP_NUM_THREADS": "1"})
                told = [json.loads((Path(folder) / f"{rank}.json").read_text()) for rank in range(processes)]
            results.add({"task": task, "processes": processes, "each": told})


if __name__ == "__main__":
    main()
