"""Whether `rstc cluster` finds the same clusters in two processes as in one.

    python benchmarks/processes.py --data DIR [--datasets tweet,googlenews-t,...]

Each set is clustered by the command line in one process and by torchrun in two, with the number of its classes and the
default settings, but for the order of the rows: processes that share a run keep that of the input, as one process does
with row_order=given. For comparison, it is clustered in one process in the default order and with another seed. Rows
are written to results/processes.json; rows that are present are skipped.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pandas as pd

from measuring import ResultFile, make_parser, score
from rstc.benchmark.datasets import load

TORCHRUN = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
GIVEN = ["--set", "row_order=given"]


def cluster(folder: Path, name: str, n_clusters: int, *options: str, launcher: tuple[str, ...] = ()) -> list[int]:
    """Cluster texts.csv of a folder by the command line; return the clusters."""
    out = folder / name
    command = [sys.executable, *launcher, "-m", "rstc", "cluster", str(folder / "texts.csv"), "--out", str(out)]
    command += ["--clusters", str(n_clusters), "--no-cache", "--set", "repeats=0", *options]
    subprocess.run(command, check=True, capture_output=True, env=os.environ | {"OMP_NUM_THREADS": "1"})
    clusters: list[int] = pd.read_csv(out / "clusters.csv")["cluster"].tolist()
    return clusters


def measure(dataset: str, data: Path) -> dict[str, Any]:
    loaded = load(dataset, data)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pd.DataFrame({"text": loaded.texts}).to_csv(folder / "texts.csv", index=False)
        single = cluster(folder, "single", loaded.n_classes, *GIVEN)
        others = {
            "two_processes": cluster(folder, "shared", loaded.n_classes, launcher=tuple(TORCHRUN)),
            "default_order": cluster(folder, "hash", loaded.n_classes),
            "another_seed": cluster(folder, "seed", loaded.n_classes, *GIVEN, "--seed", "1"),
        }
    ari = {name: score(single, clusters)["ari"] for name, clusters in others.items()}
    return {"dataset": dataset, "texts": len(loaded.texts), "same": others["two_processes"] == single, "ari": ari}


def main() -> None:
    options = make_parser(__doc__, datasets=["tweet", "googlenews-t", "agnews", "stackoverflow"]).parse_args()
    results = ResultFile("processes", key=("dataset",))
    for dataset in options.datasets:
        if not results.has(dataset=dataset):
            results.add(measure(dataset, options.data))


if __name__ == "__main__":
    main()
