"""Types of columns: whether a column holds numbers, dates, categories or text, and its values parsed as such."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

ColumnType = Literal["number", "date", "category", "text"]

MAX_CATEGORIES = 50  # distinct values of a column of categories
MIN_READABLE = 0.9  # share of the cells with a value that have to be readable as a number or a date
_SAMPLE_ROWS = 2000  # of a column that are inspected
_MISSING_WORDS = frozenset({"", "na", "n/a", "nan", "nat", "none", "null", "-", "–", "?", "<na>"})  # casefolded
_YEARS = (1900, 2100)  # of numbers that are read as a year, or as a year, month and day
_EPOCH_UNITS = ((1e8, 1e10, 1e0), (1e11, 1e13, 1e3), (1e14, 1e16, 1e6), (1e17, 1e19, 1e9))  # from, below, per second
_EPOCH_NAME = re.compile(r"date|time|epoch|created|updated|posted|stamp|\bts\b|_at$|_on$", re.IGNORECASE)

_NUMBER = r"[-+]?(\d+([.,]\d+)?|\d{1,3}([.,]\d{3})+([.,]\d+)?|[.,]\d+)([eE][-+]?\d+)?"
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_NAME = (
    "(?P<name>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
_WEEKDAY = r"(?:(?:mon|tues?|wed(?:nes)?|thu(?:rs?)?|fri|sat(?:ur)?|sun)(?:day)?\.?,?\s+)?"
_CLOCK = r"(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:[.,]\d+)?)?(?:\s*(?P<half>[ap])\.?m\.?)?"
_ZONE = r"(?:\s*(?:z|[a-z]{3,4}|(?:utc|gmt)?[+-]\d{2}(?::?\d{2})?|\([a-z ]+\)|\[[a-z_/]+\]))*"
_TIME = rf"(?:(?:t|,?\s+(?:at\s+)?){_CLOCK}{_ZONE})?"
_ISO_START = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:Z| ?[+-]\d{2}:?\d{2})?)?")
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
# Of lower-case cells; the first pattern that matches the whole cell counts.
_DATE_PATTERNS = tuple(
    re.compile(pattern)
    for pattern in (
        rf"(?P<year>\d{{4}})(?P<mark>[-/.])(?P<month>\d{{1,2}})(?:(?P=mark){_DAY}{_TIME})?",
        rf"(?P<first>\d{{1,2}})(?P<mark>[-/.])(?P<other>\d{{1,2}})(?P=mark)(?P<year>\d{{4}}|\d{{2}}){_TIME}",
        rf"{_WEEKDAY}{_NAME}\s+{_DAY},?\s+(?P<year>\d{{4}}){_TIME}",
        rf"{_WEEKDAY}{_DAY}\.?(?:\s+of)?[\s-]*{_NAME},?[\s-]*(?P<year>\d{{4}}|\d{{2}}){_TIME}",
        rf"{_WEEKDAY}{_NAME}\s+{_DAY}\s+{_CLOCK}{_ZONE}\s+(?P<year>\d{{4}})",
        rf"{_NAME},?[\s-]*(?P<year>\d{{4}})",
        r"(?P<year>\d{4})(?P<month>\d{2})(?P<day>\d{2})(?:t?(?P<hour>\d{2})(?P<minute>\d{2})(?P<second>\d{2})?z?)?",
        r"(?P<year>\d{4})-?w(?P<week>\d{2})(?:-?(?P<weekday>[1-7]))?",
        r"(?P<year>\d{4})[ /-]?q(?P<quarter>[1-4])",
        r"q(?P<quarter>[1-4])[ /-]?(?P<year>\d{4})",
        r"(?P<month>\d{1,2})/(?P<year>\d{4})",
        r"(?P<year>\d{4})",
    )
)


def find_column_type(column: pd.Series[Any]) -> ColumnType:
    """Return what a column holds, decided by a sample of the cells that have a value.

    A column is one of numbers or of dates if 90 % of these cells are readable as such. Numbers that count seconds or
    milliseconds since 1970 are dates only if the name of the column says so, because numbers of orders look alike. A
    category has few distinct values for its number of rows: at most 50, each in two rows on average.

    Examples
    --------
    >>> find_column_type(pd.Series(["4", "5", "", "3.5"]))
    'number'
    >>> find_column_type(pd.Series(["24.02.2015", "03.03.2015"]))
    'date'
    >>> find_column_type(pd.Series(["red", "blue", "red", "red"]))
    'category'
    """
    if _is_date_type(column):
        return "date"
    if pd.api.types.is_bool_dtype(column.dtype):
        return "category"
    sample = _take_sample(column)
    cells = [cell for cell in _to_cells(sample) if cell.casefold() not in _MISSING_WORDS]
    if not cells:
        return "text"
    numbers = _parse_number_cells(cells)
    if np.isfinite(numbers).mean() >= MIN_READABLE:
        return "date" if _are_dates_as_numbers(cells, numbers, str(column.name or "")) else "number"
    if (~np.isnat(_parse_date_cells(cells))).mean() >= MIN_READABLE:
        return "date"
    n_distinct = len(set(cells))
    return "category" if n_distinct <= MAX_CATEGORIES and 2 * n_distinct <= len(cells) else "text"


def parse_numbers(column: pd.Series[Any]) -> NDArray[np.float64]:
    """Return the numbers of a column, NaN where a cell holds none.

    Signs of currencies, per cent signs and separators of thousands are left out. Whether a comma is the decimal sign
    is decided by the whole column.

    Examples
    --------
    >>> parse_numbers(pd.Series(["4", "n/a", "1,250.5"])).tolist()
    [4.0, nan, 1250.5]
    >>> parse_numbers(pd.Series(["3,5", "1.250"])).tolist()
    [3.5, 1250.0]
    """
    if pd.api.types.is_numeric_dtype(column.dtype):
        numbers = column.to_numpy(np.float64, na_value=np.nan)
        return np.where(np.isfinite(numbers), numbers, np.nan)
    codes, cells = _list_distinct(column)
    return np.append(_parse_number_cells(cells), np.nan)[codes]


def parse_dates(column: pd.Series[Any]) -> NDArray[np.datetime64]:
    """Return the dates of a column to the second, NaT where a cell is missing or unreadable.

    Read are ISO 8601 with or without time and zone, days and months with dots, slashes or dashes between them, English
    names of months, weeks (2015-W09) and quarters (2015 Q1), years, seconds or milliseconds since 1970, and real date
    types. Whether the day or the month comes first is decided by the whole column: by the numbers above 12; without
    any, the month comes first with slashes, and the day with dots and dashes. The clock time is that of the cell: a
    zone is not converted, so that a text stays on the day that its row shows.

    Examples
    --------
    >>> parse_dates(pd.Series(["2015-02-24 11:35:52 -0800", "Feb 24 2015", "soon"])).tolist()
    [datetime.datetime(2015, 2, 24, 11, 35, 52), datetime.datetime(2015, 2, 24, 0, 0), None]
    >>> parse_dates(pd.Series(["02/03/2015", "24/02/2015"])).astype("datetime64[D]").tolist()
    [datetime.date(2015, 3, 2), datetime.date(2015, 2, 24)]
    """
    if _is_date_type(column):
        return _convert_date_type(column)
    codes, cells = _list_distinct(column)
    return np.append(_parse_date_cells(cells), np.datetime64("NaT", "s"))[codes]


def parse_categories(column: pd.Series[Any]) -> tuple[list[str], NDArray[np.int64]]:
    """Return the distinct values of a column, and which of them each row has.

    Returns
    -------
    values : list of str
        The values without white space around them, the most frequent first, equally frequent ones in alphabetical
        order.
    codes : array of int, shape (N,)
        The position of each row's value, -1 where a cell is empty.

    Examples
    --------
    >>> values, codes = parse_categories(pd.Series(["Delta", "United", " ", "United "]))
    >>> values, codes.tolist()
    (['United', 'Delta'], [1, 0, -1, 0])
    """
    codes, cells = _list_distinct(column)
    counts = np.bincount(codes[codes >= 0], minlength=len(cells))
    order = sorted(range(len(cells)), key=lambda code: (-counts[code], cells[code]))
    ranks = np.full(len(cells) + 1, -1, dtype=np.int64)  # the last one is that of empty cells
    ranks[order] = np.arange(len(cells))
    return [cells[code] for code in order], ranks[codes]


def _take_sample(column: pd.Series[Any]) -> pd.Series[Any]:
    """Return cells with a value at even distances, as many as are inspected."""
    present = column[column.notna()]
    return present.iloc[:: max(1, len(present) // _SAMPLE_ROWS)]


def _to_cells(column: pd.Series[Any]) -> list[str]:
    """Return the values of a column as strings without white space around them, "" where a cell is empty."""
    values = column.astype(object).where(column.notna(), "")
    return [_to_cell(value) for value in values]


def _to_cell(value: Any) -> str:
    """Return one value as a string; a whole number has no decimals, though the column holds floats."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).strip()


def _list_distinct(column: pd.Series[Any]) -> tuple[NDArray[np.int64], list[str]]:
    """Return the code of each row's value, -1 where it is empty, and the distinct values as strings."""
    # Not by pandas.factorize alone: it takes strings that are equal up to a NUL byte for the same.
    is_string = pd.api.types.is_object_dtype(column.dtype)
    raw_codes, values = (np.arange(len(column)), column) if is_string else pd.factorize(column)
    code_of: dict[str, int] = {}
    cells = _to_cells(pd.Series(values, dtype=object))
    cell_codes = [code_of.setdefault(cell, len(code_of)) if cell else -1 for cell in cells]
    codes = np.append(np.array(cell_codes, dtype=np.int64), -1)[raw_codes]
    return codes, list(code_of)


def _are_dates_as_numbers(cells: Sequence[str], numbers: NDArray[np.float64], name: str) -> bool:
    """Return whether numbers are dates: 20150224, or seconds since 1970 in a column whose name says so."""
    is_number = np.isfinite(numbers)
    values = numbers[is_number]
    is_epoch = np.any([(low <= values) & (values < high) for low, high, _ in _EPOCH_UNITS], axis=0)
    if is_epoch.all():
        return bool(_EPOCH_NAME.search(name))
    compact = [cell for cell, readable in zip(cells, is_number, strict=True) if readable]
    return all(len(cell) == 8 and cell.isdigit() for cell in compact) and not np.isnat(_parse_date_cells(compact)).any()


def _parse_number_cells(cells: Sequence[str]) -> NDArray[np.float64]:
    """Return strings as numbers, NaN for those that are none."""
    if not cells:
        return np.empty(0)
    text = pd.Series(cells, dtype=object)
    plain = pd.to_numeric(text, errors="coerce")
    if plain.notna().all():
        return np.where(np.isfinite(plain), plain, np.nan)
    text = text.str.replace(r"^([-+]?)\s*[€$£¥]\s*|\s*[€$£¥%]$", r"\1", regex=True)
    text = text.str.replace(r"(?<=\d)[\s'’](?=\d{3}(?!\d))", "", regex=True)
    is_number = text.str.fullmatch(_NUMBER).fillna(False).astype(bool)
    text = text.where(is_number, "")
    if _has_decimal_comma(text):
        text = text.str.replace(".", "", regex=False).str.replace(",", ".", regex=False)
    else:
        text = text.str.replace(",", "", regex=False)
    numbers = pd.to_numeric(text, errors="coerce").to_numpy(np.float64)
    return np.where(np.isfinite(numbers), numbers, np.nan)


def _has_decimal_comma(text: pd.Series[Any]) -> bool:
    """Return whether the comma is the decimal sign of a column of numbers."""
    with_comma = text[text.str.contains(",", regex=False)]
    if with_comma.empty:
        return bool(text.str.count(r"\.").gt(1).any())  # 1.250.000
    with_both = with_comma[with_comma.str.contains(".", regex=False)]
    if len(with_both):
        return bool((with_both.str.rfind(",") > with_both.str.rfind(".")).mean() > 0.5)
    return not bool(with_comma.str.fullmatch(r"[-+]?[1-9]\d{0,2}(,\d{3})+").all())


def _parse_date_cells(cells: Sequence[str]) -> NDArray[np.datetime64]:
    """Return strings as dates, NaT for those that are none."""
    if cells and all(map(_ISO_START.fullmatch, cells)):  # the usual case, for which pandas is much faster
        starts = pd.to_datetime([cell[:19] for cell in cells], format="ISO8601", errors="coerce")
        return starts.to_numpy().astype("datetime64[s]")
    dates = np.full(len(cells), np.datetime64("NaT", "s"))
    matches = [_match_date(re.sub(r"\s+", " ", cell.casefold())) for cell in cells]
    day_first = {mark: _is_day_first(matches, mark) for mark in "./-"}
    for i, (cell, match) in enumerate(zip(cells, matches, strict=True)):
        date = _read_epoch(cell) if match is None else _read_match(match, day_first)
        if date is not None:
            dates[i] = date
    return dates


def _match_date(cell: str) -> dict[str, str | None] | None:
    """Return the parts of a date that is written in one of the patterns."""
    for pattern in _DATE_PATTERNS:
        match = pattern.fullmatch(cell)
        if match is not None:
            return match.groupdict()
    return None


def _is_day_first(matches: Sequence[dict[str, str | None] | None], mark: str) -> bool:
    """Return whether the day comes before the month in the dates with a mark between their numbers."""
    pairs = [
        (int(m["first"] or 0), int(m["other"] or 0)) for m in matches if m and m.get("first") and m["mark"] == mark
    ]
    n_day_first = sum(first > 12 for first, _ in pairs)
    n_month_first = sum(other > 12 for _, other in pairs)
    return n_day_first > n_month_first if n_day_first or n_month_first else mark != "/"


def _read_match(parts: dict[str, str | None], day_first: dict[str, bool]) -> np.datetime64 | None:
    """Return the date of the parts of a cell; None if there is no such day or no such time."""
    year = int(parts["year"] or 0)
    if len(parts["year"] or "") == 2:
        year += 2000 if year < 70 else 1900
    if not parts.get("mark") and not parts.get("name") and not _YEARS[0] <= year <= _YEARS[1]:
        return None
    if week := parts.get("week"):
        return _read_iso_week(year, int(week), int(parts["weekday"] or 1))
    if quarter := parts.get("quarter"):
        month, day = 3 * int(quarter) - 2, 1
    elif first := parts.get("first"):
        numbers = int(first), int(parts["other"] or 0)
        day, month = numbers if day_first[parts["mark"] or ""] else numbers[::-1]
    else:
        name = parts.get("name")
        month = _MONTHS.index(name[:3]) + 1 if name else int(parts.get("month") or 1)
        day = int(parts.get("day") or 1)
    hour, minute, second = (int(parts.get(unit) or 0) for unit in ("hour", "minute", "second"))
    if half := parts.get("half"):
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if half == "p" else 0)
    if hour > 24 or minute > 59 or second > 60:
        return None
    try:
        start = np.datetime64(f"{year:04}-{month:02}-{day:02}", "s")
    except ValueError:
        return None
    return start + np.timedelta64(3600 * hour + 60 * minute + min(second, 59), "s")


def _read_iso_week(year: int, week: int, weekday: int) -> np.datetime64 | None:
    """Return a day of a week as ISO 8601 counts weeks; None if the year has no such week."""
    try:
        return np.datetime64(pd.Timestamp.fromisocalendar(year, week, weekday), "s")
    except ValueError:
        return None


def _read_epoch(cell: str) -> np.datetime64 | None:
    """Return the date of a number of seconds, milliseconds, microseconds or nanoseconds since 1970."""
    if not re.fullmatch(r"\d{9,19}(\.\d*)?", cell):
        return None
    value = float(cell)
    for low, high, per_second in _EPOCH_UNITS:
        if low <= value < high:
            return np.datetime64(int(value // per_second), "s")
    return None


def _is_date_type(column: pd.Series[Any]) -> bool:
    """Return whether the type of a column is one of dates, of pandas or of arrow."""
    return (
        _is_arrow_date(column)
        or isinstance(column.dtype, (pd.DatetimeTZDtype, pd.PeriodDtype))
        or (pd.api.types.is_datetime64_dtype(column.dtype))
    )


def _is_arrow_date(column: pd.Series[Any]) -> bool:
    return isinstance(column.dtype, pd.ArrowDtype) and column.dtype.kind == "M"


def _convert_date_type(column: pd.Series[Any]) -> NDArray[np.datetime64]:
    """Return the dates of a column of a real date type, with the clock time of its zone."""
    if isinstance(column.dtype, pd.PeriodDtype):
        column = column.dt.to_timestamp()
    if _is_arrow_date(column):
        column = pa.array(column.array).to_pandas(date_as_object=False)
    if isinstance(column.dtype, pd.DatetimeTZDtype):
        column = column.dt.tz_localize(None)
    return column.to_numpy().astype("datetime64[s]")
