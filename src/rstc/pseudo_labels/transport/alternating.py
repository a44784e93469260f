"""Algorithm 1 of the paper, which updates f, g and b in turn, for comparison with Newton's method.

    f_i = eps1 (log a_i - logsumexp_j((g_j - M_ij) / eps1))    Eq. 11, a_i = 1/N
    g_j = eps1 (log b_j - logsumexp_i((f_i - M_ij) / eps1))    Eq. 12
    b   = b(g)                                                 Eq. 17, 18

With f inserted, Eq. 12 reads g + eps1 (log b - log pi(g)^T 1).

`solve_alternating` takes these updates with an exact b, until they converge. `solve_literal` is Algorithm 1 to the
letter. `compute_spectral_radius` tells whether the updates converge.
"""

from __future__ import annotations

import numpy as np
import torch
from scipy.linalg import eigvalsh

from rstc.pseudo_labels.transport.costs import CostMatrix, softmax_rows
from rstc.pseudo_labels.transport.marginals import LogBarrierMarginal, Marginal, Vector
from rstc.pseudo_labels.transport.newton import DualSolution

N_NEWTON_STEPS = 10  # on h, in each iteration of the literal algorithm


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
    b: Vector = np.full(C, 1 / C) if start is None else marginal.minimise(start).b
    log_column_sums, iterations = _log_column_sums(costs, eps1, g), 0
    while iterations < max_iter and np.abs(np.exp(log_column_sums) - b).sum() > tol:
        iterations += 1
        g = g + eps1 * (np.log(b) - log_column_sums)
        b = marginal.minimise(g).b
        log_column_sums = _log_column_sums(costs, eps1, g)
    return DualSolution(g, b, iterations)


def solve_literal(
    costs: CostMatrix, eps1: float, marginal: Marginal, tol: float, max_iter: int, start: Vector | None = None
) -> DualSolution:
    """Take `max_iter` iterations of Algorithm 1 as it is written, whether or not they converge; see `solve_newton`.

    g and b start at random values, drawn from a fixed seed, and h at 1; each iteration takes ten undamped Newton steps
    on h, after which b need not sum to one. `tol` and `start` have no effect. If an iteration yields NaN, the one
    before is returned.
    """
    rng = np.random.default_rng(0)
    C, h = costs.shape[1], 1.0
    g, b = rng.random(C), rng.random(C)
    b /= b.sum()
    for iteration in range(max_iter):
        new_g = g + eps1 * (np.log(b) - _log_column_sums(costs, eps1, g))
        if isinstance(marginal, LogBarrierMarginal):
            new_b, h = _take_newton_steps(marginal, new_g, h)
        else:
            new_b = marginal.minimise(new_g).b
        if not (np.isfinite(new_g).all() and np.isfinite(new_b).all() and (new_b > 0).all()):
            return DualSolution(g, b, iteration)
        g, b = new_g, new_b
    return DualSolution(g, b, max_iter)


def _take_newton_steps(marginal: LogBarrierMarginal, g: Vector, h: float) -> tuple[Vector, float]:
    """Take undamped Newton steps on sum_j b_j(h) - 1 (Eq. 18); return b(h) (Eq. 17) and h."""
    with np.errstate(all="ignore"):
        for _ in range(N_NEWTON_STEPS):
            b = marginal.solve_quadratic(g - h)
            h -= float((b.sum() - 1) / marginal.curvature(b).sum())
        return marginal.solve_quadratic(g - h), h


def compute_spectral_radius(costs: CostMatrix, eps1: float, marginal: Marginal, g: Vector) -> float:
    """Compute the spectral radius of the alternating updates at a solution g, up to constants added to g.

    The updates g -> g + eps1 (log b(g) - log pi(g)^T 1) have the Jacobian

        diag(1 / b) (S^T S / N - eps1 (diag(D) - D D^T / sum(D))),    S = N pi,

    with the curvature D of the marginal. It is similar to a symmetric matrix, so that its eigenvalues are real. The
    constant vector has the eigenvalue 1, but adding a constant to g changes neither plan nor b. From a start close to
    the solution, the updates converge if the largest of the other eigenvalues is below 1 in absolute value, and move
    away from it if it is above.

    Parameters
    ----------
    costs : CostMatrix
        M, (N, C).
    eps1 : float
        Weight of the plan's entropy.
    marginal : Marginal
        Maps g to its b.
    g : (C,) array
        The potentials of the solution.

    Returns
    -------
    float
    """
    N, C = costs.shape
    solution, potentials = marginal.minimise(g), torch.from_numpy(g).to(costs.log_p.device)
    gram = torch.zeros((C, C), dtype=torch.float64, device=costs.log_p.device)
    for _, M in costs.iter_blocks():
        S = softmax_rows(M, potentials, eps1)[0]
        gram += S.T @ S
    D = solution.curvature
    matrix = costs.processes.all_reduce(gram).cpu().numpy() / N - eps1 * np.diag(D)
    if D.any():
        matrix += eps1 * np.outer(D, D) / D.sum()
    root = np.sqrt(solution.b)
    matrix /= np.outer(root, root)
    # The constant vector of g is `root` here, which has length one; its eigenvalue is replaced by 0.
    matrix -= np.outer(root, root)
    return float(np.abs(eigvalsh(matrix)).max())


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
