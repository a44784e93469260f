"""A cache of the frozen layers' hidden states (L, D) of texts, in half precision.

`HiddenStateCache` keeps them for one run, in memory and then in a temporary file. `HiddenStateStore` keeps them on disk
for later runs.
"""

from __future__ import annotations

import logging
import secrets
import tempfile
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

import numpy as np

from rstc.errors import CacheWarning, InputError
from rstc.io.atomic import replace_folder
from rstc.representation.encoder import Encoder, HiddenStates, TokenIds, fingerprint_weights

logger = logging.getLogger("rstc")


class HiddenStateCache:
    """The frozen layers' hidden states of texts, computed on first use, once for equal texts.

    Parameters
    ----------
    encoder : Encoder
        The encoder whose frozen layers are run; it must be split (`Encoder.is_split`).
    budget : int
        Bytes held in memory. Further hidden states are written to a temporary file; if the disk is full, they are
        computed at each use.
    folder : str, optional
        Where hidden states are stored for later runs; None: not at all.
    """

    def __init__(self, encoder: Encoder, budget: int, folder: str | None = None) -> None:
        self._encoder = encoder
        self._store = None if folder is None else HiddenStateStore(Path(folder), encoder)
        self._stored: dict[bytes, HiddenStates] = self._store.read() if self._store else {}
        self._entries: dict[bytes, HiddenStates | int] = {**self._stored}  # hidden states, or their offset in the file
        self._free_bytes = budget
        self._file: IO[bytes] | None = None
        self._disk_is_full = False
        self._hidden_dim = 0  # D of the hidden states in the file
        self.bytes_in_file = 0

    def get(self, tokens: Sequence[TokenIds], keep: bool = True) -> list[HiddenStates]:
        """Return the hidden states of tokenised texts.

        Parameters
        ----------
        tokens : sequence of arrays
            The token ids of the texts, (L,) each.
        keep : bool
            Whether computed hidden states are added to the cache.

        Returns
        -------
        list of arrays
            The hidden states, (L, D) each.
        """
        keys = [row.tobytes() for row in tokens]
        missing = {key: row for key, row in zip(keys, tokens, strict=True) if key not in self._entries}
        computed = dict(zip(missing, self._encoder.run_frozen_layers(list(missing.values())), strict=True))
        if keep:
            for key, states in computed.items():
                self._insert(key, states)
        return [computed[key] if key in computed else self._load(key) for key in keys]

    def save(self) -> None:
        """Add the hidden states computed in this run to the store, if there is one."""
        if self._store:
            self._store.add({key: self._load(key) for key in self._entries if key not in self._stored})

    def _insert(self, key: bytes, states: HiddenStates) -> None:
        """Add the hidden states of a text, in memory or in the file."""
        if states.nbytes <= self._free_bytes:
            self._free_bytes -= states.nbytes
            self._entries[key] = states
            return
        self._free_bytes = 0  # all further hidden states are appended to the file
        if self._disk_is_full:
            return
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile(prefix="rstc-", buffering=0)  # noqa: SIM115, open as long as the cache
            self._file.seek(self.bytes_in_file)
            if self._file.write(np.ascontiguousarray(states).data) < states.nbytes:
                raise OSError("the disk is full")
        except OSError as error:
            self._disk_is_full = True
            warnings.warn(CacheWarning(tempfile.gettempdir(), self.bytes_in_file, str(error)), stacklevel=2)
            return
        self._hidden_dim = states.shape[1]
        self._entries[key] = self.bytes_in_file
        self.bytes_in_file += states.nbytes

    def _load(self, key: bytes) -> HiddenStates:
        """Return the cached hidden states of a text."""
        entry = self._entries[key]
        if not isinstance(entry, int):
            return entry
        assert self._file is not None
        length = len(key) // np.dtype(np.int32).itemsize
        states: HiddenStates = np.empty((length, self._hidden_dim), dtype=np.float16)
        self._file.seek(entry)
        self._file.readinto(states.data.cast("B"))  # type: ignore[attr-defined]
        return states


class HiddenStateStore:
    """Hidden states by token ids, in a folder that many runs may share.

    Each run adds its hidden states as a new part, which is written atomically and never changed. So concurrent runs
    need no lock; at worst, they store the same hidden states twice. Nothing is ever removed; delete the folder when it
    is no longer needed.

    Parameters
    ----------
    folder : Path
        The shared folder. Encoders that differ in their frozen weights or in precision have separate subfolders.
    encoder : Encoder
        The encoder whose frozen layers compute the hidden states.
    """

    def __init__(self, folder: Path, encoder: Encoder) -> None:
        frozen = ((name, weights) for name, weights in encoder.named_weights() if not weights.requires_grad)
        self._folder = folder / f"{fingerprint_weights(frozen)}-{str(encoder.precision).rpartition('.')[2]}"

    def read(self) -> dict[bytes, HiddenStates]:
        """Return the stored hidden states by the bytes of the token ids, as views of memory-mapped files."""
        entries: dict[bytes, HiddenStates] = {}
        for part in sorted(self._folder.glob("[!.]*/states.npy")):  # hidden folders are still being written
            try:
                ids, lengths, states = (
                    np.load(part.with_name(f"{name}.npy"), mmap_mode="r") for name in ("ids", "lengths", "states")
                )
                ends = np.cumsum(lengths)
                if ids.dtype != np.int32 or states.dtype != np.float16 or not ends[-1] == len(ids) == len(states):
                    raise ValueError("its files have inconsistent shapes")
            except (OSError, EOFError, ValueError, IndexError) as error:
                logger.warning("ignored the stored hidden states in %s: %s", part.parent, error)
                continue
            ids, states = np.asarray(ids), np.asarray(states)
            for start, end in zip((ends - lengths).tolist(), ends.tolist(), strict=True):
                entries[ids[start:end].tobytes()] = states[start:end]
        return entries

    def add(self, entries: Mapping[bytes, HiddenStates]) -> None:
        """Store hidden states by the bytes of the token ids."""
        if not entries:
            return
        try:
            with replace_folder(self._folder / secrets.token_hex(8), durable=False) as part:
                np.save(part / "ids.npy", np.concatenate([np.frombuffer(key, dtype=np.int32) for key in entries]))
                np.save(part / "lengths.npy", np.array([len(states) for states in entries.values()]))
                np.save(part / "states.npy", np.concatenate(list(entries.values())))
        except InputError as error:  # the run does not depend on the store
            logger.warning("no hidden states were stored for later runs: %s", error)
