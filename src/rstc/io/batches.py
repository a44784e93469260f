"""Batches of rows as data engines hand them on, labelled: a table in, the same kind of table out, two columns more."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from rstc.errors import InputError
from rstc.io.columns import find_text_column, labelled, texts_of

Assign = Callable[[list[str | None]], tuple[Any, Any]]  # texts to clusters (N,) and confidence (N,)


def label_batch(batch: Any, column: str | None, assign: Assign) -> Any:
    """Return a batch with the columns `cluster` and `confidence`.

    Args:
        batch: a pyarrow table or record batch, a pandas table, columns by name as Ray's "numpy" batches have them, or
            an iterator over any of these, as Spark's mapInArrow gives and takes it.
        column: that holds the texts; None: the only one that can.
        assign: what labels texts.
    """
    if isinstance(batch, Iterator):
        return (label_batch(one, column, assign) for one in batch)
    if isinstance(batch, pd.DataFrame):
        return _labelled(batch, column, assign)
    if isinstance(batch, (pa.Table, pa.RecordBatch)):
        return _labelled_arrow(batch, column, assign)
    if isinstance(batch, dict):
        table = _labelled(pd.DataFrame({name: list(values) for name, values in batch.items()}), column, assign)
        clusters = table["cluster"].to_numpy(np.int64, na_value=-1)
        return {**batch, "cluster": clusters, "confidence": table["confidence"].to_numpy(np.float64, na_value=np.nan)}
    raise InputError(f"a batch is a pyarrow or pandas table or a dictionary of columns, got {type(batch).__name__}")


def _labelled(table: pd.DataFrame, column: str | None, assign: Assign) -> pd.DataFrame:
    texts = texts_of(table, _text_column(table, column))
    return labelled(table, texts, *assign(texts))


def _labelled_arrow(batch: pa.Table | pa.RecordBatch, column: str | None, assign: Assign) -> pa.Table | pa.RecordBatch:
    """Return an arrow batch with two columns more; the others are not touched."""
    name = _text_column(batch.slice(0, 1000).to_pandas(), column)
    texts = texts_of(pd.DataFrame({name: batch.column(name).to_pylist()}), name)
    found = labelled(pd.DataFrame(index=range(len(texts))), texts, *assign(texts))
    columns = [*batch.columns, *(pa.array(found[new], from_pandas=True) for new in ("cluster", "confidence"))]
    schema = batch.schema
    for new, kind in (("cluster", pa.int64()), ("confidence", pa.float64())):
        schema = schema.append(pa.field(new, kind))
    return type(batch).from_arrays(columns, schema=schema)


def _text_column(table: pd.DataFrame, asked: str | None) -> str:
    """Return where the texts are; of an empty batch, which engines hand on to learn its columns, it may be any."""
    if asked is None and not len(table):
        return str(table.columns[0]) if len(table.columns) else ""
    return find_text_column(table, asked)
