"""Files and folders that appear complete or not at all, and their checksums."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rstc.errors import InputError


def sha256(path: Path) -> str:
    """Return a file's sha256 in hexadecimal."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def check_writable(path: Path) -> None:
    """Refuse a place where nothing can be written, before the work that would be lost there."""
    parent = path.absolute().parent
    while not parent.exists():
        parent = parent.parent
    if not parent.is_dir() or not os.access(parent, os.W_OK | os.X_OK):
        raise InputError(f"{path} cannot be written: {parent} is not a folder that can be written to")


@contextmanager
def replaced_file(path: Path) -> Iterator[Path]:
    """Yield a temporary name for a file that takes the place of `path` if all goes well and vanishes if not."""
    temporary = _beside(path, "tmp")
    try:
        yield temporary
        os.replace(temporary, path)
    except OSError as problem:
        raise InputError(f"{path} cannot be written: {problem.strerror or problem}") from problem
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def replaced_folder(path: Path) -> Iterator[Path]:
    """Yield a temporary folder that takes the place of `path` if all goes well and vanishes if not."""
    path = path.absolute()
    new, old = _beside(path, "tmp"), _beside(path, "old")
    try:
        new.mkdir(parents=True)
        yield new
        if path.exists():
            path.rename(old)
        new.rename(path)
    except OSError as problem:
        raise InputError(f"{path} cannot be written: {problem.strerror or problem}") from problem
    finally:
        shutil.rmtree(new, ignore_errors=True)
        if old.exists() and not path.exists():
            old.rename(path)
        shutil.rmtree(old, ignore_errors=True)


def _beside(path: Path, ending: str) -> Path:
    """Return a hidden name in the same folder, where a rename is one step of the file system."""
    return path.with_name(f".{path.name}.{os.getpid()}.{ending}")


def user_cache() -> Path:
    """Return the folder for what can be fetched or computed again: rstc's part of the user's cache."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "rstc"
