"""A model exported as ONNX, which predicts by onnxruntime and without torch.

    model.onnx       token ids and attention mask (B, L) to log P (B, C) and E (B, D)
    tokenizer.json   texts to token ids
    onnx.json        the number of clusters and tokens, and the sha256 of the other files (`OnnxDescription`)
    confidence.safetensors   the confidence of new texts, if the model has one

It needs numpy, scipy, scikit-learn, pandas, safetensors, tokenizers and onnxruntime.
"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rstc.errors import InputError, first_line
from rstc.io.atomic import check_writable, read_json, sha256
from rstc.io.columns import TextColumn, to_text_column, to_text_list
from rstc.io.plain_folder import check_plain_folder
from rstc.io.predictions import NO_CLUSTER, Assignment
from rstc.persistence.confidence_file import CONFIDENCE, read_confidence
from rstc.persistence.onnx_checks import check_graph
from rstc.representation.padding import pad_ids, prepare_text, split_by_length
from rstc.representation.tokenizer_checks import check_tokenizer
from rstc.results.naming import are_names, fill_names
from rstc.runtime.cores import default_threads
from rstc.runtime.memory import free_memory
from rstc.runtime.optional import import_optional
from rstc.validation.texts import NonEmptyTexts

MODEL, TOKENIZER, DESCRIPTION = "model.onnx", "tokenizer.json", "onnx.json"
FORMAT_VERSION = 1
PROMPT_VERSION = 2  # of folders with a prompt, which earlier versions would not put in front of the texts
MAX_PROMPT_CHARS = 1000
MAX_COUNT = 10**6  # of clusters, dimensions or tokens
MAX_TOKENIZER_BYTES = 2**27
MAX_MEMORY_SHARE = 0.75  # of the free memory
MAX_SECONDS_OF_A_TEXT = 60.0
_SILENT = 4  # of the levels at which onnxruntime writes to standard error: fatal errors only
_is_memory_limited = False


@dataclass(frozen=True)
class OnnxDescription:
    """The content of onnx.json.

    Attributes
    ----------
    n_clusters, dim, max_tokens : int
        The numbers of clusters and of embedding dimensions, and the maximum number of tokens of a text.
    pad : int
        The token id that pads a batch.
    class_distribution : list of float
        The estimated share of each cluster.
    text_column : str, list of str or None
        The column of the input table that held the texts, or several.
    names : list of str or None
        The name of each cluster; None in folders of version 0.1.0.
    versions : dict
        The versions of Python and of the libraries that wrote the folder.
    files : dict
        The sha256 of the other files, by name.
    format_version : int
        The version of the folder's layout.
    prompt : str
        The words that the encoder expects in front of each text.
    """

    n_clusters: int
    dim: int
    max_tokens: int
    pad: int
    class_distribution: list[float]
    text_column: TextColumn | None
    versions: dict[str, str]
    files: dict[str, str]
    names: list[str] | None = None
    format_version: int = FORMAT_VERSION
    prompt: str = ""


class OnnxModel:
    """A model exported by `RSTC.export_onnx`; its predictions are RSTC's, up to rounding.

    Parameters
    ----------
    folder : str or Path
        A folder that `RSTC.export_onnx` or `rstc export` wrote.
    threads : int
        Number of batches that are computed at the same time; 0 for one per core, at most OMP_NUM_THREADS.

    Attributes
    ----------
    n_clusters_ : int
        The number of clusters.
    class_distribution_ : ndarray of shape (C,)
        The estimated share of each cluster.
    text_column_ : str, list of str or None
        The column of the input table that held the texts, or several; None if they came as a list.
    cluster_names_ : list of str
        The name of each cluster.
    """

    def __init__(self, folder: str | Path, threads: int = 0) -> None:
        onnxruntime, tokenizers = import_optional("onnxruntime", "onnx"), import_optional("tokenizers", "onnx")
        folder = Path(folder)
        description = read_description(folder)
        check_graph(folder / MODEL)
        check_tokenizer(folder / TOKENIZER, read_json(folder / TOKENIZER, MAX_TOKENIZER_BYTES))
        self.n_clusters_ = description.n_clusters
        self.class_distribution_ = np.asarray(description.class_distribution, dtype=np.float64)
        self.text_column_ = description.text_column
        self.cluster_names_ = fill_names(description.names, description.n_clusters)
        self._prompt = description.prompt
        self._pad_id, self._dim = description.pad, description.dim
        _limit_memory(onnxruntime)
        options = onnxruntime.SessionOptions()
        options.add_session_config_entry("session.use_env_allocators", "1")
        options.log_severity_level = _SILENT  # it would write names from the graph to the terminal
        # Matrix products of this size gain more from running in parallel than from threads within each of them.
        options.intra_op_num_threads = 1
        self._threads = threads or default_threads()
        try:
            self._tokenizer = tokenizers.Tokenizer.from_file(str(folder / TOKENIZER))
            self._tokenizer.no_padding()
            self._tokenizer.enable_truncation(description.max_tokens)
            self._session = onnxruntime.InferenceSession(
                str(folder / MODEL), options, providers=["CPUExecutionProvider"]
            )
        except Exception as problem:  # both libraries raise exceptions of their own
            raise InputError(f"the model in {folder} cannot be opened ({first_line(problem)})") from problem
        shapes = {output.name: output.shape[1:] for output in self._session.get_outputs()}
        if shapes != {"log_p": [self.n_clusters_], "E": [self._dim]}:
            raise InputError(f"the outputs of {folder / MODEL} are not those that {DESCRIPTION} describes")
        self._try_one_text(onnxruntime, folder)
        has_confidence = CONFIDENCE in description.files
        self._confidence_model = read_confidence(folder, self._dim, self.n_clusters_) if has_confidence else None

    def _try_one_text(self, onnxruntime: Any, folder: Path) -> None:
        """Run one short text, and refuse a graph that takes much longer for it than any encoder."""
        options = onnxruntime.RunOptions()
        options.log_severity_level = _SILENT
        timer = threading.Timer(MAX_SECONDS_OF_A_TEXT, lambda: setattr(options, "terminate", True))
        timer.daemon = True
        timer.start()
        ids, mask = pad_ids([[self._pad_id, self._pad_id]], self._pad_id)
        try:
            self._session.run(["log_p", "E"], {"input_ids": ids, "attention_mask": mask}, options)
        except Exception as problem:  # the library raises exceptions of its own
            reason = "it takes too long" if options.terminate else first_line(problem)[:200]
            raise InputError(f"the model in {folder} cannot be run ({reason})") from problem
        finally:
            timer.cancel()

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Return the cluster of each text, (N,); -1 where a row holds no text."""
        return self.assign(X).clusters

    def predict_proba(self, X: Any) -> NDArray[np.float32]:
        """Return the probability of each cluster, (N, C); zeros where a row holds no text."""
        return self.assign(X).probabilities

    def transform(self, X: Any) -> NDArray[np.float32]:
        """Return the learned embedding of each text, (N, D); zeros where a row holds no text."""
        return self.assign(X).embeddings

    def assign(self, X: Any) -> Assignment:
        """Return clusters, probabilities and embeddings of texts in one pass over them.

        All bits of a text's result depend on the text alone, whatever the other texts are.
        """
        from rstc.pseudo_labels.confidence_model import assess_confidence  # imports scikit-learn

        data = NonEmptyTexts.from_list(to_text_list(X))
        encodings = self._tokenizer.encode_batch([self._prompt + prepare_text(text) for text in data.texts])
        tokens = [encoding.ids for encoding in encodings]
        log_p = np.empty((len(tokens), self.n_clusters_), dtype=np.float32)
        E = np.empty((len(tokens), self._dim), dtype=np.float32)

        def run(rows: NDArray[np.int64]) -> None:
            ids, mask = pad_ids([tokens[i] for i in rows], self._pad_id)
            log_p[rows], E[rows] = self._session.run(["log_p", "E"], {"input_ids": ids, "attention_mask": mask})

        with ThreadPoolExecutor(self._threads) as threads:
            list(threads.map(run, split_by_length(tokens)))
        clusters = log_p.argmax(1) if len(tokens) else np.zeros(0, dtype=np.int64)
        P = np.exp(log_p)
        confidence = assess_confidence(self._confidence_model, P, E, data.texts, clusters)
        return Assignment(
            data.expand(clusters, NO_CLUSTER), data.expand(P, 0), data.expand(E, 0), data.expand(confidence, 0)
        )


def _limit_memory(onnxruntime: Any) -> None:
    """Limit what all sessions of this process allocate, once: a graph of a few bytes can ask for any amount."""
    global _is_memory_limited
    onnxruntime.set_default_logger_severity(_SILENT)
    if _is_memory_limited:
        return
    _is_memory_limited = True
    limit = free_memory()
    if limit is None:
        return
    kind = onnxruntime.OrtMemoryInfo(
        "Cpu", onnxruntime.OrtAllocatorType.ORT_ARENA_ALLOCATOR, 0, onnxruntime.OrtMemType.DEFAULT
    )
    arena = onnxruntime.OrtArenaCfg({"max_mem": int(limit * MAX_MEMORY_SHARE)})
    with suppress(Exception):  # another library of this process has its own limits
        onnxruntime.create_and_register_allocator(kind, arena)


def is_exported(folder: Path) -> bool:
    """Return whether a folder holds an exported model."""
    return (folder / DESCRIPTION).is_file()


def check_export_target(folder: Path) -> None:
    """Raise InputError unless a folder can be written and is new, empty or an exported model and nothing else."""
    check_writable(folder)
    if not folder.exists():
        return
    names = {path.name for path in folder.iterdir()} if folder.is_dir() else {""}
    if names and not (is_exported(folder) and names <= {MODEL, TOKENIZER, DESCRIPTION, CONFIDENCE}):
        raise InputError(f"{folder} exists and is not an exported model; choose another folder")


def read_description(folder: Path) -> OnnxDescription:
    """Read onnx.json, and check its types and the files that it names."""
    path = folder / DESCRIPTION
    check_plain_folder(folder)
    if not path.is_file():
        raise InputError(f"there is no exported model in {folder}: {DESCRIPTION} is missing")
    content = read_json(path)
    if not isinstance(content, dict) or "format_version" not in content:
        raise InputError(f"{path} is not the description of an exported model")
    if content["format_version"] not in (FORMAT_VERSION, PROMPT_VERSION):
        raise InputError(f"{path} has format version {content['format_version']}; this rstc reads {PROMPT_VERSION}")
    content.setdefault("prompt", "")
    shares, files, column = (content.get(name) for name in ("class_distribution", "files", "text_column"))
    names = content.get("names")
    valid = (
        all(_is_count(content.get(name)) for name in ("n_clusters", "dim", "max_tokens"))
        and isinstance(content.get("pad"), int)
        and isinstance(shares, list)
        and len(shares) == content["n_clusters"]
        and all(isinstance(share, (int, float)) for share in shares)
        and (column is None or to_text_column(column) is not None)
        and (names is None or are_names(names, content["n_clusters"]))
        and isinstance(content["prompt"], str)
        and len(content["prompt"]) <= MAX_PROMPT_CHARS
    )
    if not valid or not isinstance(files, dict):
        raise InputError(f"{path} is not the description of an exported model")
    for name in (MODEL, TOKENIZER, *([CONFIDENCE] if CONFIDENCE in files else [])):
        if not (folder / name).is_file() or sha256(folder / name) != files.get(name):
            raise InputError(f"{folder / name} is missing or was changed since it was exported")
    entries: dict[str, Any] = {field.name: content.get(field.name) for field in fields(OnnxDescription)}
    return OnnxDescription(**entries)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value <= MAX_COUNT
