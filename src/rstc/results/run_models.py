"""The model folders of a run: the model that predicts its clusters, and the model before any corrections.

Where torch is missing, corrections change the clusters and the page, but not the model. Until `rstc apply` has changed
it elsewhere, the run holds only the model before corrections, so that nothing predicts clusters that it has not.
"""

from __future__ import annotations

from pathlib import Path

from rstc.errors import InputError
from rstc.results.run_files import DESCRIPTION, MODEL, ORIGINAL_MODEL
from rstc.results.run_folder import recover_run


def find_model(folder: Path) -> Path:
    """Return the model folder of a run folder, or the folder itself if it is a model folder; restore it if needed."""
    if not (folder / MODEL).is_dir() and (folder / DESCRIPTION).is_file():
        return folder  # its files are checked when it is opened
    recover_run(folder)
    if lacks_corrected_model(folder):
        raise InputError(
            f"the corrections in {folder} were made without torch, and its model does not know them yet: "
            f"`rstc apply {folder}` where torch is installed changes it"
        )
    return folder / MODEL if (folder / MODEL).is_dir() else folder


def find_original_model(folder: Path) -> Path:
    """Return the folder of a run's model before any corrections."""
    return folder / ORIGINAL_MODEL if (folder / ORIGINAL_MODEL).is_dir() else folder / MODEL


def lacks_corrected_model(folder: Path) -> bool:
    """Return whether a run was corrected without torch, and its model does not predict the corrected clusters yet."""
    return (folder / ORIGINAL_MODEL).is_dir() and not (folder / MODEL).is_dir()
