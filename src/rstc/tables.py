"""Tables in and out of files: CSV, TSV, JSON lines, Parquet and plain text, whole or as a stream of pieces.

A table is a pandas DataFrame that gives back what came in: CSV cells stay the strings they were, JSON values stay
as they were, Parquet columns keep their types. A file is written under a temporary name and renamed when complete.
"""

from __future__ import annotations

import csv
import io
import json
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import IO, Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from rstc.errors import InputError

SUFFIXES = {"csv": ".csv", "tsv": ".tsv", "jsonl": ".jsonl", "parquet": ".parquet", "txt": ".txt"}
_FORMATS = {suffix: format for format, suffix in SUFFIXES.items()} | {".ndjson": "jsonl", ".pq": "parquet"}
STANDARD_INPUT = "-"
PLAIN_TEXT_COLUMN = "text"


def format_of(path: str, given: str | None = None) -> str:
    """Return the format of a file: as given, or by its ending; standard input is plain text unless given.

    >>> format_of("tickets.CSV"), format_of("-"), format_of("-", "jsonl")
    ('csv', 'txt', 'jsonl')
    """
    if given is not None:
        if given not in SUFFIXES:
            raise InputError(f"format {given!r} is not one of {', '.join(SUFFIXES)}")
        return given
    if path == STANDARD_INPUT:
        return "txt"
    suffix = Path(path).suffix.lower()
    if suffix not in _FORMATS:
        raise InputError(f"cannot tell the format of {path} by its ending; known are {', '.join(_FORMATS)}")
    return _FORMATS[suffix]


def read_table(path: str, format: str, encoding: str = "utf-8") -> pd.DataFrame:
    """Read a whole file; one without rows is an error."""
    pieces = list(stream_tables(path, format, encoding))
    if not pieces or not sum(map(len, pieces)):
        raise InputError(f"{_name(path)} holds no rows")
    return pd.concat(pieces, ignore_index=True) if len(pieces) > 1 else pieces[0]


def stream_tables(path: str, format: str, encoding: str = "utf-8", rows: int = 10_000) -> Iterator[pd.DataFrame]:
    """Read a file in pieces of up to `rows` rows."""
    if path != STANDARD_INPUT and not Path(path).is_file():
        raise InputError(f"{path} is a folder, not a file" if Path(path).is_dir() else f"there is no file {path}")
    try:
        yield from _READERS[format](path, encoding, rows)
    except UnicodeDecodeError as problem:
        raise InputError(
            f"{_name(path)} is not {encoding} text (byte 0x{problem.object[problem.start]:02X}); "
            "give its encoding, for example --encoding cp1252"
        ) from problem
    except UnicodeError as problem:
        raise InputError(f"{_name(path)} is not {encoding} text: {_first_line(problem)}") from problem
    except (pd.errors.ParserError, pd.errors.ParserWarning, csv.Error, pa.ArrowException) as problem:
        raise InputError(f"{_name(path)} cannot be read as {format}: {_first_line(problem)}") from problem
    except OSError as problem:
        raise InputError(f"{_name(path)} cannot be read: {problem.strerror or problem}") from problem


@contextmanager
def table_writer(path: Path, format: str) -> Iterator[Callable[[pd.DataFrame], None]]:
    """Yield a function that appends a table to the file; the file appears, complete, only at the end."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with _WRITERS[format](temporary) as write:
            yield write
        os.replace(temporary, path)
    except OSError as problem:
        raise InputError(f"{path} cannot be written: {problem.strerror or problem}") from problem
    except pa.ArrowException as problem:
        raise InputError(f"{path} cannot be written as {format}: {_first_line(problem)}") from problem
    finally:
        temporary.unlink(missing_ok=True)


# -- readers: (path, encoding, rows) -> pieces -----------------------------------------------------------------


def _read_csv(path: str, encoding: str, rows: int) -> Iterator[pd.DataFrame]:
    with _open_text(path, encoding) as file:
        header = file.readline()
        # A semicolon is what spreadsheets put where the comma is the decimal sign.
        separator = max(",;\t", key=header.count)
        yield from _read_separated(path, _Reread(header, file), separator, rows)


def _read_tsv(path: str, encoding: str, rows: int) -> Iterator[pd.DataFrame]:
    with _open_text(path, encoding) as file:
        yield from _read_separated(path, file, "\t", rows)


def _read_separated(path: str, file: Any, separator: str, rows: int) -> Iterator[pd.DataFrame]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)  # a row with more cells than the header
            reader = pd.read_csv(
                file,
                sep=separator,
                dtype=str,
                keep_default_na=False,
                index_col=False,
                skip_blank_lines=False,  # where there is one column, an empty line is a row without a text
                chunksize=rows,
            )
            for piece in reader:
                yield piece.reset_index(drop=True)
    except pd.errors.EmptyDataError:
        raise InputError(f"{_name(path)} is empty") from None


def _read_json_lines(path: str, encoding: str, rows: int) -> Iterator[pd.DataFrame]:
    with _open_text(path, encoding) as file:
        records: list[dict[str, Any]] = []
        for number, line in enumerate(file, start=1):
            if line.strip():
                records.append(_parse_record(path, number, line))
            if len(records) == rows:
                yield pd.DataFrame(records, dtype=object)
                records = []
        if records:
            yield pd.DataFrame(records, dtype=object)


def _parse_record(path: str, number: int, line: str) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except (json.JSONDecodeError, RecursionError) as problem:
        raise InputError(f"line {number} of {_name(path)} is not JSON: {_first_line(problem)}") from problem
    if not isinstance(record, dict):
        raise InputError(f"line {number} of {_name(path)} is not a JSON object")
    return record


def _read_parquet(path: str, encoding: str, rows: int) -> Iterator[pd.DataFrame]:
    source: Any = io.BytesIO(sys.stdin.buffer.read()) if path == STANDARD_INPUT else path
    with pq.ParquetFile(source) as file:
        for batch in file.iter_batches(batch_size=rows):
            yield batch.to_pandas(types_mapper=pd.ArrowDtype)


def _read_plain(path: str, encoding: str, rows: int) -> Iterator[pd.DataFrame]:
    with _open_text(path, encoding, newline=None) as file:
        lines: list[str] = []
        for line in file:
            lines.append(line.removesuffix("\n"))
            if len(lines) == rows:
                yield pd.DataFrame({PLAIN_TEXT_COLUMN: lines}, dtype=object)
                lines = []
        if lines:
            yield pd.DataFrame({PLAIN_TEXT_COLUMN: lines}, dtype=object)


_READERS: dict[str, Callable[[str, str, int], Iterator[pd.DataFrame]]] = {
    "csv": _read_csv,
    "tsv": _read_tsv,
    "jsonl": _read_json_lines,
    "parquet": _read_parquet,
    "txt": _read_plain,
}


class _Reread:
    """A text stream whose first line was read already, put back in front."""

    def __init__(self, first_line: str, rest: IO[str]) -> None:
        self._start, self._rest = io.StringIO(first_line), rest

    def read(self, size: int = -1) -> str:
        return self._start.read(size) or self._rest.read(size)

    def __iter__(self) -> Iterator[str]:
        yield from self._start
        yield from self._rest


def _open_text(path: str, encoding: str, newline: str | None = "") -> IO[str]:
    """Open a file or standard input as text; a byte order mark is not part of it."""
    if encoding.lower().replace("_", "-") in ("utf-8", "utf8"):
        encoding = "utf-8-sig"
    try:
        if path == STANDARD_INPUT:
            return io.TextIOWrapper(sys.stdin.buffer, encoding=encoding, newline=newline)
        return open(path, encoding=encoding, newline=newline)
    except LookupError:
        raise InputError(f"there is no encoding {encoding!r}") from None


# -- writers: (path) -> a context with a function that appends a table ------------------------------------------

Append = Callable[[pd.DataFrame], None]


@contextmanager
def _text_file(path: Path) -> Iterator[IO[str]]:
    with path.open("w", encoding="utf-8", newline="") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())


def _write_separated(separator: str) -> Callable[[Path], AbstractContextManager[Append]]:
    @contextmanager
    def write_to(path: Path) -> Iterator[Append]:
        with _text_file(path) as file:

            def append(table: pd.DataFrame) -> None:
                table.to_csv(file, sep=separator, index=False, header=file.tell() == 0, lineterminator="\n")

            yield append

    return write_to


@contextmanager
def _write_json_lines(path: Path) -> Iterator[Append]:
    with _text_file(path) as file:

        def append(table: pd.DataFrame) -> None:
            for record in table.astype(object).to_dict("records"):
                # NaN marks a key that this record does not have; a missing cluster is written as null.
                kept = {
                    str(key): None if value is pd.NA else value
                    for key, value in record.items()
                    if not (isinstance(value, float) and value != value)
                }
                file.write(json.dumps(kept, ensure_ascii=False, default=str) + "\n")

        yield append


@contextmanager
def _write_parquet(path: Path) -> Iterator[Append]:
    writer: pq.ParquetWriter | None = None

    def append(table: pd.DataFrame) -> None:
        nonlocal writer
        data = pa.Table.from_pandas(table, preserve_index=False)
        if writer is None:
            writer = pq.ParquetWriter(path, data.schema)
        writer.write_table(data.cast(writer.schema))

    try:
        yield append
    finally:
        if writer is not None:
            writer.close()


@contextmanager
def _write_plain(path: Path) -> Iterator[Append]:
    with _text_file(path) as file:

        def append(table: pd.DataFrame) -> None:
            others = [name for name in table.columns if name != PLAIN_TEXT_COLUMN]
            for row in table[[*others, PLAIN_TEXT_COLUMN]].astype(object).itertuples(index=False):
                file.write("\t".join("" if pd.isna(cell) else str(cell) for cell in row) + "\n")

        yield append


_WRITERS: dict[str, Callable[[Path], AbstractContextManager[Append]]] = {
    "csv": _write_separated(","),
    "tsv": _write_separated("\t"),
    "jsonl": _write_json_lines,
    "parquet": _write_parquet,
    "txt": _write_plain,
}


def _name(path: str) -> str:
    return "standard input" if path == STANDARD_INPUT else path


def _first_line(problem: Exception) -> str:
    lines = str(problem).strip().splitlines()
    return lines[0] if lines else type(problem).__name__
