"""Scores and time of methods that are not told the number of clusters, beside the default that is.

    python benchmarks/unknown_n_clusters.py --data DIR [--seeds 1] [--datasets tweet,agnews] [--methods rstc-auto,gsdmm]

The methods are the default without and with the number of classes, BERTopic (UMAP and HDBSCAN on our embeddings) and,
on the small data sets, GSDMM. BERTopic's outliers count as one cluster. Seconds are processor seconds, so that other
work on the machine does not count. Rows are written to results/unknown_n_clusters.json; rows that are present are
skipped.
"""

from __future__ import annotations

import time
from typing import Any

from measuring import ResultFile, embed, fit_bertopic, make_parser, measure_time, score
from rstc import RSTC
from rstc.baselines.gsdmm import GSDMM
from rstc.benchmark.datasets import PAPER_DATASETS, SMALL_DATASETS, load

METHODS = ["rstc-auto", "rstc", "bertopic", "gsdmm"]


def cluster(method: str, texts: list[str], n_classes: int, seed: int) -> tuple[Any, dict[str, Any]]:
    """Cluster texts by one of the methods; return the clusters and further entries of the row."""
    if method == "gsdmm":
        return GSDMM(300, random_state=seed).fit_predict(texts), {}
    if method == "bertopic":
        topics = fit_bertopic(texts, embed(texts), seed)
        return topics, {"outliers": round(float((topics == -1).mean()), 3)}
    model = RSTC("auto" if method == "rstc-auto" else n_classes, random_state=seed).fit(texts)
    search = model.n_clusters_search_
    return model.labels_, {"low": search.low, "high": search.high, "sure": search.certainty} if search else {}


def main() -> None:
    parser = make_parser(__doc__, datasets=list(dict.fromkeys([*SMALL_DATASETS, *PAPER_DATASETS])), seeds=1)
    parser.add_argument("--methods", default=",".join(METHODS), help="comma-separated names")
    options = parser.parse_args()
    packages = ("bertopic", "umap-learn", "hdbscan")
    results = ResultFile("unknown_n_clusters", key=("dataset", "method", "seed"), packages=packages)
    for seed in range(options.seeds):
        for name in options.datasets:
            loaded = load(name, options.data)
            for method in options.methods.split(","):
                row = {"dataset": name, "method": method, "seed": seed}
                if results.has(**row) or (method == "gsdmm" and name not in SMALL_DATASETS):
                    continue
                (labels, entries), seconds = measure_time(
                    lambda args=(method, loaded.texts, loaded.n_classes, seed): cluster(*args), time.process_time
                )
                row |= {"texts": len(loaded.texts), "classes": loaded.n_classes, "seconds": round(seconds, 1)}
                results.add(row | score(loaded.true_labels, labels) | entries)


if __name__ == "__main__":
    main()
