"""The share of outliers that `noise` finds among texts, and of other texts that it puts aside wrongly.

    python benchmarks/outliers.py --data DIR [--seeds 3] [--datasets tweet,agnews-4k] [--noise 0.005]

Four fifths of each data set are clustered, as they are and with one outlier for nineteen texts mixed in: random
letters, random words of the encoder's vocabulary, and texts of two other data sets. The last fifth and as many new
outliers are predicted. Rows are written to results/outliers.json; rows that are present are skipped.
"""

from __future__ import annotations

import string
from pathlib import Path
from typing import Any

import numpy as np

from measuring import ResultFile, default_encoder, make_parser, measure_time
from rstc import RSTC
from rstc.benchmark.datasets import load

DATASETS = ["tweet", "stackoverflow-4k", "agnews-4k"]
OTHER_DATASETS = ["biomedical", "searchsnippets"]
OUTLIER_SHARE = 0.05


def draw_random_letters(lengths: list[int], n: int, rng: np.random.Generator) -> list[str]:
    letters = list(string.ascii_lowercase)
    return [
        " ".join("".join(rng.choice(letters, rng.integers(2, 10))) for _ in range(n_words))
        for n_words in rng.choice(lengths, n)
    ]


def draw_random_words(words: list[str], lengths: list[int], n: int, rng: np.random.Generator) -> list[str]:
    return [" ".join(rng.choice(words, n_words)) for n_words in rng.choice(lengths, n)]


def draw_outliers(texts: list[str], data: Path, n: int, rng: np.random.Generator) -> dict[str, list[str]]:
    """Draw n outliers of each kind; random ones have as many words as the texts."""
    lengths = [len(text.split()) for text in texts]
    vocabulary = default_encoder().model.tokenizer.get_vocab()
    words = sorted(word for word in vocabulary if word.isascii() and word.isalpha() and len(word) > 2)
    outliers = {"letters": draw_random_letters(lengths, n, rng), "words": draw_random_words(words, lengths, n, rng)}
    for name in OTHER_DATASETS:
        outliers[name] = rng.choice(np.array(load(name, data).texts, dtype=object), n, replace=False).tolist()
    return outliers


def measure(name: str, seed: int, mixed: bool, noise: float, data: Path) -> dict[str, Any]:
    """Cluster a data set with or without outliers, and count the texts that are put aside."""
    loaded, rng = load(name, data), np.random.default_rng(seed)
    order = rng.permutation(len(loaded.texts))
    training, new = ([loaded.texts[i] for i in rows] for rows in np.split(order, [len(order) * 4 // 5]))
    n_each = round(len(training) * OUTLIER_SHARE / (1 - OUTLIER_SHARE) / 4)
    outliers, new_outliers = (draw_outliers(training, data, n_each, rng) for _ in range(2))
    texts = training + [text for kind in outliers.values() for text in kind if mixed]
    model = RSTC(loaded.n_classes, noise=noise, random_state=seed)
    _, seconds = measure_time(lambda: model.fit(texts))
    n, is_aside = len(training), model.labels_ == -1
    by_kind = np.array_split(is_aside[n:], len(outliers)) if mixed else []

    def share_aside(texts: list[str]) -> float:
        return round(float((model.predict(texts) == -1).mean()), 4)

    return {
        "texts": len(texts),
        "strangers": len(texts) - n,
        "false_alarms": round(float(is_aside[:n].mean()), 4),
        "found": {kind: round(float(flags.mean()), 4) for kind, flags in zip(outliers, by_kind, strict=False)},
        "left": round(float((~is_aside[n:]).sum() / (~is_aside).sum()), 4),
        "expected_left": round(model.outlier_detector_.expected_outlier_share, 4),
        "new_false_alarms": share_aside(new),
        "new_found": {kind: share_aside(texts) for kind, texts in new_outliers.items()},
        "seconds": round(seconds, 1),
        "noise_seconds": round(model.seconds_["noise"], 2),
    }


def main() -> None:
    parser = make_parser(__doc__, datasets=DATASETS, seeds=3)
    parser.add_argument("--noise", type=float, default=0.005, help="the setting of that name")
    options = parser.parse_args()
    results = ResultFile("outliers", key=("dataset", "seed", "mixed", "noise"))
    for seed in range(options.seeds):
        for name in options.datasets:
            for mixed in (True, False):
                row = {"dataset": name, "seed": seed, "mixed": mixed, "noise": options.noise}
                if not results.has(**row):
                    results.add(row | measure(name, seed, mixed, options.noise, options.data))


if __name__ == "__main__":
    main()
