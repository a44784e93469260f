"""A model that was exported as ONNX: new texts to clusters without torch, by onnxruntime.

    model.onnx       token ids and their mask to log P (B, C) and E (B, D)
    tokenizer.json   texts to token ids
    onnx.json        how many tokens are read, the clusters, and the sha256 of both

Only numpy, tokenizers and onnxruntime are loaded to use it.
"""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rstc.assignment import NO_CLUSTER, Assignment
from rstc.cores import granted_cores
from rstc.errors import InputError
from rstc.extras import from_extra
from rstc.files import sha256
from rstc.present import Present
from rstc.texts import as_texts

MODEL, TOKENIZER, DESCRIPTION = "model.onnx", "tokenizer.json", "onnx.json"
FORMAT_VERSION = 1
TOKENS_A_PIECE = 1024  # padded, of texts of like length: what passes from layer to layer stays in a core's cache
LONGEST_TEXT = 20_000  # characters that are looked at, as in the encoder


class OnnxModel:
    """Predicts as the model that was exported, but for the last digits.

    Args:
        folder: that `RSTC.export_onnx` or `rstc export` wrote.
        threads: how many pieces of a batch are computed side by side; 0: one on each core.

    Attributes:
        n_clusters_: how many clusters there are.
        class_distribution_: the estimated share of each, (C,).
        text_column_: which column of tables the texts came from; None where they came as a list.
    """

    def __init__(self, folder: str | Path, threads: int = 0) -> None:
        onnxruntime, tokenizers = from_extra("onnxruntime", "onnx"), from_extra("tokenizers", "onnx")
        folder = Path(folder)
        facts = _described(folder)
        self.n_clusters_ = int(facts["n_clusters"])
        self.class_distribution_ = np.asarray(facts["class_distribution"], dtype=np.float64)
        self.text_column_: str | None = facts["text_column"]
        self._pad = int(facts["pad"])
        self._dim = int(facts["dim"])
        self._tokenizer = tokenizers.Tokenizer.from_file(str(folder / TOKENIZER))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(int(facts["max_tokens"]))
        options = onnxruntime.SessionOptions()
        # Products as small as ours gain more from running side by side than from being spread over the cores.
        options.intra_op_num_threads = 1
        self._threads = threads or granted_cores()
        self._session = onnxruntime.InferenceSession(
            str(folder / MODEL), options, providers=onnxruntime.get_available_providers()
        )

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Return the cluster of each text, (N,); -1 where there is no text."""
        return self.assign(X).clusters

    def predict_proba(self, X: Any) -> NDArray[np.float32]:
        """Return the probability of each cluster, (N, C); zeros where there is no text."""
        return self.assign(X).probabilities

    def transform(self, X: Any) -> NDArray[np.float32]:
        """Return the learned embedding of each text, (N, D); zeros where there is no text."""
        return self.assign(X).embeddings

    def assign(self, X: Any) -> Assignment:
        """Return clusters, probabilities and embeddings of texts in one pass over them."""
        given = Present.of(as_texts(X))
        tokens = [one.ids for one in self._tokenizer.encode_batch([text[:LONGEST_TEXT] for text in given.texts])]
        log_p = np.empty((len(tokens), self.n_clusters_), dtype=np.float32)
        E = np.empty((len(tokens), self._dim), dtype=np.float32)

        def run(rows: NDArray[np.int64]) -> None:
            log_p[rows], E[rows] = self._session.run(["log_p", "E"], self._padded([tokens[i] for i in rows]))

        with ThreadPoolExecutor(self._threads) as threads:
            list(threads.map(run, _pieces([len(ids) for ids in tokens])))
        clusters = log_p.argmax(1) if len(tokens) else np.zeros(0, dtype=np.int64)
        return Assignment(given.spread(clusters, NO_CLUSTER), given.spread(np.exp(log_p), 0), given.spread(E, 0))

    def _padded(self, tokens: list[list[int]]) -> dict[str, NDArray[np.int64]]:
        ids = np.full((len(tokens), max(map(len, tokens))), self._pad, dtype=np.int64)  # (B, L)
        mask = np.zeros_like(ids)
        for row, text in enumerate(tokens):
            ids[row, : len(text)] = text
            mask[row, : len(text)] = 1
        return {"input_ids": ids, "attention_mask": mask}


def is_exported(folder: Path) -> bool:
    """Tell whether a folder holds an exported model."""
    return (folder / DESCRIPTION).is_file()


def _described(folder: Path) -> dict[str, Any]:
    """Read what an exported model says of itself, and check its files."""
    path = folder / DESCRIPTION
    if not path.is_file():
        raise InputError(f"there is no exported model in {folder}: {DESCRIPTION} is missing")
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
        version, files = facts["format_version"], facts["files"]
    except (ValueError, KeyError, TypeError) as problem:
        raise InputError(f"{path} is not the description of an exported model") from problem
    if version != FORMAT_VERSION:
        raise InputError(f"{path} has format version {version}; this rstc reads {FORMAT_VERSION}")
    for name in (MODEL, TOKENIZER):
        if not (folder / name).is_file() or sha256(folder / name) != files.get(name):
            raise InputError(f"{folder / name} is missing or was changed since it was exported")
    return dict(facts)


def _pieces(lengths: list[int]) -> list[NDArray[np.int64]]:
    """Put texts of like length together, so many that their padded tokens stay within bounds.

    >>> [piece.tolist() for piece in _pieces([1000, 3, 2])]
    [[2, 1], [0]]
    """
    order, pieces, start = np.argsort(lengths, kind="stable"), [], 0
    for end in range(1, len(order) + 1):
        if end == len(order) or (end + 1 - start) * lengths[order[end]] > TOKENS_A_PIECE:
            pieces.append(order[start:end])
            start = end
    return pieces
