"""Name the clusters of a run by a Python function, or by a command such as a language model."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rstc.errors import InputError
from rstc.report.html.render import write_page
from rstc.results.corrected_run import CorrectedRun
from rstc.results.naming import MAX_NAME_LENGTH
from rstc.runtime.progress import Listener

COMMAND_TIMEOUT = 300  # seconds

Namer = Callable[[dict[str, Any]], str]  # from a cluster as in summary.json to its name


def rename_clusters(folder: Path, namer: Namer, listener: Listener | None = None, again: bool = False) -> CorrectedRun:
    """Name each cluster of a run by a function, and store the names as corrections, all of them or none.

    Parameters
    ----------
    folder : Path
        A run folder.
    namer : callable
        Takes a cluster as it is in summary.json (keywords, typical texts and so on) and returns its name.
    listener : callable, optional
        Called with ("name", done, total).
    again : bool
        Whether to rename clusters that were renamed before as well.
    """
    run = CorrectedRun.read(folder)
    renamed = {edit["cluster"] for edit in run.log.edits if edit["do"] == "rename"}
    entries = [entry for entry in run.entries() if again or entry.cluster not in renamed]
    for done, entry in enumerate(entries, start=1):
        name = _clean_name(namer(entry.to_json()), entry.cluster)
        if name != entry.name:
            run.correct({"do": "rename", "cluster": entry.cluster, "name": name})
        if listener:
            listener("name", done, len(entries))
    run.save(folder)
    write_page(folder, run)
    return run


def command_namer(command: str) -> Namer:
    """Return a namer that runs a command for each cluster, with a prompt as input and the name as output."""
    try:
        words = shlex.split(command)
    except ValueError as problem:
        raise InputError(f"the command {command!r} cannot be parsed: {problem}") from None
    if not words:
        raise InputError("the command is empty")

    def name(entry: dict[str, Any]) -> str:
        prompt = naming_prompt(entry).encode()
        try:
            process = subprocess.run(words, input=prompt, capture_output=True, timeout=COMMAND_TIMEOUT, check=False)
        except (OSError, subprocess.TimeoutExpired) as problem:
            raise InputError(f"the command {words[0]} did not run: {problem}") from problem
        if process.returncode:
            errors = process.stderr.decode(errors="replace").strip().splitlines()
            raise InputError(
                f"the command {words[0]} ended with code {process.returncode}{': ' + errors[-1] if errors else ''}"
            )
        lines = [line for line in process.stdout.decode(errors="replace").splitlines() if line.strip()]
        return lines[0] if lines else ""

    return name


def naming_prompt(entry: dict[str, Any]) -> str:
    """Return a prompt that asks for the name of a cluster, for a language model or for a person.

    >>> print(naming_prompt({"keywords": ["refund", "money"], "typical": ["still no refund"]}))
    These texts form a group. Answer with a name for it, of at most five words, and nothing else.
    <BLANKLINE>
    Keywords: refund, money
    Texts:
    - still no refund
    <BLANKLINE>
    """
    texts = "".join(f"- {' '.join(text.split())}\n" for text in entry["typical"])
    return (
        "These texts form a group. Answer with a name for it, of at most five words, and nothing else.\n\n"
        f"Keywords: {', '.join(entry['keywords'])}\nTexts:\n{texts}"
    )


def _clean_name(answer: Any, cluster: int) -> str:
    """Return a namer's answer on one line, without quotes around it."""
    name = " ".join(answer.split()).strip("\"'`*")[:MAX_NAME_LENGTH].strip() if isinstance(answer, str) else ""
    if not name:
        raise InputError(f"cluster {cluster} got no name: the answer was {answer!r}")
    return name
