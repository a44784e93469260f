"""Paths and URLs: the same functions for a local file and for one of an fsspec file system."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import fsspec
import pytest

from rstc.errors import InputError
from rstc.io.remote import exists, glob_files, is_file, join_path, open_file, put_file


@pytest.fixture
def store() -> Iterator[str]:
    yield "memory://bucket"
    fsspec.filesystem("memory").rm("/bucket", recursive=True)


def test_uploaded_file_can_be_found_and_read(store: str, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("late")
    url = join_path(store, "in/a.txt")
    put_file(tmp_path / "a.txt", url)
    assert exists(url)
    assert is_file(url)
    assert not is_file(join_path(store, "in"))
    with open_file(url, "r") as file:
        assert file.read() == "late"


def test_pattern_and_folder_give_names_below_the_same_root(store: str, tmp_path: Path) -> None:
    for name in ("b/2.txt", "a/1.txt"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text("x")
        put_file(tmp_path / name, join_path(store, name))
    for root in (str(tmp_path), store):
        for pattern in (f"{root}/**/*.txt", root):
            found, names = glob_files(pattern)
            assert names == ["a/1.txt", "b/2.txt"]
            assert all(is_file(join_path(found, name)) for name in names)


def test_unknown_protocol_is_refused() -> None:
    with pytest.raises(InputError, match="nosuch://bucket cannot be reached"):
        glob_files("nosuch://bucket")
