"""What the benchmark scripts share: the scores, the circumstances, and result files that grow row by row."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rstc.metrics import evaluate
from rstc.runtime.environment import machine, versions

RESULTS = Path(__file__).parent / "results"


def scores(truth: Any, clusters: Any) -> dict[str, Any]:
    """Return ACC, NMI and ARI in percent, and the number of clusters."""
    found = asdict(evaluate(list(truth), list(clusters)))
    return {name: round(100 * found[name], 2) for name in ("acc", "nmi", "ari")} | {"clusters": found["n_clusters"]}


def circumstances(*packages: str) -> dict[str, Any]:
    """Return the command, the versions and the machine that a result was made with."""
    from importlib.metadata import version

    script = Path(sys.argv[0]).name
    arguments = [
        "DIR" if before in ("--data", "--keep") else word for before, word in zip(sys.argv, sys.argv[1:], strict=False)
    ]
    return {
        "command": " ".join(["python", f"benchmarks/{script}", *arguments]),
        "versions": versions() | {name: version(name) for name in packages},
        "machine": machine(),
    }


class ResultFile:
    """A JSON file of rows, each written as soon as it is there; a row that is there is not measured again.

    What rows were made with stands beside them once. A row that was added later, on another machine or with other
    versions, says in `made_with` what was different; its command each row says.
    """

    def __init__(self, path: Path, made_with: dict[str, Any], key: tuple[str, ...]) -> None:
        self._path, self._key = path, key
        self._command = made_with.pop("command")
        self.content: dict[str, Any] = made_with | {"rows": []}
        self._different: dict[str, Any] = {}
        if path.exists():
            self.content = json.loads(path.read_text())
            self._different = _differences(self.content, made_with)

    def has(self, **row: Any) -> bool:
        """Tell whether a row with these key values is there."""
        return any(all(found[name] == row[name] for name in self._key) for found in self.content["rows"])

    def add(self, row: dict[str, Any]) -> None:
        """Write a row and show it."""
        different = {"made_with": self._different} if self._different else {}
        self.content["rows"].append(row | {"command": self._command} | different)
        self.write()
        print(json.dumps(row), flush=True)

    def write(self) -> None:
        """Write the file; a stop in the middle leaves the old one."""
        self._path.parent.mkdir(exist_ok=True)
        new = self._path.with_suffix(".new")
        new.write_text(json.dumps(self.content, indent=1) + "\n")
        new.replace(self._path)


def _differences(before: dict[str, Any], now: dict[str, Any]) -> dict[str, Any]:
    """Return what is different now, of versions only those that are."""
    found: dict[str, Any] = {}
    for name, value in now.items():
        other = before.get(name)
        if isinstance(value, dict) and isinstance(other, dict):
            value = {key: one for key, one in value.items() if other.get(key) != one}
            if value:
                found[name] = value
        elif value != other:
            found[name] = value
    return found
