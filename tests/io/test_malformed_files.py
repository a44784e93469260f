"""Malformed files: readers give a table or an error of one sentence, whatever the bytes."""

from __future__ import annotations

import gzip
import io
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from rstc import InputError
from rstc.errors import FileWarning
from rstc.io import excel, formats, parquet, readers
from rstc.io.columns import extract_texts, find_text_column
from rstc.io.csv_injection import FORMULA_PREFIXES, SPREADSHEET_FORMATS, escape_formulas, unescape_formulas
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
    assume(sys.version_info >= (3, 11) or "\0" not in "".join(rows))  # Python 3.10 does not read it
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
    "a key twice": ("jsonl", b'{"a": 1}\n{"text": "late", "n": 1, "text": "again"}\n', "line 2 .* the key 'text' more"),
    "a key twice in an array": ("json", b'[{"text": "late", "text": "again"}]', "the key 'text' more than once"),
    "a key twice in an inner object": (
        "jsonl",
        b'{"text": "late", "who": {"id": 1, "id": 2}}\n',
        "line 1 .* 'id' more",
    ),
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


def repeat(value: Any, kind: pa.DataType, n: int = 3_000) -> pa.Array:
    """Return an array of equal values, which a Parquet file stores once."""
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(n, dtype=np.int32)), pa.array([value], kind))


MEGABYTE = "late again " * 10**5
INNER = repeat(MEGABYTE, pa.string())
OFFSETS = pa.array(range(3_001), pa.int32())
BOMBS: dict[str, Callable[[], pa.Array]] = {
    "text": lambda: INNER,
    "large text": lambda: repeat(MEGABYTE, pa.large_string()),
    "bytes": lambda: repeat(MEGABYTE.encode(), pa.binary()),
    "list": lambda: pa.ListArray.from_arrays(OFFSETS, INNER),
    "large list": lambda: pa.LargeListArray.from_arrays(OFFSETS.cast(pa.int64()), INNER),
    "list of lists": lambda: pa.ListArray.from_arrays(OFFSETS, pa.ListArray.from_arrays(OFFSETS, INNER)),
    "struct": lambda: pa.StructArray.from_arrays([INNER, OFFSETS[:3_000]], ["body", "n"]),
    "list of structs": lambda: pa.ListArray.from_arrays(OFFSETS, pa.StructArray.from_arrays([INNER], ["body"])),
    "map": lambda: pa.MapArray.from_arrays(OFFSETS, pa.array([str(i) for i in range(3_000)]), INNER),
}


@pytest.mark.parametrize("row_group_size", [3_000, 500])
@pytest.mark.parametrize("is_kept", [False, True], ids=["as texts", "as dictionaries"])
@pytest.mark.parametrize("case", BOMBS)
def test_parquet_bombs_of_all_types_are_refused(case: str, is_kept: bool, row_group_size: int, tmp_path: Path) -> None:
    path = tmp_path / "bomb.parquet"
    pq.write_table(pa.table({"c": BOMBS[case]()}), path, store_schema=is_kept, row_group_size=row_group_size)
    assert path.stat().st_size < 4 * 10**5
    with pytest.raises(InputError, match=r"unpacks to (3\.3 GB in 3,000 rows of column 'c'|more than 500 times)"):
        read_table(str(path), "parquet")


def test_pages_of_parquet_that_are_packed_too_well_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = pa.array(np.zeros(4_000_000, dtype=np.int64))
    monkeypatch.setattr(parquet, "MIN_CHECKED_BYTES", 2**24)
    path = tmp_path / "bomb.parquet"
    pq.write_table(
        pa.table({"n": numbers}), path, use_dictionary=False, compression="zstd", row_group_size=len(numbers)
    )
    with pytest.raises(InputError, match=r"unpacks to 0\.0 GB in column 'n'"):
        read_table(str(path), "parquet")


def test_lists_of_billions_of_equal_numbers_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = pa.array(np.zeros(3_000_000, dtype=np.int8))
    path = tmp_path / "bomb.parquet"
    pq.write_table(pa.table({"c": pa.ListArray.from_arrays(pa.array([0, len(numbers)], pa.int32()), numbers)}), path)
    for name in ("MAX_CHUNK_BYTES", "MIN_CHECKED_BYTES"):
        monkeypatch.setattr(parquet, name, 2**22)
    with pytest.raises(InputError, match=r"unpacks to 0\.0 GB in column 'c\.list\.element'"):
        read_table(str(path), "parquet")


@pytest.mark.parametrize(
    "column",
    [
        pa.array(["late", None, "again"], pa.large_string()),
        pa.array(["late", None, "again"], pa.string_view()),
        pa.array([["late", None], None, []], pa.list_(pa.large_string())),
        pa.array([["late", None], None, []], pa.list_(pa.string_view())),
        pa.array([{"a": "late", "b": [1]}, None, {"a": None, "b": None}]),
        pa.array([[("k", "v")], None, []], pa.map_(pa.string(), pa.string())),
        pa.array([[1, 2], [3, 4], [5, None]], pa.list_(pa.int8(), 2)),
        pa.array([b"\xff\xfe", None, b""]),
        pa.array([1, None, 3], pa.decimal128(30, 2)),
    ],
    ids=lambda column: str(column.type),
)
def test_columns_of_parquet_keep_their_values(column: pa.Array, tmp_path: Path) -> None:
    pq.write_table(pa.table({"c": column, "text": ["late", "again", "lost"]}), tmp_path / "in.parquet")
    table = read_table(str(tmp_path / "in.parquet"), "parquet")
    with open_table_writer(tmp_path / "out.parquet", "parquet") as write:
        write(table)
    written = pq.read_table(tmp_path / "out.parquet").column("c")
    assert written.to_pylist() == column.to_pylist()
    if not pa.types.is_nested(column.type) and not pa.types.is_string_view(column.type):
        assert written.type == column.type


def test_texts_in_lists_that_outgrow_their_dictionary_are_read(tmp_path: Path) -> None:
    words = [[f"word {row} of a long list of words", "word"] for row in range(30_000)]
    table = pa.table({"text": [row[0] for row in words], "words": words})
    pq.write_table(table, tmp_path / "file.parquet", dictionary_pagesize_limit=100_000, row_group_size=20_000)
    read = read_table(str(tmp_path / "file.parquet"), "parquet")
    assert read["words"].map(list).tolist() == words
    assert read["text"].tolist() == [row[0] for row in words]


def test_bytes_of_parquet_are_texts_or_refused(tmp_path: Path) -> None:
    texts = ["zu spät", None, "late again"]
    table = pa.table({"image": [b"\x89PNG", b"\xff\xd8", None], "body": [text and text.encode() for text in texts]})
    pq.write_table(table, tmp_path / "file.parquet")
    read = read_table(str(tmp_path / "file.parquet"), "parquet")
    assert find_text_column(read) == "body"
    assert extract_texts(read, "body") == texts
    with pytest.raises(InputError, match=r"column 'image' holds bytes that are not UTF-8 text, such as b'\\x89PNG'"):
        extract_texts(read, "image")


def test_cells_of_a_workbook_that_share_a_long_text_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(excel, "MIN_SHARED_CHARACTERS", 10**6)
    monkeypatch.setattr(excel, "MAX_UNPACKED_RATIO", 20)
    pd.DataFrame({"text": ["late again " * 2_000] * 2_000}).to_excel(tmp_path / "bomb.xlsx", index=False)
    with pytest.raises(InputError, match="unpacks to more than 20 times its size in sheet 'Sheet1'"):
        read_table(str(tmp_path / "bomb.xlsx"), "xlsx")


def test_objects_whose_keys_differ_are_limited_in_all_rows_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readers, "MAX_COLUMNS", 3)
    (tmp_path / "file.jsonl").write_text('{"a": 1, "b": 2}\n' * formats.CHUNK_ROWS + '{"c": 1, "d": 2}\n')
    with pytest.raises(InputError, match="has 4 columns"):
        read_table(str(tmp_path / "file.jsonl"), "jsonl")


@pytest.mark.parametrize(("free", "rows"), [(2**20, 1), (2**28, 30_000)])
def test_table_that_does_not_fit_into_memory_is_refused_while_it_is_read(
    free: int, rows: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(formats, "free_memory", lambda: free)
    monkeypatch.setattr(formats, "BYTES_PER_CELL", 8_000)
    (tmp_path / "file.csv").write_text("a,b\n" + "late,again\n" * rows)
    with pytest.raises(InputError, match=r"does not fit into memory: 0\.\d GB are free after"):
        read_table(str(tmp_path / "file.csv"), "csv")


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity", "1e999"])
@pytest.mark.parametrize("format", ["jsonl", "json"])
def test_numbers_that_json_does_not_have_are_missing_with_a_warning(value: str, format: str, tmp_path: Path) -> None:
    lines = ['{"text": "late", "n": 1.5}', f'{{"text": "again", "n": {value}}}', f'{{"text": "lost", "n": {value}}}']
    path = tmp_path / f"file.{format}"
    path.write_text("\n".join(lines) if format == "jsonl" else f"[{', '.join(lines)}]")
    where = "line 2 of " if format == "jsonl" else ""
    with pytest.warns(FileWarning, match=f"{where}{path} holds {value}.*, as are 1 more"):
        table = read_table(str(path), format)
    assert table["n"].tolist() == [1.5, None, None]


LINE_ENDS = {
    "line feeds": ("\n", "\r"),
    "carriage returns and line feeds": ("\r\n", "\r"),
    "carriage returns": ("\r", None),
}


@pytest.mark.parametrize("ends", LINE_ENDS)
@pytest.mark.parametrize("format", ["csv", "tsv", "txt", "jsonl", "csv.gz"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_lone_carriage_return_leaves_rows_as_they_are(ends: str, format: str, encoding: str, tmp_path: Path) -> None:
    end, inner = LINE_ENDS[ends]
    texts = [f"late{inner or ' '}again", "no refund", "lost"]
    if format == "jsonl":
        lines = [f'{{"id": "1",{inner or " "}"text": {json.dumps(text)}}}' for text in texts]
    elif format == "txt":
        lines = texts
    else:
        separator = "\t" if format == "tsv" else ","
        lines = [f"id{separator}text", *(f"1{separator}{text}" for text in texts)]
    content = (end.join(lines) + end).encode(encoding)
    path = tmp_path / f"file{SUFFIXES[format]}"
    path.write_bytes(gzip.compress(content) if format.endswith(".gz") else content)
    assert read_table(str(path), format)["text"].tolist() == texts


def test_formulas_are_escaped_wherever_a_spreadsheet_may_split_a_text() -> None:
    texts = [
        "late;=1+1",
        "late\t=1+1",
        "late|@x",
        "late,-1",
        "late\n=1",
        "late\r+1",
        'late; "=1+1"',
        "late;'=1",
        "＝1+1",
    ]
    escaped = escape_formulas(pd.DataFrame({"text": texts}))["text"].tolist()
    assert escaped == [
        *("late;'=1+1", "late\t'=1+1", "late|'@x", "late,'-1", "late\n'=1", "late\r'+1"),
        *('late; "\'=1+1"', "late;''=1", "'＝1+1"),
    ]
    for separator in ";\t|,":
        cells = [cell.strip(' "') for text in escaped for cell in re.split(f"[{separator}\r\n]", text)]
        assert not [cell for cell in cells if cell.startswith(FORMULA_PREFIXES[:-1])]


PIECES = st.sampled_from(["a", "'", '"', " ", ";", ",", "|", "\t", "\r", "\n", "=", "+", "-", "@"])


@given(st.lists(PIECES, max_size=12).map("".join))
def test_escaped_formulas_can_be_restored(text: str) -> None:
    table = pd.DataFrame({"text": [text]}, dtype=object)
    assert unescape_formulas(escape_formulas(table))["text"].tolist() == [text]


def test_dictionary_columns_of_parquet_keep_their_type(tmp_path: Path) -> None:
    column = pa.array(["late again", None, "late again"]).dictionary_encode()
    pq.write_table(pa.table({"text": column, "n": [1, 2, 3]}), tmp_path / "file.parquet")
    table = read_table(str(tmp_path / "file.parquet"), "parquet")
    assert extract_texts(table, "text") == ["late again", None, "late again"]
    with open_table_writer(tmp_path / "out.parquet", "parquet") as write:
        write(table)
    assert pq.read_table(tmp_path / "out.parquet").schema.field("text").type == column.type
