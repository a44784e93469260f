"""The start on many texts, all of them: time, memory, and whether it finds uneven clusters that are there.

    python benchmarks/start.py [--sizes 10000 100000 1000000] [--clusters 100]

Points are made up: clusters of very uneven sizes (Dirichlet 0.5) around random directions, with noise that hides the
nearest centre of some. `rstc cluster` itself starts on at most `max_fit_texts` (100,000); this is the start without
that limit. Each size is a process of its own.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import time
from dataclasses import fields
from typing import Any

import numpy as np

from measuring import RESULTS, ResultFile, circumstances, scores
from rstc.config import Config
from rstc.pseudo_labels.initialization import Recipe, first_labels

DIMENSIONS = 384
NOISE = 0.06  # beside centres of length one


def measure(size: int, n_clusters: int) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    truth = rng.choice(n_clusters, size, p=rng.dirichlet(np.full(n_clusters, 0.5)))
    centres = rng.normal(size=(n_clusters, DIMENSIONS)).astype(np.float32)
    points = (centres / np.linalg.norm(centres, axis=1, keepdims=True))[truth]
    for piece in np.array_split(points, max(1, size // 10_000)):  # views of it: changed in place
        piece += rng.normal(scale=NOISE, size=piece.shape)
    config = Config()
    recipe = Recipe(**{field.name: getattr(config, field.name) for field in fields(Recipe)})
    begin = time.perf_counter()
    found = first_labels(points, None, n_clusters, recipe, np.random.default_rng(0), None)
    return {
        "texts": size,
        "clusters_asked": n_clusters,
        "start": found.start,
        "seconds": round(time.perf_counter() - begin),
        "peak_memory_gb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6, 2),
        **scores(truth.tolist(), found.labels.tolist()),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--clusters", type=int, default=100)
    asked = parser.parse_args()
    results = ResultFile(RESULTS / "start.json", circumstances("faiss-cpu"), key=("texts",))
    for size in asked.sizes:
        if not results.has(texts=size):
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                results.add(pool.apply(measure, (size, asked.clusters)))


if __name__ == "__main__":
    main()
