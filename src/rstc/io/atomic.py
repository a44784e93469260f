"""Files and folders that appear complete or not at all, their checksums, and JSON of bounded size."""

from __future__ import annotations

import glob
import hashlib
import json
import os
import platform
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rstc.errors import InputError

LARGEST_SETTINGS = 2**20  # bytes of a JSON file that holds settings


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
    path = path.resolve()  # what a link leads to is replaced, not the link
    temporary = _beside(path, "tmp")
    try:
        yield temporary
        os.replace(temporary, path)
        _through_to_disk(path.parent)
    except OSError as problem:
        raise InputError(f"{path} cannot be written: {problem.strerror or problem}") from problem
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def replaced_folder(path: Path) -> Iterator[Path]:
    """Yield a temporary folder that takes the place of `path` if all goes well and vanishes if not."""
    path = path.resolve()  # what a link leads to is replaced, not the link
    new, old = _beside(path, "tmp"), _beside(path, "old")
    try:
        new.mkdir(parents=True)
        yield new
        if path.exists():
            path.rename(old)
        new.rename(path)
        _through_to_disk(path.parent)
    except OSError as problem:
        raise InputError(f"{path} cannot be written: {problem.strerror or problem}") from problem
    finally:
        shutil.rmtree(new, ignore_errors=True)
        if old.exists() and not path.exists():
            old.rename(path)
        shutil.rmtree(old, ignore_errors=True)


def clear_leftovers(path: Path) -> None:
    """Remove what processes of this machine that were killed left beside a path; what they put aside comes back."""
    path = path.resolve()
    for left in sorted(path.parent.glob(f".{glob.escape(path.name)}.{_HOST}-*.*")):
        owner, _, ending = left.name.removeprefix(f".{path.name}.{_HOST}-").partition(".")
        if not owner.isdecimal() or ending not in _ENDINGS or _runs(int(owner)):
            continue
        if ending == "old" and not path.exists():
            left.rename(path)
        elif left.is_dir() and not left.is_symlink():
            shutil.rmtree(left, ignore_errors=True)
        else:
            left.unlink(missing_ok=True)


_HOST = hashlib.sha256(platform.node().encode()).hexdigest()[:6]  # folders may be shared by machines
_ENDINGS = ("tmp", "old")


def _beside(path: Path, ending: str) -> Path:
    """Return a hidden name in the same folder, where a rename is one step of the file system."""
    return path.with_name(f".{path.name}.{_HOST}-{os.getpid()}.{ending}")


def _runs(process: int) -> bool:
    """Tell whether there is such a process."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # somebody else's
        return True
    return True


def _through_to_disk(folder: Path) -> None:
    """Have a folder's new names written to the disk, where the system can; a crash right after keeps them."""
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


def user_cache() -> Path:
    """Return the folder for what can be fetched or computed again: rstc's part of the user's cache."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "rstc"


def read_json(path: Path, largest: int = LARGEST_SETTINGS) -> Any:
    """Read a JSON file of bounded size."""
    try:
        if path.stat().st_size > largest:
            raise InputError(f"{path} is larger than {largest / 1e6:.0f} MB, which such a file never is")
        return json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as problem:
        if isinstance(problem, InputError):
            raise
        raise InputError(f"{path} is not JSON") from problem
    except OSError as problem:
        raise InputError(f"{path} cannot be read: {problem.strerror or problem}") from problem
