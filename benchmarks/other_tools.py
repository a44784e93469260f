"""rstc beside other tools, on the same embeddings: ACC, NMI, number of clusters and time.

    python benchmarks/compare.py --data DIR [--datasets tweet,...] [--tools kmeans,...] [--seeds 3]

Every tool is given the embeddings of all-MiniLM-L6-v2 as it comes, and those that ask for a number of clusters the
number of classes. Otherwise each runs as its documentation shows it; Top2Vec counts words that are five times there,
because its fifty are more than many words of short texts have. What BERTopic, FASTopic and community detection
leave out as noise counts as one cluster of its own. `rstc` is the default with its encoder trained, from the texts.
Times are processor seconds after the embedding, which is told once a set. Into results/compare.json; goes on where it
stopped. Tools that are not installed are left out.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.preprocessing import normalize

from measuring import RESULTS, ResultFile, circumstances, scores
from rstc import RSTC, SAOTClustering
from rstc.benchmark.datasets import load
from rstc.representation.loading import load_encoder

SETS = ["tweet", "stackoverflow-4k", "agnews-4k", "googlenews-t"]
Labels = Any
Tool = Callable[[list[str], np.ndarray, int, int], Labels]


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
    from bertopic import BERTopic
    from umap import UMAP

    reduce = UMAP(n_neighbors=15, n_components=5, min_dist=0.0, metric="cosine", random_state=seed)
    return BERTopic(umap_model=reduce).fit_transform(texts, embeddings=E)[0]


def bertopic_k(texts: list[str], E: np.ndarray, k: int, seed: int) -> Labels:
    from bertopic import BERTopic
    from umap import UMAP

    reduce = UMAP(n_neighbors=15, n_components=5, min_dist=0.0, metric="cosine", random_state=seed)
    return BERTopic(umap_model=reduce, nr_topics=k + 1).fit_transform(texts, embeddings=E)[0]


def fastopic(texts: list[str], E: np.ndarray, k: int, seed: int) -> Labels:
    import torch
    from fastopic import FASTopic

    class Given:
        """Stands for the encoder, which has done its work."""

        def encode(self, docs: list[str], **_: Any) -> np.ndarray:
            return E

    torch.manual_seed(seed)
    return FASTopic(k, doc_embed_model=Given(), verbose=False).fit_transform(texts)[1].argmax(1)


def top2vec(texts: list[str], E: np.ndarray, k: int, seed: int) -> Labels:
    from top2vec import Top2Vec

    row = {text: i for i, text in enumerate(texts)}
    encoder = load_encoder(None, "mean", 32)

    def embed(asked: list[str]) -> np.ndarray:
        """Give back the embeddings of texts, and embed its words."""
        if all(text in row for text in asked):
            return E[[row[text] for text in asked]]
        return np.asarray(normalize(encoder.embed(encoder.tokenize(list(asked))).numpy()))

    reduce = {"n_neighbors": 15, "n_components": 5, "metric": "cosine", "random_state": seed}
    model = Top2Vec(
        texts, embedding_model=embed, use_embedding_model_tokenizer=False, min_count=5, umap_args=reduce, verbose=False
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
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--datasets", default=",".join(SETS))
    parser.add_argument("--tools", default=",".join(TOOLS))
    parser.add_argument("--seeds", type=int, default=3)
    asked = parser.parse_args()
    results = ResultFile(RESULTS / "compare.json", circumstances("bertopic"), key=("dataset", "tool", "seed"))
    encoder = load_encoder(None, "mean", 32)
    for name in asked.datasets.split(","):
        loaded = load(name, asked.data)
        start = time.process_time()
        E = np.asarray(normalize(encoder.embed(encoder.tokenize(loaded.texts)).numpy()))
        embedding = time.process_time() - start
        for seed in range(asked.seeds):
            for tool in asked.tools.split(","):
                row = {"dataset": name, "tool": tool, "seed": seed}
                if results.has(**row):
                    continue
                start = time.process_time()
                try:
                    labels = TOOLS[tool](loaded.texts, E, loaded.n_classes, seed)
                except ImportError as missing:
                    print(f"{tool} is left out: {missing}", flush=True)
                    continue
                row["processor_seconds"] = round(time.process_time() - start, 1)
                row["embedding_seconds"] = round(embedding, 1)
                left_out = round(100 * float((np.asarray(labels) < 0).mean()), 1)
                results.add(row | scores(loaded.truth, labels) | {"left_out": left_out, "classes": loaded.n_classes})


if __name__ == "__main__":
    main()
