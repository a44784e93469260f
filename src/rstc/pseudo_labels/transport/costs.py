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

    def iter_blocks(self) -> Iterator[tuple[slice, Tensor]]:
        """Yield the rows of a block and its costs (rows, C) in float64, which may be changed in place."""
        n, C = self.log_p.shape
        block_rows = max(1, BLOCK_VALUES // C)
        for start in range(0, n, block_rows):
            rows = slice(start, min(start + block_rows, n))
            yield rows, _compute_costs(self.log_p[rows])

    def subsample(self, n_rows: int) -> CostMatrix:
        """Return a cost matrix of about `n_rows` evenly spaced rows."""
        log_p = self.log_p[:: max(1, self.n_rows // n_rows)]
        return replace(self, log_p=log_p, n_rows=int(self.processes.total(len(log_p))))


def build_costs(log_p: NDArray[np.floating] | Tensor, processes: ProcessGroup = SINGLE_PROCESS) -> CostMatrix:
    """Validate this process's rows of log P and build the cost matrix."""
    rows = log_p.detach() if isinstance(log_p, Tensor) else torch.from_numpy(np.ascontiguousarray(log_p))
    if rows.ndim != 2 or rows.shape[1] == 0 or (processes.is_single and len(rows) == 0):
        raise InputError(f"log_p must have the shape (N, C) with N, C at least 1, got {tuple(rows.shape)}")
    if not rows.is_floating_point():
        rows = rows.to(torch.float64)
    costs = CostMatrix(rows, 0.0, int(processes.total(len(rows))), processes)
    max_cost = 0.0
    for block, M in costs.iter_blocks():
        if torch.isnan(M).any():
            _raise_invalid(rows[block], block.start)
        max_cost = max(max_cost, float(M.max()))
    return replace(costs, max_cost=processes.max(max_cost))


def _compute_costs(log_p: Tensor) -> Tensor:
    """Return rows of M in float64, the smallest cost of each at 0."""
    L = log_p.to(torch.float64)
    M: Tensor = L.amax(1, keepdim=True) - L
    return M.clamp_(max=-LOG_ZERO)


def _raise_invalid(log_p: Tensor, first_row: int) -> None:
    """Raise an InputError that says why the costs of these rows are NaN."""
    if torch.isnan(log_p).any() or torch.isposinf(log_p).any():
        raise InputError("log_p holds NaN or +inf")
    row = first_row + int(torch.isneginf(log_p).all(1).nonzero()[0])
    raise InputError(f"row {row} of log_p gives every class probability 0")
