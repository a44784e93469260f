"""Files and folders that are replaced as a whole or not at all, their checksums, and JSON files of bounded size.

What is written here survives a power cut once the call returns: the content is flushed to the disk, then it gets its
name, then the folder that holds the name is flushed.
"""

from __future__ import annotations

import glob
import hashlib
import json
import os
import re
import secrets
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from rstc.errors import InputError, find_system_error
from rstc.io.durability import flush_file, flush_folder, flush_tree, make_folder
from rstc.io.locks import lock

MAX_SETTINGS_BYTES = 2**20  # of a JSON file that holds settings

_PROCESS = secrets.token_hex(4)  # a process number is not unique: in a container it is always the same
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/(?!/)")  # as a path has it: s3://bucket becomes s3:/bucket
_NEW, _OLD = "tmp", "old"  # endings of temporary names
_TEMPORARY_NAME = re.compile(
    r"\.(?P<name>.+)\.(?:[0-9a-f]{8}|[0-9a-f]{6}-\d+)\.(?P<ending>tmp|old)"
)  # 0.1.0: host-process


def sha256(path: Path) -> str:
    """Return the SHA-256 checksum of a file in hexadecimal."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def compute_checksum(content: Mapping[str, Any]) -> str:
    """Return the SHA-256 checksum of a JSON object that holds it: of all entries but "checksum"."""
    signed = {key: value for key, value in content.items() if key != "checksum"}
    return hashlib.sha256(json.dumps(signed, sort_keys=True).encode()).hexdigest()


def check_writable(path: Path) -> None:
    """Raise an error if a path cannot be written, before the work whose result would be lost."""
    if match := _ADDRESS.match(str(path)):
        raise InputError(f"{path} is an address ({match[0]}), but only `rstc predict` writes to one; give a local path")
    _check_replaceable(path)
    parent = path.absolute().parent
    while not parent.exists():
        parent = parent.parent
    try:
        with tempfile.TemporaryFile(dir=parent):  # permissions do not tell of every disk whether it takes a file
            pass
    except OSError as problem:
        raise InputError(f"{path} cannot be written: {parent} is not a folder that can be written to") from problem


def _check_replaceable(path: Path) -> None:
    """Raise an error for a device, a pipe or a socket, which a file would take the place of."""
    if path.exists() and not path.is_file() and not path.is_dir():
        raise InputError(f"{path} cannot be written: it is not a regular file; for standard output give -")


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
    _check_replaceable(path)
    temporary = _temporary_path(path, _NEW)
    try:
        yield temporary
        flush_file(temporary)
        os.replace(temporary, path)
        flush_folder(path.parent)
    except Exception as problem:
        _raise_as_input_error(path, problem)
        raise
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def replace_folder(path: Path, durable: bool = True) -> Iterator[Path]:
    """Yield a new folder that replaces `path` when the block ends without an error.

    Parameters
    ----------
    path : Path
        The folder to replace or create; a symbolic link is followed.
    durable : bool
        Whether the folder has to survive a power cut, which a cache does not.

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
        make_folder(new)
        yield new
        if durable:
            flush_tree(new)
        if path.exists():
            path.rename(old)
        new.rename(path)
        if durable:
            flush_folder(path.parent)
    except Exception as problem:
        _raise_as_input_error(path, problem)
        raise
    finally:
        shutil.rmtree(new, ignore_errors=True)
        if old.exists() and not path.exists():
            old.rename(path)
        shutil.rmtree(old, ignore_errors=True)


def remove_leftovers(path: Path) -> None:
    """Remove the temporary files and folders of killed processes beside a path.

    A folder that such a process had renamed, to replace it, gets its name back. The caller holds the lock of the path.
    """
    path = path.resolve()
    for leftover in find_leftovers(path):
        if leftover.suffix == f".{_OLD}" and not path.exists():
            leftover.rename(path)
            flush_folder(path.parent)
        elif leftover.is_dir() and not leftover.is_symlink():
            shutil.rmtree(leftover, ignore_errors=True)
        else:
            leftover.unlink(missing_ok=True)


def find_leftovers(path: Path) -> list[Path]:
    """Return the temporary files and folders of a path: of a process that is writing it, or that was killed."""
    path = path.resolve()
    matches = (
        (other, _TEMPORARY_NAME.fullmatch(other.name)) for other in path.parent.glob(f".{glob.escape(path.name)}.*")
    )
    return sorted(other for other, match in matches if match and match["name"] == path.name)


@contextmanager
def lock_output(path: Path, wait: float = 0.0, make_parents: bool = False) -> Iterator[None]:
    """Hold the lock of a file or folder that is going to be written, and remove what killed processes left of it.

    Parameters
    ----------
    path : Path
        The file or folder; it may be missing.
    wait : float
        Seconds to wait for another process that writes it.
    make_parents : bool
        Whether the folders that hold it are created.
    """
    if make_parents:
        make_folder(path.resolve().parent)
    with lock(path, wait):
        remove_leftovers(path)
        yield


def recover(path: Path) -> None:
    """Remove what killed processes left beside a path, unless a process is writing it now."""
    if find_leftovers(path):
        with suppress(InputError), lock_output(path):
            pass


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


def _raise_as_input_error(path: Path, problem: Exception) -> None:
    """Raise an InputError for an error of the file system, also in the words of a library; else do nothing."""
    system_error = None if isinstance(problem, InputError) else find_system_error(problem)
    if isinstance(system_error, OSError):
        raise InputError(f"{path} cannot be written: {system_error.strerror or system_error}") from problem


def _temporary_path(path: Path, ending: str) -> Path:
    """Return a hidden name of this process in the same folder, where a rename is atomic."""
    return path.with_name(f".{path.name}.{_PROCESS}.{ending}")
