"""A simulated disk that forgets: after a power cut it holds what was flushed, and nothing else.

Content of a file is on the disk when `os.fsync` was called for it, as it was then; a name is in a folder when the
folder was flushed, as the folder was then. That is what POSIX promises, and less than most file systems keep.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

Inode = tuple[int, int]


class ForgetfulDisk:
    """Records what is flushed below a folder, from the moment it is made.

    Parameters
    ----------
    root : Path
        The folder; what it holds at first is on the disk.
    monkeypatch : pytest.MonkeyPatch
        Replaces `os.fsync`.
    """

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.root = root
        self._contents: dict[Inode, bytes] = {}  # of files
        self._names: dict[Inode, dict[str, tuple[Inode, bool, str]]] = {}  # of folders: inode, is a folder, link target
        self._kept: list[Any] = []  # open files, so that the system does not use their inodes for others
        for folder, _, names in os.walk(root):
            self._record_folder(folder)
            for name in names:
                path = os.path.join(folder, name)
                if not os.path.islink(path):
                    self._record_file(path)
        self._fsync = os.fsync
        monkeypatch.setattr(os, "fsync", self._record)

    def cut_power(self, target: Path) -> Path:
        """Write what is on the disk to another folder."""
        root = os.stat(self.root)
        self._restore((root.st_dev, root.st_ino), True, target)
        return target

    def _record(self, descriptor: int) -> None:
        self._fsync(descriptor)
        path = os.readlink(f"/proc/self/fd/{descriptor}")
        if Path(path).is_relative_to(self.root):
            if os.path.isdir(path):
                self._record_folder(path)
            else:
                self._record_file(path)

    def _record_file(self, path: str) -> None:
        file = open(path, "rb")  # noqa: SIM115 (kept open on purpose)
        self._kept.append(file)
        status = os.fstat(file.fileno())
        self._contents[status.st_dev, status.st_ino] = file.read()

    def _record_folder(self, path: str) -> None:
        self._kept.append(_Descriptor(path))
        status = os.stat(path)
        names = {}
        with os.scandir(path) as entries:
            for entry in entries:
                found = entry.stat(follow_symlinks=False)
                link = os.readlink(entry.path) if entry.is_symlink() else ""
                is_folder = entry.is_dir(follow_symlinks=False)
                names[entry.name] = ((found.st_dev, found.st_ino), is_folder, link)
                if not entry.is_symlink():
                    self._kept.append(_Descriptor(entry.path))
        self._names[status.st_dev, status.st_ino] = names

    def _restore(self, inode: Inode, is_folder: bool, target: Path) -> None:
        if not is_folder:
            target.write_bytes(self._contents.get(inode, b""))  # a name may be there whose content never was
            return
        target.mkdir(parents=True)
        for name, (entry, entry_is_folder, link) in self._names.get(inode, {}).items():
            if link:
                (target / name).symlink_to(link)
            else:
                self._restore(entry, entry_is_folder, target / name)


class _Descriptor:
    """An open file or folder, closed when it is forgotten."""

    def __init__(self, path: str) -> None:
        self._descriptor = os.open(path, os.O_RDONLY)

    def __del__(self) -> None:
        os.close(self._descriptor)
