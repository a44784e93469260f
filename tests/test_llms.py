"""docs/llms.txt names pages and commands that exist."""

from __future__ import annotations

import re
from pathlib import Path

import typer.main

from rstc.cli.app import app

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "docs" / "llms.txt").read_text(encoding="utf-8")


def test_every_link_is_a_page_of_the_site() -> None:
    links = re.findall(r"\]\(([^)]+)\)", TEXT)
    assert len(links) >= 10
    for link in links:
        assert (ROOT / "docs" / f"{link.removesuffix('/')}.md").is_file(), link


def test_every_command_and_option_exists() -> None:
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    lines = re.findall(r"`rstc ([^`]+)`", TEXT)
    assert {"cluster", "predict", "serve"} <= {line.split()[0] for line in lines}
    for line in lines:
        name, *words = line.split()
        options = {option for parameter in commands[name].params for option in parameter.opts}
        assert {word for word in words if word.startswith("-")} <= options, line


def test_the_site_links_to_it() -> None:
    assert "(llms.txt)" in (ROOT / "docs" / "agents.md").read_text(encoding="utf-8")
