"""Texts encoded per second, beside SentenceTransformer.encode and the limit of the machine's matrix products.

    python benchmarks/encoding_speed.py --data DIR [--set stackoverflow] [--texts 8000] [--rounds 3]
    python benchmarks/encoding_speed.py --data DIR --backends onnx openvino

The backends need onnx, onnxscript, onnxruntime and openvino. `int8` is our encoder with torch's dynamic quantisation of
its linear layers to eight bits. Times are medians from strings to embeddings, with
tokenisation; encoders take turns. The operations of a text are those of its own tokens in the layers' matrix products;
the limit is the best rate of matrix products, measured in the same run. `equal_labels` is the share of texts whose
nearest k-means centre is the same as with our embeddings. Rows are written to results/encoding_speed.json.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import torch

from measuring import ResultFile, compare_times, default_encoder, load_sentence_transformer, make_parser
from rstc.benchmark.datasets import read_table
from rstc.pseudo_labels.kmeans import fit_kmeans
from rstc.representation.encoder import Encoder
from rstc.representation.padding import MAX_BATCH_TOKENS, pad_ids, split_into_batches

Embed = Callable[[list[str]], np.ndarray]


def measure_matmul_limit(seconds: float = 1.0) -> float:
    """Measure the highest rate of float32 matrix products of several shapes, in operations per second."""
    best = 0.0
    for m, k, n in ((2048, 2048, 2048), (4096, 1024, 1024), (1024, 384, 1536), (1024, 1536, 384)):
        A, B = torch.randn(m, k), torch.randn(k, n)
        A @ B
        start, n_products = time.perf_counter(), 0
        while time.perf_counter() - start < seconds:
            A @ B
            n_products += 1
        best = max(best, 2 * m * k * n * n_products / (time.perf_counter() - start))
    return best


def count_operations(encoder: Encoder, tokens: list[Any]) -> float:
    """Count the floating-point operations of the layers' matrix products for texts, without padding."""
    config: Any = encoder.model[0].config
    D, inner, layers = config.hidden_size, config.intermediate_size, config.num_hidden_layers
    lengths = np.array([len(row) for row in tokens], dtype=float)
    products = (
        2 * (4 * D * D + 2 * D * inner) * lengths
    )  # query, key, value and output; the two of the feed-forward layer
    attention = 2 * 2 * D * lengths**2
    return float(layers * (products + attention).sum())


class ExportedEncoder:
    """The encoder in another runtime, with our length-sorted batches."""

    def __init__(self, encoder: Encoder, backend: str) -> None:
        self.encoder, self.run = encoder, {"onnx": self._onnx, "openvino": self._openvino}[backend](encoder)

    def __call__(self, texts: list[str]) -> np.ndarray:
        tokens = self.encoder.tokenize(texts)
        E = np.empty((len(texts), self.encoder.dim), dtype=np.float32)
        order = np.argsort([len(row) for row in tokens], kind="stable")
        for batch in split_into_batches(order, tokens, MAX_BATCH_TOKENS):
            ids, mask = pad_ids([tokens[i] for i in batch], self.encoder.model.tokenizer.pad_token_id)
            states = self.run(ids, mask)
            E[batch] = (states * mask[:, :, None]).sum(1) / mask.sum(1, keepdims=True)
        return E

    @staticmethod
    def _export_onnx(encoder: Encoder) -> Path:
        path = Path(tempfile.mkdtemp()) / "encoder.onnx"
        bert = encoder.model[0].auto_model.eval()
        ids, mask = torch.full((2, 8), 100), torch.ones(2, 8, dtype=torch.long)

        class LastHiddenState(torch.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.bert = bert

            def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
                return self.bert(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state

        shape = {0: torch.export.Dim("batch", min=1, max=8192), 1: torch.export.Dim("length", min=2, max=512)}
        torch.onnx.export(
            LastHiddenState(),
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
        session = onnxruntime.InferenceSession(self._export_onnx(encoder), options, providers=["CPUExecutionProvider"])
        return lambda ids, mask: session.run(None, {"input_ids": ids, "attention_mask": mask})[0]

    def _openvino(self, encoder: Encoder) -> Callable[..., np.ndarray]:
        import openvino

        threads = {"INFERENCE_NUM_THREADS": torch.get_num_threads(), "INFERENCE_PRECISION_HINT": "f32"}
        model = openvino.Core().compile_model(self._export_onnx(encoder), "CPU", threads)
        return lambda ids, mask: model([ids, mask])[0]


def quantise(encoder: Encoder) -> Encoder:
    """Return a copy of an encoder whose linear layers compute in eight bits."""
    quantised = deepcopy(encoder)
    torch.ao.quantization.quantize_dynamic(quantised.model, {torch.nn.Linear}, dtype=torch.qint8, inplace=True)
    return quantised


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--set", default="stackoverflow", help="name of the data set")
    parser.add_argument("--texts", type=int, default=8000, help="number of texts")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--backends", nargs="*", default=[], choices=["onnx", "openvino"])
    options = parser.parse_args()
    table = read_table(options.set, options.data)
    texts, n_clusters = table.text.tolist()[: options.texts], table.label.nunique()
    encoder = default_encoder()
    reference, int8 = load_sentence_transformer(), quantise(encoder)
    encoders: dict[str, Embed] = {
        "rstc": lambda texts: encoder.embed(encoder.tokenize(texts)).numpy(),
        "int8": lambda texts: int8.embed(int8.tokenize(texts)).numpy(),
        "SentenceTransformer.encode": lambda texts: reference.encode(texts, show_progress_bar=False),
        **{backend: ExportedEncoder(encoder, backend) for backend in options.backends},
    }
    limit = measure_matmul_limit()
    embeddings, seconds = compare_times(
        {name: lambda embed=embed: embed(texts) for name, embed in encoders.items()}, options.rounds
    )
    limit = max(limit, measure_matmul_limit())

    unit = {name: E / np.linalg.norm(E, axis=1, keepdims=True) for name, E in embeddings.items()}
    centres = fit_kmeans(unit["rstc"], n_clusters, np.random.default_rng(0), 3).centres
    labels = {name: (E @ centres.T - (centres**2).sum(1) / 2).argmax(1) for name, E in unit.items()}
    tokens = encoder.tokenize(texts)
    operations = count_operations(encoder, tokens)
    packages = [p for b in options.backends for p in {"onnx": ["onnx", "onnxruntime"], "openvino": ["openvino"]}[b]]
    results = ResultFile("encoding_speed", key=("encoder",), packages=tuple(packages))
    results.content |= {
        "set": options.set,
        "texts": len(texts),
        "tokens": int(sum(len(row) for row in tokens)),
        "rounds": options.rounds,
        "matmul_gflops": round(limit / 1e9, 1),
    }
    for name, median in seconds.items():
        results.add(
            {
                "encoder": name,
                "texts_a_second": round(len(texts) / median, 1),
                "times_sentence_transformers": round(seconds["SentenceTransformer.encode"] / median, 2),
                "times_rstc": round(seconds["rstc"] / median, 2),
                "share_of_matmul_limit": round(operations / median / limit, 3),
                "equal_labels": round(float((labels[name] == labels["rstc"]).mean()), 5),
            }
        )


if __name__ == "__main__":
    main()
