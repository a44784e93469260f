"""A matrix that is held in memory or, if it is large, in a temporary file that is mapped into memory."""

from __future__ import annotations

import logging
import mmap
import os
import tempfile

import numpy as np
import torch

logger = logging.getLogger("rstc")

MAX_BYTES_IN_MEMORY = 2**29


class LargeMatrix:
    """A float32 matrix.

    A matrix of more than `MAX_BYTES_IN_MEMORY` lies in a temporary file without a name, which vanishes with the last
    tensor that refers to it. Where the disk has no room, the matrix is held in memory.

    Parameters
    ----------
    n_rows, n_columns : int
        Its shape.

    Attributes
    ----------
    values : Tensor of shape (n_rows, n_columns)
        The matrix, whose values are undefined until they are written.
    """

    def __init__(self, n_rows: int, n_columns: int) -> None:
        size = 4 * n_rows * n_columns
        self._mapping = _map_temporary_file(size) if size > MAX_BYTES_IN_MEMORY else None
        if self._mapping is None:
            self.values = torch.empty(n_rows, n_columns)
        else:
            self.values = torch.from_numpy(np.frombuffer(self._mapping, dtype=np.float32).reshape(n_rows, n_columns))

    def release_pages(self) -> None:
        """Drop the pages of a matrix in a file from memory; they are read again when they are used."""
        if self._mapping is not None:
            self._mapping.madvise(mmap.MADV_DONTNEED)


def _map_temporary_file(size: int) -> mmap.mmap | None:
    """Map a new file into memory; None if the system cannot reserve room for it or cannot drop its pages."""
    if not hasattr(os, "posix_fallocate") or not hasattr(mmap, "MADV_DONTNEED"):
        return None
    try:
        with tempfile.TemporaryFile(prefix="rstc-") as file:  # the mapping keeps it
            os.posix_fallocate(file.fileno(), 0, size)  # to write to a page without room would end the process
            return mmap.mmap(file.fileno(), size)
    except OSError as error:
        logger.info("%d MB are held in memory, because the disk has no room: %s", size // 10**6, error)
        return None
