"""A fit without training on embeddings of ONNX Runtime, beside the same fit on embeddings of torch.

    python benchmarks/light_fit.py --data DIR [--datasets tweet,stackoverflow] [--texts 2000] [--rounds 3]

An experiment: would a fit be possible, as good and as fast, where torch is not installed? The bundled encoder is run by
both on the same texts by turns; the label search (`find_initial_labels`) gets the embeddings of each. Only the ratio of
the seconds matters. The label search itself uses torch for neighbours, transport and distributed runs, which is why
this measures what would be gained and not a fit without torch. Rows are written to results/light_fit.json.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import normalize

from measuring import ResultFile, compare_times, default_encoder, embed, make_parser, score
from rstc import RSTC, OnnxModel
from rstc.benchmark.datasets import load
from rstc.config import make_config
from rstc.pseudo_labels.features import EMBEDDING, STATIC, TextFeatures, build_word_features
from rstc.pseudo_labels.initialization import find_initial_labels
from rstc.pseudo_labels.initialization_settings import InitializationSettings
from rstc.representation.static_vectors import load_static_vectors


def find_labels(texts: list[str], E: np.ndarray, k: int) -> np.ndarray:
    """Find labels as the default does before its head is fitted."""
    config = make_config("default")
    rng = np.random.default_rng(0)
    static = load_static_vectors(config.static_vectors).embed(texts)
    features = TextFeatures({EMBEDDING: E, STATIC: static}, build_word_features(texts, rng))
    return find_initial_labels(features, k, InitializationSettings.from_config(config), rng).labels


def main() -> None:
    parser = make_parser(__doc__, datasets=["tweet", "stackoverflow"])
    parser.add_argument("--texts", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    results = ResultFile("light_fit", key=("set", "texts"), packages=("onnxruntime",))
    for name in options.datasets:
        loaded = load(name, options.data)
        rows = np.random.default_rng(0).permutation(len(loaded.texts))[: options.texts]
        texts, classes = [loaded.texts[row] for row in rows], [loaded.true_labels[row] for row in rows]
        if results.has(set=name, texts=len(texts)):
            continue
        k, encoder = len(set(classes)), default_encoder()
        with tempfile.TemporaryDirectory() as folder:
            exported = Path(folder) / "exported"
            RSTC(k, random_state=0, repeats=0, max_tokens=32).fit(texts).export_onnx(exported)
            onnx = OnnxModel(exported)
            embeddings, seconds = compare_times(
                {
                    "torch": lambda encoder=encoder, texts=texts: embed(texts, encoder),
                    "onnx": lambda onnx=onnx, texts=texts: normalize(onnx.transform(texts)),
                },
                options.rounds,
            )
        labels = {runtime: find_labels(texts, E, k) for runtime, E in embeddings.items()}
        results.add(
            {
                "set": name,
                "texts": len(texts),
                "encoding_ratio": round(seconds["onnx"] / seconds["torch"], 2),
                "largest_difference": float(np.abs(embeddings["onnx"] - embeddings["torch"]).max()),
                "ari_of_labels": round(100 * float(adjusted_rand_score(labels["torch"], labels["onnx"])), 2),
                "torch": score(classes, labels["torch"]),
                "onnx": score(classes, labels["onnx"]),
            }
        )


if __name__ == "__main__":
    main()
