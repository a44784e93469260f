"""The source that a result was computed with."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from rstc.runtime import environment
from rstc.runtime.environment import find_commit, hash_source


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a small package that takes the place of rstc."""
    folder = tmp_path / "package"
    (folder / "part").mkdir(parents=True)
    (folder / "one.py").write_text("a = 1\n")
    (folder / "part" / "two.py").write_text("b = 2\n")
    monkeypatch.setattr(environment, "_package_folder", lambda: folder)
    return folder


def test_the_hash_changes_with_the_name_and_the_content_of_any_python_file(package: Path) -> None:
    before = hash_source()
    (package / "notes.txt").write_text("not part of the source")
    assert hash_source() == before
    (package / "part" / "two.py").write_text("b = 3\n")
    changed = hash_source()
    (package / "one.py").rename(package / "three.py")
    assert len({before, changed, hash_source()}) == 3


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_the_commit_is_marked_when_files_differ_from_it(package: Path) -> None:
    def git(*arguments: str) -> str:
        identity = ["-c", "user.name=test", "-c", "user.email=test@example.org"]
        return subprocess.run(
            ["git", *identity, *arguments], cwd=package, check=True, capture_output=True, text=True
        ).stdout.strip()

    assert find_commit() is None, "not a checkout"
    git("init")
    assert find_commit() is None, "a checkout without a commit"
    git("add", ".")
    git("commit", "-m", "first")
    assert find_commit() == git("rev-parse", "HEAD")
    (package / "one.py").write_text("a = 2\n")
    assert find_commit() == git("rev-parse", "HEAD") + "+"


def test_without_git_there_is_no_commit(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(package))
    assert find_commit() is None
