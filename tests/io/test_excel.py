"""Workbooks: what a person sees in a sheet is what is read, and what is written opens as it was."""

from __future__ import annotations

import datetime
import io
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import rstc.io.excel as excel
from rstc.errors import InputError
from rstc.io.formats import iter_tables, open_table_writer, read_table

DAY = datetime.date(2024, 1, 5)
MOMENT = datetime.datetime(2024, 1, 5, 13, 30)


def write(table: pd.DataFrame, path: Path, format: str = "xlsx") -> Path:
    with open_table_writer(path, format) as append:
        append(table)
    return path


def make_workbook(path: Path, sheets: dict[str, list[list[Any]]]) -> str:
    """Save a workbook as a spreadsheet program does."""
    workbook = openpyxl.Workbook()
    workbook.remove(workbook.active)
    for title, rows in sheets.items():
        sheet = workbook.create_sheet(title)
        for row in rows:
            sheet.append(row)
    workbook.save(path)
    return str(path)


def replace_part(path: str, part: str, old: str, new: str) -> None:
    """Replace a piece of a workbook's XML."""
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    assert old in parts[part].decode()
    parts[part] = parts[part].decode().replace(old, new, 1).encode()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)


def test_cells_keep_their_types_and_empty_cells_are_missing(tmp_path: Path) -> None:
    rows = [["id", "text", "day", "time", "done", "price"], [7, "late", DAY, MOMENT, True, 1.5], [8, None, None, "x"]]
    table = read_table(make_workbook(tmp_path / "in.xlsx", {"Sheet": rows}), "xlsx")
    assert table.to_numpy().tolist() == [[7, "late", DAY, MOMENT, True, 1.5], [8, None, None, "x", None, None]]
    assert [type(value) for value in table.iloc[0]] == [int, str, datetime.date, datetime.datetime, bool, float]
    write(table, tmp_path / "out.csv", "csv")
    assert (tmp_path / "out.csv").read_text().splitlines()[1] == "7,late,2024-01-05,2024-01-05 13:30:00,True,1.5"


def test_sheet_is_the_first_that_is_seen_or_is_chosen_by_name_or_number(tmp_path: Path) -> None:
    sheets = {title: [["text"], [f"in {title}"]] for title in ("hidden", "2024", "notes")}
    path = make_workbook(tmp_path / "in.xlsx", sheets)
    replace_part(
        path, "xl/workbook.xml", 'name="hidden" sheetId="1" state="visible"', 'name="hidden" sheetId="1" state="hidden"'
    )
    for requested, expected in ((None, "2024"), ("notes", "notes"), ("3", "notes"), ("1", "hidden"), ("2024", "2024")):
        assert read_table(path, "xlsx", sheet=requested)["text"].tolist() == [f"in {expected}"]
    with pytest.raises(InputError, match="no sheet 'Notes'; its sheets are 'hidden', '2024', 'notes'"):
        read_table(path, "xlsx", sheet="Notes")
    (tmp_path / "in.csv").write_text("text\nlate\n")
    with pytest.raises(InputError, match="--sheet=2 is for Excel workbooks"):
        read_table(str(tmp_path / "in.csv"), "csv", sheet="2")


def test_blank_rows_stay_in_place_but_not_at_the_ends(tmp_path: Path) -> None:
    rows = [[], [None, None], ["id", "text"], [1, "late"], [], [None, None], [2, "again"], [], [None, None]]
    table = read_table(make_workbook(tmp_path / "in.xlsx", {"Sheet": rows}), "xlsx")
    assert table.to_numpy().tolist() == [[1, "late"], [None, None], [None, None], [2, "again"]]


def test_index_without_a_name_is_named_by_its_letter(tmp_path: Path) -> None:
    pd.DataFrame({"text": ["late"]}, index=[5]).to_excel(tmp_path / "in.xlsx")
    assert read_table(str(tmp_path / "in.xlsx"), "xlsx").to_dict("records") == [{"column A": 5, "text": "late"}]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "sheet 'Sheet' of .* is empty"),
        ([["text"]], "holds no rows"),
        ([["text", "text"], ["a", "b"]], "more than one column called 'text'"),
        ([["text"], ["late"], ["again", None, "note"]], "cell C3 of .* has no name"),
    ],
)
def test_error_of_an_unusable_sheet_says_why(rows: list[list[Any]], message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        read_table(make_workbook(tmp_path / "in.xlsx", {"Sheet": rows}), "xlsx")


def test_formula_is_its_last_value_and_an_error_is_missing(tmp_path: Path) -> None:
    path = make_workbook(tmp_path / "in.xlsx", {"Sheet": [["text", "n"], ["late", "=1+1"], ["#N/A", "=2+2"]]})
    replace_part(path, "xl/worksheets/sheet1.xml", "<f>1+1</f><v />", "<f>1+1</f><v>2</v>")
    assert read_table(path, "xlsx").to_numpy().tolist() == [["late", 2]]


def test_texts_are_written_as_texts_and_never_as_formulas(tmp_path: Path) -> None:
    texts = ["=1+1", '=HYPERLINK("http://x","y")', "+1", "@sum", "'quoted", "#N/A", "007", "2024-01-05"]
    path = write(pd.DataFrame({"=cmd": texts}), tmp_path / "out.xlsx")
    cells = [row[0] for row in openpyxl.load_workbook(path).active.iter_rows()]
    assert {cell.data_type for cell in cells} == {"s"}
    assert [cell.value for cell in cells] == ["=cmd", *texts]
    assert b"<f>" not in zipfile.ZipFile(path).read("xl/worksheets/sheet1.xml")
    assert read_table(str(path), "xlsx")["=cmd"].tolist() == texts


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)
ESCAPES = st.lists(st.sampled_from(["_", "x0041_", "_x005F_", "x", "\x00", "\r", "\n", " ", "\uffff", "a"])).map(
    "".join
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(TEXTS | ESCAPES.filter(bool), min_size=1, max_size=5))
def test_written_texts_are_read_unchanged(rows: list[str], tmp_path: Path) -> None:
    path = write(pd.DataFrame({"text": rows}, dtype=object), tmp_path / "out.xlsx")
    assert read_table(str(path), "xlsx")["text"].tolist() == rows


def test_escaped_line_breaks_of_excel_are_restored(tmp_path: Path) -> None:
    path = make_workbook(tmp_path / "in.xlsx", {"Sheet": [["text"], ["late_x000D_\nagain"]]})
    assert read_table(path, "xlsx")["text"].tolist() == ["late\r\nagain"]


def test_values_that_a_sheet_cannot_hold_are_written_as_texts(tmp_path: Path) -> None:
    zone = pd.Timestamp("2024-01-05 13:30", tz="UTC")
    values = [
        2**60,
        float("nan"),
        pd.NA,
        pd.NaT,
        zone,
        datetime.date(1850, 1, 1),
        {"k": [1]},
        np.int64(3),
        float("inf"),
    ]
    table = pd.DataFrame({"text": ["a"] * len(values), "value": pd.Series(values, dtype=object)})
    again = read_table(str(write(table, tmp_path / "out.xlsx")), "xlsx")["value"].tolist()
    expected = [str(2**60), None, None, None, "2024-01-05 13:30:00+00:00", "1850-01-01", '{"k": [1]}', 3, "inf"]
    assert again == expected


def test_columns_of_parquet_are_written_as_cells(tmp_path: Path) -> None:
    table = pa.table({"text": ["late", None], "n": pa.array([1, None], pa.int32()), "when": pa.array([MOMENT, None])})
    frame = table.to_pandas(types_mapper=pd.ArrowDtype)
    again = read_table(str(write(frame, tmp_path / "out.xlsx")), "xlsx")
    assert again.to_numpy().tolist() == [["late", 1, MOMENT]]


def test_more_than_a_sheet_holds_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match=r"row 2 has 40,000 in column 'text'; write csv or parquet"):
        write(pd.DataFrame({"text": ["x" * 40_000]}), tmp_path / "long.xlsx")
    monkeypatch.setattr(excel, "MAX_ROWS", 3)
    write(pd.DataFrame({"text": ["a", "b"]}), tmp_path / "fits.xlsx")
    with pytest.raises(InputError, match=r"a sheet holds 3 rows .* write csv or parquet"):
        write(pd.DataFrame({"text": ["a", "b", "c"]}), tmp_path / "more.xlsx")
    assert [path.name for path in tmp_path.iterdir()] == ["fits.xlsx"]


def test_rows_are_read_in_chunks(tmp_path: Path) -> None:
    path = make_workbook(tmp_path / "in.xlsx", {"Sheet": [["text"], *([f"text {i}"] for i in range(25))]})
    assert [len(chunk) for chunk in iter_tables(path, "xlsx", chunk_rows=10)] == [10, 10, 5]


def test_workbook_that_unpacks_to_gigabytes_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    path = make_workbook(tmp_path / "bomb.xlsx", {"Sheet": [["text"], ["late"]]})
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive, archive.open("xl/media.xml", "w") as part:
        for _ in range(100):
            part.write(bytes(2**20))
    assert Path(path).stat().st_size < 2**20
    with pytest.raises(InputError, match=r"unpacks to 0\.1 GB in xl/media\.xml"):
        read_table(path, "xlsx")


def test_entities_that_expand_are_refused(tmp_path: Path) -> None:
    path = make_workbook(tmp_path / "in.xlsx", {"Sheet": [["text"], ["late"]]})
    bomb = '<!DOCTYPE x [<!ENTITY a "aa"><!ENTITY b "&a;&a;">]><worksheet'
    replace_part(path, "xl/worksheets/sheet1.xml", "<worksheet", bomb)
    with pytest.raises(InputError, match="cannot be read as xlsx"):
        read_table(path, "xlsx")


def test_sheet_that_claims_a_million_empty_columns_is_read(tmp_path: Path) -> None:
    path = make_workbook(tmp_path / "in.xlsx", {"Sheet": [["text"], ["late"]]})
    replace_part(path, "xl/worksheets/sheet1.xml", 'ref="A1:A2"', 'ref="A1:XFD1048576"')
    assert read_table(path, "xlsx").to_dict("list") == {"text": ["late"]}
    replace_part(path, "xl/worksheets/sheet1.xml", '<row r="2"', '<row r="2000000000"')
    with pytest.raises(InputError, match="more than 1,048,576 rows"):
        read_table(path, "xlsx")


def test_workbook_comes_through_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = make_workbook(tmp_path / "in.xlsx", {"Sheet": [["text"], ["late"]]})
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(Path(path).read_bytes())))
    assert read_table("-", "xlsx")["text"].tolist() == ["late"]


def test_missing_library_is_named_with_its_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = make_workbook(tmp_path / "in.xlsx", {"Sheet": [["text"], ["late"]]})
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(InputError, match=r"openpyxl is not installed: pip install 'rstc\[excel\]'"):
        read_table(path, "xlsx")
