"""Files and folders that are replaced as a whole or not at all, their checksums, and JSON files of bounded size."""

from __future__ import annotations

import glob
import hashlib
import json
import os
import platform
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rstc.errors import InputError

MAX_SETTINGS_BYTES = 2**20  # of a JSON file that holds settings

_HOST = hashlib.sha256(platform.node().encode()).hexdigest()[:6]  # several machines may share a folder
_NEW, _OLD = "tmp", "old"  # endings of temporary names


def sha256(path: Path) -> str:
    """Return the SHA-256 checksum of a file in hexadecimal."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def check_writable(path: Path) -> None:
    """Raise an error if a path cannot be written, before the work whose result would be lost."""
    parent = path.absolute().parent
    while not parent.exists():
        parent = parent.parent
    try:
        with tempfile.TemporaryFile(dir=parent):  # permissions do not tell of every disk whether it takes a file
            pass
    except OSError as problem:
        raise InputError(f"{path} cannot be written: {parent} is not a folder that can be written to") from problem


@contextmanager
def replace_file(path: Path) -> Iterator[Path]:
    """Yield a temporary path for a file that replaces `path` when the block ends without an error.

    Parameters
    ----------
    path : Path
        The file to replace or create; a symbolic link is followed.

    Yields
    ------
    Path
        A path in the same folder, which is removed if the block fails.

    Raises
    ------
    InputError
        If the file cannot be written.
    """
    path = path.resolve()
    temporary = _temporary_path(path, _NEW)
    try:
        yield temporary
        os.replace(temporary, path)
        _fsync_folder(path.parent)
    except OSError as problem:
        raise InputError(f"{path} cannot be written: {problem.strerror or problem}") from problem
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def replace_folder(path: Path) -> Iterator[Path]:
    """Yield a new folder that replaces `path` when the block ends without an error.

    Parameters
    ----------
    path : Path
        The folder to replace or create; a symbolic link is followed.

    Yields
    ------
    Path
        An empty folder beside it, which is removed if the block fails.

    Raises
    ------
    InputError
        If the folder cannot be written.
    """
    path = path.resolve()
    new, old = _temporary_path(path, _NEW), _temporary_path(path, _OLD)
    try:
        new.mkdir(parents=True)
        yield new
        if path.exists():
            path.rename(old)
        new.rename(path)
        _fsync_folder(path.parent)
    except OSError as problem:
        raise InputError(f"{path} cannot be written: {problem.strerror or problem}") from problem
    finally:
        shutil.rmtree(new, ignore_errors=True)
        if old.exists() and not path.exists():
            old.rename(path)
        shutil.rmtree(old, ignore_errors=True)


def remove_leftovers(path: Path) -> None:
    """Remove the temporary files and folders of killed processes of this machine beside a path.

    A folder that such a process had renamed, to replace it, gets its name back.
    """
    path = path.resolve()
    prefix = f".{path.name}.{_HOST}-"
    for leftover in sorted(path.parent.glob(f"{glob.escape(prefix)}*.*")):
        process_id, _, ending = leftover.name.removeprefix(prefix).partition(".")
        if not process_id.isdecimal() or ending not in (_NEW, _OLD) or _is_running(int(process_id)):
            continue
        if ending == _OLD and not path.exists():
            leftover.rename(path)
        elif leftover.is_dir() and not leftover.is_symlink():
            shutil.rmtree(leftover, ignore_errors=True)
        else:
            leftover.unlink(missing_ok=True)


def user_cache_dir() -> Path:
    """Return the folder of rstc in the user's cache, for files that can be downloaded or computed again."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "rstc"


def read_json(path: Path, max_bytes: int = MAX_SETTINGS_BYTES) -> Any:
    """Read a JSON file.

    Parameters
    ----------
    path : Path
        The file.
    max_bytes : int, default=MAX_SETTINGS_BYTES
        The largest size to read.

    Raises
    ------
    InputError
        If the file is larger, cannot be read or is not JSON.
    """
    try:
        size = path.stat().st_size
        if size > max_bytes:
            raise InputError(f"{path} has {size / 1e6:.1f} MB, but at most {max_bytes / 1e6:.0f} MB are read")
        content = path.read_bytes()
    except OSError as problem:
        raise InputError(f"{path} cannot be read: {problem.strerror or problem}") from problem
    try:
        return json.loads(content.decode("utf-8"))
    except (ValueError, RecursionError) as problem:
        raise InputError(f"{path} is not JSON") from problem


def _temporary_path(path: Path, ending: str) -> Path:
    """Return a hidden name of this process in the same folder, where a rename is atomic."""
    return path.with_name(f".{path.name}.{_HOST}-{os.getpid()}.{ending}")


def _is_running(process_id: int) -> bool:
    """Return whether a process of this machine runs."""
    try:
        os.kill(process_id, 0)
    except ProcessLookupError:
        return False
    except OSError:  # it runs as another user
        return True
    return True


def _fsync_folder(folder: Path) -> None:
    """Flush the names in a folder to the disk, so that a rename survives a crash; not every system can."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(descriptor)
    except OSError:
        pass
    finally:
        os.close(descriptor)
