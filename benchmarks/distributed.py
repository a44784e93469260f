"""Time, memory per process and traffic of training steps and label updates in one and in two processes.

    python benchmarks/distributed.py --data DIR [--processes 1,2]

Training steps are on StackOverflow; a label update is the transport of 200,000 x 100 predictions. Each process has one
thread. Rows are written to results/distributed.json; rows that are present are skipped.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from measuring import ResultFile, default_encoder, make_parser, measure_time

N_STEPS, BATCH_SIZE = 30, 200
N, C = 200_000, 100


def measure_steps(data: Path) -> dict[str, Any]:
    """Train for some steps as one rank of the process group."""
    import torch

    from rstc.benchmark.datasets import load
    from rstc.config import make_config
    from rstc.representation.views import make_views
    from rstc.runtime.distributed import join_process_group, row_range
    from rstc.runtime.progress import Progress
    from rstc.training.inputs import TrainingInputs
    from rstc.training.trainer import train

    processes, texts = join_process_group(), load("stackoverflow", data).texts
    rows = row_range(len(texts), processes)
    own = texts[rows.start : rows.stop]
    config = make_config("default", {"max_steps": N_STEPS, "batch_size": BATCH_SIZE, "labels": "saot", "rounds": 0})
    progress, encoder = Progress(), default_encoder()
    inputs = TrainingInputs(own, make_views(own, "cutoff@0.1"), encoder, 20)
    result = train(inputs, config, np.random.default_rng(0), progress=progress, processes=processes)
    n_trained = sum(p.numel() for p in result.network.parameters() if p.requires_grad)
    return {
        "seconds_a_step": progress.seconds["train"] / N_STEPS,
        "seconds_to_encode": progress.seconds["encode"],
        "texts_a_process": len(own),
        "gradient_bytes_a_step": 4 * n_trained * (processes.size > 1),
        "bytes_of_all_else": processes.bytes_sent,
        "peak_memory_mb": _peak_memory(),
        "loss": result.losses[-1][1],
        "threads": torch.get_num_threads(),
    }


def measure_label_update(data: Path) -> dict[str, Any]:
    """Solve a transport as one rank of the process group."""
    import torch

    from rstc.pseudo_labels.transport.saot import saot
    from rstc.runtime.distributed import join_process_group, row_range

    processes, rng = join_process_group(), np.random.default_rng(0)
    class_bias, rows = 2 * rng.normal(size=C), row_range(N, processes)
    logits = np.random.default_rng(processes.rank).normal(size=(len(rows), C)).astype(np.float32)
    log_p = torch.log_softmax(torch.from_numpy(3 * logits + class_bias.astype(np.float32)), dim=1)
    processes.mean(log_p[:, 0])  # waits for all ranks
    before = processes.bytes_sent
    solution, seconds = measure_time(lambda: saot(log_p, 0.1, 0.01, processes=processes))
    return {
        "seconds": seconds,
        "steps": solution.iterations,
        "residual": solution.residual,
        "rows_a_process": len(rows),
        "bytes": processes.bytes_sent - before,
        "peak_memory_mb": _peak_memory(),
    }


def _peak_memory() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


TASKS = {"steps": measure_steps, "renewal": measure_label_update}


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--processes", default="1,2", help="comma-separated numbers of processes")
    parser.add_argument("--task", choices=TASKS, help=argparse.SUPPRESS)
    parser.add_argument("--to", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.task:  # this process is one of the ranks
        measurement = TASKS[options.task](options.data)
        (options.to / f"{os.environ.get('RANK', 0)}.json").write_text(json.dumps(measurement))
        return
    results = ResultFile("distributed", key=("task", "processes"))
    for task in TASKS:
        for processes in map(int, options.processes.split(",")):
            if results.has(task=task, processes=processes):
                continue
            with tempfile.TemporaryDirectory() as folder:
                command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
                command += [f"--nproc-per-node={processes}", __file__, "--data", str(options.data)]
                command += ["--task", task, "--to", folder]
                subprocess.run(command, check=True, env=os.environ | {"OMP_NUM_THREADS": "1"})
                ranks = [json.loads((Path(folder) / f"{rank}.json").read_text()) for rank in range(processes)]
            results.add({"task": task, "processes": processes, "each": ranks})


if __name__ == "__main__":
    main()
