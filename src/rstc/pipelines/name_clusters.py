"""Names for clusters that somebody else gives: a function, or a command such as a language model."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rstc.errors import InputError
from rstc.runtime.progress import Listener
from rstc.results.edits import LONGEST_NAME
from rstc.results.corrected_run import Entry, RunNow
from rstc.report.html.render import write_page

NAMING_SECONDS = 300

Namer = Callable[[Entry], str]


def rename_clusters(folder: Path, namer: Namer, listener: Listener | None = None, again: bool = False) -> RunNow:
    """Ask for a name for each cluster, and keep the names as corrections, all of them or none.

    A cluster that somebody named already keeps its name, unless they are to be named `again`.

    Args:
        folder: a run's folder.
        namer: gets a cluster as a summary has it (keywords, typical texts and so on) and returns its name.
        listener: is told how far it is.
    """
    run = RunNow.read(folder)
    named = {edit["cluster"] for edit in run.log.edits if edit["do"] == "rename"}
    entries = [one for one in run.entries() if again or one["cluster"] not in named]
    for done, one in enumerate(entries, start=1):
        said = namer(one)
        name = " ".join(said.split()).strip("\"'`*")[:LONGEST_NAME].strip() if isinstance(said, str) else ""
        if not name:
            raise InputError(f"there came no name for cluster {one['cluster']}, but {said!r}")
        if name != one["name"]:
            run.correct({"do": "rename", "cluster": one["cluster"], "name": name})
        if listener:
            listener("name", done, len(entries))
    run.save(folder)
    write_page(folder, run)
    return run


def command_namer(command: str) -> Namer:
    """Return a namer that runs a command for each cluster: a question on its standard input, a name on its output."""
    try:
        words = shlex.split(command)
    except ValueError as problem:
        raise InputError(f"the command {command!r} cannot be read: {problem}") from None
    if not words:
        raise InputError("the command is empty")

    def name(one: Entry) -> str:
        try:
            asked = question(one).encode()
            ran = subprocess.run(words, input=asked, capture_output=True, timeout=NAMING_SECONDS, check=False)
        except (OSError, subprocess.TimeoutExpired) as problem:
            raise InputError(f"the command {words[0]} did not run: {problem}") from problem
        if ran.returncode:
            said = ran.stderr.decode(errors="replace").strip().splitlines()
            raise InputError(f"the command ended with code {ran.returncode}{': ' + said[-1] if said else ''}")
        lines = [line for line in ran.stdout.decode(errors="replace").splitlines() if line.strip()]
        return lines[0] if lines else ""

    return name


def question(one: dict[str, Any]) -> str:
    """Return a question for the name of a cluster, for a language model or for a person.

    >>> print(question({"keywords": ["refund", "money"], "typical": ["still no refund"]}))
    These texts form a group. Answer with a name for it, of at most five words, and nothing else.
    <BLANKLINE>
    Keywords: refund, money
    Texts:
    - still no refund
    <BLANKLINE>
    """
    texts = "".join(f"- {' '.join(text.split())}\n" for text in one["typical"])
    return (
        "These texts form a group. Answer with a name for it, of at most five words, and nothing else.\n\n"
        f"Keywords: {', '.join(one['keywords'])}\nTexts:\n{texts}"
    )
