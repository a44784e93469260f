"""A model that was exported as ONNX: new texts to clusters without torch, by onnxruntime.

    model.onnx       token ids and their mask to log P (B, C) and E (B, D)
    tokenizer.json   texts to token ids
    onnx.json        how many tokens are read, the clusters, and the sha256 of both

To use it takes numpy, pandas, tokenizers and onnxruntime; torch is not loaded.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rstc.io.predictions import NO_CLUSTER, Assignment
from rstc.runtime.cores import granted_cores
from rstc.errors import InputError, first_line
from rstc.runtime.optional import from_extra
from rstc.io.atomic import read_json, sha256
from rstc.validation.texts import Present
from rstc.representation.padding import LONGEST_TEXT, by_length, padded_ids, pieces
from rstc.io.columns import as_texts

MODEL, TOKENIZER, DESCRIPTION = "model.onnx", "tokenizer.json", "onnx.json"
FORMAT_VERSION = 1
MOST_OF_ANYTHING = 10**6  # clusters, dimensions, tokens


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
        options = onnxruntime.SessionOptions()
        # Products as small as ours gain more from running side by side than from being spread over the cores.
        options.intra_op_num_threads = 1
        self._threads = threads or granted_cores()
        try:
            self._tokenizer = tokenizers.Tokenizer.from_file(str(folder / TOKENIZER))
            self._tokenizer.no_padding()
            self._tokenizer.enable_truncation(int(facts["max_tokens"]))
            self._session = onnxruntime.InferenceSession(
                str(folder / MODEL), options, providers=["CPUExecutionProvider"]
            )
        except Exception as problem:  # each library has its own ways to refuse a file
            raise InputError(f"the model in {folder} cannot be opened ({first_line(problem)})") from problem
        shapes = {one.name: one.shape[1:] for one in self._session.get_outputs()}
        if shapes != {"log_p": [self.n_clusters_], "E": [self._dim]}:
            raise InputError(f"{folder / MODEL} computes something else than {DESCRIPTION} says")

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
            ids, mask = padded_ids([tokens[i] for i in rows], self._pad)
            log_p[rows], E[rows] = self._session.run(["log_p", "E"], {"input_ids": ids, "attention_mask": mask})

        with ThreadPoolExecutor(self._threads) as threads:
            list(threads.map(run, pieces(by_length(tokens), tokens)))
        clusters = log_p.argmax(1) if len(tokens) else np.zeros(0, dtype=np.int64)
        return Assignment(given.spread(clusters, NO_CLUSTER), given.spread(np.exp(log_p), 0), given.spread(E, 0))


def is_exported(folder: Path) -> bool:
    """Tell whether a folder holds an exported model."""
    return (folder / DESCRIPTION).is_file()


def _described(folder: Path) -> dict[str, Any]:
    """Read what an exported model says of itself, and check its form and its files."""
    path = folder / DESCRIPTION
    if not path.is_file():
        raise InputError(f"there is no exported model in {folder}: {DESCRIPTION} is missing")
    facts = read_json(path)
    if not isinstance(facts, dict) or "format_version" not in facts:
        raise InputError(f"{path} is not the description of an exported model")
    if facts["format_version"] != FORMAT_VERSION:
        raise InputError(f"{path} has format version {facts['format_version']}; this rstc reads {FORMAT_VERSION}")
    shares, files, column = (facts.get(name) for name in ("class_distribution", "files", "text_column"))
    fits = (
        all(_is_count(facts.get(name)) for name in ("n_clusters", "dim", "max_tokens"))
        and isinstance(facts.get("pad"), int)
        and isinstance(shares, list)
        and len(shares) == facts["n_clusters"]
        and all(isinstance(share, (int, float)) for share in shares)
        and (column is None or isinstance(column, str))
    )
    if not fits or not isinstance(files, dict):
        raise InputError(f"{path} is not the description of an exported model")
    for name in (MODEL, TOKENIZER):
        if not (folder / name).is_file() or sha256(folder / name) != files.get(name):
            raise InputError(f"{folder / name} is missing or was changed since it was exported")
    return facts


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value <= MOST_OF_ANYTHING
