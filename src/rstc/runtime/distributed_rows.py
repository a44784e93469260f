"""Rows of matrices that are distributed over processes: blocks of all rows in turn, and the rows of other processes.

Rows are numbered over all processes, in the order of their ranks. In a single process, every operation returns rows of
its argument, so the same code runs in one process and in many. No operation but `gather` without `rows` holds all rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, issparse, vstack

from rstc.runtime.distributed import SINGLE_PROCESS, ProcessGroup

BLOCK_ROWS = 2**14  # passed to all processes at a time

Array = NDArray[np.generic]
Ints = NDArray[np.int64]
AnyArray = TypeVar("AnyArray", bound=Array)
Matrix = TypeVar("Matrix", bound="Array | csr_matrix")


@dataclass(frozen=True)
class DistributedRows:
    """The rows of a matrix that are distributed over processes.

    Attributes
    ----------
    counts : tuple of int
        Number of rows of each process.
    processes : ProcessGroup
        The processes.

    Examples
    --------
    >>> rows = DistributedRows.from_local_count(3, SINGLE_PROCESS)
    >>> rows.n_rows, rows.local, rows.fetch(np.array([5, 6, 7]), np.array([2, 0])).tolist()
    (3, slice(0, 3, None), [7, 5])
    """

    counts: tuple[int, ...]
    processes: ProcessGroup = SINGLE_PROCESS

    @classmethod
    def from_local_count(cls, n_local: int, processes: ProcessGroup) -> DistributedRows:
        """Number the rows of all processes, of which this one has `n_local`."""
        return cls(tuple(processes.gather_objects(n_local)), processes)

    @cached_property
    def ends(self) -> Ints:
        """The end of each process's rows."""
        return np.cumsum(self.counts, dtype=np.int64)

    @property
    def n_rows(self) -> int:
        """The number of rows of all processes."""
        return sum(self.counts)

    @property
    def local(self) -> slice:
        """The rows of this process."""
        end = int(self.ends[self.processes.rank])
        return slice(end - self.counts[self.processes.rank], end)

    def to_local(self, rows: Ints) -> Ints:
        """Select the rows of this process, and count them from its first row."""
        local = self.local
        return np.asarray(rows[(rows >= local.start) & (rows < local.stop)] - local.start)

    def take_every(self, step: int) -> slice:
        """Return every `step`-th row of all processes, as the slice of this process's rows that are among them."""
        return slice(-self.local.start % step, None, step)

    def gather(self, matrix: Matrix, rows: Ints | None = None) -> Matrix | None:
        """Return rows of a matrix, by default all, in the first process; None in the others.

        Parameters
        ----------
        matrix : (n, ...) array or (n, V) sparse matrix
            The rows of this process.
        rows : (m,) array or None
            Rows among those of all processes, in ascending order.
        """
        own = cast(Matrix, matrix if rows is None else matrix[self.to_local(rows)])
        if self.processes.is_single:
            return own
        if issparse(own):
            parts = self.processes.gather_lists([own])
            return None if parts is None else cast(Matrix, csr_matrix(vstack(parts)))
        import torch

        gathered = self.processes.gather_rows(torch.from_numpy(own))
        return None if gathered is None else cast(Matrix, gathered.numpy())

    def iter_blocks(
        self, *matrices: Array | csr_matrix | None, block_rows: int = BLOCK_ROWS
    ) -> Iterator[tuple[int, list[Array | csr_matrix | None]]]:
        """Pass the rows of matrices to all processes, block by block; in a single process, all are one block.

        Parameters
        ----------
        *matrices : (n, ...) array, (n, V) sparse matrix or None
            The rows of this process; None is passed as None.
        block_rows : int
            Largest number of rows of a block.

        Yields
        ------
        first_row : int
            The first row of the block.
        blocks : list
            The block's rows of each matrix.
        """
        if self.processes.is_single:
            yield 0, list(matrices)
            return
        for source, (count, end) in enumerate(zip(self.counts, self.ends.tolist(), strict=True)):
            for start in range(0, count, block_rows):
                block = slice(start, min(start + block_rows, count))
                yield (
                    end - count + start,
                    [None if matrix is None else self._broadcast(matrix, block, source) for matrix in matrices],
                )

    def fetch(self, values: AnyArray, rows: Ints) -> AnyArray:
        """Return rows of all processes, which their owners send.

        Parameters
        ----------
        values : (n, ...) array
            The rows of this process.
        rows : (m,) array
            Rows among those of all processes, in any order; each process may ask for others.

        Returns
        -------
        (m, ...) array
        """
        if self.processes.is_single:
            return cast(AnyArray, values[rows])
        import torch

        order, counts = self._group_by_owner(rows)
        requested, requested_counts = self.processes.exchange_rows(torch.from_numpy(rows[order]), counts)
        answers = torch.from_numpy(values[requested.numpy() - self.local.start])
        received, _ = self.processes.exchange_rows(answers, requested_counts)
        fetched = np.empty((len(rows), *values.shape[1:]), dtype=values.dtype)
        fetched[order] = received.numpy()
        return cast(AnyArray, fetched)

    def find_requested(self, rows: Ints) -> Ints:
        """Return the rows of this process that any process asks for, counted from its first row, in ascending order."""
        wanted = np.unique(rows)
        if self.processes.is_single:
            return wanted
        import torch

        _, counts = self._group_by_owner(wanted)
        requested, _ = self.processes.exchange_rows(torch.from_numpy(wanted), counts)
        return np.asarray(np.unique(requested.numpy()) - self.local.start)

    def _group_by_owner(self, rows: Ints) -> tuple[Ints, list[int]]:
        """Return the order of rows by the ranks of their processes, and the number of rows of each process."""
        owners = np.searchsorted(self.ends, rows, side="right")
        counts = np.bincount(owners, minlength=self.processes.size)
        return np.argsort(owners, kind="stable"), counts.tolist()

    def _broadcast(self, matrix: Array | csr_matrix, block: slice, source: int) -> Array | csr_matrix:
        """Pass a block of the matrix of the process of rank `source` to all processes."""
        own: Any = matrix[block] if self.processes.rank == source else None
        n = block.stop - block.start
        if not issparse(matrix):
            return self._broadcast_array(own, (n, *matrix.shape[1:]), matrix.dtype, source)
        parts = (None, None, None) if own is None else (own.indptr, own.indices, own.data)
        indptr = self._broadcast_array(parts[0], (n + 1,), np.dtype(np.int64), source)
        n_stored = int(indptr[-1])
        indices = self._broadcast_array(parts[1], (n_stored,), np.dtype(np.int32), source)
        data = self._broadcast_array(parts[2], (n_stored,), matrix.dtype, source)
        return csr_matrix((data, indices, indptr), shape=(n, matrix.shape[1]))

    def _broadcast_array(
        self, own: Array | None, shape: tuple[int, ...], dtype: np.dtype[np.generic], source: int
    ) -> Array:
        """Pass an array of the process of rank `source` to all processes, which know its shape."""
        import torch

        buffer = np.empty(shape, dtype) if own is None else np.ascontiguousarray(own, dtype)
        self.processes.broadcast(torch.from_numpy(buffer), source)
        return buffer
