"""Readers of tables, one per file format: ``read(path, options, chunk_rows)`` yields tables.

`rstc.io.formats.iter_tables` chooses one; that of workbooks is in excel.py. Files are not trusted: one that is damaged,
or that would unpack to more than the memory of a machine, raises an InputError.
"""

from __future__ import annotations

import csv
import io
import itertools
import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from rstc.errors import InputError, first_line
from rstc.io.columns import TEXT_COLUMN, replace_surrogates
from rstc.io.remote import is_url, open_file
from rstc.io.text_files import DEFAULT_ENCODING, STANDARD_INPUT, open_text_source, source_name

MAX_COLUMNS = 10_000
MAX_VALUES_PER_BYTE = 64  # of a column of a file that rstc wrote: equal values take little room
MAX_CHUNK_BYTES = 2**31  # that a text column of one chunk may unpack to

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
    """

    encoding: str = DEFAULT_ENCODING
    is_gzip: bool = False
    sheet: str | None = None


def read_csv(path: str, options: ReadOptions, chunk_rows: int) -> Iterator[pd.DataFrame]:
    """Yield the rows of a CSV file; commas, semicolons or tabs separate the cells, which stay strings."""
    with open_text_source(path, options.encoding, options.is_gzip) as file:
        header = file.readline()
        # Spreadsheets write semicolons where the comma is the decimal sign.
        separator = max(",;\t", key=header.count)
        yield from _read_separated(path, itertools.chain([header], file), separator, chunk_rows)


def read_tsv(path: str, options: ReadOptions, chunk_rows: int) -> Iterator[pd.DataFrame]:
    """Yield the rows of a file with tabs between the cells, which stay strings."""
    with open_text_source(path, options.encoding, options.is_gzip) as file:
        yield from _read_separated(path, file, "\t", chunk_rows)


def _read_separated(path: str, lines: Iterable[str], separator: str, chunk_rows: int) -> Iterator[pd.DataFrame]:
    """Yield the rows of lines of separated values; short rows are filled up with empty cells."""
    reader = csv.reader(lines, delimiter=separator, strict=True)
    columns = next(reader, None)
    if not columns:
        raise InputError(f"{source_name(path)} is empty")
    check_column_names(path, columns)
    rows: list[list[str]] = []
    is_empty = True
    for cells in _iter_csv_rows(path, reader):
        if len(cells) > len(columns):
            line = f"line {reader.line_num} of {source_name(path)}"
            raise InputError(f"{line} has {len(cells)} cells, but there are {len(columns)} columns")
        if cells or len(columns) == 1:  # in a single column an empty line is a row without a text
            rows.append(cells + [""] * (len(columns) - len(cells)))
        if len(rows) == chunk_rows:
            yield pd.DataFrame(rows, columns=columns, dtype=object)
            rows, is_empty = [], False
    if rows or is_empty:
        yield pd.DataFrame(rows, columns=columns, dtype=object)


def _iter_csv_rows(path: str, reader: Any) -> Iterator[list[str]]:
    """Yield the rows of a csv.reader; an error names the line."""
    try:
        yield from reader
    except csv.Error as problem:
        line = f"line {reader.line_num} of {source_name(path)}"
        raise InputError(f"{line} cannot be read as csv, check its quotes: {problem}") from problem


def read_json_lines(path: str, options: ReadOptions, chunk_rows: int) -> Iterator[pd.DataFrame]:
    """Yield the objects of a file with one JSON object per line; values keep their types."""
    with open_text_source(path, options.encoding, options.is_gzip) as file:
        records: list[dict[str, Any]] = []
        for number, line in enumerate(file, start=1):
            if line.strip():
                records.append(_parse_record(path, number, line))
            if len(records) == chunk_rows:
                yield _make_table(path, records)
                records = []
        if records:
            yield _make_table(path, records)


def read_json(path: str, options: ReadOptions, chunk_rows: int) -> Iterator[pd.DataFrame]:
    """Yield the items of a JSON array, objects or texts; the file is held in memory as a whole."""
    with open_text_source(path, options.encoding, options.is_gzip) as file:
        content = file.read(MAX_CHUNK_BYTES + 1)
    if len(content) > MAX_CHUNK_BYTES:
        raise InputError(f"{source_name(path)} is too long for a JSON array; write JSON lines (.jsonl) instead")
    try:
        items = json.loads(content)
    except (ValueError, RecursionError) as problem:
        raise InputError(f"{source_name(path)} is not JSON: {first_line(problem)}{_hint_lines(content)}") from problem
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


def _parse_record(path: str, number: int, line: str) -> dict[str, Any]:
    """Parse a line that holds a JSON object."""
    try:
        record = json.loads(line)
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


def read_parquet(path: str, options: ReadOptions, chunk_rows: int) -> Iterator[pd.DataFrame]:
    """Yield the rows of a Parquet file; columns keep their types, and no option is used."""
    with _open_parquet(path) as source, pq.ParquetFile(source) as file:
        schema = file.schema_arrow
        check_column_names(path, schema.names)
        if not file.metadata.num_rows:
            yield _to_pandas(schema.empty_table())
            return
        # A few bytes of a file can stand for a long text in every row. Read as a dictionary, a column can be measured
        # before it is unpacked.
        texts = [field.name for field in schema if pa.types.is_string(field.type) or pa.types.is_binary(field.type)]
        with pq.ParquetFile(source, read_dictionary=texts) if texts else file as encoded:
            for batch in encoded.iter_batches(batch_size=chunk_rows):
                yield _to_pandas(_decode_dictionaries(path, batch, schema))


def read_bounded_parquet(path: Path) -> pa.Table:
    """Return a Parquet file that rstc wrote, whose columns may hold lists of numbers, unless it unpacks to gigabytes.

    Raises ValueError for a file that cannot be such a one.
    """
    with pq.ParquetFile(path) as file:
        schema, metadata = file.schema_arrow, file.metadata
        if len(set(schema.names)) != len(schema.names):
            raise ValueError("a column name that is used twice")
        size = path.stat().st_size
        for group in range(metadata.num_row_groups):
            for column in range(metadata.num_columns):
                if metadata.row_group(group).column(column).num_values > MAX_VALUES_PER_BYTE * size:
                    raise ValueError("more values than the file can hold")
    texts = [field.name for field in schema if pa.types.is_string(field.type) or pa.types.is_binary(field.type)]
    with pq.ParquetFile(path, read_dictionary=texts) as encoded:
        batches = [_decode_dictionaries(str(path), batch, schema) for batch in encoded.iter_batches()]
    table: pa.Table = pa.concat_tables(batches) if batches else schema.empty_table()
    return table


def _decode_dictionaries(path: str, batch: pa.RecordBatch, schema: pa.Schema) -> pa.Table:
    """Return a batch with its texts written out, unless they would be larger than `MAX_CHUNK_BYTES`."""
    columns = []
    for column, field in zip(batch.columns, schema, strict=True):
        if pa.types.is_dictionary(column.type) and not pa.types.is_dictionary(field.type):
            lengths = pc.binary_length(column.dictionary).take(column.indices)
            size = pc.sum(lengths.cast(pa.int64())).as_py() or 0
            if size > MAX_CHUNK_BYTES:
                rows = f"{len(column):,} rows of column {field.name!r}"
                raise InputError(f"{source_name(path)} unpacks to {size / 1e9:.1f} GB in {rows}")
            column = column.dictionary_decode().cast(field.type)
        column.validate(full=True)  # bytes of a damaged file may be no text
        columns.append(column)
    return pa.Table.from_arrays(columns, schema=schema)


def _to_pandas(table: pa.Table) -> pd.DataFrame:
    """Return an arrow table with its types kept."""
    # The metadata of pandas in the file would turn a column into an index, which is lost when the table is written.
    frame: pd.DataFrame = table.to_pandas(types_mapper=pd.ArrowDtype, ignore_metadata=True)
    return frame


def _open_parquet(path: str) -> AbstractContextManager[Any]:
    """Return a source that pyarrow reads from."""
    if path == STANDARD_INPUT:
        return io.BytesIO(sys.stdin.buffer.read())
    return open_file(path, "rb") if is_url(path) else nullcontext(path)


def read_plain_text(path: str, options: ReadOptions, chunk_rows: int) -> Iterator[pd.DataFrame]:
    """Yield the lines of a file, a text each."""
    with open_text_source(path, options.encoding, options.is_gzip, newline=None) as file:
        lines: list[str] = []
        for line in file:
            lines.append(line.removesuffix("\n"))
            if len(lines) == chunk_rows:
                yield pd.DataFrame({TEXT_COLUMN: lines}, dtype=object)
                lines = []
        if lines:
            yield pd.DataFrame({TEXT_COLUMN: lines}, dtype=object)


def check_column_names(path: str, names: Sequence[str]) -> None:
    """Raise an error if there are too many columns, or two of the same name."""
    if len(names) > MAX_COLUMNS:
        raise InputError(f"{source_name(path)} has {len(names):,} columns; at most {MAX_COLUMNS:,} are read")
    duplicates = [name for name, count in Counter(names).items() if count > 1]
    if duplicates:
        raise InputError(f"{source_name(path)} has more than one column called {duplicates[0]!r}; rename them first")
