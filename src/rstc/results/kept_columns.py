"""The other columns of a run's texts, such as a date or a rating: kept with the texts, in types that Parquet holds."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pandas as pd
import pyarrow as pa

PREFIX = "column:"  # of their names in points.parquet, where they stand beside columns of rstc


def make_storable(table: pd.DataFrame) -> pd.DataFrame:
    """Return the columns of a table in types that Parquet holds.

    Columns of strings, numbers, dates and the like stay as they are. Lists, objects and values of several types in one
    column, all of which JSON files may hold, become strings; columns of bytes are left out.

    Parameters
    ----------
    table : DataFrame
        The rows of the shown texts, with any index.

    Returns
    -------
    DataFrame
        The same rows, numbered from 0.

    Examples
    --------
    >>> table = pd.DataFrame({"stars": [4, 5], "tags": [["late"], None]}, dtype=object)
    >>> make_storable(table).to_dict("list")
    {'stars': [4, 5], 'tags': ['["late"]', None]}
    """
    arrays = {str(name): _to_arrow(table[name]) for name in table.columns}
    kept = {name: array for name, array in arrays.items() if not _holds_bytes(array.type)}
    return to_frame(pa.table(kept), len(table))


def to_frame(table: pa.Table, n_rows: int) -> pd.DataFrame:
    """Return an arrow table as a data frame with its types; one without columns has the given number of rows."""
    frame: pd.DataFrame = table.to_pandas(types_mapper=pd.ArrowDtype, ignore_metadata=True)
    return frame if len(frame.columns) else pd.DataFrame(index=pd.RangeIndex(n_rows))


def to_bytes(columns: pd.DataFrame) -> bytes:
    """Return columns as an arrow stream, from which `from_bytes` restores them."""
    table = pa.Table.from_pandas(columns, preserve_index=False).replace_schema_metadata(None)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    stream: bytes = sink.getvalue().to_pybytes()
    return stream


def from_bytes(stream: bytes, n_rows: int) -> pd.DataFrame:
    """Return the columns of an arrow stream.

    >>> columns = make_storable(pd.DataFrame({"stars": [4, None]}))
    >>> from_bytes(to_bytes(columns), 2).equals(columns)
    True
    """
    with pa.ipc.open_stream(stream) as reader:
        return to_frame(reader.read_all(), n_rows)


def add_prefix(columns: pd.DataFrame) -> Mapping[str, pd.Series[Any]]:
    """Return the columns by their names in points.parquet."""
    return {PREFIX + str(name): columns[name] for name in columns.columns}


def select_prefixed(table: pa.Table) -> pd.DataFrame:
    """Return the columns that `add_prefix` named, under their own names."""
    names = [name for name in table.column_names if name.startswith(PREFIX)]
    columns = table.select(names).rename_columns([name.removeprefix(PREFIX) for name in names])
    return to_frame(columns, table.num_rows)


def _to_arrow(column: pd.Series[Any]) -> pa.Array | pa.ChunkedArray:
    """Return a column as an arrow array, as strings where it has no single type."""
    try:
        array = pa.array(column, from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        return pa.array([_to_string(value) for value in column], pa.string())
    if pa.types.is_nested(array.type):
        return pa.array([_to_string(value) for value in array.to_pylist()], pa.string())
    if pa.types.is_dictionary(array.type):
        return array.cast(array.type.value_type)
    return array


def _to_string(value: Any) -> str | None:
    """Return a value as a string, JSON for lists and objects; None if it is missing."""
    if value is None or value is pd.NA or (isinstance(value, float) and value != value):
        return None
    if isinstance(value, (list, dict, tuple)):
        return json.dumps(value, ensure_ascii=False, default=str)
    return str(value)


def _holds_bytes(type: pa.DataType) -> bool:
    return bool(pa.types.is_binary(type) or pa.types.is_large_binary(type) or pa.types.is_fixed_size_binary(type))
