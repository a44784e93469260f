"""How many of the encoder's layers should learn on a CPU? Accuracy against time.

    python benchmarks/layers.py --data DIR [--sets stackoverflow agnews tweet googlenews-t] [--layers 0 1 2 all]

Everything else is the default. The seed gives every layer setting of a set the same k-means start. `passes` is the time
of the whole run, loading the encoder included, in units of one encoding of all texts, measured in the same process.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

from measuring import RESULTS, ResultFile, circumstances, scores
from rstc.benchmark.datasets import read
from rstc.config import make_config
from rstc.estimator import RSTC
from rstc.representation.loading import load_encoder

SETS = ["stackoverflow", "agnews", "tweet", "googlenews-t"]


def one_pass(texts: list[str]) -> float:
    encoder = load_encoder(None, "mean", 32)
    start = time.perf_counter()
    encoder.embed(encoder.tokenize(texts))
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--layers", nargs="+", default=["0", "1", "2", "all"])
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    made_with = circumstances() | {"config": make_config().to_dict(), "seed": given.seed}
    results = ResultFile(RESULTS / "layers.json", made_with, key=("set", "layers", "seed"))
    for name in given.sets:
        table = read(name, given.data)
        texts, encoding = table.text.tolist(), None
        for layers in given.layers:
            if results.has(set=name, layers=layers, seed=given.seed):
                continue
            encoding = encoding or one_pass(texts)
            start = time.perf_counter()
            setting: Any = layers if layers == "all" else int(layers)
            model = RSTC(table.label.nunique(), trainable_layers=setting, random_state=given.seed).fit(texts)
            spent = time.perf_counter() - start
            row = {"set": name, "texts": len(texts), "layers": layers, "seed": given.seed}
            row |= scores(table.label, model.labels_) | {"steps": model.n_iter_}
            results.add(row | {"seconds": round(spent, 1), "passes": round(spent / encoding, 2)})


if __name__ == "__main__":
    main()
