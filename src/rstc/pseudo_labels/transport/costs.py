"""The cost matrix M = -log P (N, C) of a transport: validated once, then read in blocks of rows in float64.

The rows may be distributed over processes; each process holds its own rows and the total number N.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rstc.errors import InputError
from rstc.runtime.distributed import SINGLE_PROCESS, ProcessGroup

# Stands for log 0: an impossible class has a finite cost, because the penalty on b requires mass in every class even if
# P is 0 there for every text.
LOG_ZERO = float(np.log(np.finfo(np.float64).tiny))

# Values per block: a block fits in the processor's cache, and the whole M is never held in float64.
BLOCK_VALUES = 2**18


@dataclass(frozen=True)
class CostMatrix:
    """M = -log P, each row shifted so that its smallest cost is 0, which leaves the plan as it is.

    Attributes
    ----------
    log_p : (n, C) tensor
        Rows of log P of this process.
    max_cost : float
        Largest cost over all processes.
    n_rows : int
        N, the number of rows of all processes.
    processes : ProcessGroup
        The processes that the rows are distributed over.
    """

    log_p: Tensor
    max_cost: float
    n_rows: int
    processes: ProcessGroup = SINGLE_PROCESS

    @property
    def shape(self) -> tuple[int, int]:
        """N and C."""
        return self.n_rows, self.log_p.shape[1]

    def read(self, rows: slice) -> Tensor:
        """Return the costs of some rows of this process (rows, C) in float64, the smallest cost of each at 0."""
        L = self.log_p[rows].to(torch.float64)
        M: Tensor = L.amax(1, keepdim=True) - L
        return M.clamp_(max=-LOG_ZERO)

    def iter_blocks(self, first_row: int = 0) -> Iterator[tuple[slice, Tensor]]:
        """Yield the rows of a block and its costs (rows, C), which may be changed in place, from `first_row` on."""
        n, C = self.log_p.shape
        block_rows = max(1, BLOCK_VALUES // C)
        for start in range(first_row, n, block_rows):
            rows = slice(start, min(start + block_rows, n))
            yield rows, self.read(rows)

    def subsample(self, n_rows: int) -> CostMatrix:
        """Return a cost matrix of about `n_rows` evenly spaced rows."""
        log_p = self.log_p[:: max(1, self.n_rows // n_rows)]
        return replace(self, log_p=log_p, n_rows=int(self.processes.total(len(log_p))))


def build_costs(log_p: NDArray[np.floating] | Tensor, processes: ProcessGroup = SINGLE_PROCESS) -> CostMatrix:
    """Validate this process's rows of log P and build the cost matrix."""
    rows = log_p.detach() if isinstance(log_p, Tensor) else _wrap(log_p)
    if rows.ndim != 2 or rows.shape[1] == 0 or (processes.is_single and len(rows) == 0):
        raise InputError(f"log_p must have the shape (N, C) with N, C at least 1, got {tuple(rows.shape)}")
    costs = CostMatrix(rows, 0.0, int(processes.total(len(rows))), processes)
    max_cost = 0.0
    for block, M in costs.iter_blocks():
        if torch.isnan(M).any():
            _raise_invalid(rows[block], block.start)
        max_cost = max(max_cost, float(M.max()))
    return replace(costs, max_cost=processes.max(max_cost))


def softmax_rows(M: Tensor, g: Tensor, eps1: float) -> tuple[Tensor, Tensor]:
    """Return softmax((g - M) / eps1) by rows, and its logsumexp; M is overwritten."""
    logits = torch.sub(g, M, out=M).div_(eps1)
    maxima = logits.amax(1, keepdim=True)
    S = logits.sub_(maxima).exp_()
    sums = S.sum(1, keepdim=True)
    return S.div_(sums), maxima + sums.log_()


def measure_sums(costs: CostMatrix, g: Tensor, eps1: float) -> tuple[Tensor, float]:
    """Return the column sums of pi(g), (C,), and the L1 distance of its row sums to 1/N, over all processes."""
    column_sums, row_error = torch.zeros_like(g), 0.0
    for _, M in costs.iter_blocks():
        block = softmax_rows(M, g, eps1)[0].div_(costs.n_rows)
        column_sums += block.sum(0)
        row_error += (block.sum(1) - 1 / costs.n_rows).abs().sum().item()
    return costs.processes.all_reduce(column_sums), costs.processes.total(row_error)


def _wrap(log_p: NDArray[np.floating]) -> Tensor:
    """Return a tensor that shares the memory of an array, or of a copy if torch cannot read the array's layout."""
    is_readable = log_p.dtype.isnative and all(stride >= 0 for stride in log_p.strides)
    return torch.from_numpy(log_p if is_readable else np.ascontiguousarray(log_p, log_p.dtype.newbyteorder("=")))


def _raise_invalid(log_p: Tensor, first_row: int) -> None:
    """Raise an InputError that says why the costs of these rows are NaN."""
    if torch.isnan(log_p).any() or torch.isposinf(log_p).any():
        raise InputError("log_p holds NaN or +inf")
    row = first_row + int(torch.isneginf(log_p).all(1).nonzero()[0])
    raise InputError(f"row {row} of log_p gives every class probability 0")
