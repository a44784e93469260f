"""Texts a second, against SentenceTransformer.encode, and against what the machine's arithmetic allows.

    python benchmarks/encode.py --data DIR [--set stackoverflow] [--texts 8000] [--rounds 3]
    python benchmarks/encode.py --data DIR --backends onnx openvino    (needs onnx, onnxscript, onnxruntime, openvino)

From strings to embeddings, tokenising included; rounds take turns, figures are medians. The arithmetic of a text is
that of its own tokens in the layers' matrix products; the machine's limit is its best rate in matrix products,
measured in the same run. Labels are the clusters of k-means centres found in our embeddings: how many texts get
another one from another backend's embeddings tells whether it may stand in.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sentence_transformers import SentenceTransformer

from measuring import RESULTS, ResultFile, circumstances
from rstc.benchmark.datasets import read
from rstc.pseudo_labels.kmeans import kmeans_labels
from rstc.representation.encoder import Encoder
from rstc.representation.loading import embedded_folder, load_encoder

Embed = Callable[[list[str]], np.ndarray]


def matmul_limit(seconds: float = 1.0) -> float:
    """Return the most floating-point operations a second of float32 matrix products of several shapes."""
    best = 0.0
    for m, k, n in ((2048, 2048, 2048), (4096, 1024, 1024), (1024, 384, 1536), (1024, 1536, 384)):
        A, B = torch.randn(m, k), torch.randn(k, n)
        A @ B
        start, times = time.perf_counter(), 0
        while time.perf_counter() - start < seconds:
            A @ B
            times += 1
        best = max(best, 2 * m * k * n * times / (time.perf_counter() - start))
    return best


def arithmetic(encoder: Encoder, tokens: list[Any]) -> float:
    """Return the floating-point operations of the layers' matrix products for these texts, without padding."""
    config: Any = encoder.model[0].config
    D, inner, layers = config.hidden_size, config.intermediate_size, config.num_hidden_layers
    lengths = np.array([len(row) for row in tokens], dtype=float)
    products = 2 * (4 * D * D + 2 * D * inner) * lengths  # queries, keys, values, output; the two of the middle
    attention = 2 * 2 * D * lengths**2
    return float(layers * (products + attention).sum())


class Exported:
    """The encoder in another runtime, fed with our length-sorted batches."""

    def __init__(self, encoder: Encoder, backend: str) -> None:
        self.encoder, self.run = encoder, {"onnx": self._onnx, "openvino": self._openvino}[backend](encoder)

    def __call__(self, texts: list[str]) -> np.ndarray:
        tokens = self.encoder.tokenize(texts)
        E = np.empty((len(texts), self.encoder.dim), dtype=np.float32)
        order = np.argsort([len(row) for row in tokens], kind="stable")
        for piece in self.encoder._pieces(order, tokens):
            features = self.encoder._padded_ids([tokens[i] for i in piece])
            mask = features["attention_mask"].numpy()
            states = self.run(features["input_ids"].numpy(), mask)
            E[piece] = (states * mask[:, :, None]).sum(1) / mask.sum(1, keepdims=True)
        return E

    @staticmethod
    def _model_file(encoder: Encoder) -> Path:
        path = Path(tempfile.mkdtemp()) / "encoder.onnx"
        bert = encoder.model[0].auto_model.eval()
        ids, mask = torch.full((2, 8), 100), torch.ones(2, 8, dtype=torch.long)

        class States(torch.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.bert = bert

            def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
                return self.bert(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state

        shape = {0: torch.export.Dim("batch", min=1, max=8192), 1: torch.export.Dim("length", min=2, max=512)}
        torch.onnx.export(
            States(),
            (ids, mask),
            path,
            input_names=["input_ids", "attention_mask"],
            output_names=["states"],
            dynamic_shapes=(shape, shape),
            dynamo=True,
        )
        return path

    def _onnx(self, encoder: Encoder) -> Callable[..., np.ndarray]:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = torch.get_num_threads()
        session = onnxruntime.InferenceSession(self._model_file(encoder), options, providers=["CPUExecutionProvider"])
        return lambda ids, mask: session.run(None, {"input_ids": ids, "attention_mask": mask})[0]

    def _openvino(self, encoder: Encoder) -> Callable[..., np.ndarray]:
        import openvino

        threads = {"INFERENCE_NUM_THREADS": torch.get_num_threads(), "INFERENCE_PRECISION_HINT": "f32"}
        model = openvino.Core().compile_model(self._model_file(encoder), "CPU", threads)
        return lambda ids, mask: model([ids, mask])[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--set", default="stackoverflow")
    parser.add_argument("--texts", type=int, default=8000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--backends", nargs="*", default=[], choices=["onnx", "openvino"])
    given = parser.parse_args()
    table = read(given.set, given.data)
    texts, n_clusters = table.text.tolist()[: given.texts], table.label.nunique()
    encoder = load_encoder(None, "mean", 32)
    theirs = SentenceTransformer(str(embedded_folder()), device="cpu", local_files_only=True)
    theirs.max_seq_length = 32
    encoders: dict[str, Embed] = {
        "rstc": lambda texts: encoder.embed(encoder.tokenize(texts)).numpy(),
        "SentenceTransformer.encode": lambda texts: theirs.encode(texts, show_progress_bar=False),
        **{backend: Exported(encoder, backend) for backend in given.backends},
    }
    spent: dict[str, list[float]] = {name: [] for name in encoders}
    limits, embedded = [], {}
    for embed in encoders.values():
        embed(texts[:500])  # warms up
    for _ in range(given.rounds):
        limits.append(matmul_limit())
        for name, embed in encoders.items():
            start = time.perf_counter()
            embedded[name] = embed(texts)
            spent[name].append(time.perf_counter() - start)
        print({name: round(seconds[-1], 1) for name, seconds in spent.items()}, flush=True)

    unit = {name: E / np.linalg.norm(E, axis=1, keepdims=True) for name, E in embedded.items()}
    found = kmeans_labels(unit["rstc"], n_clusters, np.random.default_rng(0), 3)
    labels = {name: (U @ found.centres.T - (found.centres**2).sum(1) / 2).argmax(1) for name, U in unit.items()}
    operations, limit = arithmetic(encoder, encoder.tokenize(texts)), float(np.max(limits))
    reference = float(np.median(spent["SentenceTransformer.encode"]))
    ours = float(np.median(spent["rstc"]))
    extra = [p for b in given.backends for p in {"onnx": ["onnx", "onnxruntime"], "openvino": ["openvino"]}[b]]
    results = ResultFile(RESULTS / "encode.json", circumstances(*extra), key=("encoder",))
    results.content |= {
        "set": given.set,
        "texts": len(texts),
        "tokens": int(sum(len(row) for row in encoder.tokenize(texts))),
        "rounds": given.rounds,
        "matmul_gflops": round(limit / 1e9, 1),
    }
    for name, seconds in spent.items():
        median = float(np.median(seconds))
        results.add(
            {
                "encoder": name,
                "texts_a_second": round(len(texts) / median, 1),
                "times_sentence_transformers": round(reference / median, 2),
                "times_rstc": round(ours / median, 2),
                "share_of_matmul_limit": round(operations / median / limit, 3),
                "equal_labels": round(float((labels[name] == labels["rstc"]).mean()), 5),
            }
        )


if __name__ == "__main__":
    main()
