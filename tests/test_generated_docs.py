"""What tools/generate_docs.py writes is up to date, and it covers every setting, command and option."""

from __future__ import annotations

import inspect
import re
import runpy
from pathlib import Path
from typing import Any

import pytest

from rstc import RSTC
from rstc.config import SETTINGS

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def generator() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "tools" / "generate_docs.py"))


def test_generated_files_are_up_to_date(generator: dict[str, Any]) -> None:
    for path, text in generator["generate"]().items():
        assert (ROOT / path).read_text(encoding="utf-8") == text, f"{path} is stale; run make docs-generated"


def test_the_settings_page_has_a_row_for_every_setting() -> None:
    page = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
    for entry in SETTINGS.values():
        assert f"| `{entry.name}` | {entry.allowed} | `{entry.default}` |" in page
        assert f"### {entry.group}\n" in page
        assert entry.meaning in page


def test_every_setting_is_a_keyword_parameter_of_rstc_with_default_none() -> None:
    parameters = inspect.signature(RSTC).parameters
    for name in SETTINGS:
        assert parameters[name].kind is inspect.Parameter.KEYWORD_ONLY
        assert parameters[name].default is None


def test_text_is_replaced_between_markers_only(generator: dict[str, Any]) -> None:
    replace_between = generator["replace_between"]
    assert replace_between("a\n<!-- s -->\nold\n<!-- e -->\nb\n", "<!-- s -->", "<!-- e -->", "new\n") == (
        "a\n<!-- s -->\nnew\n<!-- e -->\nb\n"
    )
    with pytest.raises(ValueError, match="occur 0 times"):
        replace_between("a\n", "<!-- s -->", "<!-- e -->", "new\n")


def test_the_commands_page_has_a_section_for_every_command(generator: dict[str, Any]) -> None:
    page = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    paths = [path for path, _ in generator["commands"]()]
    assert {"rstc", "rstc cluster", "rstc settings", "rstc benchmark run"} <= set(paths)
    assert [path for path in paths if f"\n## {path}\n" not in page] == []


def test_every_command_argument_and_option_has_a_help_text(generator: dict[str, Any]) -> None:
    commands = generator["commands"]()
    without_help = [path for path, command in commands if not command.help]
    without_help += [
        f"{path}: {parameter.name}"
        for path, command in commands
        for parameter in generator["parameters_of"](command)
        if not parameter.help
    ]
    assert without_help == []


def test_examples_of_a_help_text_become_one_block(generator: dict[str, Any]) -> None:
    text = "Write DIR/clusters.*.\n\nExamples:\n\n    rstc a *\n\n    rstc b\n"
    expected = "Write DIR/clusters.\\*.\n\nExamples:\n\n```sh\nrstc a *\nrstc b\n```"
    assert generator["markdown_help"](text) == expected


def test_help_of_rstc_describes_every_parameter_once() -> None:
    assert RSTC.__doc__ is not None
    parameters = RSTC.__doc__.split("\nParameters\n----------\n")[1].split("\n\nAttributes\n----------\n")[0]
    described = re.findall(r"^(\w+) : ", parameters, re.MULTILINE)
    assert sorted(described) == sorted(RSTC().get_params())
    for entry in SETTINGS.values():
        if entry.name not in ("encoder", "views"):  # which take objects and functions as well
            assert entry.documentation in parameters
