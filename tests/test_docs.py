"""The Python blocks of the documentation and the examples run; the pages name what exists."""

from __future__ import annotations

import re
import runpy
import shutil
import sys
import warnings
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import rstc

ROOT = Path(__file__).parent.parent
PAGES = sorted(path for path in (ROOT / "docs").glob("*.md") if "```python" in path.read_text(encoding="utf-8"))
SLOW = {"few_labels.py", "own_views.py"}
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


@pytest.fixture
def tiny_defaults(
    quick: dict[str, Any], few_head_steps: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """Make the tiny encoder and a few steps the defaults of RSTC, and change to a folder of the test's own."""
    for name, value in quick.items():
        monkeypatch.setitem(rstc.RSTC.__init__.__kwdefaults__, name, value)
    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the examples have more clusters than topics
        yield


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
@pytest.mark.usefixtures("tiny_defaults")
def test_python_blocks_of_a_page_run(
    page: Path, texts_and_topics: tuple[list[str], list[str]], finished_run: Path
) -> None:
    shutil.copytree(finished_run, "run")
    texts = texts_and_topics[0]
    names: dict[str, Any] = {"RSTC": rstc.RSTC, "texts": texts, "my_paraphrases": lambda texts: texts}
    dates = pd.date_range("2025-01-06", periods=len(texts)).astype(str)
    table = pd.DataFrame({"text": texts, "posted_at": dates, "airline": ["Delta", "United"] * (len(texts) // 2)})
    table = table.assign(date=table["posted_at"], channel=table["airline"])
    names |= {"first_versions": texts, "second_versions": texts[::-1], "table": table}
    for block in re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
        exec(compile(block, page.name, "exec"), names)


@pytest.mark.parametrize(
    "example",
    [pytest.param(path, marks=pytest.mark.slow) if path.name in SLOW else path for path in EXAMPLES],
    ids=lambda path: path.name,
)
@pytest.mark.usefixtures("tiny_defaults")
def test_example_runs(
    example: Path, tiny_encoder: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    if example.name == "inside_bertopic.py":
        pytest.importorskip("bertopic")
    arguments = {"own_encoder.py": [tiny_encoder], "a_million_texts.py": ["2500"]}.get(example.name, [])
    monkeypatch.setattr(sys, "argv", [str(example), *arguments])
    runpy.run_path(str(example), run_name="__main__")
    assert capsys.readouterr().out.strip()
    assert len(example.read_text(encoding="utf-8").splitlines()) < 60


def test_functions_that_the_method_page_names_exist() -> None:
    table = (ROOT / "docs" / "method.md").read_text(encoding="utf-8").split("\n## ")[0]
    names = re.findall(r"`((?:[a-z_]+\.)+\w+)`", table)
    assert len(names) > 10
    for name in names:
        parts = name.split(".")
        if parts[-1] == "py":
            continue
        value: Any = rstc
        for depth, part in enumerate(parts, start=1):
            if not hasattr(value, part):
                value = import_module(".".join(["rstc", *parts[:depth]]))
            else:
                value = getattr(value, part)


def test_every_page_is_in_the_table_of_contents() -> None:
    contents = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert [page.name for page in (ROOT / "docs").glob("*.md") if page.name not in contents] == []
