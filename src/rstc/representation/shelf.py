"""What the frozen layers gave, kept for later runs: pieces in a folder, each written once and never changed."""

from __future__ import annotations

import hashlib
import logging
import secrets
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
from torch import Tensor

from rstc.errors import InputError
from rstc.io.atomic import replaced_folder
from rstc.representation.encoder import Encoder, States

logger = logging.getLogger("rstc")


class StateShelf:
    """The states of texts under an encoder's frozen layers, by token ids, in a folder that many runs may share.

    A run that computed something new adds a piece of its own, which appears complete or not at all. So runs side by
    side need no lock: at worst two of them compute and keep the same. Nothing is ever removed; delete the folder when
    it is no longer wanted.
    """

    def __init__(self, folder: Path, encoder: Encoder) -> None:
        frozen = ((name, weights) for name, weights in encoder.named_parameters() if not weights.requires_grad)
        self._folder = folder / f"{fingerprint(frozen)}-{str(encoder.precision).rpartition('.')[2]}"

    def read(self) -> dict[bytes, States]:
        """Return what is kept, by the bytes of the token ids, as views of files that are read when looked at."""
        kept: dict[bytes, States] = {}
        for piece in sorted(self._folder.glob("[!.]*/states.npy")):  # hidden ones are being written
            try:
                ids, lengths, states = (
                    np.load(piece.with_name(f"{name}.npy"), mmap_mode="r") for name in ("ids", "lengths", "states")
                )
                ends = np.cumsum(lengths)
                if ids.dtype != np.int32 or states.dtype != np.float16 or not ends[-1] == len(ids) == len(states):
                    raise ValueError("its parts do not fit together")
            except (OSError, EOFError, ValueError, IndexError) as problem:
                logger.warning("%s is left aside: %s", piece.parent, problem)
                continue
            ids, states = np.asarray(ids), np.asarray(states)
            for start, end in zip((ends - lengths).tolist(), ends.tolist(), strict=True):
                kept[ids[start:end].tobytes()] = states[start:end]
        return kept

    def add(self, found: Mapping[bytes, States]) -> None:
        """Keep more states, by the bytes of the token ids."""
        if not found:
            return
        try:
            with replaced_folder(self._folder / secrets.token_hex(8)) as piece:
                np.save(piece / "ids.npy", np.concatenate([np.frombuffer(key, dtype=np.int32) for key in found]))
                np.save(piece / "lengths.npy", np.array([len(states) for states in found.values()]))
                np.save(piece / "states.npy", np.concatenate(list(found.values())))
        except InputError as problem:  # the run itself lost nothing
            logger.warning("nothing is kept for later runs: %s", problem)


def fingerprint(weights: Iterable[tuple[str, Tensor]]) -> str:
    """Return what tells named weights from any others."""
    digest = hashlib.sha256()
    for name, values in weights:
        digest.update(name.encode())
        digest.update(values.detach().cpu().numpy().data)
    return digest.hexdigest()[:32]
