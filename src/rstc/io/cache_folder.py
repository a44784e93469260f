"""The folder of cached embeddings: where it is, how large it is, and how it is kept small.

It has a subfolder for each encoder, and in it a folder for each run that stored embeddings (a part).
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

FOLDER_VARIABLE = "RSTC_CACHE_DIR"
EMBEDDINGS = "E.f32"  # the file that makes a folder a part


def default_cache_folder() -> Path:
    """Return the cache folder of the command line: $RSTC_CACHE_DIR, or the user's cache folder of the platform."""
    if folder := os.environ.get(FOLDER_VARIABLE):
        return Path(folder)
    from platformdirs import user_cache_path

    return user_cache_path("rstc", appauthor=False)


def measure_parts(folder: Path) -> dict[Path, int]:
    """Return the bytes of each part of a cache folder, those that were not used for the longest time first."""
    parts = [path.parent for path in folder.glob(f"*/[!.]*/{EMBEDDINGS}")]
    parts.sort(key=lambda part: part.stat().st_mtime)
    return {part: sum(file.stat().st_size for file in part.iterdir()) for part in parts}


def shrink_cache(folder: Path, max_bytes: int) -> int:
    """Remove the parts of a cache folder that were not used for the longest time, until `max_bytes` are left.

    Returns
    -------
    int
        The bytes that were removed.
    """
    sizes = measure_parts(folder)
    excess, removed = sum(sizes.values()) - max_bytes, 0
    for part, size in sizes.items():
        if removed >= excess:
            break
        shutil.rmtree(part, ignore_errors=True)
        removed += size
    return removed
