"""`--json`: one JSON document on standard output; all that people read goes to standard error.

A command returns its document, or announces it before it goes on. What it prints besides is printed as without
`--json`, but on standard error.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from typing import Any, TextIO

from rstc.cli.documents.base import Document, ErrorDocument, ErrorItem, to_plain
from rstc.cli.exit_codes import Outcome
from rstc.cli.messages import is_main_process
from rstc.runtime.terminal_text import escape_in_json

SCHEMA_VERSION = 1
JSON_OPTION = "--json"


class JsonOutput:
    """Writes the document of a command, once.

    Parameters
    ----------
    stream : TextIO
        Where it goes.

    Attributes
    ----------
    command : str
        The command, such as "benchmark run"; empty as long as it is not known.
    warnings : list of str
        The warnings that were printed.
    is_written : bool
        Whether the document was written.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.command = ""
        self.warnings: list[str] = []
        self.is_written = False

    def write(self, document: Document) -> None:
        """Write a document; of several processes that share a run, the first one writes."""
        if self.is_written or not is_main_process():
            return
        self.is_written = True
        common = {"schema_version": SCHEMA_VERSION, "command": self.command, "warnings": self.warnings}
        text = json.dumps(common | to_plain(document), ensure_ascii=False, allow_nan=False, indent=2)
        # A lone surrogate, of a file name that is not UTF-8, becomes an escape sequence as well.
        content = (escape_in_json(text) + "\n").encode()
        buffer = getattr(self._stream, "buffer", None)
        if buffer is None:  # a stream of text, as tests have
            self._stream.write(content.decode())
        else:
            buffer.write(content)
        self._stream.flush()

    def write_error(self, outcome: Outcome, message: str) -> None:
        """Write why the command failed."""
        line = " ".join(message.split())
        self.write(
            ErrorDocument(error=ErrorItem(code=outcome.code, message=line, exit_code=outcome.exit_code)),
        )


_current: JsonOutput | None = None


@contextmanager
def capture_output() -> Iterator[JsonOutput]:
    """Send what is printed inside the block to standard error, but for the document."""
    global _current
    _current = JsonOutput(sys.stdout)
    try:
        with redirect_stdout(sys.stderr):
            yield _current
    finally:
        _current = None


def is_json_requested(arguments: Sequence[str]) -> bool:
    """Return whether the words after `rstc` hold the option `--json`.

    It is not left to the parser, because a command that cannot be parsed has a document as well.

    >>> is_json_requested(["cluster", "in.csv", "--json"]), is_json_requested(["cluster", "--", "--json"])
    (True, False)
    """
    options = arguments[: arguments.index("--")] if "--" in arguments else arguments
    return JSON_OPTION in options


def writes_json() -> bool:
    """Return whether the command that runs writes a JSON document."""
    return _current is not None


def announce(document: Document) -> None:
    """Write the document of a command that goes on afterwards; nothing without `--json`."""
    if _current is not None:
        _current.write(document)


def record_command(command: str) -> None:
    """Record which command runs."""
    if _current is not None:
        _current.command = command


def record_warning(warning: Any) -> None:
    """Record a warning, which the document repeats."""
    if _current is not None:
        _current.warnings.append(str(warning))
