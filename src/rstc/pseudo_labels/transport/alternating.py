"""The paper's Algorithm 1: f, g and b in turns, kept to compare with."""

from __future__ import annotations

import numpy as np
import torch

from rstc.pseudo_labels.transport.costs import Costs
from rstc.pseudo_labels.transport.newton import DualSolution
from rstc.pseudo_labels.transport.marginals import Marginal, Vector


def alternate(
    costs: Costs, eps1: float, marginal: Marginal, tol: float, max_iter: int, start: Vector | None = None
) -> DualSolution:
    """Alternate f, g (Eq. 11, 12) and b (Eq. 17, 18) until the plan's column sums and b agree to `tol`.

    In the log domain: with f at its best for the current g, Eq. 12 reads g + eps1 (log b - log of the column sums).
    Two departures, neither of which changes a fixed point: it starts from g = 0 and a uniform b, or from a given g and
    its b, instead of random ones; and h is found in a bracket, because ten bare Newton steps from h = 1 can miss it or
    end in NaN.
    """
    C = costs.shape[1]
    g: Vector = np.zeros(C) if start is None else start
    b: Vector = np.full(C, 1 / C) if start is None else marginal(start).b
    log_mass, steps = _log_column_sums(costs, eps1, g), 0
    while steps < max_iter and np.abs(np.exp(log_mass) - b).sum() > tol:
        steps += 1
        g = g + eps1 * (np.log(b) - log_mass)
        b = marginal(g).b
        log_mass = _log_column_sums(costs, eps1, g)
    return DualSolution(g, b, steps)


def _log_column_sums(costs: Costs, eps1: float, g: Vector) -> Vector:
    """Return the logarithm of the plan's column sums, for columns of any smallness."""
    N, C = costs.shape
    potentials = torch.from_numpy(g).to(costs.log_p.device)
    total = torch.full((C,), -torch.inf, dtype=torch.float64, device=costs.log_p.device)
    for _, M in costs.pieces():
        logits = (potentials - M).div_(eps1)
        logits -= torch.logsumexp(logits, dim=1, keepdim=True)
        total = torch.logaddexp(total, torch.logsumexp(logits, dim=0))
    total = torch.logsumexp(costs.ranks.rows(total[None]), dim=0)
    return np.asarray(total.cpu().numpy() - np.log(N))
