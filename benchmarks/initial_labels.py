"""Time, memory and scores of the initial labels on up to a million points in imbalanced clusters.

    python benchmarks/initial_labels.py [--sizes 10000 100000 1000000] [--clusters 100]

Points are random: clusters of very different sizes (Dirichlet 0.5) around random directions, with noise. `rstc
cluster` computes initial labels of at most `max_fit_texts` (100,000) texts; here there is no limit. Each size is a
process of its own. Rows are written to results/initial_labels.json; sizes that are present are skipped.
"""

from __future__ import annotations

import multiprocessing
import resource
from dataclasses import fields
from typing import Any

import numpy as np

from measuring import ResultFile, make_parser, measure_time, score
from rstc.config import Config
from rstc.pseudo_labels.features import TextFeatures
from rstc.pseudo_labels.initialization import find_initial_labels
from rstc.pseudo_labels.initialization_settings import InitializationSettings

DIM = 384
NOISE_SCALE = 0.06  # of centres of length one
BLOCK_ROWS = 10_000


def measure(size: int, n_clusters: int) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    clusters = rng.choice(n_clusters, size, p=rng.dirichlet(np.full(n_clusters, 0.5)))
    centres = rng.normal(size=(n_clusters, DIM)).astype(np.float32)
    E = (centres / np.linalg.norm(centres, axis=1, keepdims=True))[clusters]
    for block in np.array_split(E, max(1, size // BLOCK_ROWS)):  # views of E, changed in place
        block += rng.normal(scale=NOISE_SCALE, size=block.shape)
    config = Config()
    names = [field.name for field in fields(InitializationSettings)]
    settings = InitializationSettings(**{name: getattr(config, name) for name in names})
    initial, seconds = measure_time(
        lambda: find_initial_labels(TextFeatures({"embedding": E}), n_clusters, settings, np.random.default_rng(0))
    )
    return {
        "texts": size,
        "clusters_asked": n_clusters,
        "start": initial.start,
        "seconds": round(seconds),
        "peak_memory_gb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6, 2),
        **score(clusters.tolist(), initial.labels.tolist()),
    }


def main() -> None:
    parser = make_parser(__doc__, data=False)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000, 1_000_000], help="numbers of points")
    parser.add_argument("--clusters", type=int, default=100, help="number of clusters")
    options = parser.parse_args()
    results = ResultFile("initial_labels", key=("texts",), packages=("faiss-cpu",))
    for size in options.sizes:
        if not results.has(texts=size):
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                results.add(pool.apply(measure, (size, options.clusters)))


if __name__ == "__main__":
    main()
