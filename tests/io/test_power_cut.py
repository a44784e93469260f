"""What was written survives a power cut: tested on a simulated disk that forgets what was not flushed."""

from __future__ import annotations

from pathlib import Path

import pytest

from forgetful_disk import ForgetfulDisk
from rstc.io.atomic import replace_file, replace_folder
from rstc.io.durability import make_folder

pytestmark = pytest.mark.chaos("power cuts")


@pytest.fixture
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ForgetfulDisk:
    (tmp_path / "disk").mkdir()
    (tmp_path / "disk" / "old.txt").write_text("old")
    return ForgetfulDisk(tmp_path / "disk", monkeypatch)


def test_the_disk_forgets_what_is_not_flushed(disk: ForgetfulDisk, tmp_path: Path) -> None:
    (disk.root / "new.txt").write_text("new")
    (disk.root / "old.txt").write_text("changed")
    after = disk.cut_power(tmp_path / "after")
    assert {path.name: path.read_text() for path in after.iterdir()} == {"old.txt": "old"}


def test_a_replaced_file_is_on_the_disk(disk: ForgetfulDisk, tmp_path: Path) -> None:
    with replace_file(disk.root / "old.txt") as temporary:
        temporary.write_text("new")
    assert (disk.cut_power(tmp_path / "after") / "old.txt").read_text() == "new"


def test_a_replaced_folder_is_on_the_disk_with_all_that_is_in_it(disk: ForgetfulDisk, tmp_path: Path) -> None:
    for content in ("first", "second"):
        with replace_folder(disk.root / "a" / "b" / "run") as new:
            (new / "model" / "encoder").mkdir(parents=True)
            (new / "model" / "encoder" / "weights").write_text(content)
            (new / "empty").mkdir()
    after = disk.cut_power(tmp_path / "after") / "a" / "b" / "run"
    assert (after / "model" / "encoder" / "weights").read_text() == "second"
    assert (after / "empty").is_dir()


def test_a_power_cut_while_a_folder_is_replaced_leaves_the_old_or_the_new_one(
    disk: ForgetfulDisk, tmp_path: Path
) -> None:
    with replace_folder(disk.root / "run") as new:
        (new / "file").write_text("first")
    with replace_folder(disk.root / "run") as new:
        (new / "file").write_text("second")
        during = disk.cut_power(tmp_path / "during")
    assert (during / "run" / "file").read_text() == "first"


def test_folders_are_on_the_disk_when_they_are_made(disk: ForgetfulDisk, tmp_path: Path) -> None:
    make_folder(disk.root / "a" / "b")
    assert (disk.cut_power(tmp_path / "after") / "a" / "b").is_dir()
