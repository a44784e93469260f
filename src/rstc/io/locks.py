"""Locks on outputs: one process at a time writes a folder or a file, and others are told which one it is.

The lock of `run` is the file `.run.lock` beside it, locked by the operating system, which releases it when the process
ends in whatever way. The file names its holder, and is removed when the lock is released. Where a file system has no
locks (some network folders), writing goes on without one.
"""

from __future__ import annotations

import errno
import json
import os
import platform
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from rstc.errors import InputError

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

SECONDS_BETWEEN_TRIES = 0.05
_LOCKED_BYTE = 2**30  # on Windows: beyond the content, which others can read meanwhile
_CONTENTION = {errno.EACCES, errno.EAGAIN, errno.EDEADLK}
_UNSUPPORTED = {errno.ENOSYS, errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EINVAL}


class LockedError(InputError):
    """Another process is writing the folder or the file."""


class _Held:
    """A lock that this process holds: its thread, and how often that thread has taken it."""

    def __init__(self, descriptor: int | None) -> None:
        self.descriptor, self.thread, self.depth = descriptor, threading.get_ident(), 1


_held: dict[Path, _Held] = {}
_guard = threading.Lock()


@contextmanager
def lock(path: Path, wait: float = 0.0) -> Iterator[None]:
    """Hold the lock of a folder or a file that is going to be written.

    A thread that holds the lock can take it again.

    Parameters
    ----------
    path : Path
        The folder or the file, which need not exist, in a folder that does; a symbolic link is followed.
    wait : float
        Seconds to wait for another process that holds the lock.

    Raises
    ------
    LockedError
        If another process, or another thread of this one, still holds the lock.
    """
    path = path.resolve()
    deadline = time.monotonic() + wait
    while not _try_to_acquire(path):
        if time.monotonic() >= deadline:
            raise LockedError(f"{path} is being written by {_describe_holder(path)}; try again when it is done")
        time.sleep(SECONDS_BETWEEN_TRIES)
    try:
        yield
    finally:
        _release(path)


def is_locked(path: Path) -> bool:
    """Return whether a process holds the lock of a path."""
    try:
        with lock(path):
            return False
    except LockedError:
        return True


def _lock_file(path: Path) -> Path:
    return path.with_name(f".{path.name}.lock")


def _try_to_acquire(path: Path) -> bool:
    """Take the lock of a resolved path; return whether this thread holds it."""
    with _guard:
        held = _held.get(path)
        if held is not None:
            if held.thread == threading.get_ident():
                held.depth += 1
            return held.thread == threading.get_ident()
        file = _lock_file(path)
        try:
            descriptor = os.open(file, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o666)
        except OSError as problem:
            raise InputError(f"{path} cannot be written: {problem.strerror or problem}") from problem
        try:
            is_acquired = _lock_descriptor(descriptor) and _is_current(descriptor, file)
        except OSError as problem:
            if problem.errno not in _UNSUPPORTED:
                os.close(descriptor)
                raise InputError(f"{path} cannot be locked: {problem.strerror or problem}") from problem
            os.close(descriptor)
            with suppress(OSError):
                file.unlink()
            _held[path] = _Held(None)
            return True
        if not is_acquired:
            os.close(descriptor)
            return False
        _write_holder(descriptor)
        _held[path] = _Held(descriptor)
        return True


def _release(path: Path) -> None:
    with _guard:
        held = _held[path]
        held.depth -= 1
        if held.depth:
            return
        del _held[path]
        if held.descriptor is None:
            return
        # Removed while it is locked: a process that opened it in the meantime sees that it is not the current file.
        if sys.platform != "win32":
            _lock_file(path).unlink(missing_ok=True)
        os.close(held.descriptor)
        if sys.platform == "win32":
            with suppress(OSError):  # another process has opened it
                _lock_file(path).unlink()


def _lock_descriptor(descriptor: int) -> bool:
    """Lock an open file; return whether no other process holds its lock."""
    try:
        if sys.platform == "win32":
            os.lseek(descriptor, _LOCKED_BYTE, os.SEEK_SET)
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as problem:
        if problem.errno in _CONTENTION:
            return False
        raise
    return True


def _is_current(descriptor: int, file: Path) -> bool:
    """Return whether an open file still has its name: its former holder removes it."""
    try:
        return os.path.samestat(os.fstat(descriptor), file.stat())
    except FileNotFoundError:
        return False


def _write_holder(descriptor: int) -> None:
    """Write which process holds the lock; for messages only, so that a full disk is no reason to fail."""
    holder = {"process": os.getpid(), "host": platform.node(), "since": time.strftime("%Y-%m-%d %H:%M:%S")}
    with suppress(OSError):
        os.ftruncate(descriptor, 0)
        os.lseek(descriptor, 0, os.SEEK_SET)
        os.write(descriptor, json.dumps(holder).encode())


def _describe_holder(path: Path) -> str:
    """Describe the process that holds a lock, as far as it is known."""
    try:
        holder: dict[str, Any] = json.loads(_lock_file(path).read_bytes()[:1000])
        process, host, since = int(holder["process"]), str(holder["host"]), str(holder["since"])
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"
    where = "" if host == platform.node() else f" on {host[:100]!r}"
    return f"process {process}{where} since {since[:19]!r}"
