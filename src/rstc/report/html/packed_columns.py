"""Pack the user's columns for the page: categories as codes, numbers and dates as arrays, other cells as strings.

The page filters and colours by the codes and arrays, and exports every cell as the file has it. Where the arrays
cannot restore the cells of a column exactly, such as "$4.50", its strings are packed as well.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rstc.io.column_types import find_column_type, parse_categories, parse_dates, parse_numbers

# Strings of all columns that the page holds, in bytes; the largest columns beyond are left out.
MIN_BUDGET = 1_500_000
BUDGET_PER_TEXT = 130
# Codes in the packed arrays; script/columns.js has the same.
PACKED_NO_CATEGORY = 255  # uint8
PACKED_NO_DAY = -(2**31)  # int32
MAX_DECIMALS = 8
MAX_CELL_LENGTH = 5_000  # characters of a cell that the page holds
_SECONDS_PER_DAY = 86_400


@dataclass(frozen=True)
class PackedColumn:
    """A column of the page.

    Attributes
    ----------
    facts : dict
        Name, kind ("category", "number", "date" or "text") and how cells are restored, as JSON values.
    array : array or None
        Codes, numbers, days or seconds since 1970, (N,); None for text.
    cells : list of str or None
        The cells of the file, (N,), if they cannot be restored otherwise.
    """

    facts: dict[str, Any]
    array: NDArray[Any] | None = None
    cells: list[str] | None = field(default=None, repr=False)


def pack_columns(columns: pd.DataFrame) -> tuple[list[PackedColumn], list[str]]:
    """Pack the columns of the file.

    Parameters
    ----------
    columns : DataFrame
        N rows.

    Returns
    -------
    packed : list of PackedColumn
        In the order of the file.
    left_out : list of str
        The names of columns whose strings are too large for the page: columns of text are missing from `packed`,
        others are exported as the page shows them.

    Examples
    --------
    >>> packed, left_out = pack_columns(pd.DataFrame({"stars": ["4", "", "5"]}))
    >>> packed[0].facts["kind"], packed[0].array.tolist(), left_out
    ('number', [4.0, nan, 5.0], [])
    """
    packed = [_pack_column(str(name), columns[name]) for name in columns.columns]
    sizes = [len(json.dumps(column.cells, ensure_ascii=False).encode()) if column.cells else 0 for column in packed]
    budget = max(MIN_BUDGET, BUDGET_PER_TEXT * len(columns))
    left_out = set()
    for i in sorted(range(len(packed)), key=lambda i: -sizes[i]):
        if sum(sizes) <= budget:
            break
        left_out.add(i)
        sizes[i] = 0
    kept = [
        PackedColumn(column.facts, column.array) if i in left_out else column
        for i, column in enumerate(packed)
        if i not in left_out or column.array is not None
    ]
    return kept, [packed[i].facts["name"] for i in sorted(left_out)]


def _pack_column(name: str, column: pd.Series[Any]) -> PackedColumn:
    cells = _list_cells(column)
    kind = find_column_type(column)
    if kind == "category":
        values, codes = parse_categories(column)
        if len(values) < PACKED_NO_CATEGORY:
            restored = [values[code] if code >= 0 else "" for code in codes.tolist()]
            array = np.where(codes < 0, PACKED_NO_CATEGORY, codes).astype("u1")
            facts = {"name": name, "kind": "category", "array": "Uint8Array", "values": values}
            return PackedColumn(facts, array, _keep_if_changed(cells, restored))
    if kind == "number":
        return _pack_numbers(name, parse_numbers(column), cells)
    if kind == "date":
        return _pack_dates(name, parse_dates(column), cells)
    return PackedColumn({"name": name, "kind": "text"}, None, cells)


def _pack_numbers(name: str, numbers: NDArray[np.float64], cells: list[str]) -> PackedColumn:
    """Pack numbers in single precision if that restores the cells, else in double precision."""
    decimals = _find_decimals(cells)
    facts = {"name": name, "kind": "number", "decimals": decimals}
    for type, array in (("Float32Array", numbers.astype("<f4")), ("Float64Array", numbers.astype("<f8"))):
        restored = [_format_number(number, decimals) for number in array.astype(np.float64).tolist()]
        if restored == cells:
            return PackedColumn(facts | {"array": type}, array)
    return PackedColumn(facts | {"array": "Float32Array", "decimals": None}, numbers.astype("<f4"), cells)


def _find_decimals(cells: Sequence[str]) -> int | None:
    """Return the number of decimals that all numbers have; None if it varies."""
    counts = {len(cell.partition(".")[2]) for cell in cells if cell}
    return counts.pop() if len(counts) == 1 and max(counts) <= MAX_DECIMALS else None


def _format_number(number: float, decimals: int | None) -> str:
    """Return a number as script/columns.js does, "" for NaN."""
    if number != number:
        return ""
    if decimals is not None:
        return f"{number:.{decimals}f}"
    return repr(number).removesuffix(".0")


def _pack_dates(name: str, dates: NDArray[np.datetime64], cells: list[str]) -> PackedColumn:
    """Pack dates as days if none has a time, else as seconds."""
    is_missing = np.isnat(dates)
    seconds = dates.astype("datetime64[s]").astype(np.int64)
    has_time = bool((seconds[~is_missing] % _SECONDS_PER_DAY).any())
    iso = ["" if missing else text for missing, text in zip(is_missing, np.datetime_as_string(dates), strict=True)]
    first = next((cell for cell in cells if cell), "")
    facts = {"name": name, "kind": "date", "separator": first[10:11] or " ", "suffix": first[19:]}
    if has_time:
        array = np.where(is_missing, np.nan, seconds).astype("<f8")
        restored = [text and text.replace("T", facts["separator"]) + facts["suffix"] for text in iso]
        facts |= {"array": "Float64Array"}
    else:
        array = np.where(is_missing, PACKED_NO_DAY, seconds // _SECONDS_PER_DAY).astype("<i4")
        restored = [text[:10] for text in iso]
        facts |= {"array": "Int32Array"}
    return PackedColumn(facts, array, _keep_if_changed(cells, restored))


def _keep_if_changed(cells: list[str], restored: list[str]) -> list[str] | None:
    return None if cells == restored else cells


def _list_cells(column: pd.Series[Any]) -> list[str]:
    """Return the cells of a column as a file would hold them, "" where a value is missing."""
    values = column.astype(object).where(column.notna(), "")
    return [_to_cell(value)[:MAX_CELL_LENGTH] for value in values]


def _to_cell(value: Any) -> str:
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return str(value)
