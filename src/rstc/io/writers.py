"""Writers of tables, one per file format: a context manager that yields a function which appends a table.

`rstc.io.formats.open_table_writer` chooses one, and writes to a temporary file that replaces the target at the end.
"""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import IO

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from rstc.errors import InputError
from rstc.io.columns import TEXT_COLUMN

WriteTable = Callable[[pd.DataFrame], None]


def open_csv_writer(path: Path) -> AbstractContextManager[WriteTable]:
    """Open a writer of comma-separated values."""
    return _open_separated_writer(path, ",")


def open_tsv_writer(path: Path) -> AbstractContextManager[WriteTable]:
    """Open a writer of tab-separated values."""
    return _open_separated_writer(path, "\t")


@contextmanager
def _open_separated_writer(path: Path, separator: str) -> Iterator[WriteTable]:
    """Open a writer of separated values, with the column names of the first table as header."""
    with _open_text(path) as file:
        columns: list[str] = []

        def write(table: pd.DataFrame) -> None:
            is_first, aligned = not columns, _align_columns(table, columns)
            text = aligned.to_csv(None, sep=separator, index=False, header=is_first, lineterminator="\n")
            if "\r" in text:  # a carriage return is quoted only if every cell is
                text = aligned.to_csv(
                    None, sep=separator, index=False, header=is_first, lineterminator="\n", quoting=csv.QUOTE_ALL
                )
            file.write(text)

        yield write


@contextmanager
def open_json_lines_writer(path: Path) -> Iterator[WriteTable]:
    """Open a writer of JSON lines: an object per row, without the keys that a row does not have."""
    with _open_text(path) as file:

        def write(table: pd.DataFrame) -> None:
            for row in table.astype(object).to_dict("records"):
                # NaN marks a key that the row does not have; a missing cluster (NA) is written as null.
                record = {
                    str(key): None if value is pd.NA else value
                    for key, value in row.items()
                    if not (isinstance(value, float) and value != value)
                }
                file.write(json.dumps(record, ensure_ascii=False, default=str) + "\n")

        yield write


@contextmanager
def open_parquet_writer(path: Path) -> Iterator[WriteTable]:
    """Open a writer of Parquet, with the schema of the first table."""
    writer: pq.ParquetWriter | None = None
    columns: list[str] = []

    def write(table: pd.DataFrame) -> None:
        nonlocal writer
        data = pa.Table.from_pandas(_align_columns(table, columns), preserve_index=False)
        if writer is None:
            writer = pq.ParquetWriter(path, data.schema)
        writer.write_table(data.cast(writer.schema))

    try:
        yield write
    finally:
        if writer is not None:
            writer.close()


@contextmanager
def open_plain_text_writer(path: Path) -> Iterator[WriteTable]:
    """Open a writer of plain text: a line per row, the other columns before the text with tabs between."""
    with _open_text(path) as file:

        def write(table: pd.DataFrame) -> None:
            others = [name for name in table.columns if name != TEXT_COLUMN]
            for row in table[[*others, TEXT_COLUMN]].astype(object).itertuples(index=False):
                file.write("\t".join("" if cell is pd.NA else str(cell) for cell in row) + "\n")

        yield write


@contextmanager
def _open_text(path: Path) -> Iterator[IO[str]]:
    """Open a text file for writing, and flush it to the disk at the end."""
    with path.open("w", encoding="utf-8", newline="") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())


def _align_columns(table: pd.DataFrame, columns: list[str]) -> pd.DataFrame:
    """Return a table with the columns of the first table, whose names are recorded in `columns`."""
    if not columns:
        columns.extend(table.columns)
    unexpected = [str(name) for name in table.columns if name not in columns]
    if unexpected:
        raise InputError(
            f"a later row has {', '.join(unexpected)}, which the first rows do not have; write JSON lines instead"
        )
    return table if list(table.columns) == columns else table.reindex(columns=columns)
