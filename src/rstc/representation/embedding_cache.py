"""A cache of embeddings on disk: a later run on the same texts, with other settings, need not encode them again.

The embeddings are those of the encoder before training. They are found by a hash of a text's token ids, in a folder for
each encoder. The texts themselves are not stored.
"""

from __future__ import annotations

import hashlib
import logging
import os
import secrets
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rstc.errors import InputError
from rstc.io.atomic import replace_folder
from rstc.io.cache_folder import EMBEDDINGS, shrink_cache
from rstc.representation.encoder import Encoder, HiddenStates, TokenIds, fingerprint_weights

logger = logging.getLogger("rstc")

MAX_BYTES = 2 * 10**9  # of all parts; those that were not used for the longest time are removed
DIGEST_BYTES = 16
KEYS = "keys.npy"
FLOAT = np.dtype("<f4")
BLOCK_ROWS = 8192

Keys = NDArray[np.uint64]  # (n, 2), the two halves of a digest


@dataclass(frozen=True)
class CachePart:
    """The embeddings that one run has stored, as memory-mapped files.

    Attributes
    ----------
    folder : Path
        The folder of the part.
    keys : (n, 2) array
        Digests of the token ids, sorted by their first halves.
    E : (n, D) array
        The embeddings.
    """

    folder: Path
    keys: Keys
    E: NDArray[np.float32]

    @classmethod
    def open(cls, folder: Path, dim: int) -> CachePart:
        """Open a part; an error is raised if it is damaged."""
        keys = np.load(folder / KEYS, mmap_mode="r")
        E = np.memmap(folder / EMBEDDINGS, dtype=FLOAT, mode="r").reshape(-1, dim)
        if keys.dtype != np.uint64 or keys.shape != (len(E), 2):
            raise ValueError("its files do not fit together")
        return cls(folder, keys, E)

    def find(self, keys: Keys) -> NDArray[np.int64]:
        """Return the row of each key in this part, -1 where it is missing."""
        first = np.asarray(self.keys[:, 0])
        rows = np.searchsorted(first, keys[:, 0])
        rows[rows == len(first)] = 0
        return np.where((self.keys[rows] == keys).all(1), rows, -1)


class EmbeddingCache:
    """Embeddings of texts in a folder that many runs may share.

    Each run adds the embeddings that it computed as a new part, which is written atomically and never changed. So
    concurrent runs need no lock; at worst, they store the same embeddings twice.

    Parameters
    ----------
    folder : Path
        The shared folder.
    encoder : Encoder
        The encoder, before training. Encoders that differ in their weights, their modules, their precision or the layer
        at which they are split have separate subfolders.
    max_bytes : int
        Largest size of the shared folder. The parts that were not used for the longest time are removed.
    """

    def __init__(self, folder: Path, encoder: Encoder, max_bytes: int = MAX_BYTES) -> None:
        self._root, self._encoder, self._max_bytes = folder, encoder, max_bytes
        self._folder = folder / _fingerprint(encoder)

    def embed(
        self,
        tokens: Sequence[TokenIds],
        progress: Callable[[int, int], None] | None = None,
        get_states: Callable[[Sequence[TokenIds]], Sequence[HiddenStates]] | None = None,
        out: Tensor | None = None,
    ) -> Tensor:
        """Return the embeddings (N, D) of tokenised texts; those that are missing are computed and stored.

        Parameters
        ----------
        tokens, progress, get_states, out
            As in `Encoder.embed`; texts that are missing are encoded.
        """
        keys, is_missing = _digest(tokens), np.ones(len(tokens), dtype=bool)
        E = torch.empty(len(tokens), self._encoder.dim) if out is None else out
        for part in self._open_parts():
            rows = part.find(keys)
            found = np.flatnonzero((rows >= 0) & is_missing)
            if len(found):
                for block in np.array_split(found, len(found) // BLOCK_ROWS + 1):
                    E[torch.from_numpy(block)] = torch.from_numpy(part.E[rows[block]])
                is_missing[found] = False
                os.utime(part.folder)
        missing = np.flatnonzero(is_missing)
        logger.info("%d of %d embeddings come from %s", len(tokens) - len(missing), len(tokens), self._folder)
        if len(missing) == len(tokens):  # without a copy
            self._encoder.embed(tokens, progress, get_states, E)
        elif len(missing):
            E[torch.from_numpy(missing)] = self._encoder.embed([tokens[i] for i in missing], progress, get_states)
        self._store(keys[missing], E, missing)
        return E

    def count_missing(self, tokens: Sequence[TokenIds]) -> int:
        """Return how many distinct tokenised texts have no stored embedding; nothing is read but their digests."""
        keys = np.unique(_digest(tokens), axis=0)
        is_missing = np.ones(len(keys), dtype=bool)
        for part in self._open_parts():
            is_missing &= part.find(keys) < 0
        return int(is_missing.sum())

    def _open_parts(self) -> Iterator[CachePart]:
        """Open the parts of this encoder; damaged ones are ignored."""
        for folder in sorted(self._folder.glob("[!.]*")):  # hidden folders are still being written
            try:
                yield CachePart.open(folder, self._encoder.dim)
            except (OSError, EOFError, ValueError) as error:
                logger.warning("ignored the stored embeddings in %s: %s", folder, error)

    def _store(self, keys: Keys, E: Tensor, rows: NDArray[np.int64]) -> None:
        """Store rows of embeddings (N, D), equal texts once; failures are logged, because no result depends on it."""
        _, distinct = np.unique(keys[:, 0], return_index=True)  # in the order that `CachePart.find` needs
        size = len(distinct) * (E.shape[1] * 4 + DIGEST_BYTES)
        if not len(distinct) or size > self._max_bytes:
            return
        try:
            self._root.mkdir(mode=0o700, parents=True, exist_ok=True)  # embeddings tell something about the texts
            shrink_cache(self._root, self._max_bytes - size)
            with replace_folder(self._folder / secrets.token_hex(8), durable=False) as part:
                np.save(part / KEYS, keys[distinct])
                with (part / EMBEDDINGS).open("wb") as file:  # in blocks, because a copy would take much memory
                    for block in np.array_split(rows[distinct], len(distinct) // BLOCK_ROWS + 1):
                        file.write(E[torch.from_numpy(block)].numpy().astype(FLOAT, copy=False).tobytes())
        except (OSError, InputError) as error:
            logger.warning("no embeddings were stored for later runs: %s", error)


def _fingerprint(encoder: Encoder) -> str:
    """Return a hash of everything that the embedding of given token ids depends on, in hexadecimal."""
    split = encoder.n_trainable_layers if encoder.is_split else None  # hidden states are rounded at the split
    architecture = f"{encoder.model!r} {encoder.precision} {split}"
    digest = hashlib.sha256(architecture.encode())
    digest.update(fingerprint_weights(encoder.named_weights()).encode())
    return digest.hexdigest()[:32]


def _digest(tokens: Sequence[TokenIds]) -> Keys:
    """Return the digests (n, 2) of token ids."""
    digests = b"".join(hashlib.blake2b(row.tobytes(), digest_size=DIGEST_BYTES).digest() for row in tokens)
    return np.frombuffer(digests, dtype=np.uint64).reshape(-1, 2)
