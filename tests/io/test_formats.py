"""File formats of tables: detection by suffix, and tables that come back as they were written."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rstc.errors import InputError
from rstc.io.formats import FORMATS, detect_format, has_known_format, iter_tables, open_table_writer, read_table

QUOTED = 'she said "no", twice'


def write(table: pd.DataFrame, path: Path) -> Path:
    with open_table_writer(path, detect_format(str(path))) as append:
        append(table)
    return path


def test_every_suffix_of_a_format_is_detected() -> None:
    for name, format in FORMATS.items():
        assert [detect_format(f"file{suffix}") for suffix in format.suffixes] == [name] * len(format.suffixes)
    assert not has_known_format("notes.docx")


def test_missing_files_folders_and_unknown_formats_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no file"):
        read_table(str(tmp_path / "none.csv"), "csv")
    with pytest.raises(InputError, match="is a folder"):
        detect_format(str(tmp_path))
    with pytest.raises(InputError, match=r"cannot tell the format of notes\.docx"):
        detect_format("notes.docx")
    with pytest.raises(InputError, match="format 'xml'"):
        detect_format("notes.csv", "xml")
    with pytest.raises(InputError, match=r"format of notes\.gz"):
        detect_format("notes.gz")
    assert detect_format("tickets.2024.CSV.GZ") == "csv.gz"
    assert detect_format("archive.gz.csv") == "csv"


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl", ".json", ".csv.gz", ".jsonl.gz"])
def test_text_formats_keep_every_cell(suffix: str, tmp_path: Path) -> None:
    table = pd.DataFrame(
        {"id": ["007", "", "3"], "text": [QUOTED, "two\nlines", "العربية 🎉"], "n": ["1.50", "NA", "None"]}
    )
    again = read_table(str(write(table, tmp_path / f"t{suffix}")), detect_format(f"t{suffix}"))
    assert again.to_dict("list") == table.to_dict("list")


@pytest.mark.parametrize("format", FORMATS)
def test_tables_are_read_and_written_in_chunks(format: str, tmp_path: Path) -> None:
    table = pd.DataFrame({"text": [f"text {i}" for i in range(25)]})
    source = write(table, tmp_path / f"in.{format}")
    target = tmp_path / f"out.{format}"
    with open_table_writer(target, format) as append:
        sizes = [len(chunk) for chunk in iter_tables(str(source), format, chunk_rows=10) if append(chunk) is None]
    assert sizes == [10, 10, 5]
    assert read_table(str(target), format)["text"].tolist() == table["text"].tolist()


def test_csv_keeps_column_names_carriage_returns_and_short_rows(tmp_path: Path) -> None:
    content = 'text,"",Unnamed: 1\n"a\rb",NA,\n\nshort\n'
    (tmp_path / "in.csv").write_text(content, encoding="utf-8", newline="")
    table = read_table(str(tmp_path / "in.csv"), "csv")
    assert list(table.columns) == ["text", "", "Unnamed: 1"]
    assert table.to_numpy().tolist() == [["a\rb", "NA", ""], ["short", "", ""]]
    again = read_table(str(write(table, tmp_path / "out.csv")), "csv")
    assert again.equals(table)


def test_json_values_keep_their_types_and_absent_keys_stay_absent(tmp_path: Path) -> None:
    lines = ['{"text": "a b", "n": 3, "tags": ["x"], "none": null}', '{"text": "c d", "deep": {"k": 1.5}}']
    source = tmp_path / "in.jsonl"
    source.write_text("\n".join(lines) + "\n\n", encoding="utf-8")
    target = write(read_table(str(source), "jsonl"), tmp_path / "out.jsonl")
    assert [json.loads(line) for line in target.read_text().splitlines()] == [json.loads(line) for line in lines]
    again = write(read_table(str(target), "jsonl"), tmp_path / "out.json")
    assert json.loads(again.read_text()) == [json.loads(line) for line in lines]


def test_lone_surrogates_of_json_are_replaced_and_can_be_written(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text('{"text": "cut \\ud83d", "more": ["\\ude00", {"k": 1}]}\n')
    table = read_table(str(tmp_path / "in.jsonl"), "jsonl")
    assert table.to_dict("records") == [{"text": "cut ?", "more": ["?", {"k": 1}]}]
    write(table, tmp_path / "out.jsonl")


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


def test_pandas_index_in_a_parquet_file_stays_a_column(tmp_path: Path) -> None:
    pd.DataFrame({"text": ["a", "b"]}, index=pd.Index([5, 7], name="id")).to_parquet(tmp_path / "in.parquet")
    write(read_table(str(tmp_path / "in.parquet"), "parquet"), tmp_path / "out.parquet")
    assert pq.read_table(tmp_path / "out.parquet").to_pydict() == {"text": ["a", "b"], "id": [5, 7]}
