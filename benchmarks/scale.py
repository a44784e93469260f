"""Time and peak memory from ten thousand texts to a million.

    python benchmarks/scale.py [--sizes 10000 100000 1000000] [--clusters 50]

Texts are made up to be like search queries: two to six words of the encoder's own vocabulary, most of them of the
query's topic, one in twenty queries a repetition. Each size is one run of `rstc cluster` in a process of its own,
from a CSV file to the run folder. Above `max_texts` (a setting; 100,000) a random sample trains and all texts are
then labelled by the trained model.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from measuring import RESULTS, ResultFile, circumstances, scores
from rstc.representation.loading import load_encoder


def queries(size: int, topics: int) -> pd.DataFrame:
    """Return queries and the topics they were made from."""
    rng = np.random.default_rng(0)
    vocabulary = load_encoder(None, "mean", 32).model.tokenizer.get_vocab()
    words = np.array(sorted(word for word in vocabulary if word.isascii() and word.isalpha() and len(word) > 3))
    own = rng.choice(words, (topics, 30), replace=False)
    popularity = rng.dirichlet(np.full(topics, 1.0))
    topic = rng.choice(topics, size, p=popularity)
    lengths = rng.integers(2, 7, size)
    texts = []
    for t, length in zip(topic, lengths, strict=True):
        telling = rng.random(length) < 0.7
        texts.append(" ".join(rng.choice(own[t]) if one else rng.choice(words) for one in telling))
    again = rng.random(size) < 0.05
    source = rng.integers(0, size, size)
    return pd.DataFrame(
        {
            "text": [texts[source[i]] if again[i] else texts[i] for i in range(size)],
            "topic": np.where(again, topic[source], topic),
        }
    )


def measure(size: int, clusters: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        table = queries(size, clusters)
        table.to_csv(Path(folder) / "queries.csv", index=False)
        out = Path(folder) / "run"
        command = [sys.executable, "-m", "rstc", "cluster", f"{folder}/queries.csv", "-k", str(clusters)]
        start = time.perf_counter()
        subprocess.run([*command, "--text-column", "text", "--out", str(out)], check=True, stdout=subprocess.DEVNULL)
        seconds = time.perf_counter() - start
        summary = json.loads((out / "summary.json").read_text())
        found = pd.read_csv(out / "clusters.csv", usecols=["cluster"]).cluster
        return {
            "texts": size,
            "trained_on": summary["input"]["trained_on"],
            "seconds": round(seconds, 1),
            "milliseconds_a_text": round(1000 * seconds / size, 3),
            "peak_memory_gb": round(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024 / 1e9, 2),
            "stages": summary["seconds"],
        } | scores(table.topic, found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--clusters", type=int, default=50)
    given = parser.parse_args()
    results = ResultFile(RESULTS / "scale.json", circumstances() | {"clusters": given.clusters}, key=("texts",))
    for size in sorted(given.sizes):  # the peak of all children so far is that of the largest, which is the last
        if not results.has(texts=size):
            results.add(measure(size, given.clusters))


if __name__ == "__main__":
    main()
