"""ACC, NMI, number of clusters and time of rstc and of other tools, on the same embeddings.

    python benchmarks/other_tools.py --data DIR [--datasets tweet,...] [--tools kmeans,...] [--seeds 3]

Every tool gets the embeddings of all-MiniLM-L6-v2, and tools that need a number of clusters get the number of classes.
Otherwise each runs as its documentation shows, except that Top2Vec includes words from five occurrences on, because its
default of fifty excludes most words of short texts. Texts that a tool leaves out as outliers count as one cluster.
`rstc` is the default, which trains its encoder. Times are processor seconds without the embedding, whose time is given
once per row. Rows are written to results/other_tools.json; rows that are present and tools that are not installed are
skipped.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from measuring import ResultFile, default_encoder, embed, fit_bertopic, make_parser, measure_time, score
from rstc import RSTC, SAOTClustering
from rstc.benchmark.datasets import load

DATASETS = ["tweet", "stackoverflow-4k", "agnews-4k", "googlenews-t"]
Labels = Any
Tool = Callable[[list[str], np.ndarray, int, int], Labels]  # texts, embeddings, number of clusters, seed


def kmeans(texts: list[str], E: np.ndarray, k: int, seed: int) -> Labels:
    from sklearn.cluster import KMeans

    return KMeans(k, n_init=10, random_state=seed).fit_predict(E)


def ward(texts: list[str], E: np.ndarray, k: int, seed: int) -> Labels:
    from sklearn.cluster import AgglomerativeClustering

    return AgglomerativeClustering(k).fit_predict(E)


def community(texts: list[str], E: np.ndarray, k: int, seed: int) -> Labels:
    from sentence_transformers.util import community_detection

    labels = np.full(len(texts), -1)
    for number, members in enumerate(community_detection(E, threshold=0.6, min_community_size=3)):
        labels[members] = number
    return labels


def bertopic(texts: list[str], E: np.ndarray, k: int, seed: int) -> Labels:
    return fit_bertopic(texts, E, seed)


def bertopic_k(texts: list[str], E: np.ndarray, k: int, seed: int) -> Labels:
    return fit_bertopic(texts, E, seed, nr_topics=k + 1)


def fastopic(texts: list[str], E: np.ndarray, k: int, seed: int) -> Labels:
    import torch
    from fastopic import FASTopic

    class PrecomputedEmbeddings:
        """An encoder that returns the embeddings of the texts."""

        def encode(self, docs: list[str], **_: Any) -> np.ndarray:
            return E

    torch.manual_seed(seed)
    return FASTopic(k, doc_embed_model=PrecomputedEmbeddings(), verbose=False).fit_transform(texts)[1].argmax(1)


def top2vec(texts: list[str], E: np.ndarray, k: int, seed: int) -> Labels:
    from top2vec import Top2Vec

    rows = {text: i for i, text in enumerate(texts)}
    encoder = default_encoder()

    def embed_texts_or_words(documents: list[str]) -> np.ndarray:
        if all(document in rows for document in documents):
            return E[[rows[document] for document in documents]]
        return embed(list(documents), encoder)

    model = Top2Vec(
        texts,
        embedding_model=embed_texts_or_words,
        use_embedding_model_tokenizer=False,
        min_count=5,
        umap_args={"n_neighbors": 15, "n_components": 5, "metric": "cosine", "random_state": seed},
        verbose=False,
    )
    return np.asarray(model.doc_top)


def saot_clustering(texts: list[str], E: np.ndarray, k: int, seed: int) -> Labels:
    return SAOTClustering(k, unit_length=True, random_state=seed).fit_predict(E)


def rstc(texts: list[str], E: np.ndarray, k: int, seed: int) -> Labels:
    return RSTC(k, random_state=seed).fit(texts).labels_


TOOLS: dict[str, Tool] = {
    "kmeans": kmeans,
    "ward": ward,
    "community": community,
    "bertopic": bertopic,
    "bertopic-k": bertopic_k,
    "fastopic": fastopic,
    "top2vec": top2vec,
    "saot-clustering": saot_clustering,
    "rstc": rstc,
}


def main() -> None:
    parser = make_parser(__doc__, datasets=DATASETS, seeds=3)
    parser.add_argument("--tools", default=",".join(TOOLS), help="comma-separated names")
    options = parser.parse_args()
    results = ResultFile("other_tools", key=("dataset", "tool", "seed"), packages=("bertopic",))
    encoder = default_encoder()
    for name in options.datasets:
        loaded = load(name, options.data)
        E, embedding_seconds = measure_time(lambda loaded=loaded: embed(loaded.texts, encoder), time.process_time)
        for seed in range(options.seeds):
            for tool in options.tools.split(","):
                row = {"dataset": name, "tool": tool, "seed": seed}
                if results.has(**row):
                    continue
                start = time.process_time()
                try:
                    labels = np.asarray(TOOLS[tool](loaded.texts, E, loaded.n_classes, seed))
                except ImportError as missing:
                    print(f"{tool} is skipped: {missing}", flush=True)
                    continue
                row["processor_seconds"] = round(time.process_time() - start, 1)
                row["embedding_seconds"] = round(embedding_seconds, 1)
                left_out = round(100 * float((labels < 0).mean()), 1)
                row |= score(loaded.true_labels, labels)
                results.add(row | {"left_out": left_out, "classes": loaded.n_classes})


if __name__ == "__main__":
    main()
