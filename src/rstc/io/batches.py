"""Predictions for batches of data engines: the same kind of table out as in, with two more columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from rstc.errors import InputError
from rstc.io.columns import CLUSTER_COLUMNS, add_predictions, extract_texts, find_text_column
from rstc.io.predictions import NO_CLUSTER

PredictTexts = Callable[[list[str | None]], tuple[Any, Any]]  # texts -> clusters (N,), confidence (N,)


def predict_batch_with(batch: Any, column: str | None, predict: PredictTexts) -> Any:
    """Return a batch with the columns `cluster` and `confidence`.

    Parameters
    ----------
    batch : pandas.DataFrame, pyarrow.Table, pyarrow.RecordBatch, dict or iterator
        Rows; a dict holds columns by name, as Ray's "numpy" batches do; an iterator yields batches, as Spark's
        mapInArrow does.
    column : str or None
        The column that holds the texts; None for the only one that can.
    predict : callable
        Returns the clusters and the confidence of a list of texts.

    Returns
    -------
    Any
        A batch of the same kind. In a dict, where nothing can be missing, a row without a text has cluster
        `NO_CLUSTER`.
    """
    if isinstance(batch, Iterator):
        return (predict_batch_with(item, column, predict) for item in batch)
    if isinstance(batch, pd.DataFrame):
        return _predict_frame(batch, column, predict)
    if isinstance(batch, (pa.Table, pa.RecordBatch)):
        return _predict_arrow(batch, column, predict)
    if isinstance(batch, dict):
        frame = pd.DataFrame({name: list(values) for name, values in batch.items()})
        predicted = _predict_frame(frame, column, predict)
        clusters = predicted["cluster"].to_numpy(np.int64, na_value=NO_CLUSTER)
        confidence = predicted["confidence"].to_numpy(np.float64, na_value=np.nan)
        return {**batch, "cluster": clusters, "confidence": confidence}
    raise InputError(f"a batch is a pyarrow or pandas table or a dictionary of columns, got {type(batch).__name__}")


def _predict_frame(table: pd.DataFrame, column: str | None, predict: PredictTexts) -> pd.DataFrame:
    """Add predictions to a pandas table."""
    texts = extract_texts(table, _find_text_column(table, column))
    return add_predictions(table, texts, *predict(texts))


def _predict_arrow(
    batch: pa.Table | pa.RecordBatch, column: str | None, predict: PredictTexts
) -> pa.Table | pa.RecordBatch:
    """Add predictions to an arrow batch; its own columns are not converted."""
    name = _find_text_column(batch.slice(0, 1000).to_pandas(), column)
    texts = extract_texts(pd.DataFrame({name: batch.column(name).to_pylist()}), name)
    predicted = add_predictions(pd.DataFrame(index=range(len(texts))), texts, *predict(texts))
    columns = [*batch.columns, *(pa.array(predicted[new], from_pandas=True) for new in CLUSTER_COLUMNS)]
    schema = batch.schema
    for new, kind in zip(CLUSTER_COLUMNS, (pa.int64(), pa.float64()), strict=True):
        schema = schema.append(pa.field(new, kind))
    return type(batch).from_arrays(columns, schema=schema)


def _find_text_column(table: pd.DataFrame, requested: str | None) -> str:
    """Return the text column; any column of an empty batch, which engines pass to learn the schema of the result."""
    if requested is None and not len(table):
        return str(table.columns[0]) if len(table.columns) else ""
    return find_text_column(table, requested)
