"""The generated tables are up to date, the README's example runs, and the tests that the docs name exist."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import pytest

from fork_server import ForkedProcess

ROOT = Path(__file__).parent.parent


def test_generated_tables_match_the_committed_results() -> None:
    result = ForkedProcess("--check", script=ROOT / "benchmarks" / "tables.py", cwd=ROOT).wait()
    assert result.returncode == 0, result.stderr


@pytest.mark.usefixtures("few_head_steps")
def test_python_example_runs(
    texts_and_topics: Any, quick: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import rstc

    example = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    assert example is not None
    monkeypatch.chdir(tmp_path)
    for name, value in quick.items():  # the tiny encoder, a few steps
        monkeypatch.setitem(rstc.RSTC.__init__.__kwdefaults__, name, value)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rstc.CollapseWarning)  # the example has more clusters than topics
        exec(example[1], {"texts": texts_and_topics[0]})
    assert (tmp_path / "model" / "model.json").is_file()


def test_every_test_file_that_the_guarantees_name_exists() -> None:
    page = (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8")
    named = re.findall(r"`(tests/[\w/.]+)`", page)
    assert len(named) > 15
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_the_readme_has_at_most_1200_words() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").split()) <= 1200
