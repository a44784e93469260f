"""The files of a model folder: their names, and the check that they are the files that were saved."""

from __future__ import annotations

from pathlib import Path

from rstc.errors import InputError
from rstc.io.atomic import sha256
from rstc.io.plain_folder import is_inside_folder
from rstc.persistence.model_description import DESCRIPTION, ModelDescription

CARD = "README.md"
HEADS = "heads.safetensors"
OUTLIER_DETECTOR = "strangers.safetensors"
ENCODER = "encoder"


def list_files(folder: Path) -> list[str]:
    """Return the relative paths of all files in a folder, sorted."""
    return sorted(str(path.relative_to(folder).as_posix()) for path in folder.rglob("*") if path.is_file())


def check_files(folder: Path, description: ModelDescription) -> None:
    """Refuse a folder with a missing, altered or added file, or with a link out of it."""
    for name, expected in description.files.items():
        if name == CARD:  # nothing opens it, and people complete it on the hub
            continue
        path = folder / name
        if Path(name).is_absolute() or ".." in Path(name).parts:
            raise InputError(f"{folder / DESCRIPTION} names a file outside of its folder: {name}")
        if not path.is_file():
            raise InputError(f"the model in {folder} is incomplete: {name} is missing")
        if not is_inside_folder(path, folder):
            raise InputError(f"the model in {folder} holds a link that leads out of it: {name}")
        if sha256(path) != expected:
            raise InputError(f"the model in {folder} was altered: {name} is not the file that was saved")
    if HEADS not in description.files:
        raise InputError(f"the model in {folder} is incomplete: {HEADS} is missing")
    # The libraries that read the encoder open any file they find there; no library opens what a hub adds elsewhere.
    unlisted = {name for name in list_files(folder) if name.startswith(f"{ENCODER}/")} - set(description.files)
    if unlisted or not is_inside_folder(folder / ENCODER, folder):
        raise InputError(
            f"the model in {folder} holds a file that was not saved with it: {min(unlisted, default=ENCODER)}"
        )
