"""Rows in blocks of a fixed number, so that what is computed of a row does not depend on how many others there are.

Matrix products choose their instructions by the number of rows, and round differently with each choice.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

BLOCK_ROWS = 64  # few enough to cost little for a single row

Ints = NDArray[np.int64]


def fill_rows(rows: Ints, multiple: int) -> Ints:
    """Return row indices with the last one repeated until their number is a multiple of some number.

    >>> fill_rows(np.array([4, 7, 9]), 4).tolist()
    [4, 7, 9, 9]
    """
    return np.pad(rows, (0, -len(rows) % multiple), mode="edge")


def map_blocks(function: Callable[[Ints], NDArray[Any]], n_rows: int, *, filled: bool = False) -> NDArray[Any]:
    """Apply a function to blocks of at most `BLOCK_ROWS` rows, and join what it returns.

    Parameters
    ----------
    function : callable
        Takes the indices of the rows of a block, and returns an array with a row for each.
    n_rows : int
        Number of rows, at least 1.
    filled : bool
        Whether the last block is filled up to `BLOCK_ROWS` rows by repeating its last row.

    Returns
    -------
    array with n_rows rows

    Examples
    --------
    >>> map_blocks(lambda rows: 2 * rows, 3).tolist(), map_blocks(lambda rows: rows, 2, filled=True).tolist()
    ([0, 2, 4], [0, 1])
    """
    rows = fill_rows(np.arange(n_rows), BLOCK_ROWS) if filled else np.arange(n_rows)
    blocks = [function(rows[start : start + BLOCK_ROWS]) for start in range(0, len(rows), BLOCK_ROWS)]
    return np.asarray(np.concatenate(blocks)[:n_rows])


def multiply_rows(X: NDArray[Any], W: NDArray[Any]) -> NDArray[Any]:
    """Return X @ W, where each row of X is multiplied by itself: its product has the same bits among any other rows.

    >>> multiply_rows(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[1.0], [1.0]])).tolist()
    [[3.0], [7.0]]
    """
    return np.asarray(np.matmul(X[:, None, :], W)[:, 0])
