"""What the frozen layers gave, kept: the states (L, D) of texts in half precision, in memory or in a file."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from typing import IO

import numpy as np
from numpy.typing import NDArray

from rstc.errors import InputError
from rstc.representation.encoder import Encoder, States, TokenIds


class StateCache:
    """The frozen layers' output, computed when first asked for, equal texts once.

    Args:
        encoder: whose frozen layers they are.
        budget: bytes to hold in memory; what comes after goes to a temporary file.
    """

    def __init__(self, encoder: Encoder, budget: int) -> None:
        self._encoder = encoder
        self._kept: dict[bytes, States | int] = {}  # the states, or their place in the file
        self._free = budget
        self._file: IO[bytes] | None = None
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

    def _keep(self, key: bytes, states: States) -> None:
        if states.nbytes <= self._free:
            self._free -= states.nbytes
            self._kept[key] = states
            return
        self._free = 0  # from here on everything goes to the file, in the order it comes
        if self._file is None:
            self._file = tempfile.TemporaryFile(prefix="rstc-", buffering=0)  # noqa: SIM115, it lasts as long as we do
        try:
            self._file.seek(self.bytes_in_file)
            if self._file.write(np.ascontiguousarray(states).data) < states.nbytes:
                raise OSError("the disk is full")
        except OSError as problem:
            raise InputError(
                f"there is no room for what the frozen layers gave in {tempfile.gettempdir()} after "
                f"{self.bytes_in_file / 1e9:.1f} GB ({problem}); set TMPDIR to a larger disk, or a lower max_texts"
            ) from problem
        self._kept[key] = self.bytes_in_file
        self.bytes_in_file += states.nbytes

    def _recall(self, key: bytes) -> States:
        kept = self._kept[key]
        if not isinstance(kept, int):
            return kept
        assert self._file is not None
        length, dim = len(key) // np.dtype(np.int32).itemsize, self._encoder.state_dim
        buffer: NDArray[np.float16] = np.empty((length, dim), dtype=np.float16)
        self._file.seek(kept)
        self._file.readinto(buffer.data.cast("B"))  # type: ignore[attr-defined]
        return buffer
