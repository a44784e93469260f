"""Groups of texts by the values of a column: categories, bins of numbers, periods of dates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rstc.errors import InputError
from rstc.io.column_types import find_column_type, parse_categories, parse_dates, parse_numbers
from rstc.results.periods import EVERY, cut_periods, shorten_period

MAX_GROUPS = 20  # of categories and periods; further categories are counted together
MAX_DISTINCT_NUMBERS = 10  # of a rating, which is not binned
N_BINS = 4


@dataclass(frozen=True)
class Groups:
    """Groups of texts, none of them empty.

    Attributes
    ----------
    values : list of str
        The name of each group: in order of numbers and dates, else the largest first.
    codes : array of int, shape (N,)
        The group of each text, -1 for a text without a value.
    """

    values: list[str]
    codes: NDArray[np.int64]


def cut_groups(column: pd.Series[Any]) -> Groups:
    """Cut the rows of a column into groups by its type.

    Numbers with more than 10 values are cut at the quartiles, dates into at most 20 periods. Of other values, the 20
    most frequent ones are groups, and the others are counted together.

    Parameters
    ----------
    column : Series
        N values; its name is used in error messages.

    Returns
    -------
    Groups

    Examples
    --------
    >>> groups = cut_groups(pd.Series(["1", "5", "", "1"], name="rating"))
    >>> groups.values, groups.codes.tolist()
    (['1', '5'], [0, 1, -1, 0])
    """
    type = find_column_type(column)
    if type == "number":
        groups = _cut_numbers(column)
    elif type == "date":
        groups = _cut_dates(column)
    else:
        groups = _cut_categories(column)
    used, codes = np.unique(np.append(groups.codes, -1), return_inverse=True)  # a bin may be empty
    values = [groups.values[code] for code in used[1:].tolist()]
    if len(values) < 2:
        held = f"holds only the value {values[0]!r}" if values else "holds no values"
        raise InputError(f"column {column.name!r} {held}; groups can be compared if there are two")
    return Groups(values, codes[:-1] - 1)


def _cut_numbers(column: pd.Series[Any]) -> Groups:
    """Return the values of few distinct numbers as groups, and quartiles of many."""
    numbers = parse_numbers(column)
    is_present = np.isfinite(numbers)
    distinct, ranks = np.unique(numbers[is_present], return_inverse=True)
    codes = np.full(len(numbers), -1, dtype=np.int64)
    if len(distinct) <= MAX_DISTINCT_NUMBERS:
        codes[is_present] = ranks
        return Groups([_format_number(value) for value in distinct.tolist()], codes)
    edges = np.unique(np.quantile(numbers[is_present], np.arange(1, N_BINS) / N_BINS))
    codes[is_present] = np.searchsorted(edges, numbers[is_present], side="left")
    ranges = [numbers[codes == code] for code in range(len(edges) + 1)]
    return Groups([_format_range(held) for held in ranges], codes)


def _cut_dates(column: pd.Series[Any]) -> Groups:
    """Return periods of dates, of the shortest length that makes at most `MAX_GROUPS` of them."""
    dates = parse_dates(column)
    chosen = EVERY.index(cut_periods(dates).every)
    periods = cut_periods(dates, EVERY[chosen])
    while len(periods.starts) > MAX_GROUPS and chosen + 1 < len(EVERY):
        chosen += 1
        periods = cut_periods(dates, EVERY[chosen])
    return Groups([shorten_period(start, periods.every) for start in periods.starts], periods.codes)


def _cut_categories(column: pd.Series[Any]) -> Groups:
    """Return the most frequent values, and the others as one group."""
    values, codes = parse_categories(column)
    n_present = int((codes >= 0).sum())
    if len(values) > MAX_GROUPS and 2 * len(values) > n_present:
        raise InputError(
            f"column {column.name!r} holds {len(values):,} different values in {n_present:,} rows, such as "
            f"{values[0][:40]!r}; groups need values that many rows share"
        )
    if len(values) <= MAX_GROUPS + 1:
        return Groups(values, codes)
    others = f"other ({len(values) - MAX_GROUPS:,} values)"
    return Groups([*values[:MAX_GROUPS], others], np.minimum(codes, MAX_GROUPS))


def _format_range(numbers: NDArray[np.float64]) -> str:
    """Return the smallest and the largest of some numbers."""
    if not len(numbers):
        return ""
    low, high = _format_number(float(numbers.min())), _format_number(float(numbers.max()))
    return low if low == high else f"{low} to {high}"


def _format_number(value: float) -> str:
    """Return a number with the digits that a label bears.

    >>> _format_number(5.0), _format_number(0.123456), _format_number(1250.75)
    ('5', '0.1235', '1,251')
    """
    return f"{value:,.0f}" if value.is_integer() or abs(value) >= 1000 else f"{value:.4g}"
