"""Time and peak memory from ten thousand texts to a million.

    python benchmarks/scale.py [--sizes 10000 100000 1000000] [--clusters 50]

Texts are made up to be like search queries: one to five words of the encoder's own vocabulary, most of them of the
query's topic, one in twenty queries a repetition. Each size is one run of `rstc cluster` in a process of its own,
from a CSV file to the run folder. above `max_fit_texts` (a setting; 100,000) a sample trains and all texts are
then labelled by the trained model.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from measuring import RESULTS, ResultFile, circumstances, scores


def queries(size: int, topics: int) -> pd.DataFrame:
    """Return queries and the topics they were made from."""
    from rstc.representation.loading import load_encoder

    rng = np.random.default_rng(0)
    vocabulary = load_encoder(None, "mean", 32).model.tokenizer.get_vocab()
    words = np.array(sorted(word for word in vocabulary if word.isascii() and word.isalpha() and len(word) > 3))
    own = rng.choice(words, (topics, 30), replace=False)
    popularity = rng.dirichlet(np.full(topics, 1.0))
    topic = rng.choice(topics, size, p=popularity)
    lengths = rng.integers(1, 6, size)
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


def write_queries(path: Path, size: int, topics: int) -> None:
    queries(size, topics).to_csv(path, index=False)


def measure(size: int, clusters: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        file, out = Path(folder) / "queries.csv", Path(folder) / "run"
        # In a process of its own: a child's peak memory counts from what its parent held when it was started.
        writer = multiprocessing.get_context("spawn").Process(target=write_queries, args=(file, size, clusters))
        writer.start()
        writer.join()
        command = [sys.executable, "-m", "rstc", "cluster", str(file), "-k", str(clusters), "--text-column", "text"]
        start = time.perf_counter()
        run = subprocess.Popen([*command, "--out", str(out)], stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(run.pid, 0)
        seconds = time.perf_counter() - start
        if status:
            sys.exit("the run failed")
        summary = json.loads((out / "summary.json").read_text())
        topic, found = pd.read_csv(file).topic, pd.read_csv(out / "clusters.csv", usecols=["cluster"]).cluster
        return {
            "texts": size,
            "trained_on": summary["input"]["trained_on"],
            "seconds": round(seconds, 1),
            "milliseconds_a_text": round(1000 * seconds / size, 3),
            "peak_memory_gb": round(usage.ru_maxrss * 1024 / 1e9, 2),
            "stages": summary["seconds"],
        } | scores(topic, found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--clusters", type=int, default=50)
    given = parser.parse_args()
    results = ResultFile(RESULTS / "scale.json", circumstances() | {"clusters": given.clusters}, key=("texts",))
    for size in given.sizes:
        if not results.has(texts=size):
            results.add(measure(size, given.clusters))


if __name__ == "__main__":
    main()
