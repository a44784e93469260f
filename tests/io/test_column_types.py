"""Types of columns, and their values as numbers, dates and categories."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rstc.io.column_types import find_column_type, parse_categories, parse_dates, parse_numbers


def read_one(cell: object) -> str:
    """Return the date of a column with one cell, as a string."""
    return str(parse_dates(pd.Series([cell], dtype=object))[0])


@pytest.mark.parametrize(
    "cell",
    [
        "2015-02-24",
        "2015/02/24",
        "2015.2.24",
        "20150224",
        "24.02.2015",
        "24.2.15",
        "24/02/2015",
        "02/24/2015",
        "24-02-2015",
        "Feb 24 2015",
        "February 24th, 2015",
        "Sept. 24, 2015",
        "24 Feb 2015",
        "24-Feb-15",
        "24th of February 2015",
        "Tuesday, 24 February 2015",
        20150224,
        dt.date(2015, 2, 24),
        np.datetime64("2015-02-24"),
    ],
)
def test_days_are_read_as_people_write_them(cell: object) -> None:
    expected = "2015-09-24T00:00:00" if str(cell).startswith("Sept") else "2015-02-24T00:00:00"
    assert read_one(cell) == expected


@pytest.mark.parametrize(
    "cell",
    [
        "2015-02-24 11:35:52",
        "2015-02-24T11:35:52",
        "2015-02-24T11:35:52.123456Z",
        "2015-02-24 11:35:52 -0800",
        "2015-02-24T11:35:52+01:00",
        "2015-02-24T11:35:52+01:00[Europe/Berlin]",
        "20150224T113552Z",
        "24.02.2015, 11:35:52",
        "02/24/2015 11:35:52 AM",
        "24 Feb 2015 at 11:35:52 GMT",
        "Tue, 24 Feb 2015 11:35:52 +0000",
        "Tue Feb 24 11:35:52 +0000 2015",
        "Tue Feb 24 2015 11:35:52 GMT+0100 (Central European Standard Time)",
        "1424777752",
        "1424777752000",
        1424777752,
        1424777752.25,
        pd.Timestamp("2015-02-24 11:35:52", tz="Asia/Tokyo"),
    ],
)
def test_times_are_those_that_the_cell_shows(cell: object) -> None:
    assert read_one(cell) == "2015-02-24T11:35:52"


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("2015", "2015-01-01"),
        ("2015-03", "2015-03-01"),
        ("03/2015", "2015-03-01"),
        ("March 2015", "2015-03-01"),
        ("2015-Q2", "2015-04-01"),
        ("Q2 2015", "2015-04-01"),
        ("2015-W09", "2015-02-23"),
        ("12:30 am", "NaT"),
        ("02/24/2015 12:05 am", "2015-02-24"),
    ],
)
def test_a_period_is_its_first_day(cell: str, expected: str) -> None:
    assert read_one(cell)[:10] == expected


@pytest.mark.parametrize(
    "cell", ["", " ", None, "soon", "may", "flight 24", "30.02.2015", "2015-13-01", "13/13/2015", "5", "9999", "4.5"]
)
def test_what_is_no_date_is_missing(cell: object) -> None:
    assert read_one(cell) == "NaT"


def test_order_of_day_and_month_is_decided_by_the_whole_column() -> None:
    days = parse_dates(pd.Series(["03/02/2015", "04/02/2015", "24/02/2015"])).astype("datetime64[D]").astype(str)
    months = parse_dates(pd.Series(["03/02/2015", "04/02/2015", "02/24/2015"])).astype("datetime64[D]").astype(str)
    assert days.tolist() == ["2015-02-03", "2015-02-04", "2015-02-24"]
    assert months.tolist() == ["2015-03-02", "2015-04-02", "2015-02-24"]


def test_without_a_number_above_12_slashes_put_the_month_first_and_dots_the_day() -> None:
    assert read_one("03/02/2015")[:10] == "2015-03-02"
    assert read_one("03.02.2015")[:10] == "2015-02-03"


@given(st.dates(dt.date(1950, 1, 1), dt.date(2068, 12, 31)))
def test_every_day_is_read_in_every_notation(day: dt.date) -> None:
    column = pd.Series([day.strftime(form) for form in ("%Y-%m-%d", "%d.%m.%Y", "%b %d %Y", "%d %B %Y", "%Y%m%d")])
    assert set(parse_dates(column).astype("datetime64[D]").tolist()) == {day}


@pytest.mark.parametrize(
    "type", [pa.date32(), pa.date64(), pa.timestamp("us"), pa.timestamp("ns", tz="UTC"), pa.timestamp("s", "-08:00")]
)
def test_date_types_of_arrow_are_read(type: pa.DataType) -> None:
    array = pa.array([dt.datetime(2015, 2, 24), None]).cast(pa.timestamp("us")).cast(type, safe=False)
    column = pd.Series(array, dtype=pd.ArrowDtype(type))
    assert find_column_type(column) == "date"
    dates = parse_dates(column)
    assert dates.dtype == "datetime64[s]"
    assert np.isnat(dates[1])
    assert str(dates[0])[:10] == ("2015-02-23" if "-08" in str(type) else "2015-02-24")


def test_date_types_of_pandas_are_read() -> None:
    stamps = pd.Series(pd.DatetimeIndex(["2015-02-24 23:00", "NaT"]))
    expected = ["2015-02-24T23:00:00", "NaT"]
    assert parse_dates(stamps).astype(str).tolist() == expected
    assert parse_dates(stamps.dt.tz_localize("America/New_York")).astype(str).tolist() == expected
    assert parse_dates(stamps.dt.to_period("M")).astype(str).tolist() == ["2015-02-01T00:00:00", "NaT"]


def test_numbers_are_read_with_either_decimal_sign() -> None:
    assert parse_numbers(pd.Series(["1,234", "2,500.75", "-3"])).tolist() == [1234, 2500.75, -3]
    assert parse_numbers(pd.Series(["1.234,5", "7", "1.000"])).tolist() == [1234.5, 7, 1000]
    assert parse_numbers(pd.Series(["0,5", "12,25"])).tolist() == [0.5, 12.25]
    assert parse_numbers(pd.Series(["1,234", "12,500"])).tolist() == [1234, 12500]
    assert parse_numbers(pd.Series(["1.5", "0.001", "2e3"])).tolist() == [1.5, 0.001, 2000]


def test_numbers_may_have_signs_and_separators() -> None:
    column = pd.Series(["$5", "-€ 2.50", "12 %", "1 000 000", "5 stars", "", None, "inf"])
    np.testing.assert_array_equal(parse_numbers(column), [5, -2.5, 12, 1e6, np.nan, np.nan, np.nan, np.nan])


@pytest.mark.parametrize("dtype", ["float64", "Int64", "int64[pyarrow]", "double[pyarrow]"])
def test_numeric_types_are_numbers(dtype: str) -> None:
    column = pd.Series([1, 5, None], dtype=dtype)
    assert find_column_type(column) == "number"
    np.testing.assert_array_equal(parse_numbers(column), [1, 5, np.nan])


def test_categories_are_sorted_by_frequency() -> None:
    values, codes = parse_categories(pd.Series(["b", "a", "c", "c", None, "", " a "]))
    assert values == ["a", "c", "b"]
    assert codes.tolist() == [2, 0, 1, 1, -1, -1, 0]


def test_whole_numbers_as_categories_have_no_decimals() -> None:
    assert parse_categories(pd.Series([4.0, 4.0, np.nan, 2.5]))[0] == ["4", "2.5"]
    assert parse_categories(pd.Series([True, False, True]))[0] == ["True", "False"]


@pytest.mark.parametrize(
    ("name", "cells", "expected"),
    [
        ("rating", ["1", "5", "", "n/a", "3"], "number"),
        ("price", ["1.234,50", "99,90"], "number"),
        ("when", ["2015-02-24 11:35:52 -0800", "", "2015-02-23 01:02:03 -0800"], "date"),
        ("day", ["20150224", "20150301"], "date"),
        ("order", ["10000001", "10000099"], "number"),
        ("year", ["2014", "2015"], "number"),
        ("created_at", ["1424777752", "1424777753"], "date"),
        ("phone", ["1424777752", "1424777753"], "number"),
        ("airline", ["United", "Delta"] * 5, "category"),
        ("reply", ["late again", "app is down", "where is it"], "text"),
        ("tag", [f"tag {i}" for i in range(60)] * 3, "text"),
        ("nothing", ["", "", ""], "text"),
        ("mixed", ["2015-02-24", "soon", "later", "2015-02-25"], "text"),
        ("clock", ["11:35", "12:40", "11:35", "12:40"], "category"),
    ],
)
def test_types_are_found(name: str, cells: list[str], expected: str) -> None:
    assert find_column_type(pd.Series(cells, name=name)) == expected
    assert find_column_type(pd.Series(cells, name=name, dtype="string[pyarrow]")) == expected


def test_truth_values_are_categories() -> None:
    assert find_column_type(pd.Series([True, False])) == "category"
    assert find_column_type(pd.Series([True, None], dtype="bool[pyarrow]")) == "category"


def test_a_long_column_is_judged_by_all_of_its_parts() -> None:
    assert find_column_type(pd.Series(["5"] * 5000 + ["a", "b"] * 2500)) == "category"


@given(st.lists(st.one_of(st.none(), st.text(max_size=12)), max_size=30))
def test_any_column_of_strings_can_be_read(cells: list[str | None]) -> None:
    column = pd.Series(cells, dtype=object)
    assert find_column_type(column) in ("number", "date", "category", "text")
    assert len(parse_numbers(column)) == len(parse_dates(column)) == len(cells)
    values, codes = parse_categories(column)
    for cell, code in zip(cells, codes, strict=True):
        assert (code == -1) if not (cell or "").strip() else (values[code] == (cell or "").strip())


def test_cells_with_nul_bytes_are_not_taken_for_shorter_ones() -> None:
    values, codes = parse_categories(pd.Series(["\0", "", "a\0b", "a", "\0"], dtype=object))
    assert [values[code] if code >= 0 else None for code in codes] == ["\0", None, "a\0b", "a", "\0"]
