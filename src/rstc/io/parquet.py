"""Read Parquet files, and measure what they unpack to before they are unpacked.

A few bytes of a Parquet file can stand for gigabytes: a page that is compressed, a text that every row of a dictionary
column refers to, a list with a billion equal numbers. What the file says of itself is checked first. Texts, also those
in lists, structs and maps, are then read as dictionaries, so that a chunk is measured before its texts are written out.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from rstc.errors import InputError
from rstc.io.readers import MAX_CHUNK_BYTES, ReadOptions, check_column_names
from rstc.io.remote import is_url, open_file
from rstc.io.text_files import MAX_UNPACKED_RATIO, MIN_CHECKED_BYTES, STANDARD_INPUT, source_name
from rstc.runtime.memory import limit_memory

MAX_VALUES_PER_BYTE = 64  # of a column of a file that rstc wrote: equal values take little room
CHUNK_BYTES = 2**28  # aimed at where rows are long
_WIDTHS = {"BOOLEAN": 1, "INT32": 4, "INT64": 8, "INT96": 12, "FLOAT": 4, "DOUBLE": 8, "BYTE_ARRAY": 4}


def read_parquet(path: str, options: ReadOptions, chunk_rows: int) -> Iterator[pd.DataFrame]:
    """Yield the rows of a Parquet file; columns keep their types, and no option is used."""
    with _open_parquet(path) as source, pq.ParquetFile(source) as file:
        schema = pa.schema([field.with_type(_to_readable_type(field.type)) for field in file.schema_arrow])
        check_column_names(path, schema.names)
        if not file.metadata.num_rows:
            yield _to_pandas(schema.empty_table())
            return
        columns = _list_leaf_columns(path, file.schema)
        chunk_rows = _check_metadata(path, file.metadata, columns, chunk_rows)
        texts = [column.path for column in columns if _holds_bytes(column)]
        size_check = _SizeCheck(path, file.metadata)
        has_nested_texts = bool(texts) and any(pa.types.is_nested(field.type) for field in schema)
        with pq.ParquetFile(source, read_dictionary=texts) if texts else file as encoded:
            if has_nested_texts:
                batches = _iter_nested_batches(file, encoded, chunk_rows)
            else:
                batches = encoded.iter_batches(batch_size=chunk_rows)
            for batch in batches:
                size_check.add(batch)
                yield _to_pandas(_write_out_texts(batch, schema))


def read_bounded_parquet(path: Path) -> pa.Table:
    """Return a Parquet file that rstc wrote, whose columns may hold lists of numbers, unless it unpacks to gigabytes.

    Raises ValueError for a file that cannot be such a one.
    """
    with pq.ParquetFile(path) as file:
        schema, metadata, size = file.schema_arrow, file.metadata, path.stat().st_size
        if len(set(schema.names)) != len(schema.names):
            raise ValueError("a column name that is used twice")
        for group in map(metadata.row_group, range(metadata.num_row_groups)):
            for number in range(metadata.num_columns):
                if group.column(number).num_values > MAX_VALUES_PER_BYTE * size:
                    raise ValueError("more values than the file can hold")
        texts = [column.path for column in _list_leaf_columns(str(path), file.schema) if _holds_bytes(column)]
        size_check = _SizeCheck(str(path), metadata)
    tables = []
    with pq.ParquetFile(path, read_dictionary=texts) as encoded:
        for batch in encoded.iter_batches():
            size_check.add(batch)
            tables.append(_write_out_texts(batch, schema))
    return pa.concat_tables(tables) if tables else schema.empty_table()


def _iter_nested_batches(file: Any, encoded: Any, chunk_rows: int) -> Iterator[pa.RecordBatch]:
    """Yield the rows of each row group with texts as dictionaries or, where they have no common one, as they are.

    pyarrow joins the dictionaries of flat columns only. Texts that are read as they are can be measured only then, so
    that the memory is limited while they are read.
    """
    for group in range(encoded.metadata.num_row_groups):
        n_done = 0
        try:
            for batch in encoded.iter_batches(batch_size=chunk_rows, row_groups=[group]):
                n_done += batch.num_rows
                yield batch
        except pa.ArrowNotImplementedError:
            plain = file.iter_batches(batch_size=chunk_rows, row_groups=[group])
            n_read = 0
            while True:
                with limit_memory(2 * MAX_CHUNK_BYTES):
                    batch = next(plain, None)
                if batch is None:
                    break
                n_read += batch.num_rows
                if n_read > n_done:
                    yield batch.slice(max(0, batch.num_rows - (n_read - n_done)))


def _open_parquet(path: str) -> AbstractContextManager[Any]:
    """Return a source that pyarrow reads from."""
    if path == STANDARD_INPUT:
        return io.BytesIO(sys.stdin.buffer.read())
    return open_file(path, "rb") if is_url(path) else nullcontext(path)


def _list_leaf_columns(path: str, schema: Any) -> list[Any]:
    """Return the columns of a Parquet schema, in which lists, structs and maps are flat."""
    columns = [schema.column(number) for number in range(len(schema.names))]
    check_column_names(path, [column.path for column in columns])
    return columns


def _holds_bytes(column: Any) -> bool:
    """Return whether a column holds texts or bytes of any length."""
    return bool(column.physical_type == "BYTE_ARRAY" and column.logical_type.type != "DECIMAL")


def _check_metadata(path: str, metadata: Any, columns: list[Any], chunk_rows: int) -> int:
    """Raise an error if a file says that it unpacks to far more than its size; return the rows to read at a time."""
    for group in map(metadata.row_group, range(metadata.num_row_groups)):
        for number, column in enumerate(columns):
            chunk = group.column(number)
            packed, unpacked = max(chunk.total_compressed_size, 1), chunk.total_uncompressed_size
            limit = max(MIN_CHECKED_BYTES, MAX_UNPACKED_RATIO * packed)
            width = column.length if column.physical_type == "FIXED_LEN_BYTE_ARRAY" else _WIDTHS[column.physical_type]
            if column.max_repetition_level:  # one row can have all values
                values_bytes = chunk.num_values * width
            else:
                values_bytes = min(chunk.num_values, chunk_rows) * width
            if unpacked > limit or (values_bytes > MAX_CHUNK_BYTES and values_bytes > limit):
                size = max(unpacked, values_bytes) / 1e9
                raise InputError(f"{source_name(path)} unpacks to {size:.1f} GB in column {column.path!r}")
        if group.num_rows:
            chunk_rows = max(1, min(chunk_rows, CHUNK_BYTES * group.num_rows // max(group.total_byte_size, 1)))
    return chunk_rows


class _SizeCheck:
    """Checks what the batches of a file are unpacked to, one by one and together."""

    def __init__(self, path: str, metadata: Any) -> None:
        groups = map(metadata.row_group, range(metadata.num_row_groups))
        packed = sum(group.column(i).total_compressed_size for group in groups for i in range(group.num_columns))
        self._path = path
        self._max_batch_bytes = max(MAX_CHUNK_BYTES, packed)
        self._max_bytes = max(MAX_CHUNK_BYTES, MAX_UNPACKED_RATIO * packed)
        self._n_bytes = 0

    def add(self, batch: pa.RecordBatch) -> None:
        """Raise an error if a batch is too large once its texts are written out, or if all so far are."""
        sizes = [_measure(column) for column in batch.columns]
        self._n_bytes += sum(sizes)
        if sum(sizes) > self._max_batch_bytes:
            name = batch.schema.names[max(range(len(sizes)), key=sizes.__getitem__)]
            rows = f"{batch.num_rows:,} rows of column {name!r}"
            raise InputError(f"{source_name(self._path)} unpacks to {sum(sizes) / 1e9:.1f} GB in {rows}")
        if self._n_bytes > self._max_bytes:
            raise InputError(f"{source_name(self._path)} unpacks to more than {MAX_UNPACKED_RATIO} times its size")


def _measure(array: Any) -> int:
    """Return the bytes of an array whose dictionaries are written out.

    >>> _measure(pa.array(["late", "late", None]).dictionary_encode()), _measure(pa.array([1, 2], pa.int8()))
    (8, 2)
    """
    kind = array.type
    if pa.types.is_dictionary(kind):
        if not (pa.types.is_string(kind.value_type) or pa.types.is_binary(kind.value_type)):
            return int(array.nbytes)
        lengths = pc.binary_length(array.dictionary).take(array.indices)
        return int(pc.sum(lengths.cast(pa.int64())).as_py() or 0)
    if pa.types.is_struct(kind):
        return sum(_measure(array.field(number)) for number in range(kind.num_fields))
    if pa.types.is_map(kind):
        first, last = array.offsets[0].as_py(), array.offsets[-1].as_py()
        return sum(_measure(part[first:last]) for part in (array.keys, array.items))
    if pa.types.is_nested(kind) and hasattr(array, "flatten"):  # lists of all kinds
        return _measure(array.flatten())
    return int(array.nbytes)


def _write_out_texts(batch: pa.RecordBatch, schema: pa.Schema) -> pa.Table:
    """Return a batch with the types of a schema, which its dictionaries are cast to."""
    columns = []
    for column, field in zip(batch.columns, schema, strict=True):
        typed = column if column.type == field.type else column.cast(field.type)
        typed.validate(full=True)  # bytes of a damaged file may be no text
        columns.append(typed)
    return pa.Table.from_arrays(columns, schema=schema)


def _to_readable_type(kind: pa.DataType) -> pa.DataType:
    """Return a type in which views of texts are texts: a dictionary cannot be cast to a view."""
    if pa.types.is_string_view(kind):
        return pa.string()
    if pa.types.is_binary_view(kind):
        return pa.binary()
    if pa.types.is_struct(kind):
        return pa.struct(
            [kind.field(i).with_type(_to_readable_type(kind.field(i).type)) for i in range(kind.num_fields)]
        )
    if pa.types.is_map(kind):
        return pa.map_(_to_readable_type(kind.key_type), _to_readable_type(kind.item_type), kind.keys_sorted)
    for is_list, make_list in ((pa.types.is_list, pa.list_), (pa.types.is_large_list, pa.large_list)):
        if is_list(kind):
            return make_list(kind.value_field.with_type(_to_readable_type(kind.value_type)))
    return kind


def _to_pandas(table: pa.Table) -> pd.DataFrame:
    """Return an arrow table with its types kept."""
    # The metadata of pandas in the file would turn a column into an index, which is lost when the table is written.
    frame: pd.DataFrame = table.to_pandas(types_mapper=pd.ArrowDtype, ignore_metadata=True)
    return frame
