"""The transport's dual in the class potentials g (C,), minimised by Newton's method.

For given g the best plan has rows softmax((g - M_i) / eps1) / N, so that only C unknowns are left. The negated dual

    eps1 mean_i logsumexp((g - M_i) / eps1) - min_b (penalty(b) + <g, b>)

is smooth and convex with slope pi(g)^T 1 - b(g). Its second derivative is a graph Laplacian, two classes being joined
by the texts that hesitate between them, plus what the penalty bends. Where the texts are spread over processes, sums of
C and of C x C numbers are all that these tell each other.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from rstc.pseudo_labels.transport.costs import Costs
from rstc.pseudo_labels.transport.marginals import ClassSizes, Marginal, Vector
from rstc.runtime.distributed import Ranks

# Up to this many classes the Hessian is built and solved, O(N C^2) a step; beyond it conjugate gradients only multiply
# by it, O(N C) a product.
CLASSES_TO_SOLVE = 512
CG_STEPS = 100

# With more texts than twice this, an even sample of about this many is solved first: its g is close to the answer, and
# the whole needs few more steps.
ROWS_TO_START = 20_000

WARM_STEPS = 25  # a start that leads nowhere within these is given up


@dataclass(frozen=True)
class DualSolution:
    """The potentials g (C,), the class sizes b (C,) that go with them, and the steps it took over all N texts."""

    g: Vector
    b: Vector
    steps: int


@dataclass(frozen=True)
class _Point:
    """The negated dual at g: its value, its slope (C,), the class sizes, and what its curvature is made of.

    `overlap` is S^T S (C, C), S being N times the plan, or with many classes `S` itself in float32.
    """

    g: Vector
    value: float
    slope: Vector
    sizes: ClassSizes
    overlap: Tensor | None
    S: Tensor | None
    ranks: Ranks

    @property
    def error(self) -> float:
        """How far the plan's column sums and b are apart, in L1."""
        return float(np.abs(self.slope).sum())


def solve_dual(
    costs: Costs, eps1: float, marginal: Marginal, tol: float, max_iter: int, start: Vector | None = None
) -> DualSolution:
    """Find the g at which the plan's column sums and b agree to `tol` in L1, or as far as it gets.

    Args:
        costs: M, (N, C).
        eps1: weight of the plan's entropy.
        marginal: which b belongs to a g.
        tol: the error to reach.
        max_iter: the most steps to take.
        start: a g to start from, that of a similar problem.
    """
    N, C = costs.shape
    taken = 0
    if start is None and N > 2 * ROWS_TO_START:
        start = solve_dual(costs.thinned(ROWS_TO_START), eps1, marginal, max(tol, 1e-4), max_iter).g
    if start is not None:
        point, taken = _descend(costs, eps1, marginal, start, tol, min(WARM_STEPS, max_iter))
        if point.error <= tol or taken == max_iter:
            return DualSolution(point.g, point.sizes.b, taken)
    # With costs far above eps1 the dual is all kinks and Newton's quadratic model of it is worthless. So the first
    # problems have a larger eps1, each starts from the last one's g, and only the last is solved in full.
    g: Vector = np.zeros(C)
    for sharpness in _sharpening(costs.largest, eps1):
        goal = tol if sharpness == eps1 else 1e-2
        point, steps = _descend(costs, sharpness, marginal, g, goal, max_iter - taken)
        g, b, taken = point.g, point.sizes.b, taken + steps
        del point  # with many classes it is large
    return DualSolution(g, b, taken)


def _sharpening(cost_range: float, eps1: float) -> list[float]:
    """Return the values of eps1 to pass through, each a quarter of the one before, eps1 itself the last."""
    ladder = [eps1]
    while ladder[0] * 10 < cost_range:
        ladder.insert(0, ladder[0] * 4)
    return ladder


def _descend(costs: Costs, eps1: float, marginal: Marginal, g: Vector, tol: float, max_iter: int) -> tuple[_Point, int]:
    """Take Newton steps from g until the error is within `tol` or nothing gets better."""
    point, steps, idle = _at(costs, eps1, marginal, g), 0, 0
    while point.error > tol and steps < max_iter:
        better = _step(costs, eps1, marginal, point)
        steps += 1
        if better is None:  # no descent is left that float64 can see
            break
        idle = 0 if better.value < point.value or better.error < point.error else idle + 1
        if idle == 3:
            break
        point = better
    return point, steps


def _at(costs: Costs, eps1: float, marginal: Marginal, g: Vector) -> _Point:
    """Evaluate the negated dual at g in one walk over the costs."""
    N, C = costs.shape
    device = costs.log_p.device
    potentials = torch.from_numpy(g).to(device)
    total, mass = 0.0, torch.zeros(C, dtype=torch.float64, device=device)
    few = C <= CLASSES_TO_SOLVE
    overlap = torch.zeros(C, C, dtype=torch.float64, device=device) if few else None
    kept = None if few else torch.empty(len(costs.log_p), C, dtype=torch.float32, device=device)
    for rows, M in costs.pieces():
        S, log_sums = softmax_rows(M, potentials, eps1)
        total += log_sums.sum().item()
        mass += S.sum(0)
        if overlap is not None:
            overlap.addmm_(S.T, S)
        if kept is not None:
            kept[rows] = S
    ranks = costs.ranks
    total, mass = ranks.total(total), ranks.sum(mass)
    if overlap is not None:
        overlap = ranks.sum(overlap)
    sizes = marginal(g)
    slope = np.asarray(mass.cpu().numpy()) / N - sizes.b
    return _Point(g, eps1 * total / N - sizes.value, slope, sizes, overlap, kept, ranks)


def softmax_rows(M: Tensor, g: Tensor, eps1: float) -> tuple[Tensor, Tensor]:
    """Return softmax((g - M) / eps1) and the logarithm of each row's sum; M is used up."""
    logits = torch.sub(g, M, out=M).div_(eps1)
    most = logits.amax(1, keepdim=True)
    S = logits.sub_(most).exp_()
    sums = S.sum(1, keepdim=True)
    return S.div_(sums), most + sums.log_()


def _step(costs: Costs, eps1: float, marginal: Marginal, point: _Point) -> _Point | None:
    """Return the point after one Newton step that lowers the value enough (Armijo), or None if there is none."""
    N = costs.shape[0]
    step = _solved(point, N * eps1) if point.overlap is not None else _by_conjugate_gradients(point, N * eps1)
    # Between two kinks the dual is almost a plane and the step runs to infinity; no potential needs to move
    # further than the costs reach.
    step *= min(1.0, (costs.largest + eps1) / max(np.abs(step).max(), 1e-300))
    descent, share = float(point.slope @ step), 1.0
    rounding = 1e-14 * max(1.0, abs(point.value))
    while share > 1e-10:
        trial = _at(costs, eps1, marginal, point.g + share * step)
        if trial.value <= point.value + 1e-4 * share * descent + rounding:
            return trial
        share /= 2
        del trial  # with many classes it is large
    return None


def _solved(point: _Point, scale: float) -> Vector:
    """Return the Newton step from the Hessian itself.

    The Laplacian's diagonal is summed from what lies beside it: the difference of 1 and a share close to 1, which
    the textbook form takes, would lose the digits that matter once texts are sure of their class.
    """
    assert point.overlap is not None
    between = np.array(point.overlap.cpu().numpy()) / scale
    np.fill_diagonal(between, 0)
    hessian = np.diag(between.sum(1)) - between
    D = point.sizes.bend
    if D.any():
        hessian += np.diag(D) - np.outer(D, D) / D.sum()
    # A constant added to g changes nothing, so the Hessian is flat along the ones; a rank-one term lifts it there
    # and leaves the step elsewhere as it is. The small ridge stands for what underflow took from the diagonal.
    C = len(hessian)
    size = np.trace(hessian) / C or 1.0
    hessian += size / C + 1e-12 * size * np.eye(C)
    return np.asarray(-np.linalg.solve(hessian, point.slope))


def _by_conjugate_gradients(point: _Point, scale: float) -> Vector:
    """Return an approximate Newton step, closer the nearer the end is, preconditioned by the Hessian's diagonal."""
    assert point.S is not None
    S, D = point.S, point.sizes.bend

    def times(v: Vector) -> Vector:
        direction = torch.from_numpy(v.astype(np.float32)).to(S.device)
        product = mass * v - point.ranks.sum((S.T @ (S @ direction)).double()).cpu().numpy()
        return np.asarray(product / scale + D * v - (D * (D @ v) / D.sum() if D.any() else 0) + ridge * v)

    sums, squares = S.sum(0, dtype=torch.float64), torch.linalg.vector_norm(S, dim=0, dtype=torch.float64).square()
    mass, squared = (both.cpu().numpy() for both in point.ranks.sum(torch.stack([sums, squares])))
    diagonal = (mass - squared) / scale + D
    ridge = 1e-7 * float(np.mean(diagonal) + mass.mean() / scale)  # float32 cannot tell less than this from nothing
    diagonal = np.maximum(diagonal, 0) + ridge

    x, r = np.zeros_like(point.slope), -point.slope
    z = r / diagonal
    p, rz = z.copy(), float(r @ z)
    goal = min(0.1, float(np.sqrt(point.error))) * np.linalg.norm(r)
    for _ in range(CG_STEPS):
        q = times(p)
        curvature = float(p @ q)
        if curvature <= 0:
            break
        x += rz / curvature * p
        r -= rz / curvature * q
        if np.linalg.norm(r) <= goal:
            break
        z = r / diagonal
        rz, before = float(r @ z), rz
        p = z + rz / before * p
    return x if float(point.slope @ x) < 0 else -point.slope / diagonal
