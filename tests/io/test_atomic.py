"""Atomic replacement of files and folders, and JSON files of bounded size."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rstc.errors import InputError
from rstc.io import atomic
from rstc.io.atomic import read_json, remove_leftovers, replace_file, replace_folder


def test_file_is_replaced_when_the_block_succeeds(tmp_path: Path) -> None:
    with replace_file(tmp_path / "a.txt") as temporary:
        temporary.write_text("new")
        assert not (tmp_path / "a.txt").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


def test_folder_is_replaced_when_the_block_succeeds_and_kept_when_it_fails(tmp_path: Path) -> None:
    target = tmp_path / "run"
    for content in ("first", "second"):
        with replace_folder(target) as new:
            (new / "file").write_text(content)

    def fail_half_way() -> None:
        with replace_folder(target) as new:
            (new / "file").write_text("third")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail_half_way()
    assert (target / "file").read_text() == "second"
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_leftovers_of_dead_processes_are_removed_and_those_of_running_ones_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(atomic, "_is_running", lambda process_id: process_id == os.getpid())
    dead, running = (f".run.{atomic._HOST}-{process_id}" for process_id in (99999999, os.getpid()))
    for name in (f"{dead}.tmp", f"{dead}.old", f"{running}.tmp", f"{dead}.txt"):
        (tmp_path / name).mkdir()
    remove_leftovers(tmp_path / "run")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["run", f"{running}.tmp", f"{dead}.txt"])


def test_json_that_is_too_large_damaged_or_missing_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text('{"a": 1}')
    assert read_json(path) == {"a": 1}
    with pytest.raises(InputError, match="at most 0 MB are read"):
        read_json(path, max_bytes=7)
    for content in (b'{"a": ', b"\xff\xfe", b"[" * 100_000):
        path.write_bytes(content)
        with pytest.raises(InputError, match="is not JSON"):
            read_json(path)
    with pytest.raises(InputError, match="cannot be read"):
        read_json(tmp_path / "none.json")
