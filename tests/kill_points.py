"""Run `rstc` and kill it right before one of its renames; the fork server runs this file as a script.

kill_points.py NUMBER COMMAND...    kill -9 before rename NUMBER, counted from 0
kill_points.py count FILE COMMAND...   kill nothing, and write the number of renames to a file
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rstc.cli import main

CACHE = os.environ.get("RSTC_CACHE_DIR", "/no/cache")  # what is in it does not count: tests share it


class Renames:
    """Counts the renames of this process, and kills it before one of them."""

    def __init__(self, deadly: int | None) -> None:
        self.number, self.deadly = 0, deadly

    def watch(self, rename: Callable[..., Any]) -> Callable[..., Any]:
        """Return a rename that is counted."""

        def counted(*arguments: Any, **options: Any) -> Any:
            if str(arguments[1]).startswith(CACHE):
                return rename(*arguments, **options)
            if self.number == self.deadly:
                os.kill(os.getpid(), signal.SIGKILL)
            self.number += 1
            return rename(*arguments, **options)

        return counted


def run() -> None:
    """Run the command of the arguments."""
    mode, *words = sys.argv[1:]
    file = words.pop(0) if mode == "count" else None
    renames = Renames(None if mode == "count" else int(mode))
    os.replace, os.rename = renames.watch(os.replace), renames.watch(os.rename)
    sys.argv = ["rstc", *words]
    try:
        main()
    finally:
        if file:
            Path(file).write_text(str(renames.number))


if __name__ == "__main__":
    run()
