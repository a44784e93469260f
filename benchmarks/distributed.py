"""Time, memory per process and traffic of training steps, label updates and label search in one and in two processes.

    python benchmarks/distributed.py --data DIR [--processes 1,2]

Training steps are on StackOverflow; a label update is the transport of 200,000 x 100 predictions. The label search
finds the first labels of StackOverflow as by default, from embeddings that are computed beforehand; its labels are
compared with those of one process if both are measured by the same command. Each process has one thread. Rows are
written to results/distributed.json; rows that are present are skipped.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from measuring import ResultFile, default_encoder, embed, make_parser, measure_time, score
from rstc.benchmark.datasets import load
from rstc.runtime.distributed import process_group_session

N_STEPS, BATCH_SIZE = 30, 200
N, C = 200_000, 100
EMBEDDINGS = "RSTC_BENCHMARK_EMBEDDINGS"  # environment variable: the file of the embeddings for the label search


def measure_steps(data: Path) -> dict[str, Any]:
    """Train for some steps as one rank of the process group."""
    import torch

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


def measure_label_search(data: Path) -> dict[str, Any]:
    """Find first labels as one rank of the process group, stage by stage."""
    from rstc.config import make_config
    from rstc.pseudo_labels.features import EMBEDDING, STATIC, TextFeatures, build_word_features
    from rstc.pseudo_labels.initialization import LabelSearch, compare_candidates
    from rstc.pseudo_labels.initialization_settings import InitializationSettings
    from rstc.representation.static_vectors import load_static_vectors
    from rstc.runtime.distributed import join_process_group, row_range
    from rstc.runtime.threads import limit_library_threads

    processes, loaded, rng = join_process_group(), load("stackoverflow", data), np.random.default_rng(0)
    rows = row_range(len(loaded.texts), processes)
    texts, n_clusters = loaded.texts[rows.start : rows.stop], len(set(loaded.true_labels))
    E = np.array(np.load(os.environ[EMBEDDINGS], mmap_mode="r")[rows.start : rows.stop])
    config = make_config("default", {})
    settings = InitializationSettings(**{f.name: getattr(config, f.name) for f in fields(InitializationSettings)})

    def build_features() -> TextFeatures:
        static = load_static_vectors(config.static_vectors).embed(texts, processes)
        return TextFeatures({EMBEDDING: E, STATIC: static}, build_word_features(texts, rng, processes), processes)

    with limit_library_threads("blas"):
        processes.barrier()
        memory_before, bytes_before, seconds = _peak_memory(), processes.bytes_sent, {}
        features, seconds["features"] = measure_time(build_features)
        candidates, seconds["comparison"] = measure_time(
            lambda: compare_candidates(features, n_clusters, settings, rng)
        )
        best = candidates[0]
        search, seconds["neighbours"] = measure_time(
            lambda: LabelSearch.prepare(features, best.mix, n_clusters, settings, rng)
        )
        labels, seconds["start"] = measure_time(lambda: search.cluster(best.start))
        initial, seconds["rounds"] = measure_time(lambda: search.improve(best.start, labels))
    return {
        "seconds": sum(seconds.values()),
        "seconds_by_stage": seconds,
        "start": best.start,
        "mix": best.mix,
        "texts_a_process": len(texts),
        "bytes": processes.bytes_sent - bytes_before,
        "peak_memory_before_mb": memory_before,
        "peak_memory_mb": _peak_memory(),
        "labels": initial.labels.tolist(),
    }


def _peak_memory() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


TASKS = {"steps": measure_steps, "renewal": measure_label_update, "labels": measure_label_search}


def run_task(task: str, processes: int, data: Path, folder: Path) -> list[dict[str, Any]]:
    """Start the processes of a task; return the measurement of each rank."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={processes}"]
    command += [__file__, "--data", str(data), "--task", task, "--to", str(folder)]
    variables = {"OMP_NUM_THREADS": "1", EMBEDDINGS: str(folder / "E.npy")}
    subprocess.run(command, check=True, env=os.environ | variables)
    return [json.loads((folder / f"{rank}.json").read_text()) for rank in range(processes)]


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--processes", default="1,2", help="comma-separated numbers of processes")
    parser.add_argument("--task", choices=TASKS, help=argparse.SUPPRESS)
    parser.add_argument("--to", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.task:  # this process is one of the ranks
        with process_group_session():  # which is left before the process ends, or a thread of Gloo may abort it
            measurement = TASKS[options.task](options.data)
        (options.to / f"{os.environ.get('RANK', 0)}.json").write_text(json.dumps(measurement))
        return
    results = ResultFile("distributed", key=("task", "processes"))
    for task in TASKS:
        numbers = [n for n in map(int, options.processes.split(",")) if not results.has(task=task, processes=n)]
        labels: dict[int, list[int]] = {}
        with tempfile.TemporaryDirectory() as folder:
            if task == "labels" and numbers:
                np.save(Path(folder) / "E.npy", embed(load("stackoverflow", options.data).texts))
            for processes in numbers:
                ranks = run_task(task, processes, options.data, Path(folder))
                row: dict[str, Any] = {"task": task, "processes": processes, "each": ranks}
                if task == "labels":
                    labels[processes] = [label for rank in ranks for label in rank.pop("labels")]
                    if 1 in labels:
                        row["like_one_process"] = score(labels[1], labels[processes])
                results.add(row)


if __name__ == "__main__":
    main()
