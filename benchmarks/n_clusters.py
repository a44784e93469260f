"""How many clusters the texts of the benchmark's sets suggest, beside how many classes there are.

    python benchmarks/count.py --data DIR [--keep FOLDER] [--seeds 3] [--datasets tweet,agnews]

Into results/count.json; goes on where it stopped. `--keep` holds the embeddings for the next call.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
from sklearn.preprocessing import normalize

from measuring import RESULTS, ResultFile, circumstances
from rstc.benchmark.datasets import NOISY_SETS, SMALL_SETS, UNEVEN_SETS, WHOLE_SETS, load
from rstc.config import Config
from rstc.pseudo_labels.n_clusters import count_clusters
from rstc.pseudo_labels.words import read_words
from rstc.representation.loading import load_encoder

SETS = list(dict.fromkeys([*WHOLE_SETS, *SMALL_SETS, *UNEVEN_SETS, *NOISY_SETS]))


def embedded(name: str, texts: list[str], keep: Path | None) -> np.ndarray:
    """Return the embeddings of a set, at length one."""
    kept = keep / f"{name}.npy" if keep else None
    if kept and kept.is_file():
        return np.load(kept)
    encoder = load_encoder(None, "mean", 32)
    E = normalize(encoder.embed(encoder.tokenize(texts)).numpy()).astype(np.float32)
    if kept:
        kept.parent.mkdir(parents=True, exist_ok=True)
        np.save(kept, E)
    return E


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--datasets", default=",".join(SETS))
    asked = parser.parse_args()
    results = ResultFile(RESULTS / "count.json", circumstances(), key=("dataset", "seed"))
    weight = Config().words
    for seed in range(asked.seeds):
        for name in asked.datasets.split(","):
            if results.has(dataset=name, seed=seed):
                continue
            loaded = load(name, asked.data)
            E, rng = embedded(name, loaded.texts, asked.keep), np.random.default_rng(seed)
            start = time.perf_counter()
            found = count_clusters(E, read_words(loaded.texts, rng), weight, (2, None), rng)
            row = {"dataset": name, "seed": seed, "texts": len(E), "true": loaded.n_classes}
            row |= {"found": found.n_clusters, "low": found.low, "high": found.high, "sure": found.sure}
            row["curve"] = [
                [one.n_clusters, *(round(v, 4) for v in (one.told, one.apart, one.stable))] for one in found.candidates
            ]
            row |= {"runners_up": list(found.runners_up), "seconds": round(time.perf_counter() - start, 1)}
            results.add(row)


if __name__ == "__main__":
    main()
