"""`rstc cache`: where embeddings are cached, how much space they take, and how to remove them."""

from __future__ import annotations

from typing import Annotated

import typer

from rstc.cli.documents.files import CacheDocument


def cache(
    clear: Annotated[bool, typer.Option("--clear", help="Remove all cached embeddings.")] = False,
) -> CacheDocument:
    """Show the folder in which `rstc cluster` caches the embeddings of texts, or empty it.

    A second run on the same texts, with another number of clusters or other settings, then starts without encoding
    them again. The folder holds embeddings and hashes, not the texts; at most 2 GB, the oldest are removed first. The
    environment variable RSTC_CACHE_DIR names another folder; `rstc cluster --no-cache` neither reads nor writes it.

    Example:

        rstc cache --clear
    """
    from rstc.cli.display import output
    from rstc.io.cache_folder import default_cache_folder, measure_parts, shrink_cache

    folder = default_cache_folder()
    n_removed = shrink_cache(folder, 0) if clear else 0
    sizes = measure_parts(folder)
    n_bytes = sum(sizes.values())
    if clear:
        output.print(f"Removed {n_removed / 1e6:,.1f} MB from {folder}", soft_wrap=True)
    else:
        output.print(f"{folder}: {n_bytes / 1e6:,.1f} MB, from {len(sizes)} runs", soft_wrap=True)
    return CacheDocument(folder=str(folder), n_bytes=n_bytes, n_runs=len(sizes), n_removed_bytes=n_removed)
