"""The names of checkpoint files, which distinguish a folder of checkpoints from any other folder."""

from __future__ import annotations

from pathlib import Path

from rstc.errors import InputError
from rstc.io.plain_folder import check_plain_folder

CHECKPOINT_SUFFIX = ".checkpoint"


def list_checkpoints(folder: Path) -> list[Path]:
    """Return the complete checkpoint files of a folder, the oldest first.

    >>> list_checkpoints(Path("no such folder"))
    []
    """
    return sorted(path for path in folder.glob(f"*{CHECKPOINT_SUFFIX}") if path.stem.isdecimal())


def checkpoint_path(folder: Path, number: int) -> Path:
    """Return the path of a checkpoint file.

    >>> checkpoint_path(Path("run"), 7).name
    '000007.checkpoint'
    """
    return folder / f"{number:06d}{CHECKPOINT_SUFFIX}"


def check_only_checkpoints(folder: Path) -> None:
    """Refuse a folder that holds anything but checkpoints, because checkpoints of earlier runs are removed there."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is not a folder")
    check_plain_folder(folder)
    others = [path.name for path in folder.glob("*") if CHECKPOINT_SUFFIX not in path.name]
    if others:
        raise InputError(f"{folder} holds more than checkpoints ({others[0]}); choose another folder for them")
