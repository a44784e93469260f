"""Products with the Gram matrix S^T S of the softmax rows S = N pi(g) (N, C), without S and without S^T S (C, C).

With costs well above eps1 almost all of a row's mass is in few classes. Entries of at least `MIN_ENTRY` / C are held as
a sparse matrix, so that a row loses at most `MIN_ENTRY` of its mass. Where rows are spread over many classes the sparse
matrix would become as large as the costs: it holds the first rows up to a limit, and the other rows are recomputed
from the costs at each product.
"""

from __future__ import annotations

import numpy as np
import torch
from scipy.sparse import csr_array

from rstc.pseudo_labels.transport.costs import CostMatrix, softmax_rows
from rstc.pseudo_labels.transport.marginals import Vector

MIN_ENTRY = 0.01  # smallest entry that is held, in multiples of 1 / C

# Entries that are held: a share of N C, or this many, which take 50 MB, if that is more. An entry takes 12 bytes, so
# that the share is 5% of a log P in float32.
MAX_HELD_SHARE = 1 / 64
MAX_HELD_ENTRIES = 2**22


class GramOperator:
    """Multiplies vectors by S^T S, where S are the rows softmax((g - M) / eps1) of all processes.

    Parameters
    ----------
    costs : CostMatrix
        M, (N, C).
    eps1 : float
        Weight of the plan's entropy.
    g : (C,) array
        Dual potentials of the classes.

    Attributes
    ----------
    diagonal : (C,) array
        The diagonal of S^T S.
    n_held : int
        Number of this process's rows that are held.
    """

    def __init__(self, costs: CostMatrix, eps1: float, g: Vector) -> None:
        self._costs, self._eps1 = costs, eps1
        self._potentials = torch.from_numpy(g).to(costs.log_p.device)
        n, C = costs.log_p.shape
        limit = min(n * C, max(int(n * C * MAX_HELD_SHARE), MAX_HELD_ENTRIES), np.iinfo(np.int32).max)
        # Only pages that are written to count: what is not filled takes no memory.
        classes, values = np.empty(limit, np.int32), np.empty(limit)
        ends = np.zeros(n + 1, np.int32)
        squares = torch.zeros(C, dtype=torch.float64, device=costs.log_p.device)
        self.n_held, n_entries = 0, 0
        for rows, M in costs.iter_blocks():
            S = softmax_rows(M, self._potentials, eps1)[0]
            if self.n_held == rows.start:  # all rows before are held
                is_large = S >= MIN_ENTRY / C
                counts = is_large.sum(1).cpu().numpy()
                end = n_entries + int(counts.sum())
                if end <= limit:
                    classes[n_entries:end] = is_large.nonzero()[:, 1].cpu().numpy()
                    values[n_entries:end] = S[is_large].cpu().numpy()
                    ends[rows.start + 1 : rows.stop + 1] = n_entries + counts.cumsum()
                    self.n_held, n_entries = rows.stop, end
            squares += S.square_().sum(0)
        self.diagonal: Vector = costs.processes.all_reduce(squares).cpu().numpy()
        self._held = csr_array(
            (values[:n_entries], classes[:n_entries], ends[: self.n_held + 1]), shape=(self.n_held, C)
        )

    def multiply(self, v: Vector) -> Vector:
        """Return S^T S v, (C,)."""
        held = torch.from_numpy(self._held.T @ (self._held @ v))
        device = self._potentials.device
        direction, product = torch.from_numpy(v).to(device), held.to(device)
        for _, M in self._costs.iter_blocks(self.n_held):
            S = softmax_rows(M, self._potentials, self._eps1)[0]
            product += S.T @ (S @ direction)
        return np.asarray(self._costs.processes.all_reduce(product).cpu().numpy())
