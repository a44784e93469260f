"""The work of each process in the tests of shared runs; the argument is the folder of its input and its results."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch

from rstc import RSTC, saot
from rstc.pseudo_labels import kmeans
from rstc.pseudo_labels.transport.saot import optimal_transport, semi_relaxed_transport
from rstc.runtime.distributed import ProcessGroup, join_process_group, row_range


def solve_transports(folder: Path, processes: ProcessGroup) -> None:
    """Solve transports whose rows are shared among the processes; write the plans of this process's rows."""
    for name, log_p in np.load(folder / "log_p.npz").items():
        rows = row_range(len(log_p), processes)
        local, b = log_p[rows.start : rows.stop], np.full(log_p.shape[1], 1 / log_p.shape[1])
        transports = {
            "newton": saot(local, 0.1, 0.01, processes=processes),
            "alternating": saot(local, 0.1, 0.1, "alternating", tol=1e-7, max_iter=5000, processes=processes),
            "near": semi_relaxed_transport(local, b, 0.1, 0.1, processes=processes),
            "fixed": optimal_transport(local, b, 0.1, processes=processes),
        }
        plans = {method: transport.plan for method, transport in transports.items()}
        marginals = {f"{method} b": transport.b for method, transport in transports.items()}
        np.savez(folder / f"{name}-{processes.size}-{processes.rank}.npz", **plans, **marginals)


def run_kmeans(folder: Path, processes: ProcessGroup) -> None:
    """Cluster points that are shared among the processes; write the result, and the most rows that were gathered."""
    points = np.load(folder / "points.npy")
    rows = row_range(len(points), processes)
    kmeans.SAMPLE_SIZE = 300  # fewer than there are texts
    max_gathered = 0
    gather_rows = ProcessGroup.gather_rows

    def count_gathered_rows(self: ProcessGroup, local: torch.Tensor) -> torch.Tensor | None:
        nonlocal max_gathered
        gathered = gather_rows(self, local)
        max_gathered = max(max_gathered, 0 if gathered is None else len(gathered))
        return gathered

    ProcessGroup.gather_rows = count_gathered_rows
    clustering = kmeans.fit_kmeans(points[rows.start : rows.stop], 6, np.random.default_rng(0), 3, processes)
    ProcessGroup.gather_rows = gather_rows
    np.savez(
        folder / f"kmeans-{processes.size}-{processes.rank}.npz",
        labels=clustering.labels,
        centres=clustering.centres,
        inertia=clustering.inertia,
        max_gathered=max_gathered,
    )


def fit_models(folder: Path, processes: ProcessGroup) -> None:
    """Fit models to texts that are shared among the processes; write their results."""
    task = json.loads((folder / "task.json").read_text())
    rows = row_range(len(task["texts"]), processes)
    texts = task["texts"][rows.start : rows.stop]
    results = {name: fit_model(texts, settings) for name, settings in task["variants"].items()}
    (folder / f"{processes.size}-{processes.rank}.json").write_text(json.dumps(results))


def fit_model(texts: list[str], settings: dict[str, Any]) -> dict[str, Any]:
    model = RSTC(**settings).fit(texts)
    return {
        "losses": model.losses_,
        "labels": model.labels_.tolist(),
        "b": model.class_distribution_.tolist(),
        "history": model.history_,
        "hierarchy": model.hierarchy_.tolist(),
        "n_texts": model.n_texts_,
        "n_trained": model.n_trained_,
        "n_clusters": model.n_clusters_,
        "weights": float(sum(p.detach().double().abs().sum() for p in model.network_.parameters())),
    }


if __name__ == "__main__":
    torch.set_num_threads(1)
    process_group = join_process_group()
    for work in (solve_transports, run_kmeans, fit_models):
        work(Path(sys.argv[1]), process_group)
