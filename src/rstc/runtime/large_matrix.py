"""A matrix that is held in memory or, if it is large, in a temporary file that is mapped into memory."""

from __future__ import annotations

import logging
import os
import tempfile
from typing import IO

import numpy as np
import torch
from torch import Tensor

logger = logging.getLogger("rstc")

MAX_BYTES_IN_MEMORY = 2**29


class LargeMatrix:
    """A float32 matrix of n rows.

    A matrix of more than `MAX_BYTES_IN_MEMORY` lies in a temporary file without a name, which vanishes with the last
    tensor that refers to it. The system may write its pages to the disk and drop them from memory. Where the disk has
    no room, the matrix is held in memory.

    Parameters
    ----------
    n_rows, n_columns : int
        Its shape.
    """

    def __init__(self, n_rows: int, n_columns: int) -> None:
        self._shape = (n_rows, n_columns)
        self._file: IO[bytes] | None = None
        self._tensor: Tensor | None = None
        size = 4 * n_rows * n_columns
        if size > MAX_BYTES_IN_MEMORY and hasattr(os, "posix_fallocate"):
            try:
                file = tempfile.TemporaryFile(prefix="rstc-")  # noqa: SIM115, open as long as the matrix
                os.posix_fallocate(file.fileno(), 0, size)  # to write to a page without room would end the process
                self._file = file
            except OSError as error:
                logger.info("%d MB are held in memory, because the disk has no room: %s", size // 10**6, error)

    def open(self) -> Tensor:
        """Return the matrix; a large one as a new mapping, so that pages of earlier ones are no longer in use."""
        if self._file is not None:
            return torch.from_numpy(np.memmap(self._file, dtype=np.float32, mode="r+", shape=self._shape))
        if self._tensor is None:
            self._tensor = torch.empty(self._shape)
        return self._tensor
