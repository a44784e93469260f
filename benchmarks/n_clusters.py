"""The estimated number of clusters of the sets of the suite and of samples of them, beside their numbers of classes.

    python benchmarks/n_clusters.py --data DIR [--variants 2000,all] [--seeds 1] [--datasets tweet,agnews]

Rows are written to results/n_clusters.json; rows that are present are skipped.
"""

from __future__ import annotations

from dataclasses import astuple

import numpy as np

from measuring import ResultFile, embed, make_parser, measure_time
from rstc.pseudo_labels.features import EMBEDDING, TextFeatures
from rstc.pseudo_labels.n_clusters import estimate_n_clusters
from suite import HALVES, read_set, sample_rows


def main() -> None:
    parser = make_parser(__doc__, datasets=[*HALVES["A"], *HALVES["B"]], seeds=1)
    parser.add_argument("--variants", type=lambda names: names.split(","), default=["2000", "all"], metavar="A,B")
    options = parser.parse_args()
    results = ResultFile("n_clusters", key=("dataset", "variant", "seed"))
    for seed in range(options.seeds):
        for variant in options.variants:
            for name in options.datasets:
                if results.has(dataset=name, variant=variant, seed=seed):
                    continue
                table = read_set(options.data, name)
                rows = sample_rows(table["label"].to_numpy(), variant, seed)
                texts, rng = table["text"][rows].tolist(), np.random.default_rng(seed)
                features = TextFeatures({EMBEDDING: embed(texts)})
                search, seconds = measure_time(
                    lambda features=features, rng=rng: estimate_n_clusters(features, {}, (2, None), rng)
                )
                row = {"dataset": name, "variant": variant, "seed": seed, "texts": len(texts)}
                row |= {"true": table["label"][rows].nunique(), "found": search.n_clusters}
                row |= {"low": search.low, "high": search.high, "sure": search.certainty}
                row["curve"] = [
                    [n_clusters, *(round(criterion, 4) for criterion in criteria)]
                    for n_clusters, *criteria in map(astuple, search.candidates)
                ]
                results.add(row | {"runners_up": list(search.runners_up), "seconds": round(seconds, 1)})


if __name__ == "__main__":
    main()
