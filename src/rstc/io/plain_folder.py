"""Folders that may come from elsewhere hold files and folders only: nothing in them leads out of them or blocks.

An archive can hold symbolic links to any file of the machine, which would be read or overwritten in its place, and
named pipes, on which reading waits for ever.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from rstc.errors import InputError

MAX_ENTRIES = 100_000  # more than any model or run has
MAX_DEPTH = 20


def check_plain_folder(folder: Path, is_hub_snapshot: bool = False) -> None:
    """Raise an error if a folder holds anything but files and folders; no link is followed.

    Parameters
    ----------
    folder : Path
        The folder, which the user named; it may be a link itself, and it may be missing.
    is_hub_snapshot : bool
        Whether the files may be links into the cache of the hub's client, MODEL/blobs.

    Raises
    ------
    InputError
        If there is a link or a special file in it, or far more files than rstc writes.
    """
    n_entries, pending = 0, [(str(folder), 0)]
    cache = _find_hub_cache(folder) if is_hub_snapshot else None
    blobs = cache and cache / "blobs"
    while pending:
        current, depth = pending.pop()
        try:
            entries = list(os.scandir(current))
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as problem:
            raise InputError(f"{current} cannot be read: {problem.strerror or problem}") from problem
        n_entries += len(entries)
        if n_entries > MAX_ENTRIES or depth > MAX_DEPTH:
            raise InputError(f"{folder} holds more files than a model or a run of rstc")
        for entry in entries:
            name = os.path.relpath(entry.path, folder)
            mode = entry.stat(follow_symlinks=False).st_mode
            if stat.S_ISDIR(mode):
                pending.append((entry.path, depth + 1))
            elif stat.S_ISLNK(mode):
                if blobs is None or not _is_file_in(Path(entry.path), blobs):
                    raise InputError(f"{folder} holds a link, which is not followed: {name}")
            elif not stat.S_ISREG(mode):
                raise InputError(f"{folder} holds something that is neither a file nor a folder: {name}")


def is_inside_folder(path: Path, folder: Path) -> bool:
    """Whether a path leads to a file in a folder, or in the hub cache of the model that the folder is a snapshot of."""
    return path.resolve().is_relative_to((_find_hub_cache(folder) or folder).resolve())


def _find_hub_cache(folder: Path) -> Path | None:
    """Return where the hub's client keeps the model that a folder is a snapshot of; None if it is not one.

    The client keeps files in MODEL/blobs, and links to them in MODEL/snapshots/VERSION.
    """
    return next((parent for parent in folder.absolute().parents if parent.name.startswith("models--")), None)


def _is_file_in(link: Path, folder: Path) -> bool:
    """Whether a link leads to a regular file in a folder."""
    target = link.resolve()
    return target.parent == folder.resolve() and target.is_file()
