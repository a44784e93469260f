"""Does the trained clustering beat k-means of the embedding it starts from, and do its clusters survive?

    python benchmarks/against_kmeans.py --data DIR [--sets sample tweet ...] [--seed 0] [--set name=value ...]

DIR holds the benchmark sets as CSV with the columns label, text and, where there are ready-made views, text1 and
text2. Each set's row is written to the result file as soon as it is there; sets that are in it are not run again.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.preprocessing import normalize

from measuring import RESULTS, ResultFile, circumstances, scores
from rstc.benchmark.datasets import read
from rstc.config import make_config, parse_setting
from rstc.estimator import RSTC
from rstc.pseudo_labels.kmeans import kmeans_labels
from rstc.representation.loading import load_encoder

KMEANS_SEEDS = 5  # k-means is cheap and varies; its row is the mean of these
SETS = [
    "sample",
    "tweet",
    "googlenews-t",
    "stackoverflow",
    "agnews",
    "searchsnippets",
    "biomedical",
    "googlenews-s",
    "googlenews-ts",
]


def scored(truth: Any, clusters: Any, seconds: float) -> dict[str, Any]:
    return scores(truth, clusters) | {"seconds": round(seconds, 1)}


def measure(name: str, data: Path, seed: int, settings: dict[str, Any]) -> dict[str, Any]:
    table = read(name, data)
    texts, n_clusters = table.text.tolist(), table.label.nunique()
    config = make_config("default", settings)

    start = time.perf_counter()
    encoder = load_encoder(None, config.pooling, config.max_tokens)
    E = normalize(encoder.embed(encoder.tokenize(texts)).numpy())
    encoded = time.perf_counter() - start
    kmeans = []
    for kmeans_seed in range(KMEANS_SEEDS):
        start = time.perf_counter()
        found = kmeans_labels(E, n_clusters, np.random.default_rng(kmeans_seed), config.kmeans_starts).labels
        kmeans.append(scored(table.label, found, encoded + time.perf_counter() - start))

    start = time.perf_counter()
    views = (table.text1.tolist(), table.text2.tolist()) if "text1" in table else None
    model = RSTC(n_clusters, random_state=seed, **settings).fit(texts, views=views)
    return {
        "set": name,
        "texts": len(texts),
        "asked_clusters": n_clusters,
        "views": "drawn" if views is None else "given",
        "kmeans": {key: round(float(np.mean([run[key] for run in kmeans])), 2) for key in kmeans[0]},
        "kmeans_acc_by_seed": [run["acc"] for run in kmeans],
        "rstc": scored(table.label, model.labels_, time.perf_counter() - start)
        | {"steps": model.n_iter_, "settled": model.settled_, "stages": model.seconds_},
        "fewest_clusters_seen": min(entry["clusters"] for entry in model.history_ if "clusters" in entry),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--set", dest="settings", nargs="*", default=[])
    parser.add_argument("--out", type=Path, default=RESULTS / "against_kmeans.json")
    given = parser.parse_args()
    settings = dict(parse_setting(assignment) for assignment in given.settings)

    made_with = circumstances() | {"seed": given.seed, "config": make_config("default", settings).to_dict()}
    results = ResultFile(given.out, made_with, key=("set",))
    for name in given.sets:
        if not results.has(set=name):
            results.add(measure(name, given.data, given.seed, settings))


if __name__ == "__main__":
    main()
