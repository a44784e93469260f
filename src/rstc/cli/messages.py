"""What commands say on standard error, by the main process only, and the messages about a run as lines."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rstc.runtime.terminal_text import clean_line

if TYPE_CHECKING:
    from rstc.results.messages import Message

MAX_MESSAGES = 3  # after the result of a command; `rstc info` prints all of them


def is_one_of_several() -> bool:
    """Tell whether torchrun started this process beside others, without importing torch."""
    rank, size = os.environ.get("RANK", ""), os.environ.get("WORLD_SIZE", "")
    return "TORCHELASTIC_RUN_ID" in os.environ and rank.isdecimal() and size.isdecimal() and int(size) > 1


def is_main_process() -> bool:
    """Tell whether this process has rank 0, as torchrun numbers the processes that it starts, or is on its own."""
    return not is_one_of_several() or int(os.environ["RANK"]) == 0


def print_message(line: str) -> None:
    """Write one line to standard error."""
    if is_main_process():
        sys.stderr.write(clean_line(line) + "\n")


def format_messages(messages: Sequence[Message], limit: int | None = None) -> list[str]:
    """Return a line for each of the first messages about a run, and one that says where to find the others."""
    shown = messages[:limit]
    lines = []
    for message in shown:
        prefix = "Warning: " if message.level == "warning" else ""
        lines.append(f"{prefix}{message.text}{f'; {message.advice}' if message.advice else ''}.")
    more = len(messages) - len(shown)
    return [*lines, f"{more} more: rstc info DIR"] if more else lines
