"""Readers of tables, one per file format: ``read(path, options, chunk_rows)`` yields tables.

`rstc.io.formats.iter_tables` chooses one; those of Parquet files and of workbooks are in parquet.py and excel.py. Files
are not trusted: one that is damaged, or that would unpack to more than the memory of a machine, raises an InputError.
"""

from __future__ import annotations

import csv
import itertools
import json
import math
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from rstc.errors import FileWarning, InputError, first_line
from rstc.io.columns import TEXT_COLUMN, replace_surrogates
from rstc.io.headers import SAMPLE_ROWS, check_header, name_columns
from rstc.io.text_files import DEFAULT_ENCODING, open_text_source, source_name, strip_line_end

MAX_COLUMNS = 10_000
MAX_CHUNK_BYTES = 2**31  # that a chunk may unpack to

_CARRIAGE_RETURN = "\udc0d"  # stands for one inside a cell, which the csv module takes only in quotes; no text has it

csv.field_size_limit(2**31 - 1)  # a cell may hold a long text; the module's default is 131,072 characters


@dataclass(frozen=True)
class ReadOptions:
    """How a file is read, besides its format.

    Attributes
    ----------
    encoding : str
        Encoding of a text file.
    is_gzip : bool
        Whether a text file is compressed by gzip.
    sheet : str or None
        The sheet of a workbook, by its name or its number from 1; None for the first one.
    header : bool or None
        Whether the first row of a CSV file or a sheet holds the names of the columns. None: it does, but it is refused
        if it looks like data.
    """

    encoding: str = DEFAULT_ENCODING
    is_gzip: bool = False
    sheet: str | None = None
    header: bool | None = True


def read_csv(path: str, options: ReadOptions, chunk_rows: int) -> Iterator[pd.DataFrame]:
    """Yield the rows of a CSV file; commas, semicolons or tabs separate the cells, which stay strings."""
    with open_text_source(path, options.encoding, options.is_gzip) as file:
        header = file.readline()
        # Spreadsheets write semicolons where the comma is the decimal sign.
        separator = max(",;\t", key=header.count)
        lines = itertools.chain([header], file)
        yield from _read_separated(path, lines, separator, options.header, chunk_rows)


def read_tsv(path: str, options: ReadOptions, chunk_rows: int) -> Iterator[pd.DataFrame]:
    """Yield the rows of a file with tabs between the cells, which stay strings."""
    with open_text_source(path, options.encoding, options.is_gzip) as file:
        yield from _read_separated(path, file, "\t", options.header, chunk_rows)


def _read_separated(
    path: str, lines: Iterable[str], separator: str, header: bool | None, chunk_rows: int
) -> Iterator[pd.DataFrame]:
    """Yield the rows of lines of separated values; short rows are filled up with empty cells."""
    reader = csv.reader(map(_mark_carriage_returns, lines), delimiter=separator, strict=True)
    records = _iter_csv_rows(path, reader)
    columns = next(records, None)
    if not columns:
        raise InputError(f"{source_name(path)} is empty")
    if header is False:
        records = itertools.chain([columns], records)
        columns = name_columns(len(columns))
    check_column_names(path, columns, hint_header=header is None)
    rows: list[list[str]] = []
    n_chunks = 0

    def make_chunk() -> pd.DataFrame:
        if header is None and n_chunks == 0:
            check_header(source_name(path), columns, rows[:SAMPLE_ROWS])
        return pd.DataFrame(rows, columns=columns, dtype=object)

    for cells in records:
        if len(cells) > len(columns):
            line = f"line {reader.line_num} of {source_name(path)}"
            raise InputError(f"{line} has {len(cells)} cells, but there are {len(columns)} columns")
        if cells or len(columns) == 1:  # in a single column an empty line is a row without a text
            rows.append(cells + [""] * (len(columns) - len(cells)))
        if len(rows) == chunk_rows:
            yield make_chunk()
            rows, n_chunks = [], n_chunks + 1
    if rows or not n_chunks:
        yield make_chunk()


def _mark_carriage_returns(line: str) -> str:
    """Return a line with another character for the carriage returns that do not end it."""
    if "\r" not in line:
        return line
    content = strip_line_end(line)
    return content.replace("\r", _CARRIAGE_RETURN) + line[len(content) :]


def _iter_csv_rows(path: str, reader: Any) -> Iterator[list[str]]:
    """Yield the rows of a csv.reader; an error names the line."""
    try:
        for cells in reader:
            if any(_CARRIAGE_RETURN in cell for cell in cells):
                yield [cell.replace(_CARRIAGE_RETURN, "\r") for cell in cells]
            else:
                yield cells
    except csv.Error as problem:
        line = f"line {reader.line_num} of {source_name(path)}"
        raise InputError(f"{line} cannot be read as csv, check its quotes: {problem}") from problem


def read_json_lines(path: str, options: ReadOptions, chunk_rows: int) -> Iterator[pd.DataFrame]:
    """Yield the objects of a file with one JSON object per line; values keep their types."""
    with open_text_source(path, options.encoding, options.is_gzip) as file:
        records: list[dict[str, Any]] = []
        not_finite = _NotFinite()
        decoder = json.JSONDecoder(
            object_pairs_hook=_make_object, parse_float=not_finite.parse_float, parse_constant=not_finite.record
        )
        for number, line in enumerate(file, start=1):
            if line.strip():
                not_finite.line = number
                records.append(_parse_record(path, decoder, line, number))
            if len(records) == chunk_rows:
                yield _make_table(path, records)
                records = []
        not_finite.warn(path)
        if records:
            yield _make_table(path, records)


def _make_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object; of a key that occurs twice, one value would be lost."""
    made = dict(pairs)
    if len(made) < len(pairs):
        key = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
        raise ValueError(f"an object has the key {key!r} more than once")
    return made


class _NotFinite:
    """Reads numbers that JSON does not have as missing values, and remembers where the first one was."""

    def __init__(self) -> None:
        self.line: int | None = None
        self._first: tuple[int | None, str] | None = None
        self._count = 0

    def record(self, name: str) -> None:
        """Record a number that is not finite, which is read as None."""
        self._first, self._count = self._first or (self.line, name), self._count + 1

    def parse_float(self, text: str) -> float | None:
        """Return a number; one that is too large would become infinite."""
        number = float(text)
        if math.isfinite(number):
            return number
        self.record(text[:20])
        return None

    def warn(self, path: str) -> None:
        """Warn if there was such a number."""
        if self._first is None:
            return
        line, name = self._first
        where = f"line {line} of {source_name(path)}" if line else source_name(path)
        more = f", as are {self._count - 1:,} more such values" if self._count > 1 else ""
        warnings.warn(
            FileWarning(f"{where} holds {name}, which is not a number of JSON and is read as missing{more}"),
            stacklevel=2,
        )


def read_json(path: str, options: ReadOptions, chunk_rows: int) -> Iterator[pd.DataFrame]:
    """Yield the items of a JSON array, objects or texts; the file is held in memory as a whole."""
    with open_text_source(path, options.encoding, options.is_gzip) as file:
        content = file.read(MAX_CHUNK_BYTES + 1)
    if len(content) > MAX_CHUNK_BYTES:
        raise InputError(f"{source_name(path)} is too long for a JSON array; write JSON lines (.jsonl) instead")
    not_finite = _NotFinite()
    try:
        items = json.loads(
            content,
            object_pairs_hook=_make_object,
            parse_float=not_finite.parse_float,
            parse_constant=not_finite.record,
        )
    except (ValueError, RecursionError) as problem:
        raise InputError(f"{source_name(path)} is not JSON: {first_line(problem)}{_hint_lines(content)}") from problem
    not_finite.warn(path)
    if not isinstance(items, list):
        raise InputError(f"{source_name(path)} holds {_describe_json(items)}, not an array of objects or of texts")
    if re.search(r"\\u[dD]", content):
        items = _clean_json(items)
    del content
    for start in range(0, len(items), chunk_rows):
        chunk = items[start : start + chunk_rows]
        records = [_make_record(path, number, item) for number, item in enumerate(chunk, start=start + 1)]
        yield _make_table(path, records)


def _make_record(path: str, number: int, item: Any) -> dict[str, Any]:
    """Return an item of a JSON array as a record; a text becomes its only column."""
    if isinstance(item, dict):
        return item
    if isinstance(item, str) or item is None:
        return {TEXT_COLUMN: item}
    raise InputError(f"item {number} of {source_name(path)} is {_describe_json(item)}, not an object or a text")


def _describe_json(value: Any) -> str:
    """Describe a JSON value for an error message.

    >>> _describe_json({"data": [1], "total": 1}), _describe_json([]), _describe_json(3)
    ("an object with an array in 'data'", 'an array', 'the value 3')
    """
    if isinstance(value, list):
        return "an array"
    if not isinstance(value, dict):
        return f"the value {json.dumps(value)[:40]}"
    arrays = [repr(key) for key, item in value.items() if isinstance(item, list)][:3]
    if arrays:
        return f"an object with an array in {' and in '.join(arrays)}"
    return "an object" + (f" with the keys {', '.join(map(repr, list(value)[:5]))}" if value else "")


def _hint_lines(content: str) -> str:
    """Return a hint if a text that is not JSON begins with an object in a line of its own."""
    try:
        json.loads(content.lstrip().partition("\n")[0])
    except (ValueError, RecursionError):
        return ""
    return "; with an object in each line it is JSON lines: name it .jsonl, or give --format jsonl"


def _make_table(path: str, records: list[dict[str, Any]]) -> pd.DataFrame:
    """Return records as a table."""
    check_column_names(path, list(dict.fromkeys(name for record in records for name in record)))
    return pd.DataFrame(records, dtype=object)


def _parse_record(path: str, decoder: json.JSONDecoder, line: str, number: int) -> dict[str, Any]:
    """Parse a line that holds a JSON object."""
    try:
        record = decoder.decode(line)
    except (ValueError, RecursionError) as problem:  # a number of thousands of digits is a ValueError, too
        raise InputError(f"line {number} of {source_name(path)} is not JSON: {first_line(problem)}") from problem
    if not isinstance(record, dict):
        raise InputError(f"line {number} of {source_name(path)} is not a JSON object")
    if "\\ud" in line.lower():  # half of an emoji, as in texts that were cut off, can be written in no format
        return {str(key): value for key, value in _clean_json(record).items()}
    return record


def _clean_json(value: Any) -> Any:
    """Return a JSON value with the lone surrogates of its strings replaced."""
    if isinstance(value, str):
        return replace_surrogates(value)
    if isinstance(value, list):
        return [_clean_json(item) for item in value]
    if isinstance(value, dict):
        return {_clean_json(key): _clean_json(item) for key, item in value.items()}
    return value


def read_plain_text(path: str, options: ReadOptions, chunk_rows: int) -> Iterator[pd.DataFrame]:
    """Yield the lines of a file, a text each."""
    with open_text_source(path, options.encoding, options.is_gzip) as file:
        lines: list[str] = []
        for line in file:
            lines.append(strip_line_end(line))
            if len(lines) == chunk_rows:
                yield pd.DataFrame({TEXT_COLUMN: lines}, dtype=object)
                lines = []
        if lines:
            yield pd.DataFrame({TEXT_COLUMN: lines}, dtype=object)


def check_column_names(path: str, names: Sequence[str], hint_header: bool = False) -> None:
    """Raise an error if there are too many columns, or two of the same name, as data in place of a header may have."""
    if len(names) > MAX_COLUMNS:
        raise InputError(f"{source_name(path)} has {len(names):,} columns; at most {MAX_COLUMNS:,} are read")
    duplicates = [name for name, count in Counter(names).items() if count > 1]
    if duplicates:
        advice = "; or give --no-header, if the first row holds no names" if hint_header else ""
        raise InputError(
            f"{source_name(path)} has more than one column called {duplicates[0]!r}; rename them first{advice}"
        )
