"""The README says what is committed, and its Python example runs."""

from __future__ import annotations

import re
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent


def test_the_readmes_numbers_are_those_of_the_committed_results() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "benchmarks" / "tables.py", "--check"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_the_python_example_runs(
    texts_and_topics: Any, quick: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import rstc

    example = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    assert example is not None
    monkeypatch.chdir(tmp_path)
    for name, value in quick.items():  # the tiny encoder, a few steps
        monkeypatch.setitem(rstc.RSTC.__init__.__kwdefaults__, name, value)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rstc.CollapseWarning)  # the example asks for more clusters than there are
        exec(example[1], {"texts": texts_and_topics[0]})
    assert (tmp_path / "model" / "model.json").is_file()


def test_every_test_that_the_promises_name_is_there() -> None:
    said = (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8")
    there = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("*.py"))
    named = re.findall(r"::([a-zA-Z_]+)", said)
    assert len(named) > 15
    assert [name for name in named if not re.search(rf"\b{name}\w*\b", there)] == []
    for path in re.findall(r"`(tests/[\w/.]+)", said):
        assert (ROOT / path).exists(), path
