"""A whole run against its rivals, on one file: time as a multiple of one encoding pass, and how good the clusters are.

    pip install 'rstc[bench]'
    python benchmarks/end_to_end.py --data DIR [--set stackoverflow] [--seed 0]

One pass is from strings to embeddings with our encoder. Every contender's time counts from strings to clusters: k-means
(scikit-learn, 10 starts, on the unit-length embeddings) and BERTopic (its defaults, on the same embeddings) are charged
one pass; rstc is charged what `RSTC.fit` takes, loading the encoder included. BERTopic finds its own number of
clusters and takes no seed unless it is slowed down; its outliers count as one more cluster.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.cluster import KMeans

from measuring import RESULTS, ResultFile, circumstances, scores
from rstc.benchmark.datasets import read
from rstc.config import make_config
from rstc.estimator import RSTC
from rstc.representation.loading import load_encoder


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--set", default="stackoverflow")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    table = read(given.set, given.data)
    texts, n_clusters = table.text.tolist(), table.label.nunique()
    made_with = circumstances("bertopic", "umap-learn", "hdbscan", "scikit-learn")
    made_with |= {"set": given.set, "texts": len(texts), "seed": given.seed, "config": make_config().to_dict()}
    results = ResultFile(RESULTS / "end_to_end.json", made_with, key=("method",))

    encoder = load_encoder(None, "mean", 32)
    passes = []

    def encode() -> np.ndarray:
        start = time.perf_counter()
        E = encoder.embed(encoder.tokenize(texts)).numpy()
        passes.append(time.perf_counter() - start)
        return E / np.linalg.norm(E, axis=1, keepdims=True)

    def row(method: str, seconds: float, clusters: Any) -> dict[str, Any]:
        return {"method": method, "seconds": round(seconds, 1)} | scores(table.label, clusters)

    E = encode()
    start = time.perf_counter()
    by_kmeans = KMeans(n_clusters, n_init=10, random_state=given.seed).fit(E).labels_
    rows = [row("encode + k-means", passes[0] + time.perf_counter() - start, by_kmeans)]
    print(rows[-1], flush=True)

    start = time.perf_counter()
    model = RSTC(n_clusters, random_state=given.seed).fit(texts)
    rows.append(row("rstc", time.perf_counter() - start, model.labels_))
    rows[-1]["stages"] = {name: round(spent, 1) for name, spent in model.seconds_.items()}
    print(rows[-1], flush=True)

    from bertopic import BERTopic

    BERTopic().fit_transform(texts[:1000], embeddings=E[:1000])  # its compiler's time is not charged
    start = time.perf_counter()
    topics, _ = BERTopic().fit_transform(texts, embeddings=E)
    rows.append(row("BERTopic", passes[0] + time.perf_counter() - start, topics))
    rows[-1]["outliers"] = round(float(np.mean(np.array(topics) == -1)), 3)

    encode()  # the machine may have changed its pace: a pass is the mean of one before and one after
    one_pass = float(np.mean(passes))
    results.content["one_pass_seconds"] = [round(seconds, 1) for seconds in passes]
    for found in rows:
        results.add(found | {"passes": round(found["seconds"] / one_pass, 2)})


if __name__ == "__main__":
    main()
