"""What training on a sample costs, and what a sample with room for the rare gains over a random one.

    python benchmarks/sampling.py --data DIR [--seeds 3] [--datasets tweet,googlenews-t]

Each set is clustered with all texts training and with `max_fit_texts` at a half, a quarter and an eighth of them, drawn
by `rstc.training.subsample` ("spread") or at random. All texts are labelled and scored. A class is lost when less than a fifth of
it is in the cluster that is matched to it. Into results/sampling.json; goes on where it stopped.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np

import rstc.training.subsample
from measuring import RESULTS, ResultFile, circumstances, scores
from rstc import RSTC
from rstc.benchmark.datasets import load
from rstc.training.subsample import choose_learners
from rstc.metrics import confusion

SETS = ["tweet", "googlenews-t", "stackoverflow-100to1", "stackoverflow"]
LOST = 0.2
PARTS = (1, 2, 4, 8)  # of the texts, one trains


def at_random(texts: Any, n_clusters: int, most: int, embed: Any, rng: np.random.Generator, ranks: Any) -> Any:
    """Choose as `choose_learners` does, blindly."""
    return np.sort(rng.choice(len(texts), size=most, replace=False))


def measure(name: str, part: int, drawn: str, seed: int, folder: Path) -> dict[str, Any]:
    """Cluster a set, a part of its texts training."""
    loaded = load(name, folder)
    most = len(loaded.texts) // part
    rstc.training.subsample.choose_learners = at_random if drawn == "random" else choose_learners
    start = time.process_time()
    model = RSTC(loaded.n_classes, random_state=seed, max_fit_texts=most).fit(loaded.texts)
    seconds = time.process_time() - start
    counts = confusion(loaded.truth, model.labels_.tolist()).to_numpy(dtype=float)  # classes x matched clusters
    k = min(counts.shape)
    recall = np.zeros(len(counts))
    recall[:k] = np.diag(counts)[:k] / counts.sum(1)[:k]
    return {
        "trained_on": model.n_trained_,
        **scores(loaded.truth, model.labels_),
        "mean_recall": round(100 * float(recall.mean()), 2),
        "lost": int((recall < LOST).sum()),
        "classes": loaded.n_classes,
        "processor_seconds": round(seconds, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--datasets", default=",".join(SETS))
    asked = parser.parse_args()
    results = ResultFile(RESULTS / "sampling.json", circumstances(), key=("dataset", "part", "drawn", "seed"))
    for seed in range(asked.seeds):
        for name in asked.datasets.split(","):
            for part in PARTS:
                for drawn in ("random", "spread") if part > 1 else ("all",):
                    row = {"dataset": name, "part": part, "drawn": drawn, "seed": seed}
                    if not results.has(**row):
                        results.add(row | measure(name, part, drawn, seed, asked.data))


if __name__ == "__main__":
    main()
