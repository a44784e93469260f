"""Tables in and out of files: CSV, TSV, JSON lines, Parquet and plain text, whole or as a stream of pieces.

A table is a pandas DataFrame that gives back what came in: CSV cells stay the strings they were, JSON values stay
as they were, Parquet columns keep their types. Two things change: semicolons between the cells of a CSV come back as
commas, and a lone surrogate, which is no character, as a question mark.
"""

from __future__ import annotations

import csv
import io
import itertools
import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import IO, Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from rstc.errors import InputError, first_line
from rstc.io.atomic import replaced_file
from rstc.io.csv_injection import SPREADSHEETS, without_formulas
from rstc.io.remote import is_address, is_file, opened

SUFFIXES = {"csv": ".csv", "tsv": ".tsv", "jsonl": ".jsonl", "parquet": ".parquet", "txt": ".txt"}
_FORMATS = {suffix: format for format, suffix in SUFFIXES.items()} | {".ndjson": "jsonl", ".pq": "parquet"}
STANDARD_INPUT = "-"
PLAIN_TEXT_COLUMN = "text"
MOST_COLUMNS = 10_000
LARGEST_PIECE = 2**31  # bytes that the texts of one piece may unpack to

csv.field_size_limit(2**31 - 1)  # a cell may hold a long text; the module's own limit is 131,072 characters


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
    if Path(path).is_dir():
        raise InputError(f"{path} is a folder, not a file")
    suffix = Path(path).suffix.lower()
    if suffix not in _FORMATS:
        raise InputError(f"cannot tell the format of {path} by its ending; known are {', '.join(_FORMATS)}")
    return _FORMATS[suffix]


def known_format(path: str) -> bool:
    """Tell whether a file's ending is one of those that are known."""
    return Path(path).suffix.lower() in _FORMATS


def read_table(path: str, format: str, encoding: str = "utf-8") -> pd.DataFrame:
    """Read a whole file; one without rows is an error."""
    pieces = list(stream_tables(path, format, encoding))
    if not pieces or not sum(map(len, pieces)):
        raise InputError(f"{_name(path)} holds no rows")
    return pd.concat(pieces, ignore_index=True) if len(pieces) > 1 else pieces[0]


def stream_tables(path: str, format: str, encoding: str = "utf-8", rows: int = 10_000) -> Iterator[pd.DataFrame]:
    """Read a file in pieces of up to `rows` rows; of a table without rows there is one piece with its columns."""
    if path != STANDARD_INPUT and not is_file(path):
        raise InputError(f"there is no file {path}")
    try:
        yield from _READERS[format](path, encoding, rows)
    except UnicodeDecodeError as problem:
        raise InputError(
            f"{_name(path)} is not {encoding} text (byte 0x{problem.object[problem.start]:02X}); "
            + (
                "give its encoding, for example --encoding cp1252"
                if encoding.lower().replace("-", "") == "utf8"
                else "it has another encoding, or is no text at all"
            )
        ) from problem
    except UnicodeError as problem:
        raise InputError(f"{_name(path)} is not {encoding} text: {first_line(problem)}") from problem
    except (csv.Error, pa.ArrowException) as problem:
        raise InputError(f"{_name(path)} cannot be read as {format}: {first_line(problem)}") from problem
    except OSError as problem:
        raise InputError(f"{_name(path)} cannot be read: {problem.strerror or problem}") from problem


@contextmanager
def table_writer(path: Path, format: str, harmless: bool = False) -> Iterator[Callable[[pd.DataFrame], None]]:
    """Yield a function that appends a table to the file; the file appears, complete, only at the end.

    What is to be harmless in a spreadsheet is written with an apostrophe before each cell that it would take for a
    formula; formats that no spreadsheet opens stay as they are. `with_formulas` takes it away again.
    """
    try:
        if harmless and format in SPREADSHEETS:
            with table_writer(path, format) as write:
                yield lambda table: write(without_formulas(table))
            return
        with replaced_file(path) as temporary, _WRITERS[format](temporary) as write:
            yield write
    except pa.ArrowException as problem:
        raise InputError(f"{path} cannot be written as {format}: {first_line(problem)}") from problem


def check_other_file(path: str, out: Path) -> None:
    """Refuse to write over the input."""
    if path != STANDARD_INPUT and Path(path).exists() and out.exists() and out.samefile(path):
        raise InputError(f"the input and the output are the same file: {out}")


# -- readers: (path, encoding, rows) -> pieces -----------------------------------------------------------------


def _read_csv(path: str, encoding: str, rows: int) -> Iterator[pd.DataFrame]:
    with _open_text(path, encoding) as file:
        first_line = file.readline()
        # A semicolon is what spreadsheets put where the comma is the decimal sign.
        separator = max(",;\t", key=first_line.count)
        yield from _read_separated(path, itertools.chain([first_line], file), separator, rows)


def _read_tsv(path: str, encoding: str, rows: int) -> Iterator[pd.DataFrame]:
    with _open_text(path, encoding) as file:
        yield from _read_separated(path, file, "\t", rows)


def _read_separated(path: str, lines: Iterable[str], separator: str, rows: int) -> Iterator[pd.DataFrame]:
    reader = csv.reader(lines, delimiter=separator, strict=True)
    names = next(reader, None)
    if not names:
        raise InputError(f"{_name(path)} is empty")
    _check_names(path, names)
    records: list[list[str]] = []
    empty = True
    for cells in _with_line_numbers(path, reader):
        if len(cells) > len(names):
            raise InputError(
                f"line {reader.line_num} of {_name(path)} has {len(cells)} cells, but there are {len(names)} columns"
            )
        if cells or len(names) == 1:  # in a single column an empty line is a row without a text
            records.append(cells + [""] * (len(names) - len(cells)))
        if len(records) == rows:
            yield pd.DataFrame(records, columns=names, dtype=object)
            records, empty = [], False
    if records or empty:
        yield pd.DataFrame(records, columns=names, dtype=object)


def _with_line_numbers(path: str, reader: Any) -> Iterator[list[str]]:
    """Pass the rows on; say where a quote is out of place."""
    try:
        yield from reader
    except csv.Error as problem:
        where = f"line {reader.line_num} of {_name(path)}"
        raise InputError(f"{where} cannot be read as csv, look at its quotes: {problem}") from problem


def _read_json_lines(path: str, encoding: str, rows: int) -> Iterator[pd.DataFrame]:
    with _open_text(path, encoding) as file:
        records: list[dict[str, Any]] = []
        for number, line in enumerate(file, start=1):
            if line.strip():
                records.append(_parse_record(path, number, line))
            if len(records) == rows:
                yield _of_records(path, records)
                records = []
        if records:
            yield _of_records(path, records)


def _of_records(path: str, records: list[dict[str, Any]]) -> pd.DataFrame:
    _check_names(path, list(dict.fromkeys(name for record in records for name in record)))
    return pd.DataFrame(records, dtype=object)


def _parse_record(path: str, number: int, line: str) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as problem:  # a ValueError also of numbers with thousands of digits
        raise InputError(f"line {number} of {_name(path)} is not JSON: {first_line(problem)}") from problem
    if not isinstance(record, dict):
        raise InputError(f"line {number} of {_name(path)} is not a JSON object")
    if "\\ud" in line.lower():  # half of an emoji, as cut texts have them, can be written in no format
        return {str(key): value for key, value in _without_surrogates(record).items()}
    return record


def _without_surrogates(value: Any) -> Any:
    """Return a JSON value with every lone surrogate in it replaced."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, list):
        return [_without_surrogates(item) for item in value]
    if isinstance(value, dict):
        return {_without_surrogates(key): _without_surrogates(item) for key, item in value.items()}
    return value


def _read_parquet(path: str, encoding: str, rows: int) -> Iterator[pd.DataFrame]:
    with _parquet_source(path) as source, pq.ParquetFile(source) as file:
        schema = file.schema_arrow
        _check_names(path, schema.names)
        if not file.metadata.num_rows:
            yield _to_pandas(schema.empty_table())
            return
        # A few bytes can stand for a long text in every row; as a dictionary it can be measured before it is unpacked.
        long = [field.name for field in schema if pa.types.is_string(field.type) or pa.types.is_binary(field.type)]
        packed = pq.ParquetFile(source, read_dictionary=long) if long else file
        with packed:
            for batch in packed.iter_batches(batch_size=rows):
                yield _to_pandas(_unpacked(path, batch, schema))


def _unpacked(path: str, batch: pa.RecordBatch, schema: pa.Schema) -> pa.Table:
    """Return a batch with its texts written out, unless that would take the memory."""
    columns = []
    for column, field in zip(batch.columns, schema, strict=True):
        if pa.types.is_dictionary(column.type) and not pa.types.is_dictionary(field.type):
            lengths = pc.binary_length(column.dictionary).take(column.indices)
            size = pc.sum(lengths.cast(pa.int64())).as_py() or 0
            if size > LARGEST_PIECE:
                raise InputError(
                    f"{_name(path)} unpacks to {size / 1e9:.1f} GB in {len(column):,} rows of column {field.name!r}"
                )
            column = column.dictionary_decode().cast(field.type)
        column.validate(full=True)  # what a damaged file says may be no text at all
        columns.append(column)
    return pa.Table.from_arrays(columns, schema=schema)


def _to_pandas(table: pa.Table) -> pd.DataFrame:
    # Pandas' own notes in the file would turn a column into an index that is lost when written.
    frame: pd.DataFrame = table.to_pandas(types_mapper=pd.ArrowDtype, ignore_metadata=True)
    return frame


def _parquet_source(path: str) -> AbstractContextManager[Any]:
    """Return what pyarrow reads from."""
    if path == STANDARD_INPUT:
        return io.BytesIO(sys.stdin.buffer.read())
    return opened(path, "rb") if is_address(path) else nullcontext(path)


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


def _open_text(path: str, encoding: str, newline: str | None = "") -> IO[str]:
    """Open a file or standard input as text; a byte order mark is not part of it."""
    if encoding.lower().replace("_", "-") in ("utf-8", "utf8"):
        encoding = "utf-8-sig"
    try:
        if path == STANDARD_INPUT:
            return io.TextIOWrapper(sys.stdin.buffer, encoding=encoding, newline=newline)
        return opened(path, "r", encoding=encoding, newline=newline)  # type: ignore[no-any-return]
    except LookupError:
        raise InputError(f"there is no encoding {encoding!r}") from None


# -- writers: (path) -> a context with a function that appends a table ------------------------------------------

Append = Callable[[pd.DataFrame], None]


def _aligned(table: pd.DataFrame, columns: list[str]) -> pd.DataFrame:
    """Give a piece the columns of the first piece, which are noted in `columns`."""
    if not columns:
        columns.extend(table.columns)
    unexpected = [str(name) for name in table.columns if name not in columns]
    if unexpected:
        raise InputError(
            f"a later row has {', '.join(unexpected)}, which the first rows do not have; write JSON lines instead"
        )
    return table if list(table.columns) == columns else table.reindex(columns=columns)


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
            columns: list[str] = []

            def append(table: pd.DataFrame) -> None:
                first, aligned = not columns, _aligned(table, columns)
                text = aligned.to_csv(None, sep=separator, index=False, header=first, lineterminator="\n")
                if "\r" in text:  # which is quoted only if everything is
                    text = aligned.to_csv(
                        None, sep=separator, index=False, header=first, lineterminator="\n", quoting=csv.QUOTE_ALL
                    )
                file.write(text)

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
    columns: list[str] = []

    def append(table: pd.DataFrame) -> None:
        nonlocal writer
        data = pa.Table.from_pandas(_aligned(table, columns), preserve_index=False)
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
                file.write("\t".join("" if cell is pd.NA else str(cell) for cell in row) + "\n")

        yield append


_WRITERS: dict[str, Callable[[Path], AbstractContextManager[Append]]] = {
    "csv": _write_separated(","),
    "tsv": _write_separated("\t"),
    "jsonl": _write_json_lines,
    "parquet": _write_parquet,
    "txt": _write_plain,
}


def _check_names(path: str, names: Sequence[str]) -> None:
    if len(names) > MOST_COLUMNS:
        raise InputError(f"{_name(path)} has {len(names):,} columns; at most {MOST_COLUMNS:,} are read")
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise InputError(f"{_name(path)} has more than one column called {twice[0]!r}; rename them first")


def _name(path: str) -> str:
    return "standard input" if path == STANDARD_INPUT else path
