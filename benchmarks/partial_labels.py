"""ACC and NMI of the default when the classes of one text in a hundred are given.

    python benchmarks/partial_labels.py --data DIR [--datasets stackoverflow] [--share 0.01] [--seeds 5]

The given texts are drawn by the seed; the runs without labels are those of results/paper with the same seed. ACC and
NMI are of all texts, `acc_unknown` of those without a given class. `most` is an upper bound for any number of labels:
the accuracy of the out-of-fold classifiers in the encoder's space when they are given the class of all other texts.
Rows are written to results/partial_labels.json; rows that are present are skipped.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

from measuring import PAPER_RUNS, ResultFile, embed, make_parser, measure_time, score
from rstc import RSTC
from rstc.benchmark.datasets import load
from rstc.benchmark.store import Job, Store
from rstc.config import Config
from rstc.pseudo_labels.crossfit import predict_out_of_fold
from rstc.pseudo_labels.features import EMBEDDING, STATIC, TextFeatures, build_word_features
from rstc.pseudo_labels.initialization_settings import UNDECIDED_WEIGHTS
from rstc.representation.static_vectors import load_static_vectors

N_FOLDS = 10


def measure(name: str, share: float, seed: int, data: Path) -> dict[str, Any]:
    """Cluster a data set with a few labels."""
    loaded = load(name, data)
    n_texts = len(loaded.texts)
    labelled = np.random.default_rng(seed).choice(n_texts, round(share * n_texts), replace=False)
    labels: list[Any] = [None] * n_texts
    for row in labelled:
        labels[row] = loaded.true_labels[row]
    model = RSTC(loaded.n_classes, random_state=seed)
    _, seconds = measure_time(lambda: model.fit(loaded.texts, labels), time.process_time)
    unlabelled = np.setdiff1d(np.arange(n_texts), labelled)
    scores_unlabelled = score([loaded.true_labels[row] for row in unlabelled], model.labels_[unlabelled])
    without = Store(PAPER_RUNS).get(Job(name, "rstc", seed))
    assert without is not None, f"run `rstc benchmark run --datasets {name} --methods rstc` first"
    return {
        "given": len(labelled),
        "classes_given": sum(name is not None for name in model.classes_ or []),
        **score(loaded.true_labels, model.labels_),
        "acc_unknown": scores_unlabelled["acc"],
        "acc_without": without["acc"],
        "nmi_without": without["nmi"],
        "start": model.history_[0].get("start"),
        "processor_seconds": round(seconds, 1),
    }


def measure_upper_bound(name: str, data: Path) -> float:
    """Return the accuracy in percent of out-of-fold classifiers that are given the class of all other texts."""
    loaded, rng = load(name, data), np.random.default_rng(0)
    static = load_static_vectors("bundled").embed(loaded.texts)
    words = build_word_features(loaded.texts, rng)
    features = TextFeatures({EMBEDDING: embed(loaded.texts), STATIC: static}, words)
    neighbours = features.find_neighbours(UNDECIDED_WEIGHTS, Config().neighbours)
    _, classes = np.unique(loaded.true_labels, return_inverse=True)
    Q = np.eye(loaded.n_classes, dtype=np.float32)[classes]
    P = predict_out_of_fold(features, neighbours, Q, rng.permutation(len(classes)) % N_FOLDS)
    return round(100 * float((P.argmax(1) == classes).mean()), 2)


def main() -> None:
    parser = make_parser(__doc__, datasets=["stackoverflow"], seeds=5)
    parser.add_argument("--share", type=float, default=0.01, help="share of the texts with a given class")
    options = parser.parse_args()
    results = ResultFile("partial_labels", key=("dataset", "share", "seed"))
    bounds = results.content.setdefault("most", {})
    for name in options.datasets:
        if name not in bounds:
            bounds[name] = measure_upper_bound(name, options.data)
            results.write()
            print(name, bounds[name], flush=True)
    for seed in range(options.seeds):
        for name in options.datasets:
            row = {"dataset": name, "share": options.share, "seed": seed}
            if not results.has(**row):
                results.add(row | measure(name, options.share, seed, options.data))


if __name__ == "__main__":
    main()
