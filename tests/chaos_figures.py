"""A plugin of pytest that counts how many faults of each kind were tried, and how many were withstood (`make chaos`).

The kind is the argument of the marker `chaos`. The figures go to the file of --chaos-out, from which a table of
docs/reliability.md is made. They replace those of the same kinds, so that the suite can be run in parts.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--chaos-out", type=Path, help="Write the numbers of faults to this file.")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Figures(config), "figures")


class Figures:
    """Counts the tests of each kind by their outcome."""

    def __init__(self, config: pytest.Config) -> None:
        self.path: Path | None = config.getoption("--chaos-out")
        self.counts: dict[str, Counter[str]] = {}

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Any:
        report = (yield).get_result()
        marker = item.get_closest_marker("chaos")
        if marker is None or (report.when != "call" and report.passed):
            return
        outcome = "skipped" if report.skipped else "held" if report.passed else "failed"
        self.counts.setdefault(marker.args[0], Counter())[outcome] += 1
        self.write()  # after every test: the suite is long, and a stop must not lose what was counted

    def write(self) -> None:
        """Write the numbers so far, if a file was asked for."""
        if self.path is None:
            return
        from rstc.runtime.environment import find_commit, package_versions

        earlier = json.loads(self.path.read_text(encoding="utf-8"))["rows"] if self.path.exists() else []
        rows = {row["kind"]: row for row in earlier}
        for kind, counts in self.counts.items():
            tried = counts["held"] + counts["failed"]
            row = {"kind": kind, "tried": tried, "held": counts["held"], "skipped": counts["skipped"]}
            rows[kind] = row | {"commit": find_commit(), "versions": package_versions()}
        content = {"rows": [rows[kind] for kind in sorted(rows)]}
        self.path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
