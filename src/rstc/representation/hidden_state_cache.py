"""What the frozen layers gave, kept: the states (L, D) of texts in half precision, in memory or in a file."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import IO

import numpy as np

from rstc.errors import CacheWarning
from rstc.representation.encoder import Encoder, States, TokenIds
from rstc.representation.shelf import StateShelf


class StateCache:
    """The frozen layers' output, computed when first asked for, equal texts once.

    Args:
        encoder: whose frozen layers they are.
        budget: bytes to hold in memory; what comes after goes to a temporary file, and what finds no room there is
            computed each time.
        folder: where states are kept for later runs; None: they are not.
    """

    def __init__(self, encoder: Encoder, budget: int, folder: str | None = None) -> None:
        self._encoder = encoder
        self._shelf = None if folder is None else StateShelf(Path(folder), encoder)
        self._from_shelf: dict[bytes, States] = self._shelf.read() if self._shelf else {}
        self._kept: dict[bytes, States | int] = {**self._from_shelf}  # the states, or their place in the file
        self._free = budget
        self._file: IO[bytes] | None = None
        self._disk_is_full = False
        self._width = 0  # D of the states in the file
        self.bytes_in_file = 0

    def states(self, tokens: Sequence[TokenIds], keep: bool = True) -> list[States]:
        """Return the states of tokenised texts; what is not there yet is computed and, if asked, kept."""
        keys = [row.tobytes() for row in tokens]
        missing = {key: row for key, row in zip(keys, tokens, strict=True) if key not in self._kept}
        new = dict(zip(missing, self._encoder.frozen_states(list(missing.values())), strict=True))
        if keep:
            for key, states in new.items():
                self._keep(key, states)
        return [new[key] if key in new else self._recall(key) for key in keys]

    def save(self) -> None:
        """Put what was computed in this run on the shelf, where there is one."""
        if self._shelf:
            self._shelf.add({key: self._recall(key) for key in self._kept if key not in self._from_shelf})

    def _keep(self, key: bytes, states: States) -> None:
        if states.nbytes <= self._free:
            self._free -= states.nbytes
            self._kept[key] = states
            return
        self._free = 0  # from here on everything goes to the file, in the order it comes
        if self._disk_is_full:
            return
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile(prefix="rstc-", buffering=0)  # noqa: SIM115, it lasts as we do
            self._file.seek(self.bytes_in_file)
            if self._file.write(np.ascontiguousarray(states).data) < states.nbytes:
                raise OSError("the disk is full")
        except OSError as problem:
            self._disk_is_full = True
            warnings.warn(CacheWarning(tempfile.gettempdir(), self.bytes_in_file, str(problem)), stacklevel=2)
            return
        self._width = states.shape[1]
        self._kept[key] = self.bytes_in_file
        self.bytes_in_file += states.nbytes

    def _recall(self, key: bytes) -> States:
        kept = self._kept[key]
        if not isinstance(kept, int):
            return kept
        assert self._file is not None
        length = len(key) // np.dtype(np.int32).itemsize
        states: States = np.empty((length, self._width), dtype=np.float16)
        self._file.seek(kept)
        self._file.readinto(states.data.cast("B"))  # type: ignore[attr-defined]
        return states
