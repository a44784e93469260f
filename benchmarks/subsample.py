"""ACC, mean recall and lost classes when a subsample trains, drawn as rstc does or at random.

    python benchmarks/subsample.py --data DIR [--seeds 3] [--datasets tweet,googlenews-t]

Each data set is clustered with all texts training and with `max_fit_texts` at a half, a quarter and an eighth of
them, drawn by `rstc.training.subsample` ("spread") or at random. All texts are predicted and scored. A class is lost
when less than a fifth of it is in the cluster matched to it. Rows are written to results/subsample.json; rows that
are present are skipped.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

import rstc.training.subsample
from measuring import ResultFile, make_parser, measure_time, score
from rstc import RSTC
from rstc.benchmark.datasets import load
from rstc.metrics import confusion_matrix
from rstc.training.subsample import draw_subsample

DATASETS = ["tweet", "googlenews-t", "stackoverflow-100to1", "stackoverflow"]
LOST_RECALL = 0.2
DIVISORS = (1, 2, 4, 8)  # the number of texts over the number that train


def draw_at_random(texts: Any, E: Any, n_clusters: int, size: int, rng: np.random.Generator, processes: Any) -> Any:
    """Draw a subsample uniformly, with the arguments of `draw_subsample`."""
    return np.sort(rng.choice(len(texts), size=size, replace=False))


def measure(name: str, divisor: int, drawn: str, seed: int, data: Path) -> dict[str, Any]:
    """Cluster a data set, a part of its texts training."""
    loaded = load(name, data)
    rstc.training.subsample.draw_subsample = draw_at_random if drawn == "random" else draw_subsample
    model = RSTC(loaded.n_classes, random_state=seed, max_fit_texts=len(loaded.texts) // divisor)
    _, seconds = measure_time(lambda: model.fit(loaded.texts), time.process_time)
    counts = confusion_matrix(loaded.true_labels, model.labels_.tolist()).to_numpy(
        dtype=float
    )  # classes x matched clusters
    n_matched = min(counts.shape)
    recall = np.zeros(len(counts))
    recall[:n_matched] = np.diag(counts)[:n_matched] / counts.sum(1)[:n_matched]
    return {
        "trained_on": model.n_trained_,
        **score(loaded.true_labels, model.labels_),
        "mean_recall": round(100 * float(recall.mean()), 2),
        "lost": int((recall < LOST_RECALL).sum()),
        "classes": loaded.n_classes,
        "processor_seconds": round(seconds, 1),
    }


def main() -> None:
    options = make_parser(__doc__, datasets=DATASETS, seeds=3).parse_args()
    results = ResultFile("subsample", key=("dataset", "part", "drawn", "seed"))
    for seed in range(options.seeds):
        for name in options.datasets:
            for divisor in DIVISORS:
                for drawn in ("random", "spread") if divisor > 1 else ("all",):
                    row = {"dataset": name, "part": divisor, "drawn": drawn, "seed": seed}
                    if not results.has(**row):
                        results.add(row | measure(name, divisor, drawn, seed, options.data))


if __name__ == "__main__":
    main()
