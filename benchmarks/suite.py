"""Methods on twelve sets of texts and on samples of them: what a default does on texts that nobody tuned it on.

    python benchmarks/suite.py --data DIR [--datasets tweet,...] [--variants 1000,...] [--methods rstc,...] [--seeds 3]

DIR holds the CSV files of the eight sets of the paper and of four others, with the columns label and text. The sets are
divided into two halves, which were fixed before anything was measured: choices of the default (feature sets, weights,
candidates, criterion) were made by looking at scores of half A only; half B was looked at when they were made.

Variants are the whole set, random samples of 500, 1,000, 2,000 and 4,000 texts, and `uneven`: about 2,000 texts whose
class sizes fall geometrically, the largest 20 times the smallest. The sample depends on the seed. All methods get the
number of classes; k-means, UMAP, BERTopic and SAOTClustering get the embeddings of the first 32 tokens by the bundled
encoder, and rstc chooses its own limit of tokens. BERTopic's outliers count as a cluster of their own. `rstc` is the
default, which does not train the encoder; `rstc-trained` is rstc with training="always".

Rows are written to results/suite.json; rows that are present are skipped. Times are seconds without the embedding, on a
machine that may have been busy: they show the order of magnitude.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from measuring import ResultFile, default_encoder, embed, fit_bertopic, make_parser, score
from rstc import RSTC, SAOTClustering

HALVES = {
    "A": ("agnews", "stackoverflow", "tweet", "googlenews-t", "packages", "commands"),
    "B": ("searchsnippets", "biomedical", "googlenews-ts", "googlenews-s", "assistant", "encyclopedia"),
}
VARIANTS = ("500", "1000", "2000", "4000", "uneven", "all")
UNEVEN_RATIO = 20
UNEVEN_TEXTS = 2000

Method = Callable[[list[str], np.ndarray, int, int], np.ndarray]  # texts, embeddings, number of clusters, seed


def kmeans(texts: list[str], E: np.ndarray, k: int, seed: int) -> np.ndarray:
    from sklearn.cluster import KMeans

    return KMeans(k, n_init=10, random_state=seed).fit_predict(E)


def umap_kmeans(texts: list[str], E: np.ndarray, k: int, seed: int) -> np.ndarray:
    from umap import UMAP

    reduced = UMAP(n_neighbors=15, n_components=5, min_dist=0.0, metric="cosine", random_state=seed).fit_transform(E)
    return kmeans(texts, reduced, k, seed)


def bertopic(texts: list[str], E: np.ndarray, k: int, seed: int) -> np.ndarray:
    return fit_bertopic(texts, E, seed, nr_topics=k + 1)


def saot_clustering(texts: list[str], E: np.ndarray, k: int, seed: int) -> np.ndarray:
    return SAOTClustering(k, random_state=seed).fit_predict(E)


def rstc(texts: list[str], E: np.ndarray, k: int, seed: int) -> np.ndarray:
    return RSTC(k, random_state=seed).fit_predict(texts)


def rstc_trained(texts: list[str], E: np.ndarray, k: int, seed: int) -> np.ndarray:
    return RSTC(k, training="always", random_state=seed).fit_predict(texts)


METHODS: dict[str, Method] = {
    "kmeans": kmeans,
    "umap-kmeans": umap_kmeans,
    "bertopic": bertopic,
    "saot-clustering": saot_clustering,
    "rstc": rstc,
    "rstc-trained": rstc_trained,
}


def read_set(folder: Path, name: str) -> pd.DataFrame:
    """Read a set, from the folder itself or from its subfolder `more`."""
    path = next(path for path in (folder / f"{name}.csv", folder / "more" / f"{name}.csv") if path.exists())
    table = pd.read_csv(path, usecols=["label", "text"]).dropna()
    return table.assign(text=table["text"].astype(str), label=table["label"].astype(str)).reset_index(drop=True)


def sample_rows(labels: np.ndarray, variant: str, seed: int) -> np.ndarray:
    """Return the rows of a variant of a set with these labels."""
    rng = np.random.default_rng(seed)
    if variant == "all":
        return np.arange(len(labels))
    if variant != "uneven":
        return np.sort(rng.choice(len(labels), min(int(variant), len(labels)), replace=False))
    classes = rng.permutation(np.unique(labels))
    shares = UNEVEN_RATIO ** (-np.arange(len(classes)) / max(len(classes) - 1, 1))
    rows = []
    for label, share in zip(classes, shares / shares.sum(), strict=True):
        members = np.flatnonzero(labels == label)
        rows.append(rng.choice(members, min(max(round(share * UNEVEN_TEXTS), 1), len(members)), replace=False))
    return np.sort(np.concatenate(rows))


def main() -> None:
    parser = make_parser(__doc__, datasets=[*HALVES["A"], *HALVES["B"]], seeds=1)
    parser.add_argument("--variants", type=lambda names: names.split(","), default=list(VARIANTS), metavar="A,B")
    parser.add_argument("--methods", type=lambda names: names.split(","), default=list(METHODS), metavar="A,B")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    results = ResultFile("suite", ("dataset", "variant", "method", "seed"), packages=("umap-learn", "bertopic"))
    encoder = default_encoder()
    for seed in range(options.seeds):
        for variant in options.variants:
            for name in options.datasets:
                missing = [
                    method
                    for method in options.methods
                    if not results.has(dataset=name, variant=variant, method=method, seed=seed)
                ]
                if not missing:
                    continue
                table = read_set(options.data, name)
                rows = sample_rows(table["label"].to_numpy(), variant, seed)
                texts, labels = table["text"][rows].tolist(), table["label"][rows].tolist()
                E = embed(texts, encoder)
                for method in missing:
                    start = time.perf_counter()
                    found = METHODS[method](texts, E, len(set(labels)), seed)
                    seconds = round(time.perf_counter() - start, 1)
                    half = "A" if name in HALVES["A"] else "B"
                    key = {"dataset": name, "variant": variant, "method": method, "seed": seed, "half": half}
                    results.add(
                        key
                        | {"texts": len(texts), "classes": len(set(labels))}
                        | score(labels, found)
                        | {"seconds": seconds}
                    )


if __name__ == "__main__":
    main()
