"""What the processes of a shared run do in the tests: each prints nothing and writes what it has to a folder.

torchrun --nproc-per-node=2 tests/distributed/sharing.py TASK FOLDER
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch

from rstc import RSTC, saot
from rstc.pseudo_labels import kmeans
from rstc.pseudo_labels.transport.saot import optimal_transport, transport_near
from rstc.runtime.distributed import Ranks, join_ranks, share_of


def transports(folder: Path, ranks: Ranks) -> None:
    """Solve transports of which each process has some rows; write the rows' plans."""
    for name, log_p in np.load(folder / "log_p.npz").items():
        transported(log_p, folder / f"{name}-{ranks.size}-{ranks.rank}.npz", ranks)


def transported(log_p: np.ndarray, to: Path, ranks: Ranks) -> None:
    rows = share_of(len(log_p), ranks)
    own, b = log_p[rows.start : rows.stop], np.full(log_p.shape[1], 1 / log_p.shape[1])
    found = {
        "newton": saot(own, 0.1, 0.01, ranks=ranks),
        "alternating": saot(own, 0.1, 0.1, "alternating", tol=1e-7, max_iter=5000, ranks=ranks),
        "near": transport_near(own, b, 0.1, 0.1, ranks=ranks),
        "fixed": optimal_transport(own, b, 0.1, ranks=ranks),
    }
    plans = {name: one.plan for name, one in found.items()} | {f"{name} b": one.b for name, one in found.items()}
    np.savez(to, **plans)


def clusterings(folder: Path, ranks: Ranks) -> None:
    """Cluster points of which each process has some; write their labels, the centres, and what the first was sent."""
    points = np.load(folder / "points.npy")
    rows = share_of(len(points), ranks)
    kmeans.TEXTS_TO_COMPETE_ON = 300  # fewer than there are
    most = 0
    gather = Ranks.rows_at_first

    def watched(self: Ranks, local: torch.Tensor) -> torch.Tensor | None:
        nonlocal most
        found = gather(self, local)
        most = max(most, 0 if found is None else len(found))
        return found

    Ranks.rows_at_first = watched
    found = kmeans.kmeans_labels(points[rows.start : rows.stop], 6, np.random.default_rng(0), 3, ranks)
    Ranks.rows_at_first = gather
    facts = {"labels": found.labels, "centres": found.centres, "inertia": found.inertia, "most": most}
    np.savez(folder / f"kmeans-{ranks.size}-{ranks.rank}.npz", **facts)


def fits(folder: Path, ranks: Ranks) -> None:
    """Cluster texts of which each process has some, in several ways; write what came of it."""
    asked = json.loads((folder / "asked.json").read_text())
    rows = share_of(len(asked["texts"]), ranks)
    own = asked["texts"][rows.start : rows.stop]
    told = {name: fitted(own, settings) for name, settings in asked["ways"].items()}
    (folder / f"{ranks.size}-{ranks.rank}.json").write_text(json.dumps(told))


def fitted(texts: list[str], settings: dict[str, Any]) -> dict[str, Any]:
    model = RSTC(**settings).fit(texts)
    return {
        "losses": model.losses_,
        "labels": model.labels_.tolist(),
        "b": model.class_distribution_.tolist(),
        "history": model.history_,
        "hierarchy": model.hierarchy_.tolist(),
        "texts": model.n_texts_,
        "trained": model.n_trained_,
        "clusters": model.n_clusters_,
        "weights": float(sum(p.double().abs().sum() for p in model.network_.parameters())),
    }


if __name__ == "__main__":
    torch.set_num_threads(1)
    joined = join_ranks()
    transports(Path(sys.argv[1]), joined)
    clusterings(Path(sys.argv[1]), joined)
    fits(Path(sys.argv[1]), joined)
