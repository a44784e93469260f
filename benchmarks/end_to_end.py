"""Time of `rstc cluster`, from a CSV file to the page, in units of one plain encoding pass, idle and beside other work.

    python benchmarks/end_to_end.py --data DIR [--sets stackoverflow:2000,stackoverflow:10000,...] [--seed 0]

One pass is `SentenceTransformer.encode` of the texts with the bundled encoder, measured before and after the commands
on each set. "encode + k-means" adds scikit-learn's k-means (10 starts) to one pass. The commands run in processes of
their own, from the start of the interpreter to its end:

rstc                    the default, with the number of clusters given and an empty cache of embeddings
rstc, again             with one cluster more, and the embeddings of the first command in the cache
rstc, K estimated       without the number of clusters; `count` among its stages is the estimate alone
rstc, training=always   with training of the encoder
rstc, busy              the default beside a process for each core that computes without a pause

`first_line` and `clusters_written` are the seconds until the command prints its first line and until clusters.csv is
there. Rows are written to results/end_to_end.json; rows that are present are skipped.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.cluster import KMeans

from measuring import ResultFile, load_sentence_transformer, make_parser, measure_time, score
from rstc.benchmark.datasets import read_table
from rstc.config import make_config
from rstc.runtime.cores import available_cores

SETS = "stackoverflow:2000,stackoverflow:10000,stackoverflow:20000,tweet:2472"
POLL_SECONDS = 0.02


def compute_without_pause() -> None:
    while True:
        sum(range(100_000))


@contextmanager
def keep_cores_busy() -> Iterator[None]:
    """Run a process for each core that computes without a pause."""
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=compute_without_pause, daemon=True) for _ in range(available_cores())]
    for process in processes:
        process.start()
    time.sleep(2)
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.join()


def run_command(file: Path, folder: Path, name: str, k: int | None, seed: int, *options: str) -> dict[str, Any]:
    """Run `rstc cluster`; return its times and its clusters."""
    out, messages = folder / name, folder / f"{name}.txt"
    command = [sys.executable, "-m", "rstc", "cluster", str(file), "--text-column", "text", "--seed", str(seed)]
    command += ["--out", str(out), *(() if k is None else ("-k", str(k))), *options]
    environment = os.environ | {"RSTC_CACHE_DIR": str(folder / "cache")}
    marks: dict[str, float] = {}
    with messages.open("wb") as stderr:
        start = time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=stderr, env=environment)
        while process.poll() is None:
            if "first_line" not in marks and messages.stat().st_size:
                marks["first_line"] = round(time.perf_counter() - start, 2)
            if "clusters_written" not in marks and (out / "clusters.csv").exists():
                marks["clusters_written"] = round(time.perf_counter() - start, 2)
            time.sleep(POLL_SECONDS)
        seconds = time.perf_counter() - start
    if process.returncode:
        sys.exit(messages.read_text())
    summary = json.loads((out / "summary.json").read_text())
    entries = {"seconds": round(seconds, 2), **marks, "steps": summary["steps"], "stages": summary["seconds"]}
    return entries | {"labels": pd.read_csv(out / "clusters.csv").cluster.to_numpy()}


def measure_set(table: pd.DataFrame, folder: Path, seed: int) -> dict[str, dict[str, Any]]:
    """Run all methods on a set; return their rows."""
    file, k = folder / "texts.csv", table.label.nunique()
    table.to_csv(file, index=False)
    texts, model = table.text.tolist(), load_sentence_transformer()
    model.encode(texts[:64])
    E, first_pass = measure_time(lambda: model.encode(texts, normalize_embeddings=True))
    kmeans = KMeans(k, n_init=10, random_state=seed)
    labels, kmeans_seconds = measure_time(lambda: kmeans.fit_predict(E))
    rows = {"encode + k-means": {"seconds": round(first_pass + kmeans_seconds, 2), "labels": labels}}
    for name, clusters, options, context in (
        ("rstc", k, (), nullcontext()),
        ("rstc, again", k + 1, (), nullcontext()),
        ("rstc, K estimated", None, ("--no-cache",), nullcontext()),
        ("rstc, training=always", k, ("--no-cache", "--set", "training=always"), nullcontext()),
        ("rstc, busy", k, ("--no-cache",), keep_cores_busy()),
    ):
        with context:
            rows[name] = run_command(file, folder, name.replace(" ", ""), clusters, seed, *options)
        print(name, rows[name]["seconds"], flush=True)
    # The speed of the machine may have changed: a pass is the mean of one before and one after.
    _, last_pass = measure_time(lambda: model.encode(texts))
    one_pass = float(np.mean([first_pass, last_pass]))
    for row in rows.values():
        row |= {"passes": round(row["seconds"] / one_pass, 2)}
        row |= {"one_pass_seconds": [round(first_pass, 2), round(last_pass, 2)]}
        if "count" in row.get("stages", {}):
            row["count_passes"] = round(row["stages"]["count"] / one_pass, 2)
    rows["rstc, busy"]["times_idle"] = round(rows["rstc, busy"]["seconds"] / rows["rstc"]["seconds"], 2)
    return rows


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--sets", default=SETS, help="names and sizes")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    results = ResultFile(
        "end_to_end",
        key=("set", "texts"),
        packages=("scikit-learn",),
        seed=options.seed,
        config=make_config().to_dict(),
    )
    for entry in options.sets.split(","):
        name, size = entry.split(":")
        table = read_table(name, options.data)[["label", "text"]]
        table = table.sample(min(int(size), len(table)), random_state=0)
        if results.has(set=name, texts=len(table)):
            continue
        with tempfile.TemporaryDirectory() as folder:
            rows = measure_set(table, Path(folder), options.seed)
        for method, row in rows.items():
            labels = row.pop("labels")
            results.add({"set": name, "texts": len(table), "method": method} | row | score(table.label, labels))


if __name__ == "__main__":
    main()
