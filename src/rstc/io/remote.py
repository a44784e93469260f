"""Files here or elsewhere: a path, or an address that fsspec knows, as s3://bucket/part.parquet."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

import fsspec
from fsspec.core import url_to_fs

from rstc.errors import InputError, first_line


def is_address(path: str) -> bool:
    """Tell an address from a path.

    >>> is_address("s3://bucket/a.parquet"), is_address("data/a.parquet"), is_address("C:/data")
    (True, False, False)
    """
    return re.match(r"[A-Za-z][A-Za-z0-9+.-]+(::|://)", path) is not None


def opened(path: str, mode: str, **options: Any) -> Any:
    """Open a file for reading or writing."""
    if not is_address(path):
        return open(path, mode, **options)
    return _reached(path, lambda: fsspec.open(path, mode, **options).open())


def is_file(path: str) -> bool:
    """Tell whether there is such a file."""
    if not is_address(path):
        return Path(path).is_file()
    return bool(_reached(path, lambda: _system(path).isfile(_inside(path))))


def exists(path: str) -> bool:
    """Tell whether there is anything of that name."""
    if not is_address(path):
        return Path(path).exists()
    return bool(_reached(path, lambda: _system(path).exists(_inside(path))))


def modified(path: str) -> float:
    """Return when a file was last written, in seconds; 0 where a store does not tell."""
    if not is_address(path):
        return Path(path).stat().st_mtime
    try:
        return float(_system(path).modified(_inside(path)).timestamp())
    except NotImplementedError:
        return 0.0


def put(local: Path, address: str) -> None:
    """Copy a file to an address, where it appears when it is complete: stores have no half-written files."""

    def copy() -> None:
        system, name = url_to_fs(address)
        system.makedirs(posixpath.dirname(name), exist_ok=True)
        system.put_file(str(local), name)

    _reached(address, copy)


def matching(pattern: str) -> tuple[str, list[str]]:
    """Return a root, and in order the files under it that a pattern with *, ** or ? names, or that a folder holds."""
    system, name = _reached(pattern, lambda: url_to_fs(pattern))
    before = re.split(r"[*?\[]", name, maxsplit=1)[0]
    if before == name and system.isdir(name):
        root, found = name, system.find(name)
    else:
        root = posixpath.dirname(before) if before != name else posixpath.dirname(name)
        found = [one for one in system.glob(name) if system.isfile(one)]
    under = sorted(posixpath.relpath(one, root or ".") for one in found)
    return (system.unstrip_protocol(root) if is_address(pattern) else root), under


def joined(root: str, name: str) -> str:
    """Return the path or address of a name under a root."""
    return posixpath.join(root, name)


def _system(path: str) -> Any:
    return url_to_fs(path)[0]


def _inside(path: str) -> str:
    return str(url_to_fs(path)[1])


def _reached(path: str, ask: Any) -> Any:
    """Ask a file system; what it has to complain of is told in a sentence."""
    try:
        return ask()
    except (OSError, ValueError, ImportError) as problem:
        raise InputError(f"{path} cannot be reached: {first_line(problem)}") from problem
