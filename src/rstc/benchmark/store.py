"""The store of runs: a JSON file a run, which is there complete or not at all."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from rstc.errors import InputError
from rstc.io.atomic import replaced_file


@dataclass(frozen=True)
class Job:
    """A run that is asked for: a method on a set from a seed, with some of the method's settings changed."""

    dataset: str
    method: str
    seed: int
    changes: Mapping[str, Any] = field(default_factory=dict)

    @property
    def row(self) -> str:
        """What runs that differ in set and seed alone have in common: the method and what is changed in it.

        >>> Job("tweet", "rstc-paper", 0, {"eps2": 0.1}).row
        'rstc-paper+eps2=0.1'
        """
        changed = (f"{name}={quote(str(value), safe='')}" for name, value in sorted(self.changes.items()))
        return "+".join([self.method, *changed])

    @property
    def path(self) -> Path:
        """Its place in a store."""
        return Path(self.dataset) / self.row / f"{self.seed}.json"


class Store:
    """A folder of runs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def has(self, job: Job) -> bool:
        """Tell whether a run is there."""
        return (self.folder / job.path).is_file()

    def add(self, job: Job, result: Mapping[str, Any]) -> None:
        """Write a run down."""
        path = self.folder / job.path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            raise InputError(f"{path.parent} cannot be made: {problem.strerror or problem}") from problem
        with replaced_file(path) as temporary:
            temporary.write_text(_a_line_a_key(result), encoding="utf-8")

    def get(self, job: Job) -> dict[str, Any] | None:
        """Return a run, None if it is not there."""
        return _read(self.folder / job.path) if self.has(job) else None

    def runs(self) -> list[dict[str, Any]]:
        """Return all runs, in the order of set, row and seed."""
        return [_read(path) for path in sorted(self.folder.glob("*/*/*.json"))]


def _a_line_a_key(result: Mapping[str, Any]) -> str:
    """Write a run as JSON with a line for each key: long curves and maps take a line each, and not thousands."""
    lines = (f" {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}" for key, value in result.items())
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _read(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as problem:
        raise InputError(f"{path} is no run of the benchmark ({problem}); delete it to have it run again") from problem
    if not isinstance(content, dict) or not {"dataset", "method", "seed", "changes", "settings"} <= set(content):
        raise InputError(f"{path} is no run of the benchmark; delete it to have it run again")
    return content
