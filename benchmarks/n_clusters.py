"""The estimated number of clusters of each data set, beside its number of classes.

    python benchmarks/n_clusters.py --data DIR [--keep FOLDER] [--seeds 3] [--datasets tweet,agnews]

`--keep` caches the embeddings for the next call. Rows are written to results/n_clusters.json; rows that are present are
skipped.
"""

from __future__ import annotations

from dataclasses import astuple
from pathlib import Path

import numpy as np

from measuring import ResultFile, embed, make_parser, measure_time
from rstc.benchmark.datasets import IMBALANCED_DATASETS, NOISY_DATASETS, PAPER_DATASETS, SMALL_DATASETS, load
from rstc.config import Config
from rstc.pseudo_labels.features import build_word_features
from rstc.pseudo_labels.n_clusters import estimate_n_clusters

DATASETS = list(dict.fromkeys([*PAPER_DATASETS, *SMALL_DATASETS, *IMBALANCED_DATASETS, *NOISY_DATASETS]))


def load_embeddings(name: str, texts: list[str], folder: Path | None) -> np.ndarray:
    """Embed the texts of a data set, or read its embeddings from a folder of earlier ones."""
    if folder is None:
        return embed(texts)
    path = folder / f"{name}.npy"
    if not path.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        np.save(path, embed(texts))
    return np.load(path)


def main() -> None:
    parser = make_parser(__doc__, datasets=DATASETS, seeds=3)
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="folder of cached embeddings")
    options = parser.parse_args()
    results = ResultFile("n_clusters", key=("dataset", "seed"))
    weight = Config().words
    for seed in range(options.seeds):
        for name in options.datasets:
            if results.has(dataset=name, seed=seed):
                continue
            loaded = load(name, options.data)
            E, rng = load_embeddings(name, loaded.texts, options.keep), np.random.default_rng(seed)
            search, seconds = measure_time(
                lambda E=E, rng=rng, texts=loaded.texts: estimate_n_clusters(
                    E, build_word_features(texts, rng), weight, (2, None), rng
                )
            )
            row = {"dataset": name, "seed": seed, "texts": len(E), "true": loaded.n_classes}
            row |= {"found": search.n_clusters, "low": search.low, "high": search.high, "sure": search.certainty}
            row["curve"] = [
                [n_clusters, *(round(criterion, 4) for criterion in criteria)]
                for n_clusters, *criteria in map(astuple, search.candidates)
            ]
            results.add(row | {"runners_up": list(search.runners_up), "seconds": round(seconds, 1)})


if __name__ == "__main__":
    main()
