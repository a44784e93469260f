"""What knowing one text in a hundred gains.

    python benchmarks/few_labels.py --data DIR [--datasets stackoverflow] [--share 0.01] [--seeds 5]

A random share of the texts is given with its class, by the seed. The runs without are those of the benchmark's store,
with the same seeds. ACC and NMI are of all texts; `acc_unknown` is of those that were not given, with and without.
`most` of a set is what the models of a round reach in the encoder's own space, when they are given the class of every
text but those they judge, a tenth at a time: what no number of labels gets past there. Into results/few_labels.json;
goes on where it stopped.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.preprocessing import normalize

from measuring import RESULTS, ResultFile, circumstances, scores
from rstc import RSTC
from rstc.benchmark.datasets import load
from rstc.config import Config
from rstc.numerics.nearest import nearest
from rstc.pseudo_labels.crossfit import Witnesses, judged
from rstc.pseudo_labels.words import read_words
from rstc.representation.loading import load_encoder

STORE = Path(__file__).parent / "store"


def measure(name: str, share: float, seed: int, folder: Path) -> dict[str, Any]:
    """Cluster a set with a few labels."""
    loaded = load(name, folder)
    rng = np.random.default_rng(seed)
    given = rng.choice(len(loaded.texts), round(share * len(loaded.texts)), replace=False)
    known: list[Any] = [None] * len(loaded.texts)
    for row in given:
        known[row] = loaded.truth[row]
    start = time.process_time()
    model = RSTC(loaded.n_classes, random_state=seed).fit(loaded.texts, known)
    seconds = time.process_time() - start
    others = np.setdiff1d(np.arange(len(loaded.texts)), given)
    unknown = scores([loaded.truth[i] for i in others], model.labels_[others])
    without = json.loads((STORE / name / "rstc" / f"{seed}.json").read_text())
    return {
        "given": len(given),
        "classes_given": sum(one is not None for one in model.classes_ or []),
        **scores(loaded.truth, model.labels_),
        "acc_unknown": unknown["acc"],
        "acc_without": without["acc"],
        "nmi_without": without["nmi"],
        "start": model.history_[0].get("start"),
        "processor_seconds": round(seconds, 1),
    }


def most(name: str, folder: Path) -> float:
    """Return the share of texts that models judge rightly which know all others."""
    loaded, config, rng = load(name, folder), Config(), np.random.default_rng(0)
    encoder = load_encoder(None, config.pooling, config.max_tokens)
    E = np.asarray(normalize(encoder.embed(encoder.tokenize(loaded.texts)).numpy()), dtype=np.float32)
    X = read_words(loaded.texts, rng).X
    near = nearest(E, X, config.neighbours, config.words / (1 + config.words))
    _, truth = np.unique(loaded.truth, return_inverse=True)
    Q = np.eye(loaded.n_classes, dtype=np.float32)[truth]
    P = judged(Witnesses(E, X, near), Q, rng.permutation(len(truth)) % 10)
    return round(100 * float((P.argmax(1) == truth).mean()), 2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--datasets", default="stackoverflow")
    parser.add_argument("--share", type=float, default=0.01)
    parser.add_argument("--seeds", type=int, default=5)
    asked = parser.parse_args()
    results = ResultFile(RESULTS / "few_labels.json", circumstances(), key=("dataset", "share", "seed"))
    results.content.setdefault("most", {})
    for name in asked.datasets.split(","):
        if name not in results.content["most"]:
            results.content["most"][name] = most(name, asked.data)
            results.write()
            print(name, results.content["most"][name], flush=True)
    for seed in range(asked.seeds):
        for name in asked.datasets.split(","):
            row = {"dataset": name, "share": asked.share, "seed": seed}
            if not results.has(**row):
                results.add(row | measure(name, asked.share, seed, asked.data))


if __name__ == "__main__":
    main()
