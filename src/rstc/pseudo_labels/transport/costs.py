"""The transport's costs M = -log P (N, C): checked once, then read a piece of rows at a time in float64.

The rows may be spread over processes: each has its own, and knows how many there are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rstc.errors import InputError
from rstc.runtime.distributed import ALONE, Ranks

# What log 0 becomes: an impossible class gets a finite price, because the penalty asks every class to hold
# some mass even if no text can go there.
LOG_ZERO = float(np.log(np.finfo(np.float64).tiny))

# A piece of this many numbers stays in the processor's cache while it is worked on; a copy of all of M in float64
# never exists.
NUMBERS_A_PIECE = 2**18


@dataclass(frozen=True)
class Costs:
    """M = -log P, each row's smallest cost moved to 0, where it is cheapest to read.

    Attributes:
        log_p: the rows of this process as they were given, (n, C).
        largest: the largest cost of all.
        n_rows: N, how many rows all processes have.
        ranks: the processes.
    """

    log_p: Tensor
    largest: float
    n_rows: int
    ranks: Ranks = ALONE

    @property
    def shape(self) -> tuple[int, int]:
        """N and C."""
        return self.n_rows, self.log_p.shape[1]

    def pieces(self) -> Iterator[tuple[slice, Tensor]]:
        """Yield rows of M in float64, and which they are; a piece may be changed in place."""
        n, C = self.log_p.shape
        rows = max(1, NUMBERS_A_PIECE // C)
        for start in range(0, n, rows):
            part = slice(start, min(start + rows, n))
            yield part, _reduced(self.log_p[part])

    def thinned(self, rows: int) -> Costs:
        """Return about this many rows, evenly spread."""
        thin = self.log_p[:: max(1, self.n_rows // rows)]
        return replace(self, log_p=thin, n_rows=int(self.ranks.total(len(thin))))


def read_costs(log_p: NDArray[np.floating] | Tensor, ranks: Ranks = ALONE) -> Costs:
    """Check log P and return its costs; of several processes, each gives its rows."""
    given = log_p.detach() if isinstance(log_p, Tensor) else torch.from_numpy(np.ascontiguousarray(log_p))
    if given.ndim != 2 or given.shape[1] == 0 or (ranks.alone and len(given) == 0):
        raise InputError(f"log_p must have the shape (N, C) with N, C at least 1, got {tuple(given.shape)}")
    if not given.is_floating_point():
        given = given.to(torch.float64)
    costs = Costs(given, 0.0, int(ranks.total(len(given))), ranks)
    largest = 0.0
    for part, M in costs.pieces():
        if torch.isnan(M).any():
            _complain(given[part], part.start)
        largest = max(largest, float(M.max()))
    return replace(costs, largest=ranks.largest(largest))


def _reduced(log_p: Tensor) -> Tensor:
    """Return rows of M, the best of each at 0."""
    L = log_p.to(torch.float64)
    M: Tensor = L.amax(1, keepdim=True) - L
    return M.clamp_(max=-LOG_ZERO)


def _complain(log_p: Tensor, first_row: int) -> None:
    """Say what is wrong with rows whose costs are not numbers."""
    if torch.isnan(log_p).any() or torch.isposinf(log_p).any():
        raise InputError("log_p holds NaN or +inf")
    row = first_row + int(torch.isneginf(log_p).all(1).nonzero()[0])
    raise InputError(f"row {row} of log_p gives every class probability 0")
