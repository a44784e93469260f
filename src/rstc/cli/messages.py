"""Messages on standard error; of several processes that share a run, only the main process prints them."""

from __future__ import annotations

import os
import sys


def is_main_process() -> bool:
    """Tell whether this process has rank 0, as torchrun numbers the processes that it starts."""
    return os.environ.get("RANK", "0") == "0"


def print_message(line: str) -> None:
    """Write one line to standard error."""
    if is_main_process():
        sys.stderr.write(line.replace("\n", " ") + "\n")
