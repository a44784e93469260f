"""Files in and out: nothing lost, nothing changed, nothing half-written."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rstc.errors import InputError
from rstc.io.readers import format_of, read_table, stream_tables, table_writer

ODD = 'she said "no", twice'


def write(table: pd.DataFrame, path: Path) -> Path:
    with table_writer(path, format_of(str(path))) as append:
        append(table)
    return path


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl"])
def test_text_formats_give_back_what_came_in(suffix: str, tmp_path: Path) -> None:
    table = pd.DataFrame(
        {"id": ["007", "", "3"], "text": [ODD, "two\nlines", "العربية 🎉"], "n": ["1.50", "NA", "None"]}
    )
    again = read_table(str(write(table, tmp_path / f"t{suffix}")), format_of(f"t{suffix}"))
    assert again.to_dict("list") == table.to_dict("list")


def test_json_values_keep_their_types_and_absent_keys_stay_absent(tmp_path: Path) -> None:
    lines = ['{"text": "a b", "n": 3, "tags": ["x"], "none": null}', '{"text": "c d", "deep": {"k": 1.5}}']
    source = tmp_path / "in.jsonl"
    source.write_text("\n".join(lines) + "\n\n", encoding="utf-8")
    target = write(read_table(str(source), "jsonl"), tmp_path / "out.jsonl")
    assert [json.loads(line) for line in target.read_text().splitlines()] == [json.loads(line) for line in lines]


def test_parquet_columns_keep_their_types(tmp_path: Path) -> None:
    table = pa.table(
        {
            "id": pa.array([1, None, 3], pa.int32()),
            "when": pa.array([0, 1, None], pa.timestamp("ms")),
            "text": ["a", None, "c"],
            "list": [[1], [], None],
        }
    )
    pq.write_table(table, tmp_path / "in.parquet")
    write(read_table(str(tmp_path / "in.parquet"), "parquet"), tmp_path / "out.parquet")
    again = pq.read_table(tmp_path / "out.parquet")
    assert again.schema.types == table.schema.types
    assert again.to_pylist() == table.to_pylist()


def test_plain_text_is_one_text_a_line(tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_bytes(b"first, with comma\r\n\r\nthird\ttab")
    assert read_table(str(tmp_path / "t.txt"), "txt")["text"].tolist() == [
        "first, with comma",
        "",
        "third\ttab",
    ]


@pytest.mark.parametrize("format", ["csv", "tsv", "jsonl", "parquet", "txt"])
def test_a_stream_comes_in_pieces_and_is_written_in_pieces(format: str, tmp_path: Path) -> None:
    table = pd.DataFrame({"text": [f"text {i}" for i in range(25)]})
    source = write(table, tmp_path / f"in.{format}")
    target = tmp_path / f"out.{format}"
    with table_writer(target, format) as append:
        sizes = [len(piece) for piece in stream_tables(str(source), format, rows=10) if append(piece) is None]
    assert sizes == [10, 10, 5]
    assert read_table(str(target), format)["text"].tolist() == table["text"].tolist()


def test_semicolons_and_a_byte_order_mark_are_understood(tmp_path: Path) -> None:
    (tmp_path / "excel.csv").write_bytes("\ufeffid;text\n1;late, again\n".encode())
    assert read_table(str(tmp_path / "excel.csv"), "csv").to_dict("records") == [{"id": "1", "text": "late, again"}]


def test_csv_names_and_cells_stay_as_they_are(tmp_path: Path) -> None:
    content = 'text,"",Unnamed: 1\n"a\rb",NA,\n\nshort\n'
    (tmp_path / "in.csv").write_text(content, encoding="utf-8", newline="")
    table = read_table(str(tmp_path / "in.csv"), "csv")
    assert list(table.columns) == ["text", "", "Unnamed: 1"]
    assert table.to_numpy().tolist() == [["a\rb", "NA", ""], ["short", "", ""]]
    again = read_table(str(write(table, tmp_path / "out.csv")), "csv")
    assert again.equals(table)


def test_an_empty_line_of_a_single_column_is_a_row(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text('text\na\n\n""\nb\n')
    assert read_table(str(tmp_path / "in.csv"), "csv")["text"].tolist() == ["a", "", "", "b"]


def test_half_an_emoji_does_not_stop_a_file_from_being_written(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text('{"text": "cut \\ud83d", "more": ["\\ude00", {"k": 1}]}\n')
    table = read_table(str(tmp_path / "in.jsonl"), "jsonl")
    assert table.to_dict("records") == [{"text": "cut ?", "more": ["?", {"k": 1}]}]
    write(table, tmp_path / "out.jsonl")


def test_columns_that_come_late_are_refused_where_the_header_is_written(tmp_path: Path) -> None:
    pieces = [pd.DataFrame({"text": ["a"], "n": ["1"]}), pd.DataFrame({"text": ["b"]}), pd.DataFrame({"new": ["c"]})]

    def write_all(path: Path, pieces: list[pd.DataFrame]) -> None:
        with table_writer(path, format_of(str(path))) as append:
            for piece in pieces:
                append(piece)

    for suffix in (".csv", ".parquet"):
        write_all(tmp_path / f"out{suffix}", pieces[:2])
        assert read_table(str(tmp_path / f"out{suffix}"), suffix[1:])["text"].tolist() == ["a", "b"]
        with pytest.raises(InputError, match="a later row has new"):
            write_all(tmp_path / f"late{suffix}", pieces)


def test_an_index_that_pandas_noted_in_a_parquet_file_stays_a_column(tmp_path: Path) -> None:
    pd.DataFrame({"text": ["a", "b"]}, index=pd.Index([5, 7], name="id")).to_parquet(tmp_path / "in.parquet")
    write(read_table(str(tmp_path / "in.parquet"), "parquet"), tmp_path / "out.parquet")
    assert pq.read_table(tmp_path / "out.parquet").to_pydict() == {"text": ["a", "b"], "id": [5, 7]}


def test_standard_input_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"one\ntwo\n")))
    assert read_table("-", format_of("-"))["text"].tolist() == ["one", "two"]


def test_another_encoding_can_be_named(tmp_path: Path) -> None:
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
        ("open.csv", b'a,b\n1,"2\n', r"line 2 of .* cannot be read as csv, look at its quotes"),
        ("bad.jsonl", b'{"text": "a"}\n{"text": \n', "line 2 .* is not JSON"),
        ("list.jsonl", b"[1, 2]\n", "line 1 .* is not a JSON object"),
        ("fake.parquet", b"not parquet at all", "cannot be read as parquet"),
    ],
)
def test_files_that_cannot_be_used_say_why(name: str, content: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=message):
        read_table(str(tmp_path / name), format_of(name))


def test_missing_files_folders_and_unknown_formats_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no file"):
        read_table(str(tmp_path / "none.csv"), "csv")
    with pytest.raises(InputError, match="is a folder"):
        format_of(str(tmp_path))
    with pytest.raises(InputError, match=r"cannot tell the format of notes\.docx"):
        format_of("notes.docx")
    with pytest.raises(InputError, match="format 'xml'"):
        format_of("notes.csv", "xml")


@pytest.mark.parametrize("format", ["csv", "jsonl", "parquet", "txt"])
def test_a_file_appears_only_when_it_is_complete(format: str, tmp_path: Path) -> None:
    target = tmp_path / f"out.{format}"
    target.write_text("what was there")

    def fail_half_way() -> None:
        with table_writer(target, format) as append:
            append(pd.DataFrame({"text": ["a"]}))
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail_half_way()
    assert target.read_text() == "what was there"
    assert [path.name for path in tmp_path.iterdir()] == [target.name]


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be written"):
        write(pd.DataFrame({"text": ["a"]}), tmp_path / "no" / "folder.csv")
