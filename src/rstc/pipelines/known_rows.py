"""Rows of a file that a run holds already, so that the same rows are not added twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

MAX_REPEATED_SHARE = 0.01  # of rows that equal another one, up to which equal rows are the same record


def find_known_rows(present: pd.DataFrame, new: pd.DataFrame, parts: Sequence[int]) -> NDArray[np.bool_]:
    """Return which new rows a run holds already.

    Where rows are distinct, such as rows with an id or a date, a new row is known if the run has an equal one. Rows
    that may well be equal and yet different, such as search queries without a date, are known only as part of an
    earlier file: the new rows then begin with all its rows, in order.

    Parameters
    ----------
    present : DataFrame
        The rows of the run.
    new : DataFrame
        The new rows.
    parts : sequence of int
        Number of rows of the first file and of each update, in the order of the run's rows.

    Returns
    -------
    ndarray of shape (M,)

    Examples
    --------
    >>> run, more = (pd.DataFrame({"text": texts}) for texts in (["late", "lost", "found"], ["late", "again", "late"]))
    >>> find_known_rows(run, more, [3]).tolist()
    [True, False, False]
    """
    columns = [*present.columns, *(name for name in new.columns if name not in present.columns)]
    rows, new_rows = (_to_keys(table, columns) for table in (present, new))
    counts = Counter(rows)
    if sum(count - 1 for count in counts.values()) > MAX_REPEATED_SHARE * len(rows):
        known = np.zeros(len(new_rows), dtype=bool)
        known[: _count_repeated_parts(rows, new_rows, parts)] = True
        return known
    known = np.zeros(len(new_rows), dtype=bool)
    for i, row in enumerate(new_rows):
        if counts[row] > 0:
            counts[row] -= 1
            known[i] = True
    return known


def _count_repeated_parts(rows: list[Any], new_rows: list[Any], parts: Sequence[int]) -> int:
    """Return the number of new rows at the start that repeat whole parts of the run's rows, one after the other."""
    bounds = np.concatenate([[0], np.cumsum(parts)]).tolist()
    longest = 0
    for i, first in enumerate(bounds[:-1]):
        for last in bounds[i + 1 :]:
            if longest < last - first <= len(new_rows) and rows[first:last] == new_rows[: last - first]:
                longest = last - first
    return longest


def _to_keys(table: pd.DataFrame, columns: Sequence[Any]) -> list[Any]:
    """Return each row as values that are compared: all columns as strings, "" where a value is missing."""
    strings = [map(_to_string, table[name]) if name in table.columns else [""] * len(table) for name in columns]
    return list(zip(*strings, strict=True))


def _to_string(value: Any) -> str:
    """Return a value as a string; a whole number is the same as a float, which a column with gaps holds."""
    if value is None or value is pd.NA or (isinstance(value, float) and value != value):
        return ""
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        return str(int(value))
    return str(value)
