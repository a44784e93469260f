"""Columns of the page: how they are packed, that cells can be restored, and what is left out."""

from __future__ import annotations

import numpy as np
import pandas as pd

from rstc.report.html import packed_columns
from rstc.report.html.packed_columns import PACKED_NO_CATEGORY, PACKED_NO_DAY, pack_columns
from rstc.results.kept_columns import make_storable


def pack(name: str, cells: list[object]) -> packed_columns.PackedColumn:
    return pack_columns(make_storable(pd.DataFrame({name: cells})))[0][0]


def test_categories_are_codes_by_frequency() -> None:
    column = pack("airline", ["Delta", "United", "", "United"] * 5)
    assert column.facts["kind"] == "category"
    assert column.facts["values"] == ["United", "Delta"]
    assert column.array is not None
    assert column.array[:4].tolist() == [1, 0, PACKED_NO_CATEGORY, 0]
    assert column.cells is None, "the codes restore the cells"


def test_whole_numbers_and_prices_need_four_bytes() -> None:
    stars, prices = pack("stars", ["4", "5", ""]), pack("price", ["4.50", "1250.00", "0.99"])
    for column in (stars, prices):
        assert column.array is not None
        assert column.array.dtype == np.dtype("<f4")
        assert column.cells is None
    assert prices.facts["decimals"] == 2


def test_numbers_beyond_single_precision_are_not_rounded() -> None:
    column = pack("id", ["123456789", "987654321"])
    assert column.array is not None
    assert column.array.tolist() == [123456789, 987654321]
    assert column.cells is None


def test_numbers_in_another_notation_keep_their_cells() -> None:
    cells = ["$4.50", "$12.00", "n/a"] + ["$1.00"] * 9
    column = pack("price", cells)
    assert column.facts["kind"] == "number"
    assert column.cells == cells


def test_days_and_times_are_packed_as_such() -> None:
    days = pack("day", ["2026-01-05", "", "1970-01-02"])
    assert days.array is not None
    assert days.array.tolist() == [20458, PACKED_NO_DAY, 1]
    times = pack("at", ["2015-02-24 11:35:52 -0800", "2015-02-24 11:35:53 -0800"])
    assert times.array is not None
    assert np.diff(times.array).tolist() == [1]
    assert (times.facts["suffix"], times.cells) == (" -0800", None)
    german = pack("am", ["24.02.2015", "25.02.2015"])
    assert german.cells == ["24.02.2015", "25.02.2015"], "the page would write the date in another way"


def test_typed_columns_of_parquet_files_are_packed() -> None:
    frame = make_storable(
        pd.DataFrame({"n": [1, 2], "x": [0.5, np.nan], "at": pd.to_datetime(["2026-01-01 10:00", "2026-01-02 11:30"])})
    )
    packed, left_out = pack_columns(frame)
    assert [column.facts["kind"] for column in packed] == ["number", "number", "date"]
    assert left_out == []


def test_largest_text_columns_beyond_the_budget_are_left_out() -> None:
    rng = np.random.default_rng(0)
    long = ["".join(rng.choice(list("abcdefgh "), 3000)) for _ in range(1200)]
    frame = pd.DataFrame({"short": [f"note {i}" for i in range(1200)], "long": long, "stars": ["4"] * 1200})
    packed, left_out = pack_columns(frame)
    assert left_out == ["long"]
    assert [column.facts["name"] for column in packed] == ["short", "stars"]


def test_run_without_columns_has_none() -> None:
    assert pack_columns(pd.DataFrame(index=pd.RangeIndex(3))) == ([], [])
