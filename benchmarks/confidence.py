"""Confidence against true classes, beside other measures of it, and what runs say about texts without structure.

    python benchmarks/confidence.py --data DIR [--datasets tweet,...] [--variants 1000,...] [--seeds 3] [--salads 20]
                                    [--cost]

DIR, sets, halves and variants are those of suite.py. All methods get the number of classes. A text is right if its
cluster is the one matched to its class (ACC). AURC is the area under the risk-coverage curve, ECE the expected
calibration error (ten bins); `surest_half` is the error of the more confident half of the texts, in percent.

rstc                           `RSTC.confidence_`
rstc, head                     the clusters of rstc, ranked by the highest probability of the clustering head
rstc, distance ratio           the clusters of rstc, ranked by 1 - distance to the nearest / to the second nearest mean
k-means, distance ratio        k-means (10 starts) on the embeddings, ranked by the same ratio
bertopic, hdbscan              BERTopic (nr_topics given), ranked by HDBSCAN's probabilities; outliers are a cluster
rstc, K estimated              rstc without the number of clusters (for its verdict)

cost                           with --cost, and nothing else: the time of the stage `confidence` in `passes`, units of
                               one plain `SentenceTransformer.encode` of the same texts (medians of three, by turns)

`verdict` is what the run says about its clusters. Rows "salad" are 2,000 texts
of 4 to 12 words, drawn at random from 5,000 words of the sets (even seeds) or from 300 of them (odd seeds), without a
given number of clusters. Rows are written to results/confidence.json; rows that are present are skipped.
"""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.cluster import KMeans

from measuring import ResultFile, default_encoder, embed, load_sentence_transformer, make_parser, measure_time
from rstc import RSTC
from rstc.metrics import evaluate, evaluate_confidence
from rstc.results.reliability import build_run_reliability, rate_cluster
from suite import HALVES, read_set, sample_rows

N_SALAD_TEXTS = 2000
SALAD_WORDS = (4, 12)
VOCABULARIES = (5000, 300)


def score_confidence(labels: list[str], clusters: np.ndarray, confidence: np.ndarray) -> dict[str, float]:
    """Score clusters and the confidence of their texts."""
    acc = evaluate(labels, clusters.tolist()).acc
    scores = evaluate_confidence(labels, clusters.tolist(), np.clip(confidence, 0, 1).tolist())
    return {
        "acc": round(100 * acc, 2),
        "aurc": round(scores.aurc, 4),
        "ece": round(scores.ece, 4),
        "mean_confidence": round(float(np.mean(confidence)), 4),
        "error": round(100 * (1 - acc), 2),
        "surest_half": round(100 * scores.risk_at_half, 2),
    }


def distance_ratio(E: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """Return 1 - distance to the nearest / distance to the second nearest centre."""
    squares = (E**2).sum(1)[:, None] + (centres**2).sum(1) - 2 * E @ centres.T
    nearest = np.sort(np.sqrt(np.maximum(squares, 1e-12)), axis=1)
    return 1 - nearest[:, 0] / nearest[:, 1]


def describe_run(model: RSTC) -> dict[str, object]:
    """Return what a run says about its clusters."""
    reliability = model.reliability_
    if reliability is None:
        return {"verdict": None}
    sizes = np.bincount(model.labels_)
    ratings = [rate_cluster(entry, int(sizes[c])) for c, entry in reliability.measure_stability().items()]
    share = float(sizes.max() / len(model.labels_))
    run = build_run_reliability(reliability.structure, model.confidence_, ratings, share, reliability.repeats.n_repeats)
    return {
        "verdict": run.verdict,
        "agreement": run.agreement,
        "word_dependence": run.word_dependence,
        "other_n_clusters": run.other_n_clusters,
        "clusters": model.n_clusters_,
    }


def measure_cost(texts: list[str], k: int, seed: int, encoder: Any) -> dict[str, Any]:
    """Return the time of the stage `confidence` and of one plain encoding of the texts, the medians of three."""
    spent, passes = [], []
    for _ in range(3):
        spent.append(RSTC(k, random_state=seed).fit(texts).seconds_["confidence"])
        passes.append(measure_time(lambda: encoder.encode(texts))[1])
    seconds, one_pass = float(np.median(spent)), float(np.median(passes))
    return {
        "seconds": round(seconds, 2),
        "one_pass_seconds": round(one_pass, 2),
        "passes": round(seconds / one_pass, 2),
    }


def measure_set(texts: list[str], labels: list[str], E: np.ndarray, seed: int) -> dict[str, dict[str, Any]]:
    """Return a row for each method."""
    k = len(set(labels))
    model = RSTC(k, random_state=seed).fit(texts)
    clusters = model.labels_
    rows = {
        "rstc": score_confidence(labels, clusters, model.confidence_) | describe_run(model),
        "rstc, head": score_confidence(labels, clusters, model.probabilities_.max(1)),
    }
    means = np.stack([E[clusters == cluster].mean(0) for cluster in np.unique(clusters)])
    rows["rstc, distance ratio"] = score_confidence(labels, clusters, distance_ratio(E, means))
    kmeans = KMeans(k, n_init=10, random_state=seed).fit(E)
    rows["k-means, distance ratio"] = score_confidence(
        labels, kmeans.labels_, distance_ratio(E, kmeans.cluster_centers_)
    )
    rows["bertopic, hdbscan"] = score_confidence(labels, *fit_bertopic(texts, E, k, seed))
    estimated = RSTC(random_state=seed).fit(texts)
    rows["rstc, K estimated"] = score_confidence(labels, estimated.labels_, estimated.confidence_) | describe_run(
        estimated
    )
    return rows


def fit_bertopic(texts: list[str], E: np.ndarray, k: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return BERTopic's topics and HDBSCAN's probabilities."""
    from bertopic import BERTopic
    from umap import UMAP

    umap = UMAP(n_neighbors=15, n_components=5, min_dist=0.0, metric="cosine", random_state=seed)
    topics, probabilities = BERTopic(umap_model=umap, nr_topics=k + 1).fit_transform(texts, embeddings=E)
    return np.array(topics), np.array(probabilities, dtype=np.float64)


def make_salad(vocabulary: np.ndarray, seed: int) -> list[str]:
    """Return texts of random words."""
    rng = np.random.default_rng(seed)
    words = rng.choice(vocabulary, VOCABULARIES[seed % 2], replace=False)
    low, high = SALAD_WORDS
    return [" ".join(rng.choice(words, rng.integers(low, high + 1))) for _ in range(N_SALAD_TEXTS)]


def collect_vocabulary(folder: Path) -> np.ndarray:
    """Return the words of the sets that occur at least five times in their first 2,000 texts."""
    words = [
        word
        for name in (*HALVES["A"], *HALVES["B"])
        for text in read_set(folder, name)["text"].head(2000)
        for word in re.findall(r"[a-z]{3,}", text.lower())
    ]
    counts = pd.Series(words).value_counts()
    return np.array(sorted(counts.index[counts >= 5]))


def measure_costs(options: Any, results: ResultFile) -> None:
    """Add a row with the cost of each set."""
    encoder = load_sentence_transformer()
    encoder.encode(["warm up"] * 64)
    for variant in options.variants:
        for name in options.datasets:
            key = {"dataset": name, "variant": variant, "method": "cost", "seed": 0}
            if not results.has(**key):
                table = read_set(options.data, name)
                rows = sample_rows(table["label"].to_numpy(), variant, 0)
                k = table["label"][rows].nunique()
                cost = measure_cost(table["text"][rows].tolist(), k, 0, encoder)
                results.add(key | {"half": "A" if name in HALVES["A"] else "B", "texts": len(rows)} | cost)


def main() -> None:
    parser = make_parser(__doc__, datasets=[*HALVES["A"], *HALVES["B"]], seeds=3)
    parser.add_argument("--variants", type=lambda names: names.split(","), default=["1000"], metavar="A,B")
    parser.add_argument("--salads", type=int, default=20, help="number of sets of random words")
    parser.add_argument("--cost", action="store_true", help="measure the time alone, with the first seed")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    results = ResultFile("confidence", ("dataset", "variant", "method", "seed"), packages=("umap-learn", "bertopic"))
    if options.cost:
        return measure_costs(options, results)
    encoder = default_encoder()
    for variant in options.variants:
        for seed in range(options.seeds if variant != "all" else 1):
            for name in options.datasets:
                if results.has(dataset=name, variant=variant, method="rstc, K estimated", seed=seed):
                    continue
                table = read_set(options.data, name)
                rows = sample_rows(table["label"].to_numpy(), variant, seed)
                texts, labels = table["text"][rows].tolist(), table["label"][rows].tolist()
                half = "A" if name in HALVES["A"] else "B"
                measured = measure_set(texts, labels, embed(texts, encoder), seed)
                for method, scores in measured.items():
                    key = {"dataset": name, "variant": variant, "method": method, "seed": seed, "half": half}
                    results.add(key | {"texts": len(texts), "classes": len(set(labels))} | scores)
    vocabulary = collect_vocabulary(options.data) if options.salads else None
    for seed in range(options.salads):
        if not results.has(dataset="salad", variant="2000", method="rstc", seed=seed):
            model = RSTC(random_state=seed).fit(make_salad(vocabulary, seed))
            key = {"dataset": "salad", "variant": "2000", "method": "rstc", "seed": seed}
            results.add(key | {"texts": N_SALAD_TEXTS, "words": VOCABULARIES[seed % 2]} | describe_run(model))


if __name__ == "__main__":
    main()
