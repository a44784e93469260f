"""Predictions for batches of data engines: the same kind of table out as in, with the columns that predictions add."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from rstc.errors import InputError
from rstc.io.columns import (
    CLUSTER_COLUMNS,
    TextColumn,
    add_cluster_columns,
    add_predictions,
    check_reserved_columns,
    extract_texts,
    find_text_columns,
)
from rstc.io.predictions import NO_CLUSTER

BLOCK_ROWS = 16_384  # enough texts of each length to fill batches without padding
PredictTexts = Callable[[list[str | None]], tuple[Any, Any]]  # texts -> clusters (N,), confidence (N,)


def predict_batch_with(batch: Any, column: TextColumn | None, predict: PredictTexts, names: Sequence[str]) -> Any:
    """Return a batch with the columns `cluster`, `cluster_name`, `confidence` and `confidence_level`.

    Parameters
    ----------
    batch : pandas.DataFrame, polars.DataFrame, pyarrow.Table, pyarrow.RecordBatch, dict or iterator
        Rows; a dict holds columns by name, as Ray's "numpy" batches do; an iterator yields batches, as Spark's
        mapInArrow does.
    column : str, list of str or None
        The column that holds the texts, or several that are joined; None for the only one that can.
    predict : callable
        Returns the clusters and the confidence of a list of texts.
    names : sequence of str
        The name of each cluster.

    Returns
    -------
    Any
        A batch of the same kind. In a dict, where nothing can be missing, a row without a text has cluster
        `NO_CLUSTER`.
    """
    if isinstance(batch, Iterator):
        return (predict_batch_with(item, column, predict, names) for item in batch)
    if isinstance(batch, pd.DataFrame):
        return _predict_frame(batch, column, predict, names)
    if isinstance(batch, (pa.Table, pa.RecordBatch)):
        return _predict_arrow(batch, column, predict, names)
    if _is_of_polars(batch, "DataFrame"):
        return _predict_polars(batch, column, predict, names)
    if isinstance(batch, dict):
        frame = pd.DataFrame({name: list(values) for name, values in batch.items()})
        predicted = _predict_frame(frame, column, predict, names)
        return {
            **batch,
            "cluster": predicted["cluster"].to_numpy(np.int64, na_value=NO_CLUSTER),
            "cluster_name": predicted["cluster_name"].to_numpy(object, na_value=""),
            "confidence": predicted["confidence"].to_numpy(np.float64, na_value=np.nan),
            "confidence_level": predicted["confidence_level"].to_numpy(object, na_value=""),
        }
    raise InputError(
        f"a batch is a pyarrow, pandas or polars table or a dictionary of columns, got {type(batch).__name__}"
    )


def extend_schema(schema: Any) -> Any:
    """Return the schema of what `predict_batch_with` returns for batches of a schema.

    Parameters
    ----------
    schema : pyarrow.Schema, pyspark.sql.types.StructType, polars.Schema, or table of pandas, Dask or polars
        The schema of the batches; a table stands for its columns.

    Returns
    -------
    pyarrow.Schema, pyspark.sql.types.StructType, polars.Schema or pandas.DataFrame
        A new schema, with the columns of `predict_batch_with` at its end; an empty pandas table for pandas
        and Dask.

    Examples
    --------
    >>> extend_schema(pa.schema({"text": pa.string()})).names
    ['text', 'cluster', 'cluster_name', 'confidence', 'confidence_level']
    """
    if isinstance(schema, pa.Schema):
        check_reserved_columns(schema.names)
        kinds = (pa.int64(), pa.string(), pa.float64(), pa.string())
        for new, kind in zip(CLUSTER_COLUMNS, kinds, strict=True):
            schema = schema.append(pa.field(new, kind))
        return schema
    table = getattr(schema, "_meta", schema)  # where Dask has the empty table that describes its partitions
    if isinstance(table, pd.DataFrame):
        return add_cluster_columns(table.head(0), [], [], [])
    types = sys.modules.get("pyspark.sql.types")  # imported by whoever has a schema of Spark
    if types is not None and isinstance(schema, types.StructType):
        check_reserved_columns(schema.names)
        kinds = (types.LongType(), types.StringType(), types.DoubleType(), types.StringType())
        fields = [types.StructField(name, kind) for name, kind in zip(CLUSTER_COLUMNS, kinds, strict=True)]
        return types.StructType([*schema.fields, *fields])
    if _is_of_polars(schema, "DataFrame", "LazyFrame", "Schema"):
        polars = sys.modules["polars"]
        fields = schema if isinstance(schema, polars.Schema) else schema.collect_schema()
        check_reserved_columns(fields)
        kinds = (polars.Int64, polars.String, polars.Float64, polars.String)
        return polars.Schema({**fields, **dict(zip(CLUSTER_COLUMNS, kinds, strict=True))})
    expected = "a schema is one of pyarrow, Spark or polars, or a table of pandas, Dask or polars"
    raise InputError(f"{expected}, got {type(schema).__name__}")


def _predict_frame(
    table: pd.DataFrame, column: TextColumn | None, predict: PredictTexts, names: Sequence[str]
) -> pd.DataFrame:
    """Add predictions to a pandas table."""
    texts = extract_texts(table, _find_text_column(table, column))
    return add_predictions(table, texts, *_predict_in_blocks(texts, predict), names)


def _predict_arrow(
    batch: pa.Table | pa.RecordBatch, column: TextColumn | None, predict: PredictTexts, cluster_names: Sequence[str]
) -> pa.Table | pa.RecordBatch:
    """Add predictions to an arrow batch; its own columns are not converted."""
    schema = extend_schema(batch.schema)
    # An empty table is enough to look a name up, and the values of other columns may have no counterpart in pandas.
    sample = batch.slice(0, 1000).to_pandas() if column is None else pd.DataFrame(columns=batch.schema.names)
    name = _find_text_column(sample, column)
    names = [name] if isinstance(name, str) else name
    texts = extract_texts(pd.DataFrame({part: batch.column(part).to_pylist() for part in names}), name)
    predictions = _predict_in_blocks(texts, predict)
    predicted = add_predictions(pd.DataFrame(index=range(len(texts))), texts, *predictions, cluster_names)
    columns = [*batch.columns, *(_to_arrow(predicted[new]) for new in CLUSTER_COLUMNS)]
    return type(batch).from_arrays(columns, schema=schema)


def _predict_polars(batch: Any, column: TextColumn | None, predict: PredictTexts, cluster_names: Sequence[str]) -> Any:
    """Add predictions to a table of polars; its own columns are not converted."""
    schema = extend_schema(batch)
    sample = batch.head(1000).to_pandas() if column is None else pd.DataFrame(columns=batch.columns)
    name = _find_text_column(sample, column)
    names = [name] if isinstance(name, str) else name
    texts = extract_texts(pd.DataFrame({part: batch.get_column(part).to_list() for part in names}), name)
    predictions = _predict_in_blocks(texts, predict)
    predicted = add_predictions(pd.DataFrame(index=range(len(texts))), texts, *predictions, cluster_names)
    polars = sys.modules["polars"]
    return batch.with_columns(
        polars.Series(new, polars.from_arrow(_to_arrow(predicted[new])), dtype=schema[new]) for new in CLUSTER_COLUMNS
    )


def _is_of_polars(value: Any, *types: str) -> bool:
    """Return whether a value has one of these types of polars, which is imported by whoever has such a value."""
    polars = sys.modules.get("polars")
    return polars is not None and isinstance(value, tuple(getattr(polars, name) for name in types))


def _to_arrow(column: pd.Series[Any]) -> pa.Array:
    """Return a column as a plain array, which a chunked array cannot stand in for in a record batch."""
    array = pa.array(column, from_pandas=True)
    return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array


def _predict_in_blocks(texts: list[str | None], predict: PredictTexts) -> tuple[Any, Any]:
    """Predict texts block by block: a partition may have more rows than embeddings fit into memory."""
    blocks = [predict(texts[start : start + BLOCK_ROWS]) for start in range(0, max(len(texts), 1), BLOCK_ROWS)]
    clusters, confidence = zip(*blocks, strict=True)
    return np.concatenate(clusters), np.concatenate(confidence)


def _find_text_column(table: pd.DataFrame, requested: TextColumn | None) -> TextColumn:
    """Return the text column or columns; any column of an empty batch, which engines pass to learn the schema."""
    if requested is None and not len(table):
        return str(table.columns[0]) if len(table.columns) else ""
    return find_text_columns(table, requested, how_to_choose="as text_column, or several as a list")
