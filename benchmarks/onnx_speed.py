"""Time to predict new texts with an exported ONNX model and with the same model in torch.

    python benchmarks/onnx_speed.py --data DIR [--set stackoverflow] [--texts 5000] [--rounds 5]

A model is trained for a few steps on 2,000 texts, saved and exported; how well it clusters does not matter here. Both
predict the same other texts by turns, and the row has the medians of the seconds, of which only the ratio matters. It
is written to results/onnx_speed.json.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from measuring import ResultFile, compare_times, make_parser
from rstc import RSTC, OnnxModel
from rstc.benchmark.datasets import load

N_TRAINING = 2000


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--set", default="stackoverflow", help="name of the data set")
    parser.add_argument("--texts", type=int, default=5000, help="number of new texts")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    loaded = load(options.set, options.data)
    order = np.random.default_rng(0).permutation(len(loaded.texts))
    shuffled = [loaded.texts[i] for i in order]
    new = shuffled[N_TRAINING : N_TRAINING + options.texts]
    with tempfile.TemporaryDirectory() as name:
        folder, exported = Path(name) / "model", Path(name) / "exported"
        model = RSTC(loaded.n_classes, random_state=0, trainable_layers=1, max_steps=20).fit(shuffled[:N_TRAINING])
        model.save(folder)
        model.export_onnx(exported)
        size = sum(path.stat().st_size for path in exported.iterdir())
        models = {"torch": RSTC.load(folder), "onnx": OnnxModel(exported)}
        labels, seconds = compare_times(
            {name: lambda model=model: model.predict(new) for name, model in models.items()}, options.rounds
        )
    results = ResultFile("onnx_speed", key=("set", "texts"), packages=("onnxruntime",))
    results.add(
        {
            "set": options.set,
            "texts": len(new),
            "rounds": options.rounds,
            "torch_seconds": round(seconds["torch"], 2),
            "onnx_seconds": round(seconds["onnx"], 2),
            "faster": round(seconds["torch"] / seconds["onnx"], 2),
            "agree": round(100 * float((labels["torch"] == labels["onnx"]).mean()), 2),
            "exported_mb": round(size / 1e6, 1),
        }
    )


if __name__ == "__main__":
    main()
