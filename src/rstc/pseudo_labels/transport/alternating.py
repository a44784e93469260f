"""Algorithm 1 of the paper, which updates f, g and b in turn, for comparison with Newton's method.

    f_i = eps1 (log a_i - logsumexp_j((g_j - M_ij) / eps1))    Eq. 11, a_i = 1/N
    g_j = eps1 (log b_j - logsumexp_i((f_i - M_ij) / eps1))    Eq. 12
    b   = b(g)                                                 Eq. 17, 18

With f inserted, Eq. 12 reads g + eps1 (log b - log pi(g)^T 1).
"""

from __future__ import annotations

import numpy as np
import torch

from rstc.pseudo_labels.transport.costs import CostMatrix
from rstc.pseudo_labels.transport.marginals import Marginal, Vector
from rstc.pseudo_labels.transport.newton import DualSolution


def solve_alternating(
    costs: CostMatrix, eps1: float, marginal: Marginal, tol: float, max_iter: int, start: Vector | None = None
) -> DualSolution:
    """Update f, g and b in turn until the plan's column sums and b agree to `tol` in L1; see `solve_newton`.

    It differs from the paper in two ways, which do not change the fixed points. It starts from g = 0 and a uniform b,
    or from a given g and its b, instead of random values. And h is found by a bracketed search, because ten Newton
    steps from h = 1 may not converge, or end in NaN.
    """
    C = costs.shape[1]
    g: Vector = np.zeros(C) if start is None else start
    b: Vector = np.full(C, 1 / C) if start is None else marginal(start).b
    log_column_sums, iterations = _log_column_sums(costs, eps1, g), 0
    while iterations < max_iter and np.abs(np.exp(log_column_sums) - b).sum() > tol:
        iterations += 1
        g = g + eps1 * (np.log(b) - log_column_sums)
        b = marginal(g).b
        log_column_sums = _log_column_sums(costs, eps1, g)
    return DualSolution(g, b, iterations)


def _log_column_sums(costs: CostMatrix, eps1: float, g: Vector) -> Vector:
    """Return log pi(g)^T 1, (C,), in the log domain throughout: column sums may underflow."""
    N, C = costs.shape
    potentials = torch.from_numpy(g).to(costs.log_p.device)
    total = torch.full((C,), -torch.inf, dtype=torch.float64, device=costs.log_p.device)
    for _, M in costs.iter_blocks():
        logits = (potentials - M).div_(eps1)
        logits -= torch.logsumexp(logits, dim=1, keepdim=True)
        total = torch.logaddexp(total, torch.logsumexp(logits, dim=0))
    total = torch.logsumexp(costs.processes.all_gather_rows(total[None]), dim=0)
    return np.asarray(total.cpu().numpy() - np.log(N))
