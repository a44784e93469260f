"""Labelling new texts: an exported model by onnxruntime against the same model by torch.

    python benchmarks/onnx_speed.py --data DIR [--set stackoverflow] [--texts 5000] [--rounds 5]

A model is trained for a few steps on some texts of a set (how well it clusters is not asked here), saved and exported.
Both then label the same other texts, taking turns; the figures are medians of seconds, of which only the ratio says
something. Into results/onnx_speed.json.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np

from measuring import RESULTS, ResultFile, circumstances
from rstc import RSTC, OnnxModel
from rstc.benchmark.datasets import load


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--set", default="stackoverflow")
    parser.add_argument("--texts", type=int, default=5000)
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    loaded = load(asked.set, asked.data)
    order = np.random.default_rng(0).permutation(len(loaded.texts))
    learn, new = ([loaded.texts[i] for i in rows] for rows in (order[:2000], order[2000 : 2000 + asked.texts]))
    with tempfile.TemporaryDirectory() as folder:
        model = RSTC(loaded.n_classes, random_state=0, trainable_layers=1, max_steps=20).fit(learn)
        model.save(Path(folder) / "model")
        model.export_onnx(Path(folder) / "exported")
        tools = {"torch": RSTC.load(Path(folder) / "model"), "onnx": OnnxModel(Path(folder) / "exported")}
        size = sum(path.stat().st_size for path in (Path(folder) / "exported").iterdir())
        spent: dict[str, list[float]] = {name: [] for name in tools}
        labels = {}
        for _ in range(asked.rounds + 1):
            for name, tool in tools.items():
                start = time.perf_counter()
                labels[name] = tool.predict(new)
                spent[name].append(time.perf_counter() - start)
    medians = {name: float(np.median(seconds[1:])) for name, seconds in spent.items()}  # the first round warms up
    results = ResultFile(RESULTS / "onnx_speed.json", circumstances("onnxruntime"), key=("set", "texts"))
    results.add(
        {
            "set": asked.set,
            "texts": len(new),
            "rounds": asked.rounds,
            "torch_seconds": round(medians["torch"], 2),
            "onnx_seconds": round(medians["onnx"], 2),
            "faster": round(medians["torch"] / medians["onnx"], 2),
            "agree": round(100 * float((labels["torch"] == labels["onnx"]).mean()), 2),
            "exported_mb": round(size / 1e6, 1),
        }
    )


if __name__ == "__main__":
    main()
