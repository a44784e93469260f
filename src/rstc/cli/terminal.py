"""What reaches the terminal: consoles, log lines, usage errors and tracebacks without control characters of others.

Everything that commands print goes through this module or through `rstc.cli.messages.print_message`.
"""

from __future__ import annotations

import logging
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text
from typer.core import TyperGroup

from rstc.cli.exit_codes import ParserError
from rstc.errors import InputError
from rstc.runtime.terminal_text import replace_controls


class CleanConsole(Console):
    """A console that shows texts as they are: without control characters, markup and emoji codes."""

    def __init__(self, **options: Any) -> None:
        super().__init__(highlight=False, markup=False, emoji=False, **options)

    def print(self, *objects: Any, **options: Any) -> None:
        """Print as rich does; an error says that it is the output that cannot be written, and not a file."""
        try:
            super().print(*objects, **options)
        except BrokenPipeError:
            raise
        except OSError as problem:
            stream = "standard error" if self.stderr else "standard output"
            raise InputError(f"{stream} cannot be written: {problem.strerror or problem}") from problem

    def render_str(self, text: str, **options: Any) -> Text:
        """Return a string as it is measured and laid out."""
        return super().render_str(replace_controls(text), **options)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Yield the segments of what is printed; those that control the terminal are rich's own."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=replace_controls(segment.text))


class CleanFormatter(logging.Formatter):
    """Formats log records, exceptions included, without control characters."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the text of a record."""
        return replace_controls(super().format(record))


class CleanGroup(TyperGroup):
    """The commands; what they say about wrong arguments repeats these without control characters."""

    def make_context(self, *args: Any, **options: Any) -> Any:
        """Parse the options before the command."""
        with _clean_usage_errors():
            return super().make_context(*args, **options)

    def invoke(self, ctx: Any) -> Any:
        """Parse the arguments of a command and run it."""
        with _clean_usage_errors():
            return super().invoke(ctx)


@contextmanager
def _clean_usage_errors() -> Iterator[None]:
    try:
        yield
    except ParserError as error:
        message = replace_controls(error.format_message())
        get_message: Callable[[], str] = lambda: message  # noqa: E731
        error.format_message = get_message
        raise


def show_exception(category: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Print the traceback of an unexpected exception, as `sys.excepthook`."""
    sys.stderr.write(replace_controls("".join(traceback.format_exception(category, error, trace))))
