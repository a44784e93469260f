"""Time and peak memory of `rstc cluster` from ten thousand to a million texts.

    python benchmarks/scale.py [--sizes 10000 100000 1000000] [--clusters 50]

The texts imitate search queries: one to five words of the encoder's vocabulary, most of them of the query's topic, and
one query in twenty is a repetition. Each size is one process, from a CSV file to the run folder, with an empty cache of
embeddings. Above `max_fit_texts` (100,000) clusters are found in a subsample, and all texts are predicted.

`times_encoding` is the time of the whole command over that of its stage `encode`, in which all texts are tokenised and
encoded. `passes` is the time of the whole command over that of one `SentenceTransformer.encode` of all texts, which is
measured on 4,000 of them before and after the command. Rows are written to results/scale.json; sizes that are present
are skipped.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from measuring import (
    ResultFile,
    default_encoder,
    load_sentence_transformer,
    make_parser,
    measure_time,
    run_in_process,
    score,
)

PLAIN_TEXTS = 4000


def make_queries(size: int, n_topics: int) -> pd.DataFrame:
    """Make queries, with the topic of each."""
    rng = np.random.default_rng(0)
    vocabulary = default_encoder().model.tokenizer.get_vocab()
    words = np.array(sorted(word for word in vocabulary if word.isascii() and word.isalpha() and len(word) > 3))
    topic_words = rng.choice(words, (n_topics, 30), replace=False)
    popularity = rng.dirichlet(np.full(n_topics, 1.0))
    topics = rng.choice(n_topics, size, p=popularity)
    lengths = rng.integers(1, 6, size)
    texts = []
    for topic, length in zip(topics, lengths, strict=True):
        of_topic = rng.random(length) < 0.7
        texts.append(" ".join(rng.choice(topic_words[topic]) if own else rng.choice(words) for own in of_topic))
    repeated = rng.random(size) < 0.05
    source = rng.integers(0, size, size)
    return pd.DataFrame(
        {
            "text": [texts[source[i]] if repeated[i] else texts[i] for i in range(size)],
            "topic": np.where(repeated, topics[source], topics),
        }
    )


def write_queries(path: Path, size: int, n_topics: int) -> None:
    make_queries(size, n_topics).to_csv(path, index=False)


def measure_plain_encoding(file: Path, out: Path) -> None:
    """Write the number of texts a second of SentenceTransformer.encode."""
    texts, model = pd.read_csv(file, nrows=PLAIN_TEXTS).text.astype(str).tolist(), load_sentence_transformer()
    model.encode(texts[:64])
    _, seconds = measure_time(lambda: model.encode(texts))
    out.write_text(str(len(texts) / seconds))


def measure(size: int, n_clusters: int) -> dict[str, Any]:
    """Cluster queries by the command line in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        file, out, rate = Path(folder) / "queries.csv", Path(folder) / "run", Path(folder) / "rate"
        # In other processes, because the peak memory of a child starts at the memory of its parent.
        run_in_process(write_queries, file, size, n_clusters)
        run_in_process(measure_plain_encoding, file, rate)
        rates = [float(rate.read_text())]
        command = [sys.executable, "-m", "rstc", "cluster", str(file), "-k", str(n_clusters), "--text-column", "text"]
        environment = os.environ | {"RSTC_CACHE_DIR": str(Path(folder) / "cache")}
        start = time.perf_counter()
        run = subprocess.Popen([*command, "--out", str(out)], stdout=subprocess.DEVNULL, env=environment)
        _, status, usage = os.wait4(run.pid, 0)
        seconds = time.perf_counter() - start
        if status:
            sys.exit(f"rstc cluster failed with status {status}")
        run_in_process(measure_plain_encoding, file, rate)
        rates.append(float(rate.read_text()))
        summary = json.loads((out / "summary.json").read_text())
        topics, clusters = pd.read_csv(file).topic, pd.read_csv(out / "clusters.csv", usecols=["cluster"]).cluster
        return {
            "texts": size,
            "trained_on": summary["input"]["trained_on"],
            "seconds": round(seconds, 1),
            "milliseconds_a_text": round(1000 * seconds / size, 3),
            "times_encoding": round(seconds / summary["seconds"]["encode"], 2),
            "passes": round(seconds * float(np.mean(rates)) / size, 2),
            "plain_texts_a_second": [round(texts_a_second) for texts_a_second in rates],
            "peak_memory_gb": round(usage.ru_maxrss * 1024 / 1e9, 2),
            "stages": summary["seconds"],
        } | score(topics, clusters)


def main() -> None:
    parser = make_parser(__doc__, data=False)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000, 1_000_000], help="numbers of texts")
    parser.add_argument("--clusters", type=int, default=50, help="number of clusters")
    options = parser.parse_args()
    results = ResultFile("scale", key=("texts",), clusters=options.clusters)
    for size in options.sizes:
        if not results.has(texts=size):
            results.add(measure(size, options.clusters))


if __name__ == "__main__":
    main()
