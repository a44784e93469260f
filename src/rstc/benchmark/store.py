"""The store of benchmark runs: a folder with one JSON file per run, written atomically."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray

from rstc.errors import InputError
from rstc.io.atomic import replace_file

REQUIRED_KEYS = {"dataset", "method", "seed", "changes", "settings"}


@dataclass(frozen=True)
class Job:
    """A run to make: a method on a data set with a seed.

    Attributes
    ----------
    dataset, method : str
        Names of the data set and of the method.
    seed : int
        The seed.
    changes : mapping
        Settings of the method that differ from its own.
    """

    dataset: str
    method: str
    seed: int
    changes: Mapping[str, Any] = field(default_factory=dict)

    @property
    def variant(self) -> str:
        """The method with its changed settings, which names a row of the tables and a folder of the store.

        Examples
        --------
        >>> Job("tweet", "rstc-paper", 0, {"eps2": 0.1}).variant
        'rstc-paper+eps2=0.1'
        """
        changes = (f"{name}={quote(str(value), safe='')}" for name, value in sorted(self.changes.items()))
        return "+".join([self.method, *changes])

    @property
    def path(self) -> Path:
        """Path of its file, relative to the folder of the store."""
        return Path(self.dataset) / self.variant / f"{self.seed}.json"


class Store:
    """A folder of runs.

    Parameters
    ----------
    folder : Path
        The folder; it is created when a run is added.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def has(self, job: Job) -> bool:
        """Check whether a run is stored."""
        return (self.folder / job.path).is_file()

    def add(self, job: Job, result: Mapping[str, Any]) -> None:
        """Write the result of a run."""
        path = self.folder / job.path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            raise InputError(f"{path.parent} cannot be created: {problem.strerror or problem}") from problem
        with replace_file(path) as temporary:
            temporary.write_text(_dump_one_key_per_line(result), encoding="utf-8")

    def get(self, job: Job) -> dict[str, Any] | None:
        """Read the result of a run; None if it is not stored."""
        return _read_run(self.folder / job.path) if self.has(job) else None

    def runs(self) -> list[dict[str, Any]]:
        """Read all runs, sorted by data set, variant and seed."""
        return [_read_run(path) for path in sorted(self.folder.glob("*/*/*.json"))]


def pack_labels(labels: NDArray[np.int64]) -> str:
    """Compress the cluster of each text: unsigned 16-bit little-endian integers, zlib, base64.

    Examples
    --------
    >>> unpack_labels(pack_labels(np.array([0, 300, 2]))).tolist()
    [0, 300, 2]
    """
    return base64.b64encode(zlib.compress(labels.astype("<u2", casting="unsafe").tobytes(), 9)).decode()


def unpack_labels(packed: str) -> NDArray[np.int64]:
    """Return the clusters that `pack_labels` compressed."""
    return np.frombuffer(zlib.decompress(base64.b64decode(packed)), dtype="<u2").astype(np.int64)


def _dump_one_key_per_line(result: Mapping[str, Any]) -> str:
    """Write a result as JSON with one line per key, so that long curves and maps take one line each."""
    lines = (f" {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}" for key, value in result.items())
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _read_run(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as problem:
        raise InputError(f"{path} is not a run of the benchmark ({problem}); delete it to run it again") from problem
    if not isinstance(content, dict) or not set(content) >= REQUIRED_KEYS:
        raise InputError(f"{path} is not a run of the benchmark; delete it to run it again")
    return content
