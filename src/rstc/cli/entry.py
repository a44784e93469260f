"""The entry of the command line: every failure that is no error of the program ends in one sentence and exit code 2.

The application is imported here and not before, because with too little memory or too few file descriptors the import
fails already.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress

from rstc.cli.messages import print_message
from rstc.errors import InputError, describe_system_error, find_missing_torch

EXIT_CODE = 2  # of what the user can mend


def main() -> None:
    """Run the command line; invalid input and limits of the machine end with one sentence and exit code 2."""
    try:
        from rstc.cli.app import run

        run()
    except InputError as error:
        _fail(str(error))
    except Exception as error:
        if isinstance(error, OSError) and error.filename is None:
            _flush_standard_output()  # says so, if that is what cannot be written
        missing = find_missing_torch(error)
        message = str(missing) if missing else describe_system_error(error)
        if message is None:
            raise
        _fail(message)
    finally:
        _flush_standard_output()


def _fail(message: str) -> None:
    with suppress(OSError):  # standard error may be full as well
        print_message(f"rstc: {message}")
    sys.exit(EXIT_CODE)


def _flush_standard_output() -> None:
    """Write what is left of standard output; a failure at exit would be a traceback."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except (OSError, ValueError) as problem:
        with suppress(OSError, ValueError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, sys.stdout.fileno())
            os.close(nowhere)
        if not isinstance(problem, BrokenPipeError) and not isinstance(sys.exc_info()[1], SystemExit):
            _fail(f"standard output cannot be written: {getattr(problem, 'strerror', None) or problem}")
