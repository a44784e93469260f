"""Text files: encodings that are detected, gzip that is unpacked within bounds, and the same bytes at any time."""

from __future__ import annotations

import gzip
import io
import sys
from pathlib import Path

import pandas as pd
import pytest

import rstc.io.text_files as text_files
from rstc.errors import InputError
from rstc.io.formats import open_table_writer, read_table

CONTENT = "id,text\n1,zu spät 🎉\n"
ENCODINGS = ["utf-8-sig", "utf-16", "utf-32"]


def encode(encoding: str) -> bytes:
    return CONTENT.encode(encoding)


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("format", ["csv", "csv.gz"])
def test_byte_order_mark_tells_the_encoding(format: str, encoding: str, tmp_path: Path) -> None:
    path = tmp_path / f"in.{format}"
    path.write_bytes(gzip.compress(encode(encoding)) if format == "csv.gz" else encode(encoding))
    assert read_table(str(path), format).to_dict("records") == [{"id": "1", "text": "zu spät 🎉"}]


def test_byte_order_mark_of_the_other_byte_order_is_known_too(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_bytes(b"\xfe\xff" + encode("utf-16-be"))
    assert read_table(str(tmp_path / "in.csv"), "csv", "utf-16-le")["text"].tolist() == ["zu spät 🎉"]


@pytest.mark.parametrize("format", ["csv", "csv.gz"])
def test_encoding_and_compression_of_standard_input_are_known_too(format: str, monkeypatch: pytest.MonkeyPatch) -> None:
    content = gzip.compress(encode("utf-16")) if format == "csv.gz" else encode("utf-16")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    assert read_table("-", format)["text"].tolist() == ["zu spät 🎉"]


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf_16_without_a_mark_is_read_as_it_was_proposed(encoding: str, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_bytes(encode(encoding))
    with pytest.raises(InputError, match=f"without a byte order mark; give --encoding {encoding}"):
        read_table(str(tmp_path / "in.csv"), "csv")
    assert read_table(str(tmp_path / "in.csv"), "csv", encoding)["text"].tolist() == ["zu spät 🎉"]


def test_compressed_content_is_determined_by_the_table(tmp_path: Path) -> None:
    for name in ("a.csv.gz", "b.csv.gz"):
        with open_table_writer(tmp_path / name, "csv.gz") as write:
            write(pd.DataFrame({"text": ["late again"]}))
    assert (tmp_path / "a.csv.gz").read_bytes() == (tmp_path / "b.csv.gz").read_bytes()
    assert gzip.decompress((tmp_path / "a.csv.gz").read_bytes()) == b"text\nlate again\n"


def test_several_gzip_members_are_one_file(tmp_path: Path) -> None:
    (tmp_path / "in.txt.gz").write_bytes(gzip.compress(b"late\n") + gzip.compress(b"again\n"))
    assert read_table(str(tmp_path / "in.txt.gz"), "txt.gz")["text"].tolist() == ["late", "again"]


def test_gzip_bomb_is_refused_while_it_is_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_files, "MIN_CHECKED_BYTES", 2**22)
    with gzip.open(tmp_path / "bomb.txt.gz", "wb") as file:
        for _ in range(16):
            file.write(b"a" * 2**20 + b"\n")
    with pytest.raises(InputError, match="unpacks to more than 500 times its size"):
        read_table(str(tmp_path / "bomb.txt.gz"), "txt.gz")


def test_line_that_does_not_fit_into_memory_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_files, "MAX_LINE_BYTES", 2**18)
    (tmp_path / "lines.txt.gz").write_bytes(gzip.compress(b"late again\n" * 10**5))
    assert len(read_table(str(tmp_path / "lines.txt.gz"), "txt.gz")) == 10**5
    (tmp_path / "line.txt.gz").write_bytes(gzip.compress(b"late again " * 10**5))
    with pytest.raises(InputError, match="unpacks to a line of more than"):
        read_table(str(tmp_path / "line.txt.gz"), "txt.gz")
