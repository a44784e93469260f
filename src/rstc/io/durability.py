"""Files, folders and names that are on the disk when a call returns, so that they survive a power cut."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path


def make_folder(path: Path) -> None:
    """Create a folder and its parents, so that they survive a power cut."""
    missing = [parent for parent in (path, *path.parents) if not parent.exists()]
    path.mkdir(parents=True, exist_ok=True)
    for created in missing:
        flush_folder(created.parent)


def flush_folder(folder: Path) -> None:
    """Flush the names in a folder to the disk, so that they survive a power cut; not every system can."""
    with suppress(OSError):
        _flush(folder, os.O_RDONLY)


def flush_file(path: Path) -> None:
    """Flush the content of a file to the disk; an error means that it is not there."""
    _flush(path, os.O_RDWR)


def flush_tree(folder: Path) -> None:
    """Flush all files and names below a folder to the disk."""
    for parent, _, names in os.walk(folder, topdown=False):
        for name in names:
            path = Path(parent, name)
            if not path.is_symlink():
                flush_file(path)
        flush_folder(Path(parent))


def _flush(path: Path, flags: int) -> None:
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
