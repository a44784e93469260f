"""Excel workbooks: a sheet is read as a table, and a table is written as the only sheet of a workbook.

A workbook is a zip archive of XML files, and is not trusted: one that is damaged, or that would unpack to more than the
memory of a machine, raises an InputError. What is written as a text stays a text: Excel evaluates none as a formula.
"""

from __future__ import annotations

import datetime
import io
import json
import math
import os
import re
import sys
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import IO, Any

import numpy as np
import pandas as pd

from rstc.errors import InputError, first_line
from rstc.io.columns import replace_surrogates
from rstc.io.headers import SAMPLE_ROWS, check_header
from rstc.io.readers import ReadOptions, check_column_names
from rstc.io.remote import open_file
from rstc.io.text_files import STANDARD_INPUT, source_name
from rstc.io.writers import WriteTable, align_columns
from rstc.runtime.optional import import_optional

EXTRA = "excel"
MAX_ROWS = 1_048_576  # of a sheet, with the header
MAX_CELL_LENGTH = 32_767  # characters; a longer text is cut by Excel
MAX_EXACT_INTEGER = 10**15  # Excel computes with 15 digits and changes the others
MAX_SHEET_BYTES = 2**31  # that a sheet, which is read row by row, may unpack to
MAX_PART_BYTES = 2**29  # that another part, such as the texts of all sheets, may unpack to
MAX_UNPACKED_RATIO = 500
MIN_CHECKED_BYTES = 2**26  # of an unpacked part, from which on the ratio is checked
MIN_SHARED_CHARACTERS = 2**28  # of all cells of a sheet, from which on the ratio is checked

_ESCAPE = re.compile("_x([0-9A-Fa-f]{4})_")  # how a workbook writes characters that XML cannot hold
_CONTROL = "\x00-\x08\x0b-\x1f\ufffe\uffff"
_NOT_IN_XML = re.compile(f"[{_CONTROL}]")
_LIKE_ESCAPE = re.compile(f"_(?=x[0-9A-Fa-f]{{4}}[_{_CONTROL}])")


def check_excel_available() -> None:
    """Raise an InputError that says what to install, if workbooks can be neither read nor written."""
    import_optional("defusedxml", EXTRA)  # with it, openpyxl refuses XML whose entities expand to gigabytes
    import_optional("openpyxl", EXTRA)


def read_excel(path: str, options: ReadOptions, chunk_rows: int) -> Iterator[pd.DataFrame]:
    """Yield the rows of a sheet.

    The first row that is not blank holds the names of the columns. Dates, numbers and booleans keep their types, and a
    formula is the value that Excel computed last. Cells that are empty or hold an error are missing.
    """
    check_excel_available()
    name = source_name(path)
    try:
        with _open_archive(path) as file:
            _check_archive(file, name)
            yield from _iter_sheet(file, name, options, chunk_rows)
    except (InputError, OSError, MemoryError):
        raise
    except zipfile.BadZipFile as problem:
        reason = "it is damaged, has a password, or is of the old format .xls"
        raise InputError(f"{name} cannot be read as xlsx: {reason}") from problem
    except Exception as problem:  # damaged XML makes openpyxl raise almost anything
        reason = "it is cut off or damaged" if isinstance(problem, (zlib.error, EOFError)) else first_line(problem)
        raise InputError(f"{name} cannot be read as xlsx: {reason}") from problem


def _open_archive(path: str) -> IO[bytes]:
    """Open a workbook as a file that can be searched."""
    if path == STANDARD_INPUT:
        return io.BytesIO(sys.stdin.buffer.read())
    file: IO[bytes] = open_file(path, "rb")
    return file


def _check_archive(file: IO[bytes], name: str) -> None:
    """Raise an error if a part of a workbook would unpack to more than is read, or is encrypted."""
    with zipfile.ZipFile(file) as archive:
        for part in archive.infolist():  # a part is read up to the size that it declares
            limit = MAX_SHEET_BYTES if part.filename.startswith("xl/worksheets/") else MAX_PART_BYTES
            is_bomb = part.file_size > max(MIN_CHECKED_BYTES, MAX_UNPACKED_RATIO * part.compress_size)
            if part.file_size > limit or is_bomb:
                raise InputError(f"{name} unpacks to {part.file_size / 1e9:.1f} GB in {part.filename}")
            if part.flag_bits & 1:
                raise InputError(f"{name} is encrypted; save it without a password")
    file.seek(0)


def _iter_sheet(file: IO[bytes], name: str, options: ReadOptions, chunk_rows: int) -> Iterator[pd.DataFrame]:
    """Yield the rows of a sheet of an open workbook; blank rows at the end are left out."""
    import openpyxl

    workbook = openpyxl.load_workbook(file, read_only=True, data_only=True, keep_links=False)
    worksheet = _find_sheet(workbook, name, options.sheet)
    worksheet.reset_dimensions()  # they are what the file says of itself, which may be a million empty columns
    columns: list[str] = []
    rows: list[list[Any]] = []

    def make_chunk() -> pd.DataFrame:
        if options.header is None and not n_written:
            check_header(name, columns, rows[:SAMPLE_ROWS])
        return pd.DataFrame(rows, columns=columns, dtype=object)

    n_blank = n_written = n_characters = 0
    max_characters = max(MIN_SHARED_CHARACTERS, MAX_UNPACKED_RATIO * file.seek(0, os.SEEK_END))
    for number, cells in enumerate(worksheet.iter_rows(), start=1):
        if number > MAX_ROWS:
            raise InputError(f"{name} has more than {MAX_ROWS:,} rows in a sheet")
        values = [_read_value(cell) for cell in cells]
        while values and values[-1] is None:
            values.pop()
        if not values:
            n_blank += bool(columns)
            continue
        if not columns:
            columns = _name_columns([None] * len(values) if options.header is False else values)
            check_column_names(name, columns, hint_header=options.header is None)
            if options.header is not False:
                continue
        if len(values) > len(columns):
            cell = openpyxl.utils.get_column_letter(len(values)) + str(number)
            raise InputError(f"cell {cell} of {name} holds a value, but its column has no name in the header row")
        n_characters += sum(len(value) for value in values if isinstance(value, str))
        if n_characters > max_characters:  # a text is stored once, whatever number of cells it is in
            raise InputError(
                f"{name} unpacks to more than {MAX_UNPACKED_RATIO} times its size in sheet {worksheet.title!r}"
            )
        rows += [[None] * len(columns) for _ in range(n_blank)]
        n_blank = 0
        rows.append(values + [None] * (len(columns) - len(values)))
        if len(rows) >= chunk_rows:
            yield make_chunk()
            rows, n_written = [], n_written + len(rows)
    if not columns:
        raise InputError(f"sheet {worksheet.title!r} of {name} is empty")
    if rows or not n_written:
        yield make_chunk()


def _find_sheet(workbook: Any, name: str, requested: str | None) -> Any:
    """Return the sheet of that name or number; without one, the first that is not hidden."""
    sheets = workbook.worksheets
    if not sheets:
        raise InputError(f"{name} has no sheet of cells")
    if requested is None:
        return next((sheet for sheet in sheets if sheet.sheet_state == "visible"), sheets[0])
    for sheet in sheets:
        if sheet.title == requested:
            return sheet
    if requested.isdecimal() and 1 <= int(requested) <= len(sheets):
        return sheets[int(requested) - 1]
    titles = ", ".join(repr(sheet.title) for sheet in sheets)
    raise InputError(f"{name} has no sheet {requested!r}; its sheets are {titles}")


def _name_columns(header: list[Any]) -> list[str]:
    """Return the names of the columns; one without a name, as the index of a table has none, is named by its letter."""
    from openpyxl.utils import get_column_letter

    return [
        f"column {get_column_letter(number)}" if value is None else str(value)
        for number, value in enumerate(header, start=1)
    ]


def _read_value(cell: Any) -> Any:
    """Return the value of a cell, None if it is empty or holds an error."""
    value = cell.value
    if isinstance(value, str):
        return None if not value or cell.data_type == "e" else _ESCAPE.sub(_unescape, value)
    if isinstance(value, float) and value.is_integer() and abs(value) < MAX_EXACT_INTEGER:
        return int(value)
    if isinstance(value, datetime.datetime) and value.time() == datetime.time.min:
        from openpyxl.styles.numbers import is_datetime

        return value.date() if is_datetime(cell.number_format) == "date" else value
    return value


def _unescape(match: re.Match[str]) -> str:
    """Return the character of an escape; half of an emoji stays escaped."""
    code = int(match[1], 16)
    return match[0] if 0xD800 <= code < 0xE000 else chr(code)


@contextmanager
def open_excel_writer(path: Path) -> Iterator[WriteTable]:
    """Open a writer of a workbook with one sheet, which has the columns of the first table."""
    check_excel_available()
    import openpyxl
    from openpyxl.cell import WriteOnlyCell

    workbook = openpyxl.Workbook(write_only=True)
    sheet = workbook.create_sheet("Sheet1")
    sheet.freeze_panes = "A2"
    columns: list[str] = []
    n_rows = 0

    def make_cell(value: Any) -> Any:
        if not isinstance(value, str):
            return value
        # A text would be evaluated as a formula or an error if it looks like one.
        cell = WriteOnlyCell(sheet, value=value)
        cell.data_type = "s"
        return cell

    def append(values: list[Any]) -> None:
        nonlocal n_rows
        n_rows += 1
        if n_rows > MAX_ROWS:
            raise InputError(
                f"a sheet holds {MAX_ROWS:,} rows with its header, and there are more; write csv or parquet"
            )
        for column, value in zip(columns, values, strict=True):
            if isinstance(value, str) and len(value) > MAX_CELL_LENGTH:
                raise InputError(
                    f"a cell of a sheet holds {MAX_CELL_LENGTH:,} characters, and row {n_rows} has {len(value):,} in "
                    f"column {column!r}; write csv or parquet"
                )
        sheet.append([make_cell(value) for value in values])

    def write(table: pd.DataFrame) -> None:
        is_first, aligned = not columns, align_columns(table, columns)
        if is_first:
            append([_escape(str(name)) for name in columns])
        for row in aligned.astype(object).itertuples(index=False, name=None):
            append([_write_value(value) for value in row])

    try:
        yield write
    except BaseException:
        sheet.close()
        raise
    with path.open("wb") as file:
        workbook.save(file)
        file.flush()
        os.fsync(file.fileno())


def _write_value(value: Any) -> Any:
    """Return a value as Excel can hold it, texts escaped.

    >>> _write_value(3), _write_value(2**60), _write_value(float("nan")), _write_value(["a"])
    (3, '1152921504606846976', None, '["a"]')
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str):
        return _escape(value)
    if isinstance(value, (list, tuple, dict, np.ndarray)):
        plain = value.tolist() if isinstance(value, np.ndarray) else value
        return _escape(json.dumps(plain, ensure_ascii=False, default=str))
    if value is None or value is pd.NA or value is pd.NaT or value != value:
        return None
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if abs(value) < MAX_EXACT_INTEGER else str(value)
    if isinstance(value, (float, Decimal)):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, datetime.date):  # datetimes and timestamps of pandas, too
        has_zone = isinstance(value, datetime.datetime) and value.tzinfo is not None
        if has_zone or value.year < 1900:
            return str(value)
        return value.to_pydatetime(warn=False) if isinstance(value, pd.Timestamp) else value
    return value if isinstance(value, datetime.time) and value.tzinfo is None else _escape(str(value))


def _escape(text: str) -> str:
    """Return a text without characters that XML cannot hold, which Excel and `read_excel` restore.

    >>> _escape("late\\x07"), _escape("_x0007_")
    ('late_x0007_', '_x005F_x0007_')
    """
    escaped = _LIKE_ESCAPE.sub("_x005F_", replace_surrogates(text))
    return _NOT_IN_XML.sub(lambda match: f"_x{ord(match[0]):04X}_", escaped)
