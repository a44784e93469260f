"""Atomic replacement of files and folders, and JSON files of bounded size."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from rstc.errors import InputError
from rstc.io.atomic import read_json, recover, remove_leftovers, replace_file, replace_folder
from rstc.io.locks import lock


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


def test_leftovers_of_killed_processes_are_removed(tmp_path: Path) -> None:
    ours = (".run.0123abcd.tmp", ".run.0123abcd.old", ".run.c0ffee-99.tmp")  # the last one as 0.1.0 named it
    others = ("run", ".run.txt", ".run.0123abcd.txt", ".run.csv.0123abcd.tmp", ".run2.0123abcd.tmp")
    for name in (*ours, *others):
        (tmp_path / name).mkdir()
    remove_leftovers(tmp_path / "run")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(others)


def test_a_folder_that_a_killed_process_was_replacing_gets_its_name_back(tmp_path: Path) -> None:
    (tmp_path / ".run.0123abcd.old").mkdir()
    (tmp_path / ".run.0123abcd.old" / "file").write_text("first")
    (tmp_path / ".run.0123abcd.tmp").mkdir()
    recover(tmp_path / "run")
    assert (tmp_path / "run" / "file").read_text() == "first"
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_leftovers_are_kept_while_a_process_writes(tmp_path: Path) -> None:
    with replace_folder(tmp_path / "run"), lock(tmp_path / "run"), ThreadPoolExecutor() as pool:
        before = sorted(path.name for path in tmp_path.iterdir())
        pool.submit(recover, tmp_path / "run").result()  # another thread does not hold the lock
        assert sorted(path.name for path in tmp_path.iterdir()) == before


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
