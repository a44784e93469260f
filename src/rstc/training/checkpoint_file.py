"""Where a run is, on disk: it can be taken up again from there, whatever happened to the process.

A snapshot is plain data: facts that JSON can hold, and arrays. A file of it begins with its checksum and appears
complete or not at all; the last two are kept, so that one that the disk has spoiled is not the end.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save

from rstc.errors import CheckpointWarning, InputError
from rstc.io.atomic import check_writable, replaced_file
from rstc.runtime.signals import Stopping

SUFFIX = ".checkpoint"
KEPT = 2
SECONDS_BETWEEN = 60  # between two renewals that are far apart, where a run is is also kept so often
_FACTS = "facts"
_CHECKSUM_BYTES = 32


@dataclass(frozen=True)
class Snapshot:
    """Where a run is.

    Attributes:
        facts: what JSON can hold.
        arrays: the rest, by name.
    """

    facts: dict[str, Any]
    arrays: dict[str, NDArray[Any]]

    @classmethod
    def of(cls, facts: dict[str, Any], arrays: dict[str, NDArray[Any]], **parts: Snapshot) -> Snapshot:
        """Return one that has others as named parts."""
        for name, part in parts.items():
            facts = facts | {name: part.facts}
            arrays = arrays | {f"{name}:{key}": one for key, one in part.arrays.items()}
        return cls(facts, arrays)

    def part(self, name: str) -> Snapshot:
        """Return a named part."""
        start = f"{name}:"
        found = {key.removeprefix(start): one for key, one in self.arrays.items() if key.startswith(start)}
        return Snapshot(self.facts[name], found)


@dataclass
class Checkpoints:
    """A folder of snapshots of one run.

    Attributes:
        folder: where they are.
        resume: whether a run goes on from what is there; otherwise it begins anew.
        replace: whether a run may begin where another one, of other texts or settings, was left; otherwise it is
            refused.
        stopping: whether somebody asked the run to stop.
        resumed_at: the step from which this run went on; None: it began anew.
    """

    folder: Path
    resume: bool = True
    replace: bool = False
    stopping: Stopping = field(default_factory=Stopping)
    resumed_at: int | None = None
    _run: dict[str, Any] = field(default_factory=dict)
    _saved: float = field(default_factory=time.monotonic)

    def open(self, run: Mapping[str, Any]) -> Snapshot | None:
        """Return the latest snapshot of this run, if there is one; what is left of others goes.

        Args:
            run: what makes the run what it is, as JSON can hold it: with the same, the result is the same.
        """
        self._run = json.loads(json.dumps(run))
        check_writable(self.folder / "any")
        check_ours(self.folder)
        snapshot, others = None, None
        for path in reversed(self._files()) if self.resume else ():
            try:
                read, found = _read(path)
            except (ValueError, OSError, SafetensorError) as problem:
                warnings.warn(CheckpointWarning(f"{path} is damaged and left aside ({problem})"), stacklevel=2)
                continue
            if found != self._run:
                others = _different(found, self._run)
                continue
            snapshot = read
            break
        if snapshot is None:
            if others and not self.replace:
                raise InputError(
                    f"{self.folder.parent} holds the beginning of another run ({others} differ); choose another "
                    "folder, or say --overwrite"
                )
            for path in [*self._files(), *self.folder.glob(f".*{SUFFIX}.*.tmp")]:
                path.unlink(missing_ok=True)
        else:
            self.resumed_at = int(snapshot.facts["step"])
        return snapshot

    @property
    def due(self) -> bool:
        """Whether it is time to save again."""
        return time.monotonic() - self._saved > SECONDS_BETWEEN

    def save(self, snapshot: Snapshot) -> None:
        """Write a snapshot, and remove all but the last two; where it cannot be written, the run goes on."""
        self._saved = time.monotonic()
        files = self._files()
        number = int(files[-1].name.removesuffix(SUFFIX)) + 1 if files else 1
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with replaced_file(self.folder / f"{number:06d}{SUFFIX}") as new:
                _write(new, snapshot, self._run)
            for old in files[: 1 - KEPT]:
                old.unlink()
        except (InputError, OSError) as problem:
            warnings.warn(
                CheckpointWarning(f"where the run is could not be saved; it goes on ({problem})"), stacklevel=2
            )

    def _files(self) -> list[Path]:
        return sorted(path for path in self.folder.glob(f"*{SUFFIX}") if path.name.removesuffix(SUFFIX).isdecimal())


def check_ours(folder: Path) -> None:
    """Refuse a folder that holds anything but checkpoints: what is left of other runs there is removed."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is not a folder")
    others = [path.name for path in folder.glob("*") if SUFFIX not in path.name]
    if others:
        raise InputError(f"{folder} holds more than checkpoints ({others[0]}); choose another folder for them")


def draws_state(rng: np.random.Generator) -> dict[str, Any]:
    """Return where a generator is, as JSON can hold it; its bit generator takes it back."""

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: plain(one) for key, one in value.items()}
        return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value

    state: dict[str, Any] = plain(rng.bit_generator.state)
    return state


def _write(path: Path, snapshot: Snapshot, run: Mapping[str, Any]) -> None:
    """Write a snapshot through to the disk: its checksum, and then itself."""
    facts = json.dumps({"run": run, "facts": snapshot.facts})
    content = save({name: np.asarray(one, order="C") for name, one in snapshot.arrays.items()}, {_FACTS: facts})
    with path.open("wb") as file:
        file.write(hashlib.sha256(content).digest())
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _read(path: Path) -> tuple[Snapshot, dict[str, Any]]:
    """Return the snapshot in a file, and the run that it is of."""
    content = path.read_bytes()
    checksum, content = content[:_CHECKSUM_BYTES], content[_CHECKSUM_BYTES:]
    if hashlib.sha256(content).digest() != checksum:
        raise ValueError("its checksum does not fit")
    header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
    told = json.loads(header["__metadata__"][_FACTS])
    return Snapshot(told["facts"], load(content)), told["run"]


def _different(one: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    """Name what differs between two runs.

    >>> _different({"texts": 1, "settings": {"a": 1, "b": 2}}, {"texts": 2, "settings": {"a": 1, "b": 3}})
    'texts, b'
    """
    names = []
    for name in other:
        before, now = one.get(name), other[name]
        if before == now:
            continue
        both = isinstance(before, dict) and isinstance(now, dict)
        names += [key for key in now if before.get(key) != now[key]] if both else [name]  # type: ignore[union-attr]
    return ", ".join(names)
