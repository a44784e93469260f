"""Newton's method on the transport's dual in the class potentials g (C,).

For given g, the rows of the best plan are pi_i(g) = softmax((g - M_i) / eps1) / N, so that g is the only unknown. The
negated dual

    phi(g) = eps1 mean_i logsumexp((g - M_i) / eps1) - min_b (penalty(b) + <g, b>)

is smooth and convex, with the gradient pi(g)^T 1 - b(g). With S = N pi, its Hessian is

    (diag(S^T 1) - S^T S) / (N eps1) + diag(D) - D D^T / sum(D),

a graph Laplacian, whose weight between two classes comes from texts that are undecided between them, plus the curvature
D of the marginal. If the texts are distributed over processes, only sums of C and of C x C values are communicated.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from rstc.pseudo_labels.transport.costs import CostMatrix, softmax_rows
from rstc.pseudo_labels.transport.gram import GramOperator
from rstc.pseudo_labels.transport.marginals import Marginal, MarginalSolution, Vector

# Up to this many classes the Hessian is built and solved, O(N C^2) a step. Beyond, conjugate gradients only multiply by
# it, O(N C) a product.
MAX_DENSE_CLASSES = 512
MAX_CG_STEPS = 100

# With more than twice this many texts, a subsample of about this size is solved first: its g is close to the solution,
# and the full problem needs few more steps.
SUBSAMPLE_ROWS = 20_000

MAX_WARM_STEPS = 25  # a warm start that has not converged within these is abandoned


@dataclass(frozen=True)
class DualSolution:
    """A solution of the dual.

    Attributes
    ----------
    g : (C,) array
        Dual potentials of the classes.
    b : (C,) array
        Class distribution at g.
    iterations : int
        Steps taken over all N texts.
    """

    g: Vector
    b: Vector
    iterations: int


@dataclass(frozen=True)
class _DualPoint:
    """The negated dual at g: its value, its gradient (C,), the marginal, and S^T S of S = N pi for the Hessian.

    `gram` is S^T S (C, C); with more than `MAX_DENSE_CLASSES` classes it is None.
    """

    g: Vector
    value: float
    gradient: Vector
    marginal: MarginalSolution
    gram: Tensor | None

    @property
    def error(self) -> float:
        """The L1 distance of the plan's column sums and b."""
        return float(np.abs(self.gradient).sum())


def solve_newton(
    costs: CostMatrix, eps1: float, marginal: Marginal, tol: float, max_iter: int, start: Vector | None = None
) -> DualSolution:
    """Find the g at which the plan's column sums and b agree.

    Parameters
    ----------
    costs : CostMatrix
        M, (N, C).
    eps1 : float
        Weight of the plan's entropy.
    marginal : Marginal
        Maps g to its b.
    tol : float
        L1 distance of column sums and b to reach.
    max_iter : int
        Largest number of steps.
    start : (C,) array or None
        A g to start from, the solution of a similar problem.

    Returns
    -------
    DualSolution
        The last g, whether or not `tol` was reached.
    """
    N, C = costs.shape
    iterations = 0
    if start is None and N > 2 * SUBSAMPLE_ROWS:
        start = solve_newton(costs.subsample(SUBSAMPLE_ROWS), eps1, marginal, max(tol, 1e-4), max_iter).g
    if start is not None:
        point, iterations = _minimise(costs, eps1, marginal, start, tol, min(MAX_WARM_STEPS, max_iter))
        if point.error <= tol or iterations == max_iter:
            return DualSolution(point.g, point.marginal.b, iterations)
    # With costs far above eps1 the dual is nearly piecewise linear, and Newton's quadratic model of it is useless. So
    # eps1 is scaled down to its value; each problem starts from the last one's g, and only the last is solved in full.
    g: Vector = np.zeros(C)
    for scaled_eps1 in _eps_schedule(costs.max_cost, eps1):
        stage_tol = tol if scaled_eps1 == eps1 else 1e-2
        point, steps = _minimise(costs, scaled_eps1, marginal, g, stage_tol, max_iter - iterations)
        g, b, iterations = point.g, point.marginal.b, iterations + steps
    return DualSolution(g, b, iterations)


def _eps_schedule(max_cost: float, eps1: float) -> list[float]:
    """Return the values of eps1 to pass through, each a quarter of the one before, ending with eps1."""
    schedule = [eps1]
    while schedule[0] * 10 < max_cost:
        schedule.insert(0, schedule[0] * 4)
    return schedule


def _minimise(
    costs: CostMatrix, eps1: float, marginal: Marginal, g: Vector, tol: float, max_iter: int
) -> tuple[_DualPoint, int]:
    """Take Newton steps from g until the error is within `tol` or no step improves; return the point and the steps."""
    point, steps, idle_steps = _evaluate(costs, eps1, marginal, g), 0, 0
    while point.error > tol and steps < max_iter:
        next_point = _take_step(costs, eps1, marginal, point)
        steps += 1
        if next_point is None:  # no descent is left at the precision of float64
            break
        improved = next_point.value < point.value or next_point.error < point.error
        idle_steps = 0 if improved else idle_steps + 1
        if idle_steps == 3:
            break
        point = next_point
    return point, steps


def _evaluate(costs: CostMatrix, eps1: float, marginal: Marginal, g: Vector) -> _DualPoint:
    """Evaluate the negated dual at g in one pass over the costs."""
    N, C = costs.shape
    device = costs.log_p.device
    potentials = torch.from_numpy(g).to(device)
    total, mass = 0.0, torch.zeros(C, dtype=torch.float64, device=device)
    gram = torch.zeros(C, C, dtype=torch.float64, device=device) if C <= MAX_DENSE_CLASSES else None
    for _, M in costs.iter_blocks():
        S, log_sums = softmax_rows(M, potentials, eps1)
        total += log_sums.sum().item()
        mass += S.sum(0)
        if gram is not None:
            gram.addmm_(S.T, S)
    processes = costs.processes
    total, mass = processes.total(total), processes.all_reduce(mass)
    if gram is not None:
        gram = processes.all_reduce(gram)
    solution = marginal.minimise(g)
    gradient = np.asarray(mass.cpu().numpy()) / N - solution.b
    return _DualPoint(g, eps1 * total / N - solution.value, gradient, solution, gram)


def _take_step(costs: CostMatrix, eps1: float, marginal: Marginal, point: _DualPoint) -> _DualPoint | None:
    """Return the point after one Newton step with Armijo line search, or None if the search fails."""
    N = costs.shape[0]
    step = _solve_dense(point, N * eps1) if point.gram is not None else _solve_by_cg(costs, eps1, point)
    # Where the dual is almost linear the step runs to infinity; no potential needs to move further than the costs span.
    step *= min(1.0, (costs.max_cost + eps1) / max(np.abs(step).max(), 1e-300))
    descent, step_size = float(point.gradient @ step), 1.0
    rounding = 1e-14 * max(1.0, abs(point.value))
    while step_size > 1e-10:
        trial = _evaluate(costs, eps1, marginal, point.g + step_size * step)
        if trial.value <= point.value + 1e-4 * step_size * descent + rounding:
            return trial
        step_size /= 2
    return None


def _solve_dense(point: _DualPoint, scale: float) -> Vector:
    """Return the Newton step from the Hessian itself; `scale` is N eps1.

    The Laplacian's diagonal is summed from its off-diagonal elements: the textbook form subtracts a share close to 1
    from 1, which cancels once texts are certain of their class.
    """
    assert point.gram is not None
    weights = np.array(point.gram.cpu().numpy()) / scale
    np.fill_diagonal(weights, 0)
    hessian = np.diag(weights.sum(1)) - weights
    D = point.marginal.curvature
    if D.any():
        hessian += np.diag(D) - np.outer(D, D) / D.sum()
    # A constant added to g changes nothing, so the Hessian is singular along the ones; a rank-one term makes it regular
    # and leaves the step elsewhere as it is. The small ridge replaces what is lost from the diagonal by underflow.
    C = len(hessian)
    mean_diagonal = np.trace(hessian) / C or 1.0
    hessian += mean_diagonal / C + 1e-12 * mean_diagonal * np.eye(C)
    return np.asarray(-np.linalg.solve(hessian, point.gradient))


def _solve_by_cg(costs: CostMatrix, eps1: float, point: _DualPoint) -> Vector:
    """Return an inexact Newton step by conjugate gradients, preconditioned by the Hessian's diagonal.

    The tolerance shrinks with the error, as is usual for inexact Newton methods.
    """
    N = costs.shape[0]
    gram, D = GramOperator(costs, eps1, point.g), point.marginal.curvature
    mass = N * (point.gradient + point.marginal.b)

    def multiply_by_hessian(v: Vector) -> Vector:
        product = (mass * v - gram.multiply(v)) / (N * eps1)
        return np.asarray(product + D * v - (D * (D @ v) / D.sum() if D.any() else 0) + ridge * v)

    diagonal = (mass - gram.diagonal) / (N * eps1) + D
    # The Hessian is singular along the ones, and between groups of classes whose links are dropped or underflow.
    ridge = 1e-7 * float(np.mean(diagonal) + mass.mean() / (N * eps1))
    diagonal = np.maximum(diagonal, 0) + ridge

    x, r = np.zeros_like(point.gradient), -point.gradient
    z = r / diagonal
    p, rz = z.copy(), float(r @ z)
    cg_tol = min(0.1, float(np.sqrt(point.error))) * np.linalg.norm(r)
    for _ in range(MAX_CG_STEPS):
        q = multiply_by_hessian(p)
        curvature = float(p @ q)
        if curvature <= 0:
            break
        x += rz / curvature * p
        r -= rz / curvature * q
        if np.linalg.norm(r) <= cg_tol:
            break
        z = r / diagonal
        rz, previous_rz = float(r @ z), rz
        p = z + rz / previous_rz * p
    return x if float(point.gradient @ x) < 0 else -point.gradient / diagonal
