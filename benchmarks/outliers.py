"""How many strangers `noise` finds among the texts of the benchmark's sets, and how many texts it puts aside wrongly.

    python benchmarks/noise.py --data DIR [--seeds 3] [--datasets tweet,agnews-4k] [--noise 0.005]

Of each set four fifths are clustered, once as they are and once with strangers mixed in, one to nineteen: random
letters, random words of the encoder's vocabulary, and texts of two other sets. The last fifth and as many new
strangers are predicted. Into results/noise.json; goes on where it stopped.
"""

from __future__ import annotations

import argparse
import string
import time
from pathlib import Path

import numpy as np

from measuring import RESULTS, ResultFile, circumstances
from rstc import RSTC
from rstc.benchmark.datasets import load
from rstc.representation.loading import load_encoder

SETS = ["tweet", "stackoverflow-4k", "agnews-4k"]
OTHERS = ["biomedical", "searchsnippets"]
SHARE = 0.05  # of strangers


def random_letters(lengths: list[int], n: int, rng: np.random.Generator) -> list[str]:
    letters = list(string.ascii_lowercase)
    return [
        " ".join("".join(rng.choice(letters, rng.integers(2, 10))) for _ in range(c)) for c in rng.choice(lengths, n)
    ]


def random_words(words: list[str], lengths: list[int], n: int, rng: np.random.Generator) -> list[str]:
    return [" ".join(rng.choice(words, c)) for c in rng.choice(lengths, n)]


def strangers(texts: list[str], folder: Path, n: int, rng: np.random.Generator) -> dict[str, list[str]]:
    """Return n strangers of each kind, with as many words as the texts have."""
    lengths = [len(text.split()) for text in texts]
    vocabulary = load_encoder(None, "mean", 32).model.tokenizer.get_vocab()
    words = sorted(word for word in vocabulary if word.isascii() and word.isalpha() and len(word) > 2)
    found = {"letters": random_letters(lengths, n, rng), "words": random_words(words, lengths, n, rng)}
    for name in OTHERS:
        found[name] = rng.choice(np.array(load(name, folder).texts, dtype=object), n, replace=False).tolist()
    return found


def measure(name: str, seed: int, mixed: bool, noise: float, folder: Path) -> dict[str, object]:
    """Cluster a set, with strangers or without, and see what is put aside."""
    loaded, rng = load(name, folder), np.random.default_rng(seed)
    order = rng.permutation(len(loaded.texts))
    known, new = np.split(order, [len(order) * 4 // 5])
    home, guests = [loaded.texts[i] for i in known], [loaded.texts[i] for i in new]
    each = round(len(home) * SHARE / (1 - SHARE) / 4)
    first, second = (strangers(home, folder, each, rng) for _ in range(2))
    texts = home + [text for kind in first.values() for text in kind if mixed]
    start = time.perf_counter()
    model = RSTC(loaded.n_classes, noise=noise, random_state=seed).fit(texts)
    seconds = time.perf_counter() - start
    aside = model.labels_ == -1
    kinds = np.array_split(aside[len(home) :], len(first)) if mixed else []
    return {
        "texts": len(texts),
        "strangers": len(texts) - len(home),
        "false_alarms": round(float(aside[: len(home)].mean()), 4),
        "found": {kind: round(float(flags.mean()), 4) for kind, flags in zip(first, kinds, strict=False)},
        "left": round(float((~aside[len(home) :]).sum() / (~aside).sum()), 4),
        "expected_left": round(model.strangers_.left, 4),
        "new_false_alarms": round(float((model.predict(guests) == -1).mean()), 4),
        "new_found": {kind: round(float((model.predict(some) == -1).mean()), 4) for kind, some in second.items()},
        "seconds": round(seconds, 1),
        "noise_seconds": round(model.seconds_["noise"], 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--datasets", default=",".join(SETS))
    parser.add_argument("--noise", type=float, default=0.005)
    asked = parser.parse_args()
    results = ResultFile(RESULTS / "noise.json", circumstances(), key=("dataset", "seed", "mixed", "noise"))
    for seed in range(asked.seeds):
        for name in asked.datasets.split(","):
            for mixed in (True, False):
                row = {"dataset": name, "seed": seed, "mixed": mixed, "noise": asked.noise}
                if not results.has(**row):
                    results.add(row | measure(name, seed, mixed, asked.noise, asked.data))


if __name__ == "__main__":
    main()
