"""Writers of tables: a file is complete or absent, and has the columns of its first rows."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from rstc.errors import InputError
from rstc.io.formats import detect_format, open_table_writer, read_table


def write_all(path: Path, tables: list[pd.DataFrame]) -> None:
    with open_table_writer(path, detect_format(str(path))) as write:
        for table in tables:
            write(table)


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_columns_that_appear_in_later_rows_are_refused(suffix: str, tmp_path: Path) -> None:
    tables = [pd.DataFrame({"text": ["a"], "n": ["1"]}), pd.DataFrame({"text": ["b"]}), pd.DataFrame({"new": ["c"]})]
    write_all(tmp_path / f"out{suffix}", tables[:2])
    assert read_table(str(tmp_path / f"out{suffix}"), suffix[1:])["text"].tolist() == ["a", "b"]
    with pytest.raises(InputError, match="a later row has new"):
        write_all(tmp_path / f"late{suffix}", tables)


@pytest.mark.parametrize("format", ["csv", "jsonl", "parquet", "txt"])
def test_file_stays_as_it_was_when_writing_fails(format: str, tmp_path: Path) -> None:
    target = tmp_path / f"out.{format}"
    target.write_text("what was there")

    def fail_half_way() -> None:
        with open_table_writer(target, format) as write:
            write(pd.DataFrame({"text": ["a"]}))
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail_half_way()
    assert target.read_text() == "what was there"
    assert [path.name for path in tmp_path.iterdir()] == [target.name]


def test_path_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"folder\.csv cannot be written"):
        write_all(tmp_path / "no" / "folder.csv", [pd.DataFrame({"text": ["a"]})])


def test_the_character_nul_is_written(tmp_path: Path) -> None:
    """Python 3.10's csv module cannot do so."""
    write_all(tmp_path / "out.csv", [pd.DataFrame({"n": [1], "text": ["a\0b\ue000"]})])
    assert (tmp_path / "out.csv").read_text(encoding="utf-8") == "n,text\n1,a\0b\ue000\n"
