"""The first row of a table: names of columns, or data of a file without a header.

A header that is taken for data, or data that is taken for a header, would lose or invent a row. Where the first row is
surely data the file is refused; where it may be, a warning says what it was taken for.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from statistics import median
from typing import Any

from rstc.errors import FileWarning, InputError
from rstc.io.columns import TEXT_COLUMN

SAMPLE_ROWS = 1000  # that the first row is compared with
SENTENCE_WORDS = 4
HOW_TO_SAY = "give --no-header if the file has no names of columns, or --header if these are the names"
_USUAL_NAMES = frozenset(
    (
        *("id", "index", "text", "texts", "title", "titles", "message", "messages", "body", "subject", "content"),
        *("date", "time", "timestamp", "created_at", "label", "labels", "topic", "topics", "category", "class"),
        *("cluster", "name", "comment", "comments", "question", "questions", "answer", "query", "queries", "review"),
        *("reviews", "description", "tweet", "tweets", "summary", "feedback", "note", "notes", "rating", "channel"),
        *("country", "language", "lang", "url"),
    )
)
_DATE = re.compile(r"\d{4}-\d{1,2}-\d{1,2}(?!\d)|\d{1,2}[./]\d{1,2}[./]\d{2,4}(?!\d)")
_YEARS = range(1900, 2101)


def name_columns(n_columns: int) -> list[str]:
    """Return names for the columns of a file without a header.

    >>> name_columns(1), name_columns(3)
    (['text'], ['column 1', 'column 2', 'column 3'])
    """
    return [TEXT_COLUMN] if n_columns == 1 else [f"column {number}" for number in range(1, n_columns + 1)]


def check_header(file: str, header: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Raise an error if the first row of a file is data, and warn if it may be.

    Parameters
    ----------
    file : str
        Name of the file.
    header : sequence of str
        The first row.
    rows : sequence of sequences
        The first rows after it.
    """
    names = [name.strip() for name in header]
    if not rows or not any(names) or any(name.casefold() in _USUAL_NAMES for name in names):
        return
    others = [row for row in rows if list(row) != list(header)] or rows  # a header comes again where files were joined
    columns = [
        [str(value).strip() for value in cells if value not in (None, "")] for cells in zip(*others, strict=True)
    ]
    example = max(names, key=len)[:60]
    numbers = [name for name in names if _is_number(name)]
    is_data = (
        (any(map(_continue_numbers, names, columns)) and not _is_series(numbers))
        or any(map(_continue_dates, names, columns))
        or any(name and _is_repeated(name, names, cells) for name, cells in zip(names, columns, strict=True))
        or all(_is_statement(name) for name in names if name)
    )
    if is_data:
        raise InputError(
            f"the first row of {file} looks like data, not like names of columns ({example!r}); {HOW_TO_SAY}"
        )
    if any(map(_is_statement, names)) or (len(names) == 1 and not numbers and _is_as_long(names[0], columns[0])):
        warnings.warn(
            FileWarning(f"the first row of {file} ({example!r}) was taken as names of columns; {HOW_TO_SAY}"),
            stacklevel=2,
        )


def _is_number(text: str) -> bool:
    return re.fullmatch(r"[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?", text) is not None


def _is_series(numbers: Sequence[str]) -> bool:
    """Return whether numbers are names: years, or 0, 1, 2, ... as libraries number columns."""
    if not all(number.isdecimal() for number in numbers):
        return False
    values = [int(number[:9]) for number in numbers]
    return all(value in _YEARS for value in values) or (
        values[0] in (0, 1) and values == list(range(values[0], values[0] + len(values)))
    )


def _continue_numbers(name: str, cells: Sequence[str]) -> bool:
    """Return whether a name and all cells below it are numbers."""
    return _is_number(name) and bool(cells) and all(map(_is_number, cells))


def _continue_dates(name: str, cells: Sequence[str]) -> bool:
    """Return whether a name and all cells below it begin with a date."""
    return _DATE.match(name) is not None and bool(cells) and all(map(_DATE.match, cells))


def _is_repeated(name: str, names: Sequence[str], cells: Sequence[str]) -> bool:
    """Return whether a word of the first row occurs in the same column again."""
    return any(map(str.isalpha, name)) and name in cells and (len(names) > 1 or " " in name)


def _is_statement(name: str) -> bool:
    """Return whether a name is a sentence; questions and prompts are names of columns in surveys."""
    return len(name.split()) >= SENTENCE_WORDS and not name.endswith(("?", ":"))


def _is_as_long(name: str, cells: Sequence[str]) -> bool:
    """Return whether the only name is about as long as the texts below it; a question needs questions below it."""
    if not cells or all(map(_is_number, cells)):
        return False
    if name.endswith("?") and 2 * sum(cell.endswith("?") for cell in cells) < len(cells):
        return False
    return 2 * len(name.split()) > median(len(cell.split()) for cell in cells)
