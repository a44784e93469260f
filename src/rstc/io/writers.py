"""Writers of tables, one per file format: a context manager that yields a function which appends a table.

`rstc.io.formats.open_table_writer` chooses one, and writes to a temporary file that replaces the target at the end.
Text formats can also be written to a stream. The writer of workbooks is in excel.py.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import IO, Literal

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from rstc.errors import InputError
from rstc.io.columns import TEXT_COLUMN
from rstc.io.text_files import open_text_target

WriteTable = Callable[[pd.DataFrame], None]


def open_csv_writer(target: Path | IO[str], is_gzip: bool = False) -> AbstractContextManager[WriteTable]:
    """Open a writer of comma-separated values."""
    return _open_separated_writer(target, ",", is_gzip)


def open_tsv_writer(target: Path | IO[str], is_gzip: bool = False) -> AbstractContextManager[WriteTable]:
    """Open a writer of tab-separated values."""
    return _open_separated_writer(target, "\t", is_gzip)


@contextmanager
def _open_separated_writer(target: Path | IO[str], separator: str, is_gzip: bool) -> Iterator[WriteTable]:
    """Open a writer of separated values, with the column names of the first table as header."""
    with open_text_target(target, is_gzip) as file:
        columns: list[str] = []

        def write(table: pd.DataFrame) -> None:
            is_first, aligned = not columns, align_columns(table, columns)
            text = format_csv(aligned, separator, header=is_first)
            if "\r" in text:  # a carriage return is quoted only if every cell is
                text = format_csv(aligned, separator, header=is_first, quoting=csv.QUOTE_ALL)
            file.write(text)

        yield write


def format_csv(
    table: pd.DataFrame, separator: str = ",", header: bool = True, quoting: Literal[0, 1] = csv.QUOTE_MINIMAL
) -> str:
    """Return a table as separated values, without its index."""

    def write(table: pd.DataFrame) -> str:
        text: str = table.to_csv(None, sep=separator, index=False, header=header, lineterminator="\n", quoting=quoting)
        return text

    try:
        return write(table)
    except csv.Error:  # Python 3.10 cannot write the character NUL: another one stands in for it
        used = set("".join(map(str, [*table.columns, *table.to_numpy().ravel()])))
        stand_in = next(c for c in map(chr, range(0xE000, 0xF900)) if c not in used)
        replaced = table.replace("\0", stand_in, regex=True)
        replaced.columns = [str(name).replace("\0", stand_in) for name in table.columns]
        return write(replaced).replace(stand_in, "\0")


@contextmanager
def open_json_lines_writer(target: Path | IO[str], is_gzip: bool = False) -> Iterator[WriteTable]:
    """Open a writer of JSON lines: an object per row, without the keys that a row does not have."""
    with open_text_target(target, is_gzip) as file:

        def write(table: pd.DataFrame) -> None:
            for line in _iter_json_objects(table):
                file.write(line + "\n")

        yield write


@contextmanager
def open_json_writer(target: Path | IO[str], is_gzip: bool = False) -> Iterator[WriteTable]:
    """Open a writer of a JSON array: an object per row and line, as `open_json_lines_writer` writes them."""
    with open_text_target(target, is_gzip) as file:
        file.write("[")
        separator = "\n"

        def write(table: pd.DataFrame) -> None:
            nonlocal separator
            for line in _iter_json_objects(table):
                file.write(separator + line)
                separator = ",\n"

        yield write
        file.write("\n]\n")


def _iter_json_objects(table: pd.DataFrame) -> Iterator[str]:
    """Yield each row of a table as a JSON object."""
    for row in table.astype(object).to_dict("records"):
        # NaN marks a key that the row does not have; a missing cluster (NA) is written as null.
        record = {
            str(key): None if value is pd.NA else value
            for key, value in row.items()
            if not (isinstance(value, float) and value != value)
        }
        yield json.dumps(record, ensure_ascii=False, default=str)


@contextmanager
def open_parquet_writer(path: Path) -> Iterator[WriteTable]:
    """Open a writer of Parquet, with the schema of the first table."""
    writer: pq.ParquetWriter | None = None
    columns: list[str] = []

    def write(table: pd.DataFrame) -> None:
        nonlocal writer
        data = pa.Table.from_pandas(align_columns(table, columns), preserve_index=False)
        if writer is None:
            writer = pq.ParquetWriter(path, data.schema)
        writer.write_table(data.cast(writer.schema))

    try:
        yield write
    finally:
        if writer is not None:
            writer.close()


@contextmanager
def open_plain_text_writer(target: Path | IO[str], is_gzip: bool = False) -> Iterator[WriteTable]:
    """Open a writer of plain text: a line per row, the other columns before the text with tabs between."""
    with open_text_target(target, is_gzip) as file:

        def write(table: pd.DataFrame) -> None:
            others = [name for name in table.columns if name != TEXT_COLUMN]
            for row in table[[*others, TEXT_COLUMN]].astype(object).itertuples(index=False):
                file.write("\t".join("" if cell is pd.NA else str(cell) for cell in row) + "\n")

        yield write


def align_columns(table: pd.DataFrame, columns: list[str]) -> pd.DataFrame:
    """Return a table with the columns of the first table, whose names are recorded in `columns`."""
    if not columns:
        columns.extend(table.columns)
    unexpected = [str(name) for name in table.columns if name not in columns]
    if unexpected:
        raise InputError(
            f"a later row has {', '.join(unexpected)}, which the first rows do not have; write JSON lines instead"
        )
    return table if list(table.columns) == columns else table.reindex(columns=columns)
