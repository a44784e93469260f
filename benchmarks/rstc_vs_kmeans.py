"""ACC, NMI, ARI and time of the default beside k-means on the embeddings it starts from.

    python benchmarks/rstc_vs_kmeans.py --data DIR [--sets sample tweet ...] [--seed 0] [--set name=value ...]

k-means is averaged over five seeds. Rows are written to results/rstc_vs_kmeans.json, one per data set; data sets that
are present are skipped.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from measuring import ResultFile, embed, make_parser, measure_time, score
from rstc.benchmark.datasets import read_table
from rstc.config import make_config, parse_setting
from rstc.estimator import RSTC
from rstc.pseudo_labels.kmeans import fit_kmeans
from rstc.representation.loading import load_encoder

KMEANS_SEEDS = 5
DATASETS = [
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


def measure(name: str, data: Path, seed: int, settings: dict[str, Any]) -> dict[str, Any]:
    table = read_table(name, data)
    texts, n_clusters = table.text.tolist(), table.label.nunique()
    config = make_config("default", settings)
    E, encoding = measure_time(lambda: embed(texts, load_encoder(None, config.pooling, config.max_tokens)))
    kmeans = []
    for kmeans_seed in range(KMEANS_SEEDS):
        rng = np.random.default_rng(kmeans_seed)
        clustering, seconds = measure_time(lambda rng=rng: fit_kmeans(E, n_clusters, rng, config.kmeans_starts))
        kmeans.append(score(table.label, clustering.labels) | {"seconds": round(encoding + seconds, 1)})

    views = (table.text1.tolist(), table.text2.tolist()) if "text1" in table else None
    model = RSTC(n_clusters, random_state=seed, **settings)
    _, seconds = measure_time(lambda: model.fit(texts, views=views))
    return {
        "set": name,
        "texts": len(texts),
        "asked_clusters": n_clusters,
        "views": "drawn" if views is None else "given",
        "kmeans": {key: round(float(np.mean([run[key] for run in kmeans])), 2) for key in kmeans[0]},
        "kmeans_acc_by_seed": [run["acc"] for run in kmeans],
        "rstc": score(table.label, model.labels_)
        | {"seconds": round(seconds, 1)}
        | {"steps": model.n_iter_, "settled": model.converged_, "stages": model.seconds_},
        "fewest_clusters_seen": min(entry["clusters"] for entry in model.history_ if "clusters" in entry),
    }


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--sets", nargs="+", default=DATASETS, help="names of data sets")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--set", dest="settings", nargs="*", default=[], help="settings to change")
    options = parser.parse_args()
    settings = dict(parse_setting(assignment) for assignment in options.settings)
    config = make_config("default", settings).to_dict()
    results = ResultFile("rstc_vs_kmeans", key=("set",), seed=options.seed, config=config)
    for name in options.sets:
        if not results.has(set=name):
            results.add(measure(name, options.data, options.seed, settings))


if __name__ == "__main__":
    main()
