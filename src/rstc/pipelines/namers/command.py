"""Ask a command, such as a local language model, which reads a prompt and prints a name."""

from __future__ import annotations

import shlex
import subprocess
from dataclasses import dataclass, field

from rstc.errors import InputError

COMMAND_TIMEOUT = 300  # seconds


@dataclass(frozen=True)
class CommandNamer:
    """A command that is run without a shell for each question, with the prompt as its standard input.

    Parameters
    ----------
    command : str
        The command and its arguments, as in a shell.
    """

    command: str
    needs_json: bool = field(default=False, init=False)
    _words: list[str] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        try:
            words = shlex.split(self.command)
        except ValueError as problem:
            raise InputError(f"the command {self.command!r} cannot be parsed: {problem}") from None
        if not words:
            raise InputError("the command is empty")
        object.__setattr__(self, "_words", words)

    @property
    def receiver(self) -> str:
        """Who gets the texts, in words."""
        return f"the command {self._words[0]}"

    def ask(self, prompt: str) -> str:
        """Return what the command prints for a prompt."""
        words = self._words
        try:
            process = subprocess.run(
                words, input=prompt.encode(), capture_output=True, timeout=COMMAND_TIMEOUT, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as problem:
            raise InputError(f"the command {words[0]} did not run: {problem}") from problem
        if process.returncode:
            errors = process.stderr.decode(errors="replace").strip().splitlines()
            raise InputError(
                f"the command {words[0]} ended with code {process.returncode}{': ' + errors[-1] if errors else ''}"
            )
        return process.stdout.decode(errors="replace")
