"""What is said in one line, and by whom: of several processes that share a run, only the first speaks."""

from __future__ import annotations

import os
import sys


def is_speaker() -> bool:
    """Whether this process is the one that speaks; torchrun numbers those that it starts."""
    return os.environ.get("RANK", "0") == "0"


def say(line: str) -> None:
    """Write a line on standard error."""
    if is_speaker():
        sys.stderr.write(line.replace("\n", " ") + "\n")
