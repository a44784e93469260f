"""Files by path or by URL: local paths are opened directly, URLs such as s3://bucket/part.parquet by fsspec."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import fsspec
from fsspec.core import url_to_fs

from rstc.errors import InputError, first_line

Result = TypeVar("Result")


def is_url(path: str) -> bool:
    """Return whether a path is a URL of fsspec.

    >>> is_url("s3://bucket/a.parquet"), is_url("data/a.parquet"), is_url("C:/data")
    (True, False, False)
    """
    return re.match(r"[A-Za-z][A-Za-z0-9+.-]+(::|://)", path) is not None


def open_file(path: str, mode: str, **options: Any) -> Any:
    """Open a file, as `open` does.

    Parameters
    ----------
    path : str
        A path or a URL.
    mode : str
        As of `open`.
    **options
        Further arguments of `open`, such as `encoding`.
    """
    if not is_url(path):
        return open(path, mode, **options)
    return _access(path, lambda: fsspec.open(path, mode, **options).open())


def is_file(path: str) -> bool:
    """Return whether a path or URL is an existing file."""
    if not is_url(path):
        return Path(path).is_file()
    return bool(_access(path, lambda: _call("isfile", path)))


def exists(path: str) -> bool:
    """Return whether a path or URL exists."""
    if not is_url(path):
        return Path(path).exists()
    return bool(_access(path, lambda: _call("exists", path)))


def modified_time(path: str) -> float:
    """Return when a file was last written, in seconds since the epoch; 0 for a store that does not record it."""
    if not is_url(path):
        return Path(path).stat().st_mtime
    try:
        return float(_call("modified", path).timestamp())
    except NotImplementedError:
        return 0.0


def put_file(local: Path, url: str) -> None:
    """Upload a local file; folders on the way are made. A store shows it once it is complete."""

    def upload() -> None:
        filesystem, name = url_to_fs(url)
        filesystem.makedirs(posixpath.dirname(name), exist_ok=True)
        filesystem.put_file(str(local), name)

    _access(url, upload)


def glob_files(pattern: str) -> tuple[str, list[str]]:
    """Find the files that match a pattern, or all files of a folder.

    Parameters
    ----------
    pattern : str
        A path or URL with ``*``, ``**`` or ``?`` in it, or a folder.

    Returns
    -------
    root : str
        The folder before the first wildcard.
    names : list of str
        The files relative to `root`, sorted.
    """
    filesystem, name = _access(pattern, lambda: url_to_fs(pattern))
    prefix = re.split(r"[*?\[]", name, maxsplit=1)[0]
    if prefix == name and filesystem.isdir(name):
        root, paths = name, filesystem.find(name)
    else:
        root = posixpath.dirname(prefix)
        paths = [path for path in filesystem.glob(name) if filesystem.isfile(path)]
    names = sorted(posixpath.relpath(path, root or ".") for path in paths)
    return (filesystem.unstrip_protocol(root) if is_url(pattern) else root), names


def join_path(root: str, name: str) -> str:
    """Return the path or URL of a name under a root."""
    return posixpath.join(root, name)


def _call(method: str, url: str) -> Any:
    """Call a method of the URL's file system with the path in it."""
    filesystem, path = url_to_fs(url)
    return getattr(filesystem, method)(path)


def _access(path: str, operation: Callable[[], Result]) -> Result:
    """Return the result of an operation on a file system; its errors become an InputError that names the path."""
    try:
        return operation()
    except (OSError, ValueError, ImportError) as problem:
        raise InputError(f"{path} cannot be reached: {first_line(problem)}") from problem
