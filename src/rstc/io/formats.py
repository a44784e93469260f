"""The file formats of tables, and reading and writing a table in any of them.

A new format takes a reader (readers.py), a writer (writers.py) and one line of `FORMATS`. Each text format has a second
one with gzip, such as csv.gz.

Tables are pandas DataFrames that keep what a file holds: CSV cells stay strings, JSON values stay as they are, Parquet
columns and the cells of a sheet keep their types. When a table is written again, two things have changed: semicolons
between the cells of a CSV are commas, and a lone surrogate, which is not a character, is a question mark.
"""

from __future__ import annotations

import csv
import gzip
import io
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import pandas as pd
import pyarrow as pa

from rstc.errors import InputError, ResourceLimitError, first_line
from rstc.io import excel, parquet, readers, writers
from rstc.io.atomic import check_writable, lock_output, replace_file
from rstc.io.csv_injection import SPREADSHEET_FORMATS, escape_formulas
from rstc.io.readers import ReadOptions
from rstc.io.remote import hide_secrets, is_file, is_url
from rstc.io.text_files import DEFAULT_ENCODING, STANDARD_INPUT, is_default_encoding, source_name
from rstc.io.writers import WriteTable
from rstc.runtime.memory import GB, free_memory
from rstc.runtime.terminal_text import CleanWriter

CHUNK_ROWS = 10_000
MIN_FREE_BYTES = 2**26  # that reading leaves
BYTES_PER_CELL = 8  # of a reference to its value
STANDARD_OUTPUT = "-"


@dataclass(frozen=True)
class Format:
    """A file format of tables.

    Attributes
    ----------
    suffixes : tuple of str
        Suffixes of its files; the first one is written.
    read : callable
        ``read(path, options, chunk_rows)`` yields tables of up to `chunk_rows` rows.
    open_writer : callable
        ``open_writer(path)`` is a context manager that yields a function which appends a table; the writer of a text
        format takes a stream as well.
    is_text : bool
        Whether it is a text format.
    is_gzip : bool
        Whether its files are compressed by gzip.
    """

    suffixes: tuple[str, ...]
    read: Callable[[str, ReadOptions, int], Iterator[pd.DataFrame]]
    open_writer: Callable[..., AbstractContextManager[WriteTable]]
    is_text: bool = True
    is_gzip: bool = False


_TEXT_FORMATS = {
    "csv": Format((".csv",), readers.read_csv, writers.open_csv_writer),
    "tsv": Format((".tsv",), readers.read_tsv, writers.open_tsv_writer),
    "jsonl": Format((".jsonl", ".ndjson"), readers.read_json_lines, writers.open_json_lines_writer),
    "json": Format((".json",), readers.read_json, writers.open_json_writer),
    "txt": Format((".txt",), readers.read_plain_text, writers.open_plain_text_writer),
}
FORMATS = {
    **_TEXT_FORMATS,
    "parquet": Format((".parquet", ".pq"), parquet.read_parquet, writers.open_parquet_writer, is_text=False),
    "xlsx": Format((".xlsx",), excel.read_excel, excel.open_excel_writer, is_text=False),
    **{
        f"{name}.gz": replace(
            format,
            suffixes=tuple(f"{suffix}.gz" for suffix in format.suffixes),
            open_writer=partial(format.open_writer, is_gzip=True),
            is_gzip=True,
        )
        for name, format in _TEXT_FORMATS.items()
    },
}
FORMATS_WITH_HEADER = ("csv", "tsv", "xlsx")  # whose first row can be data
SUFFIXES = {name: format.suffixes[0] for name, format in FORMATS.items()}
_FORMAT_BY_SUFFIX = {suffix: name for name, format in FORMATS.items() for suffix in format.suffixes}


def detect_format(path: str, requested: str | None = None) -> str:
    """Return the name of a file's format.

    Parameters
    ----------
    path : str
        A path, a URL or "-" for standard input, which is plain text by default.
    requested : str, optional
        The name of a format, which takes precedence over the suffix of the path.

    Returns
    -------
    str
        A key of `FORMATS`.

    Examples
    --------
    >>> detect_format("tickets.CSV"), detect_format("-"), detect_format("-", "jsonl")
    ('csv', 'txt', 'jsonl')
    """
    if requested is not None:
        if requested not in FORMATS:
            raise InputError(f"format {requested!r} is not one of {', '.join(FORMATS)}")
        return requested
    if path == STANDARD_INPUT:
        return "txt"
    if not path:
        raise InputError("the name of a file is empty")
    if Path(path).is_dir():
        raise InputError(f"{path} is a folder, not a file")
    suffix = _suffix(path)
    if suffix not in _FORMAT_BY_SUFFIX:
        known = ", ".join(suffix for suffix in _FORMAT_BY_SUFFIX if not suffix.endswith(".gz"))
        raise InputError(
            f"cannot tell the format of {source_name(path)} from its suffix; known suffixes are {known}, those of text "
            "also with .gz"
        )
    return _FORMAT_BY_SUFFIX[suffix]


def has_known_format(path: str) -> bool:
    """Return whether the suffix of a file is that of a known format."""
    return _suffix(path) in _FORMAT_BY_SUFFIX


def stream_format(format: str) -> str:
    """Return the format in which standard output is written for an input: the same as text, else csv.

    >>> stream_format("jsonl"), stream_format("csv.gz"), stream_format("xlsx")
    ('jsonl', 'csv', 'csv')
    """
    format = format.removesuffix(".gz")
    return format if FORMATS[format].is_text else "csv"


def _suffix(path: str) -> str:
    """Return the suffix of a path in lower case, with that before .gz."""
    suffixes = [suffix.lower() for suffix in Path(path).suffixes[-2:]]
    return "".join(suffixes) if suffixes[-1:] == [".gz"] else "".join(suffixes[-1:])


def read_table(
    path: str,
    format: str,
    encoding: str = DEFAULT_ENCODING,
    sheet: str | None = None,
    header: bool | None = True,
) -> pd.DataFrame:
    """Read a whole file into a table.

    Parameters
    ----------
    path : str
        A path, a URL or "-" for standard input.
    format : str
        A key of `FORMATS`.
    encoding : str, default="utf-8"
        Encoding of a text file.
    sheet : str, optional
        The sheet of a workbook, by its name or its number from 1; by default the first one.
    header : bool or None, default=True
        Whether the first row of a CSV file or a sheet holds the names of the columns. None: it does, but it is refused
        if it looks like data, with a warning where that is not sure.

    Raises
    ------
    InputError
        If the file cannot be read, does not fit into memory or holds no rows.
    """
    chunks: list[pd.DataFrame] = []
    columns: dict[str, None] = {}
    n_rows = 0
    for chunk in iter_tables(path, format, encoding, sheet=sheet, header=header):
        n_rows += len(chunk)
        columns.update(dict.fromkeys(chunk.columns))  # of JSON lines, each chunk may have others
        _check_fits_into_memory(path, n_rows, len(columns))
        chunks.append(chunk)
    if not n_rows:
        raise InputError(f"{source_name(path)} holds no rows")
    readers.check_column_names(path, list(columns))
    return pd.concat(chunks, ignore_index=True) if len(chunks) > 1 else chunks[0]


def _check_fits_into_memory(path: str, n_rows: int, n_columns: int) -> None:
    """Raise an error if little memory is left, or less than references to the cells take."""
    free = free_memory()
    if free is not None and free < max(MIN_FREE_BYTES, n_rows * n_columns * BYTES_PER_CELL):
        raise ResourceLimitError(
            f"{source_name(path)} does not fit into memory: {free / GB:.1f} GB are free after {n_rows:,} rows; cluster "
            "a part of them and label the rest with `rstc predict`, which streams"
        )


def iter_tables(
    path: str,
    format: str,
    encoding: str = DEFAULT_ENCODING,
    chunk_rows: int = CHUNK_ROWS,
    sheet: str | None = None,
    header: bool | None = True,
) -> Iterator[pd.DataFrame]:
    """Read a file in chunks.

    Parameters
    ----------
    path, format, encoding, sheet, header
        As in `read_table`.
    chunk_rows : int, default=10_000
        Maximum number of rows of a chunk.

    Yields
    ------
    pandas.DataFrame
        The rows in order; one empty table with its columns where a file has columns but no rows.
    """
    if path != STANDARD_INPUT and not is_file(path):
        if not is_url(path) and Path(path).exists():
            raise InputError(f"{path} is not a regular file; pipe it in and give - for standard input")
        raise InputError(f"there is no file {source_name(path)}")
    if sheet is not None and format != "xlsx":
        raise InputError(f"--sheet={sheet} is for Excel workbooks (xlsx), but {source_name(path)} is {format}")
    if header is False and format.removesuffix(".gz") not in FORMATS_WITH_HEADER:
        raise InputError(f"--no-header is for CSV, TSV and Excel files, but {source_name(path)} is {format}")
    options = ReadOptions(encoding, FORMATS[format].is_gzip, sheet, header)
    try:
        yield from FORMATS[format].read(path, options, chunk_rows)
    except UnicodeDecodeError as problem:
        raise InputError(f"{source_name(path)} {_explain_encoding(problem, encoding)}") from problem
    except UnicodeError as problem:
        raise InputError(f"{source_name(path)} is not {encoding} text: {first_line(problem)}") from problem
    except (gzip.BadGzipFile, zlib.error, EOFError) as problem:
        raise InputError(f"{source_name(path)} is not a gzip file, or is cut off or damaged") from problem
    except (csv.Error, pa.ArrowException) as problem:
        raise InputError(f"{source_name(path)} cannot be read as {format}: {first_line(problem)}") from problem
    except OSError as problem:
        raise InputError(f"{source_name(path)} cannot be read: {problem.strerror or problem}") from problem
    except (InputError, MemoryError):
        raise
    except Exception as problem:
        if not is_url(path):
            raise
        # each file system has errors of its own
        raise InputError(f"{source_name(path)} cannot be read: {hide_secrets(first_line(problem))}") from problem


def _explain_encoding(problem: UnicodeDecodeError, encoding: str) -> str:
    """Return why a file could not be decoded, and which encoding to give."""
    codec = problem.encoding.upper().removesuffix("-LE").removesuffix("-BE")
    if codec in ("UTF-16", "UTF-32"):  # by its byte order mark, whatever was given
        return f"is damaged {codec} text: {problem.reason}"
    advice = (
        "give its encoding, for example --encoding cp1252"
        if is_default_encoding(encoding)
        else "it has another encoding, or is not a text file"
    )
    return f"is not {encoding} text (byte 0x{problem.object[problem.start]:02X}); {advice}"


@contextmanager
def open_table_writer(path: Path, format: str, guard_formulas: bool = False) -> Iterator[WriteTable]:
    """Open a file for writing; it replaces `path` when the block ends without an error.

    Parameters
    ----------
    path : Path
        Where the file is to be; "-" for standard output.
    format : str
        A key of `FORMATS`; for standard output one that `stream_format` returns.
    guard_formulas : bool, default=False
        Whether to put an apostrophe before each cell that a spreadsheet would evaluate as a formula, in formats that
        spreadsheets open. `rstc.io.csv_injection.unescape_formulas` removes it.

    Yields
    ------
    callable
        ``write(table)`` appends the rows of a table.
    """
    try:
        if str(path) == STANDARD_OUTPUT:
            with _open_standard_output() as stream, FORMATS[format].open_writer(stream) as write:
                yield _guard(write, format, guard_formulas)
            return
        with lock_output(path), replace_file(path) as temporary, FORMATS[format].open_writer(temporary) as write:
            yield _guard(write, format, guard_formulas)
    except pa.ArrowException as problem:
        raise InputError(f"{path} cannot be written as {format}: {first_line(problem)}") from problem


def _guard(write: WriteTable, format: str, guard_formulas: bool) -> WriteTable:
    """Return a writer that escapes formulas, if it is to and if its format needs it."""
    if guard_formulas and format in SPREADSHEET_FORMATS:
        return lambda table: write(escape_formulas(table))
    return write


@contextmanager
def _open_standard_output() -> Iterator[io.TextIOWrapper]:
    """Yield standard output as UTF-8 text with line feeds, whatever the terminal uses."""
    wrapper = CleanWriter if sys.stdout.isatty() else io.TextIOWrapper
    stream = wrapper(sys.stdout.buffer, encoding="utf-8", newline="")
    try:
        yield stream
    except OSError as problem:
        if isinstance(problem, BrokenPipeError):
            raise
        raise InputError(f"standard output cannot be written: {problem.strerror or problem}") from problem
    finally:
        with suppress(OSError):
            stream.detach()


def check_output(path: Path, format: str) -> None:
    """Raise an error if a file cannot be written, before the work whose result would be lost.

    Parameters
    ----------
    path : Path
        The file; "-" for standard output.
    format : str
        A key of `FORMATS`.
    """
    if format == "xlsx":
        excel.check_excel_available()
    if str(path) == STANDARD_OUTPUT:
        return
    if path.is_dir():
        raise InputError(f"{path} is a folder; give the name of a file")
    if not path.absolute().parent.exists():
        raise InputError(f"{path} cannot be written: there is no folder {path.parent}")
    check_writable(path)


def check_distinct_files(path: str, out: Path) -> None:
    """Raise an error if the output would replace the input."""
    if path != STANDARD_INPUT and Path(path).exists() and out.exists() and out.samefile(path):
        raise InputError(f"the input and the output are the same file: {out}")
