"""The work of each process in the tests of shared runs.

The arguments are the folder of its input and its results, and the names of the functions to call.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
from scipy.sparse import issparse

from rstc import RSTC, saot
from rstc.numerics import nearest
from rstc.pseudo_labels import centring, initialization, kmeans
from rstc.pseudo_labels import features as features_module
from rstc.pseudo_labels.features import TextFeatures, build_word_features
from rstc.pseudo_labels.initialization import LabelSearch, find_initial_labels
from rstc.pseudo_labels.initialization_settings import InitializationSettings
from rstc.pseudo_labels.transport.saot import optimal_transport, semi_relaxed_transport
from rstc.representation.head_training import fit_head
from rstc.representation.heads import ClusteringNetwork
from rstc.representation.static_vectors import load_static_vectors
from rstc.runtime import distributed_rows
from rstc.runtime.distributed import ProcessGroup, join_process_group, row_range
from rstc.training import reliability

N_TOPICS = 6
SEARCH_SETTINGS = InitializationSettings(
    "auto", 3, True, True, words="auto", static="auto", neighbours=8, rounds=3, eps1=0.5, eps2="auto"
)


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


@contextmanager
def count_gathered_rows() -> Iterator[list[int]]:
    """Yield a list of the numbers of rows of all matrices that are gathered in this process within the block."""
    gathered_rows: list[int] = []
    gather_rows, gather_lists = ProcessGroup.gather_rows, ProcessGroup.gather_lists

    def gather_rows_and_count(self: ProcessGroup, local: torch.Tensor) -> torch.Tensor | None:
        gathered = gather_rows(self, local)
        if gathered is not None and gathered.ndim == 2:  # labels, which a checkpoint holds, have one dimension
            gathered_rows.append(len(gathered))
        return gathered

    def gather_lists_and_count(self: ProcessGroup, items: list[Any]) -> list[Any] | None:
        gathered = gather_lists(self, items)
        if gathered and issparse(gathered[0]):
            gathered_rows.append(sum(part.shape[0] for part in gathered))
        elif gathered and isinstance(gathered[0], str):
            gathered_rows.append(len(gathered))  # texts
        return gathered

    with patch.multiple(ProcessGroup, gather_rows=gather_rows_and_count, gather_lists=gather_lists_and_count):
        yield gathered_rows


def run_kmeans(folder: Path, processes: ProcessGroup) -> None:
    """Cluster points that are shared among the processes; write the result, and the most rows that were gathered."""
    points = np.load(folder / "points.npy")
    rows = row_range(len(points), processes)
    # The sample has fewer points than there are.
    with patch.object(kmeans, "SAMPLE_SIZE", 300), count_gathered_rows() as gathered_rows:
        clustering = kmeans.fit_kmeans(points[rows.start : rows.stop], 6, np.random.default_rng(0), 3, processes)
    np.savez(
        folder / f"kmeans-{processes.size}-{processes.rank}.npz",
        labels=clustering.labels,
        centres=clustering.centres,
        inertia=clustering.inertia,
        max_gathered=max(gathered_rows, default=0),
    )


def search_labels(folder: Path, processes: ProcessGroup) -> None:
    """Build features of texts that are shared among the processes, and find labels; write the steps in between."""
    task = np.load(folder / "topics.npz")
    rows = row_range(len(task["E"]), processes)
    E, texts = task["E"][rows.start : rows.stop], task["texts"][rows.start : rows.stop].tolist()
    samples = (
        patch.object(initialization, "SAMPLE_SIZE", 200),
        patch.object(initialization, "MAX_GATHERED_TEXTS", 0),
        patch.object(features_module, "MAX_GATHERED_TEXTS", 0),
        patch.object(kmeans, "SAMPLE_SIZE", 300),
        patch.object(centring, "SAMPLE_ROWS", 200),
        patch.object(distributed_rows, "BLOCK_ROWS", 100),
    )
    results: dict[str, Any] = {}
    with ExitStack() as stack:
        for sample in samples:
            stack.enter_context(sample)
        gathered_rows = stack.enter_context(count_gathered_rows())
        rng = np.random.default_rng(0)
        words = build_word_features(texts, rng, processes)
        static = load_static_vectors("bundled").embed(texts, processes)
        results |= {"tfidf": words.tfidf.toarray(), "lsa": words.lsa, "static": static}
        features = TextFeatures({"embedding": E, "static": static}, words, processes)
        search = LabelSearch.prepare(features, {"static": 1.0, "words": 0.5}, N_TOPICS, SEARCH_SETTINGS, rng)
        results |= {"neighbours": search.neighbours, "points": search.points}
        with patch.object(nearest, "MAX_EXACT_TEXTS", 200):
            results["neighbours by index"] = features.find_neighbours(search.mix, search.neighbours.shape[1])
        results |= {start: search.cluster(start) for start in ("kmeans", "linkage")}
        noisy = np.where(np.arange(rows.start, rows.stop) % 4 == 0, 0, task["topics"][rows.start : rows.stop])
        results["crossfit"] = search.improve("before", noisy).labels
        results["crossfit with an empty class"] = search.improve("before", np.minimum(noisy, N_TOPICS - 2)).labels
        results["initial"] = find_initial_labels(features, N_TOPICS, SEARCH_SETTINGS, rng).labels
        head = make_head(E.shape[1])
        fit_head(head, torch.from_numpy(E), torch.from_numpy(results["initial"]), rng, processes)
        results["head"] = torch.cat([parameter.detach().ravel() for parameter in head.parameters()]).numpy()
        results["max_gathered"] = max(gathered_rows, default=0)
        results["spectral"] = search.cluster("spectral")  # gathers the neighbour graph
    results["next random number"] = rng.random()
    own_rng = np.random.default_rng(1)
    features = replace(features, words=build_word_features(texts, own_rng, processes))
    results["initial of few"] = find_initial_labels(features, N_TOPICS, SEARCH_SETTINGS, own_rng).labels
    np.savez(folder / f"labels-{processes.size}-{processes.rank}.npz", **results)


def make_head(dim: int) -> ClusteringNetwork:
    torch.manual_seed(0)
    return ClusteringNetwork(dim, N_TOPICS, dropout=0.0)


def fit_models(folder: Path, processes: ProcessGroup) -> None:
    """Fit models to texts that are shared among the processes; write their results."""
    task = json.loads((folder / "task.json").read_text())
    rows = row_range(len(task["texts"]), processes)
    texts = task["texts"][rows.start : rows.stop]
    # The samples have fewer texts than there are.
    with (
        patch.object(centring, "SAMPLE_ROWS", 60),
        patch.object(initialization, "SAMPLE_SIZE", 100),
        patch.object(initialization, "MAX_GATHERED_TEXTS", 0),
        patch.object(features_module, "MAX_GATHERED_TEXTS", 0),
        patch.object(kmeans, "SAMPLE_SIZE", 100),
        patch.object(reliability, "MIN_SAMPLE_SIZE", 80),
        patch.object(reliability, "MAX_SAMPLE_SIZE", 80),
    ):
        results = {name: fit_model(texts, settings) for name, settings in task["variants"].items()}
    (folder / f"{processes.size}-{processes.rank}.json").write_text(json.dumps(results))


def fit_model(texts: list[str], settings: dict[str, Any]) -> dict[str, Any]:
    with count_gathered_rows() as gathered_rows:
        # As runs of several processes, so that a single one draws the same batches.
        model = RSTC(row_order="given", **settings).fit(texts)
    return {
        "max_gathered": max(gathered_rows, default=0),
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
    for name in sys.argv[2:]:
        globals()[name](Path(sys.argv[1]), process_group)
