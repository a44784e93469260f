"""Malformed files: readers give a table or an error of one sentence, whatever the bytes."""

from __future__ import annotations

import gzip
import io
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rstc import InputError
from rstc.io.columns import extract_texts, find_text_column
from rstc.io.csv_injection import SPREADSHEET_FORMATS, escape_formulas, unescape_formulas
from rstc.io.formats import SUFFIXES, open_table_writer, read_table


def to_parquet(table: pa.Table) -> bytes:
    file = io.BytesIO()
    pq.write_table(table, file)
    return file.getvalue()


def to_xlsx(table: pd.DataFrame) -> bytes:
    file = io.BytesIO()
    table.to_excel(file, index=False)
    return file.getvalue()


VALID_FILES = {
    "csv": b'id,text\n1,"late, again"\n2,"no ""refund"""\n',
    "tsv": b"id\ttext\n1\tlate again\n",
    "jsonl": '{"id": 1, "text": "zu spät"}\n{"id": 2, "text": null}\n'.encode(),
    "parquet": to_parquet(pa.table({"id": [1, 2], "text": ["late again", None]})),
    "txt": b"late again\n\nno refund\n",
    "json": '[{"id": 1, "text": "zu spät"}, {"id": 2, "text": null}]'.encode(),
    "xlsx": to_xlsx(pd.DataFrame({"id": [1, 2], "text": ["late again", None]})),
}
VALID_FILES |= {format: gzip.compress(VALID_FILES[format[:-3]]) for format in SUFFIXES if format.endswith(".gz")}


def read(content: bytes, format: str, folder: Path) -> pd.DataFrame | None:
    """Read a file as a run does; return None if it is refused by an InputError."""
    path = folder / f"file{SUFFIXES[format]}"
    path.write_bytes(content)
    try:
        table = read_table(str(path), format)
        column = find_text_column(table)
        assert all(text is None or text.strip() for text in extract_texts(table, column))
    except InputError:
        return None
    return table


@pytest.mark.parametrize("format", SUFFIXES)
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.binary(max_size=300))
def test_any_bytes_are_read_or_refused(format: str, content: bytes, tmp_path: Path) -> None:
    read(content, format, tmp_path)


@pytest.mark.parametrize("format", SUFFIXES)
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damaged_file_is_read_or_refused(format: str, data: st.DataObject, tmp_path: Path) -> None:
    content = bytearray(VALID_FILES[format])
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    read(bytes(content[: data.draw(st.integers(0, len(content)))]), format, tmp_path)


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


@pytest.mark.parametrize("format", [format for format in SUFFIXES if format not in ("txt", "txt.gz", "xlsx")])
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(TEXTS, min_size=1, max_size=5), escape=st.booleans())
def test_written_texts_are_read_unchanged(format: str, rows: list[str], escape: bool, tmp_path: Path) -> None:
    path = tmp_path / f"file{SUFFIXES[format]}"
    with open_table_writer(path, format, escape) as write:
        write(pd.DataFrame({"n": [str(i) for i in range(len(rows))], "text": rows}, dtype=object))
    table = read_table(str(path), format)
    if escape and format in SPREADSHEET_FORMATS:
        assert not table["text"].str.startswith(("=", "+", "-", "@", "\t", "\r")).any()
        table = unescape_formulas(table)
    assert table["text"].tolist() == rows


def test_formulas_are_escaped_in_names_and_cells_but_not_in_numbers(tmp_path: Path) -> None:
    table = pd.DataFrame({"=cmd": ["=1+1", "+1", "-1", "@sum", "'quoted", "fine"], "n": [-1.5, 2, 3, 4, 5, 6]})
    escaped = escape_formulas(table)
    assert escaped.columns.tolist() == ["'=cmd", "n"]
    assert escaped["'=cmd"].tolist() == ["'=1+1", "'+1", "'-1", "'@sum", "''quoted", "fine"]
    assert escaped["n"].tolist() == table["n"].tolist()
    pd.testing.assert_frame_equal(unescape_formulas(escaped), table)


@pytest.mark.parametrize(
    "text",
    [
        "=अब()", "+تحويل", "-退款", "@คืนเงิน", "＝合計(A1)", "＋環境", "－возврат", "＠παραγγελία", "=환불", "＝הזמנה",
    ],
)  # fmt: skip
def test_formulas_in_any_script_are_escaped_also_with_full_width_signs(text: str) -> None:
    table = pd.DataFrame({"text": [text, f"{text[1:]}{text[0]}"]})
    escaped = escape_formulas(table)
    assert escaped["text"].tolist() == [f"'{text}", f"{text[1:]}{text[0]}"]
    pd.testing.assert_frame_equal(unescape_formulas(escaped), table)


EQUAL_NAMES = pa.Table.from_arrays([pa.array(["a"]), pa.array(["b"])], names=["text", "text"])
CASES: dict[str, tuple[str, bytes, str]] = {
    "open quote": ("csv", b'text\n"late\n', "check its quotes"),
    "more cells than columns": ("csv", b"a,b\n1,2,3\n", "3 cells"),
    "equal column names": ("csv", b"text,text\na,b\n", "more than one column called 'text'"),
    "equal column names in parquet": ("parquet", to_parquet(EQUAL_NAMES), "more than one column called 'text'"),
    "a million columns": ("csv", b",".join(b"c%d" % i for i in range(10**6)) + b"\n", "1,000,000 columns"),
    "a million columns with the same name": ("csv", b"c," * 10**6 + b"c\n", "columns"),
    "mixed encodings": ("csv", b"text\ncaf\xc3\xa9\ncaf\xe9\n", "byte 0xE9"),
    "utf-16 without a byte order mark": ("csv", "text\nlate\n".encode("utf-16-be"), "--encoding utf-16-be"),
    "damaged utf-16": ("csv", "text\nlate\n".encode("utf-16")[:-1], "is damaged UTF-16 text"),
    "compressed": ("csv", gzip.compress(b"text\nlate\n"), "is compressed by gzip"),
    "gzip that is cut off": ("csv.gz", gzip.compress(b"text\nlate\n" * 99)[:-12], "cut off or damaged"),
    "gzip in name only": ("jsonl.gz", b'{"text": "late"}\n', "is not a gzip file"),
    "gzip with wrong bytes": ("txt.gz", gzip.compress(b"late again")[:-8] + bytes(8), "damaged"),
    "an object around the array": (
        "json",
        b'{"n": 1, "data": [{"text": "late"}]}',
        "an object with an array in 'data'",
    ),
    "an object": ("json", b'{"text": "late"}', "an object with the keys 'text'"),
    "a number": ("json", b"12", "the value 12"),
    "a number in the array": ("json", b'["late", 5]', "item 2 of .* is the value 5"),
    "JSON lines": ("json", b'{"text": "late"}\n{"text": "again"}\n', "it is JSON lines"),
    "an array that is cut off": ("json", b'[{"text": "late"}', "is not JSON"),
    "an empty array": ("json", b"[]", "holds no rows"),
    "not a workbook": ("xlsx", b"id,text\n1,late\n", "cannot be read as xlsx"),
    "an unfinished object": ("jsonl", b'{"text": "late"\n', "line 1"),
    "a list": ("jsonl", b'["late"]\n', "line 1"),
    "deep nesting": ("jsonl", b"[" * 10**5 + b"\n", "line 1"),
    "a number of many digits": ("jsonl", b'{"text": ' + b"1" * 10**4 + b"}\n", "line 1"),
    "not a parquet file": ("parquet", b"PAR1 and then nothing PAR1", "cannot be read as parquet"),
    "empty file": ("csv", b"", "is empty"),
    "header only": ("csv", b"text\n", "holds no rows"),
}


@pytest.mark.parametrize("case", CASES)
def test_error_of_a_malformed_file_says_why(case: str, tmp_path: Path) -> None:
    format, content, message = CASES[case]
    path = tmp_path / f"file{SUFFIXES[format]}"
    path.write_bytes(content)
    with pytest.raises(InputError, match=message):
        read_table(str(path), format)


def test_blank_lines_hold_no_text(tmp_path: Path) -> None:
    (tmp_path / "file.txt").write_bytes(b" \n\t\n")
    assert extract_texts(read_table(str(tmp_path / "file.txt"), "txt"), "text") == [None, None]


def test_encoding_that_was_given_is_not_proposed_again(tmp_path: Path) -> None:
    (tmp_path / "odd.csv").write_bytes(b"text\nsp\x90t\n")
    with pytest.raises(InputError, match="for example --encoding cp1252"):
        read_table(str(tmp_path / "odd.csv"), "csv")
    with pytest.raises(InputError, match="or is not a text file"):
        read_table(str(tmp_path / "odd.csv"), "csv", "cp1252")


def test_parquet_file_that_unpacks_to_gigabytes_is_refused(tmp_path: Path) -> None:
    cell = "late again " * 10**5  # a megabyte, in each of 10,000 rows
    column = pa.DictionaryArray.from_arrays(pa.array(np.zeros(10_000, dtype=np.int32)), pa.array([cell]))
    path = tmp_path / "bomb.parquet"
    pq.write_table(pa.table({"text": column}), path, store_schema=False)
    assert path.stat().st_size < 10**5
    with pytest.raises(InputError, match=r"unpacks to 11\.0 GB in 10,000 rows of column 'text'"):
        read_table(str(path), "parquet")


def test_dictionary_columns_of_parquet_keep_their_type(tmp_path: Path) -> None:
    column = pa.array(["late again", None, "late again"]).dictionary_encode()
    pq.write_table(pa.table({"text": column, "n": [1, 2, 3]}), tmp_path / "file.parquet")
    table = read_table(str(tmp_path / "file.parquet"), "parquet")
    assert extract_texts(table, "text") == ["late again", None, "late again"]
    with open_table_writer(tmp_path / "out.parquet", "parquet") as write:
        write(table)
    assert pq.read_table(tmp_path / "out.parquet").schema.field("text").type == column.type
