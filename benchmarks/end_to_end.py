"""Time from texts to clusters of k-means, rstc and BERTopic, in units of one encoding pass, with their scores.

    pip install 'rstc[bench]'
    python benchmarks/end_to_end.py --data DIR [--set stackoverflow] [--seed 0]

One pass encodes all texts with our encoder. k-means (scikit-learn, 10 starts, on embeddings of length one) and BERTopic
(with its defaults, on the same embeddings) are charged one pass; rstc is charged the whole of `RSTC.fit`, with loading
the encoder. BERTopic finds its own number of clusters and takes no seed; its outliers count as one cluster. Rows are
written to results/end_to_end.json.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.cluster import KMeans

from measuring import ResultFile, default_encoder, embed, make_parser, measure_time, score
from rstc.benchmark.datasets import read_table
from rstc.config import make_config
from rstc.estimator import RSTC


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--set", default="stackoverflow", help="name of the data set")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    table = read_table(options.set, options.data)
    texts, n_clusters = table.text.tolist(), table.label.nunique()
    results = ResultFile(
        "end_to_end",
        key=("method",),
        packages=("bertopic", "umap-learn", "hdbscan", "scikit-learn"),
        set=options.set,
        texts=len(texts),
        seed=options.seed,
        config=make_config().to_dict(),
    )
    rows: list[dict[str, Any]] = []

    def add_row(method: str, seconds: float, labels: Any, **entries: Any) -> None:
        rows.append({"method": method, "seconds": round(seconds, 1)} | score(table.label, labels) | entries)
        print(rows[-1], flush=True)

    encoder = default_encoder()
    E, first_pass = measure_time(lambda: embed(texts, encoder))
    kmeans = KMeans(n_clusters, n_init=10, random_state=options.seed)
    labels, seconds = measure_time(lambda: kmeans.fit_predict(E))
    add_row("encode + k-means", first_pass + seconds, labels)

    model = RSTC(n_clusters, random_state=options.seed)
    _, seconds = measure_time(lambda: model.fit(texts))
    stages = {name: round(spent, 1) for name, spent in model.seconds_.items()}
    add_row("rstc", seconds, model.labels_, stages=stages)

    from bertopic import BERTopic

    BERTopic().fit_transform(texts[:1000], embeddings=E[:1000])  # its compilation is not charged
    (topics, _), seconds = measure_time(lambda: BERTopic().fit_transform(texts, embeddings=E))
    outliers = round(float(np.mean(np.array(topics) == -1)), 3)
    add_row("BERTopic", first_pass + seconds, topics, outliers=outliers)

    # The speed of the machine may have changed: a pass is the mean of one before and one after.
    _, last_pass = measure_time(lambda: embed(texts, encoder))
    results.content["one_pass_seconds"] = [round(first_pass, 1), round(last_pass, 1)]
    for row in rows:
        results.add(row | {"passes": round(row["seconds"] / float(np.mean([first_pass, last_pass])), 2)})


if __name__ == "__main__":
    main()
