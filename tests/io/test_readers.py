"""Readers of tables: what each format gives, and why a file cannot be read."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from rstc.errors import InputError
from rstc.io.formats import detect_format, read_table


def test_plain_text_has_one_text_per_line(tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_bytes(b"first, with comma\r\n\r\nthird\ttab")
    assert read_table(str(tmp_path / "t.txt"), "txt")["text"].tolist() == ["first, with comma", "", "third\ttab"]


def test_csv_may_have_semicolons_and_a_byte_order_mark(tmp_path: Path) -> None:
    (tmp_path / "excel.csv").write_bytes("\ufeffid;text\n1;late, again\n".encode())
    assert read_table(str(tmp_path / "excel.csv"), "csv").to_dict("records") == [{"id": "1", "text": "late, again"}]


def test_empty_line_of_a_single_column_is_a_row(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text('text\na\n\n""\nb\n')
    assert read_table(str(tmp_path / "in.csv"), "csv")["text"].tolist() == ["a", "", "", "b"]


def test_standard_input_is_plain_text_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"one\ntwo\n")))
    assert read_table("-", detect_format("-"))["text"].tolist() == ["one", "two"]


def test_wrong_encoding_is_named_and_another_can_be_given(tmp_path: Path) -> None:
    (tmp_path / "old.csv").write_bytes("text\ncafé\n".encode("cp1252"))
    assert read_table(str(tmp_path / "old.csv"), "csv", "cp1252")["text"].tolist() == ["café"]
    with pytest.raises(InputError, match=r"not utf-8 text \(byte 0xE9\)"):
        read_table(str(tmp_path / "old.csv"), "csv")
    with pytest.raises(InputError, match="no encoding 'klingon'"):
        read_table(str(tmp_path / "old.csv"), "csv", "klingon")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("empty.csv", b"", "is empty"),
        ("header.csv", b"id,text\n", "holds no rows"),
        ("empty.txt", b"", "holds no rows"),
        ("wide.csv", b"a,b\n1,2\n1,2,3\n", r"line 3 of .* has 3 cells, but there are 2 columns"),
        ("twice.csv", b"a,b,a\n1,2,3\n", r"more than one column called 'a'"),
        ("open.csv", b'a,b\n1,"2\n', r"line 2 of .* cannot be read as csv, check its quotes"),
        ("bad.jsonl", b'{"text": "a"}\n{"text": \n', "line 2 .* is not JSON"),
        ("list.jsonl", b"[1, 2]\n", "line 1 .* is not a JSON object"),
        ("fake.parquet", b"not parquet at all", "cannot be read as parquet"),
    ],
)
def test_error_of_an_unusable_file_says_why(name: str, content: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=message):
        read_table(str(tmp_path / name), detect_format(name))


def test_an_array_of_texts_is_a_column_and_one_of_objects_a_table(tmp_path: Path) -> None:
    (tmp_path / "texts.json").write_text('["late again", null, "no refund"]')
    (tmp_path / "rows.json").write_text('\n[{"id": 1, "text": "cut \\ud83d"},\n {"text": "b", "more": [1]}]')
    assert read_table(str(tmp_path / "texts.json"), "json").to_dict("list") == {
        "text": ["late again", None, "no refund"]
    }
    table = read_table(str(tmp_path / "rows.json"), "json")
    assert table["text"].tolist() == ["cut ?", "b"]
    assert table["id"].tolist()[0] == 1
    assert table["more"].tolist()[1] == [1]
