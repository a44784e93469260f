"""The exit codes of the command line and the codes of its errors, in one table."""

from __future__ import annotations

import errno
from dataclasses import dataclass
from typing import Any

import typer

from rstc.errors import InputError, find_system_error
from rstc.runtime.signals import StopRequested

# typer exports these classes of its command line parser, click or a copy of it, only as the bases of BadParameter.
UsageError: type[Exception] = typer.BadParameter.__mro__[1]
ParserError: Any = typer.BadParameter.__mro__[2]
OUT_OF_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE, errno.EFBIG, errno.ENOMEM)


@dataclass(frozen=True)
class Outcome:
    """How a command can end.

    Attributes
    ----------
    code : str
        The code of the error, as in JSON.
    exit_code : int
        The exit code of the process.
    meaning : str
        When this happens.
    """

    code: str
    exit_code: int
    meaning: str


SUCCESS = Outcome("success", 0, "The command did what was asked.")
INCOMPLETE = Outcome("incomplete", 1, "`rstc benchmark run` and `sweep`: some runs failed or had no time.")
INTERNAL_ERROR = Outcome("internal_error", 1, "A defect of rstc, or a failure of the machine, with a traceback.")
USAGE = Outcome("usage", 2, "A command or an option that does not exist, or lacks its value.")
INVALID_INPUT = Outcome("invalid_input", 2, "A file, a column, a setting or a folder that cannot be used.")
MISSING_EXTRA = Outcome(
    "missing_extra",
    2,
    "The command needs an extra of rstc, or torch where it was left out; the message says how to install it.",
)
RESOURCE_LIMIT = Outcome("resource_limit", 2, "The run needs more memory than is free or allowed.")
OUT_OF_RESOURCES = Outcome("out_of_resources", 2, "Memory, disk space or open files ran out meanwhile.")
INTERRUPTED = Outcome("interrupted", 130, "Interrupted by Ctrl-C (SIGINT).")
TERMINATED = Outcome("terminated", 143, "Stopped by SIGTERM.")

OUTCOMES = (
    SUCCESS,
    INCOMPLETE,
    INTERNAL_ERROR,
    USAGE,
    INVALID_INPUT,
    MISSING_EXTRA,
    RESOURCE_LIMIT,
    OUT_OF_RESOURCES,
    INTERRUPTED,
    TERMINATED,
)
_BY_CODE = {outcome.code: outcome for outcome in OUTCOMES}


class Interruption(typer.Exit):
    """Ends a command that was interrupted, after it said so.

    Parameters
    ----------
    stop : KeyboardInterrupt
        The interruption.
    message : str
        What it left, in a sentence.
    """

    def __init__(self, stop: KeyboardInterrupt, message: str) -> None:
        self.outcome, self.message = classify_error(stop), message
        super().__init__(self.outcome.exit_code)


def classify_error(error: BaseException) -> Outcome:
    """Return how a command ends that an exception stops.

    Examples
    --------
    >>> classify_error(InputError("there is no file")).exit_code
    2
    """
    if isinstance(error, Interruption):
        return error.outcome
    if isinstance(error, InputError):
        return _BY_CODE[error.code]
    if isinstance(error, UsageError):
        return USAGE
    if isinstance(error, StopRequested):
        code = 128 + error.signal_number
        return next((outcome for outcome in OUTCOMES if outcome.exit_code == code), INTERRUPTED)
    if isinstance(error, (KeyboardInterrupt, typer.Abort)):
        return INTERRUPTED
    problem = find_system_error(error)
    if problem is None:
        return INTERNAL_ERROR
    return OUT_OF_RESOURCES if isinstance(problem, MemoryError) or problem.errno in OUT_OF_SPACE else INVALID_INPUT
