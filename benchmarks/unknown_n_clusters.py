"""Clusters when nobody tells how many there are, beside clusters when somebody does.

    python benchmarks/unknown.py --data DIR [--seeds 1] [--datasets tweet,stackoverflow] [--methods rstc-auto,bertopic]

Side by side on the same texts: our default without and with the number of classes, BERTopic as it comes (UMAP and
HDBSCAN, with our embeddings) and GSDMM (on the small sets). Texts that BERTopic leaves out count as one more cluster.
Seconds are the processor's, so that other work on the machine does not count.
Into results/unknown.json; goes on where it stopped.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.preprocessing import normalize

from measuring import RESULTS, ResultFile, circumstances, scores
from rstc import RSTC
from rstc.baselines.gsdmm import GSDMM
from rstc.benchmark.datasets import SMALL_SETS, WHOLE_SETS, load
from rstc.representation.loading import load_encoder

METHODS = ["rstc-auto", "rstc", "bertopic", "gsdmm"]


def clusters_of(method: str, texts: list[str], n_classes: int, seed: int) -> tuple[Any, dict[str, Any]]:
    """Cluster texts by one of the methods; return the clusters and what else is to be told."""
    if method == "gsdmm":
        return GSDMM(300, random_state=seed).fit_predict(texts), {}
    if method == "bertopic":
        from bertopic import BERTopic
        from umap import UMAP

        encoder = load_encoder(None, "mean", 32)
        E = normalize(encoder.embed(encoder.tokenize(texts)).numpy())
        # As BERTopic makes it itself, but for the seed.
        umap = UMAP(n_neighbors=15, n_components=5, min_dist=0.0, metric="cosine", low_memory=False, random_state=seed)
        topics = np.array(BERTopic(umap_model=umap).fit_transform(texts, embeddings=E)[0])
        return topics, {"outliers": round(float((topics == -1).mean()), 3)}
    model = RSTC("auto" if method == "rstc-auto" else n_classes, random_state=seed).fit(texts)
    more: dict[str, Any] = {}
    if model.count_:
        more = {"low": model.count_.low, "high": model.count_.high, "sure": model.count_.sure}
    return model.labels_, more


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--datasets", default=",".join(dict.fromkeys([*SMALL_SETS, *WHOLE_SETS])))
    parser.add_argument("--methods", default=",".join(METHODS))
    asked = parser.parse_args()
    made_with = circumstances("bertopic", "umap-learn", "hdbscan")
    results = ResultFile(RESULTS / "unknown.json", made_with, key=("dataset", "method", "seed"))
    for seed in range(asked.seeds):
        for name in asked.datasets.split(","):
            loaded = load(name, asked.data)
            for method in asked.methods.split(","):
                row = {"dataset": name, "method": method, "seed": seed}
                if results.has(**row) or (method == "gsdmm" and name not in SMALL_SETS):
                    continue
                start = time.process_time()
                found, more = clusters_of(method, loaded.texts, loaded.n_classes, seed)
                row |= {"texts": len(loaded.texts), "classes": loaded.n_classes}
                row |= {"seconds": round(time.process_time() - start, 1)}
                results.add(row | scores(loaded.truth, found) | more)


if __name__ == "__main__":
    main()
