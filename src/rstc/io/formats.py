"""The file formats of tables, and reading and writing a table in any of them.

A new format takes a reader (readers.py), a writer (writers.py) and one line of `FORMATS`.

Tables are pandas DataFrames that keep what a file holds: CSV cells stay strings, JSON values stay as they are, Parquet
columns keep their types. When a table is written again, two things have changed: semicolons between the cells of a
CSV are commas, and a lone surrogate, which is not a character, is a question mark.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pyarrow as pa

from rstc.errors import InputError, first_line
from rstc.io import readers, writers
from rstc.io.atomic import replace_file
from rstc.io.csv_injection import SPREADSHEET_FORMATS, escape_formulas
from rstc.io.readers import STANDARD_INPUT, source_name
from rstc.io.remote import is_file
from rstc.io.writers import WriteTable

CHUNK_ROWS = 10_000


@dataclass(frozen=True)
class Format:
    """A file format of tables.

    Attributes
    ----------
    suffixes : tuple of str
        Suffixes of its files; the first one is written.
    read : callable
        ``read(path, encoding, chunk_rows)`` yields tables of up to `chunk_rows` rows.
    open_writer : callable
        ``open_writer(path)`` is a context manager that yields a function which appends a table.
    """

    suffixes: tuple[str, ...]
    read: Callable[[str, str, int], Iterator[pd.DataFrame]]
    open_writer: Callable[[Path], AbstractContextManager[WriteTable]]


FORMATS = {
    "csv": Format((".csv",), readers.read_csv, writers.open_csv_writer),
    "tsv": Format((".tsv",), readers.read_tsv, writers.open_tsv_writer),
    "jsonl": Format((".jsonl", ".ndjson"), readers.read_json_lines, writers.open_json_lines_writer),
    "parquet": Format((".parquet", ".pq"), readers.read_parquet, writers.open_parquet_writer),
    "txt": Format((".txt",), readers.read_plain_text, writers.open_plain_text_writer),
}
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
    if Path(path).is_dir():
        raise InputError(f"{path} is a folder, not a file")
    suffix = Path(path).suffix.lower()
    if suffix not in _FORMAT_BY_SUFFIX:
        known = ", ".join(_FORMAT_BY_SUFFIX)
        raise InputError(f"cannot tell the format of {path} from its suffix; known suffixes are {known}")
    return _FORMAT_BY_SUFFIX[suffix]


def has_known_format(path: str) -> bool:
    """Return whether the suffix of a file is that of a known format."""
    return Path(path).suffix.lower() in _FORMAT_BY_SUFFIX


def read_table(path: str, format: str, encoding: str = "utf-8") -> pd.DataFrame:
    """Read a whole file into a table.

    Parameters
    ----------
    path : str
        A path, a URL or "-" for standard input.
    format : str
        A key of `FORMATS`.
    encoding : str, default="utf-8"
        Encoding of a text file.

    Raises
    ------
    InputError
        If the file cannot be read or holds no rows.
    """
    chunks = list(iter_tables(path, format, encoding))
    if not chunks or not sum(map(len, chunks)):
        raise InputError(f"{source_name(path)} holds no rows")
    return pd.concat(chunks, ignore_index=True) if len(chunks) > 1 else chunks[0]


def iter_tables(
    path: str, format: str, encoding: str = "utf-8", chunk_rows: int = CHUNK_ROWS
) -> Iterator[pd.DataFrame]:
    """Read a file in chunks.

    Parameters
    ----------
    path, format, encoding
        As in `read_table`.
    chunk_rows : int, default=10_000
        Maximum number of rows of a chunk.

    Yields
    ------
    pandas.DataFrame
        The rows in order; one empty table with its columns where a file has columns but no rows.
    """
    if path != STANDARD_INPUT and not is_file(path):
        raise InputError(f"there is no file {path}")
    try:
        yield from FORMATS[format].read(path, encoding, chunk_rows)
    except UnicodeDecodeError as problem:
        is_default = encoding.lower().replace("-", "") == "utf8"
        advice = (
            "give its encoding, for example --encoding cp1252"
            if is_default
            else "it has another encoding, or is not a text file"
        )
        byte = problem.object[problem.start]
        raise InputError(f"{source_name(path)} is not {encoding} text (byte 0x{byte:02X}); {advice}") from problem
    except UnicodeError as problem:
        raise InputError(f"{source_name(path)} is not {encoding} text: {first_line(problem)}") from problem
    except (csv.Error, pa.ArrowException) as problem:
        raise InputError(f"{source_name(path)} cannot be read as {format}: {first_line(problem)}") from problem
    except OSError as problem:
        raise InputError(f"{source_name(path)} cannot be read: {problem.strerror or problem}") from problem


@contextmanager
def open_table_writer(path: Path, format: str, guard_formulas: bool = False) -> Iterator[WriteTable]:
    """Open a file for writing; it replaces `path` when the block ends without an error.

    Parameters
    ----------
    path : Path
        Where the file is to be.
    format : str
        A key of `FORMATS`.
    guard_formulas : bool, default=False
        Whether to put an apostrophe before each cell that a spreadsheet would evaluate as a formula, in formats that
        spreadsheets open. `rstc.io.csv_injection.unescape_formulas` removes it.

    Yields
    ------
    callable
        ``write(table)`` appends the rows of a table.
    """
    try:
        with replace_file(path) as temporary, FORMATS[format].open_writer(temporary) as write:
            if guard_formulas and format in SPREADSHEET_FORMATS:
                yield lambda table: write(escape_formulas(table))
            else:
                yield write
    except pa.ArrowException as problem:
        raise InputError(f"{path} cannot be written as {format}: {first_line(problem)}") from problem


def check_distinct_files(path: str, out: Path) -> None:
    """Raise an error if the output would replace the input."""
    if path != STANDARD_INPUT and Path(path).exists() and out.exists() and out.samefile(path):
        raise InputError(f"the input and the output are the same file: {out}")
