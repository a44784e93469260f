"""Self-adaptive optimal transport: pseudo-labels and class sizes in one convex problem (Eq. 2, Algorithm 1).

    min over pi, b of  <pi, M> + eps1 <pi, log pi - 1> + eps2 sum(-log b - log(1 - b)),   M = -log P,
    such that          pi 1 = 1/N,  pi^T 1 = b,  b^T 1 = 1.

For given class potentials g (C,) the best plan has rows softmax((g - M_i) / eps1) / N, so that only C unknowns
are left. The dual in g is smooth and concave with gradient b(g) - pi(g)^T 1; Newton's method with a line search
solves it in a few steps of O(N C^2), where the paper's alternation of f, g and b needs hundreds or stalls.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rstc.errors import InputError, TransportWarning
from rstc.pseudo_labels.marginals import ClassSizes, Marginal, Vector, fixed, penalised

Array = TypeVar("Array", NDArray[np.float64], Tensor)

# What log 0 becomes: an impossible class gets a finite price, because the penalty asks every class to hold
# some mass even if no text can go there.
LOG_ZERO = float(np.log(np.finfo(np.float64).tiny))
NO_PENALTY = 1e-12  # an eps2 below this cannot be told from 0 in float64


@dataclass(frozen=True)
class Transport(Generic[Array]):
    """A transport plan between N texts and C classes.

    Attributes:
        plan: pi, (N, C); N times a row is that text's distribution over the classes.
        b: the class distribution, (C,).
        residual: the largest of |pi 1 - 1/N|, |pi^T 1 - b| and |sum b - 1|, in L1.
        iterations: steps taken by the solver.
        converged: whether the residual is within the tolerance.
    """

    plan: Array
    b: Array
    residual: float
    iterations: int
    converged: bool


def saot(
    log_p: Array,
    eps1: float = 0.1,
    eps2: float = 0.01,
    method: str = "newton",
    *,
    tol: float = 1e-8,
    max_iter: int | None = None,
) -> Transport[Array]:
    """Solve self-adaptive optimal transport (Eq. 2) for the predictions log P.

    Args:
        log_p: log P, (N, C), numpy or torch; exact zeros of P (-inf) are allowed, as are rows that do not sum
            to one: adding a constant to a row changes nothing.
        eps1: weight of the plan's entropy; smaller is closer to hard labels.
        eps2: weight of the penalty that keeps classes from vanishing; 0 leaves the class sizes to P alone.
        method: "newton" (the dual in g) or "alternating" (the paper's Algorithm 1, kept to compare with).
        tol: the residual to reach.
        max_iter: the most steps to take; by default 200 for "newton" and 1,000 for "alternating".

    Returns:
        The plan and b as the kind of array that came in, in float64.

    Warns:
        TransportWarning: with the residual, if it did not reach `tol`.

    >>> import numpy as np
    >>> P = np.array([[0.8, 0.2], [0.7, 0.3], [0.6, 0.4]])
    >>> t = saot(np.log(P), eps1=0.1, eps2=0.1)
    >>> t.plan.sum(axis=1).round(6)
    array([0.333333, 0.333333, 0.333333])
    >>> np.allclose(t.plan.sum(axis=0), t.b), t.converged
    (True, True)
    """
    if not eps2 >= 0:
        raise InputError(f"eps2={eps2} must not be negative")
    C = log_p.shape[1] if log_p.ndim == 2 else 0
    if eps2 < NO_PENALTY or C == 1:  # nothing holds b back, or nothing can move it: g = 0 is the answer
        return _solve(log_p, eps1, None, method, tol, max_iter)
    return _solve(log_p, eps1, penalised(eps2), method, tol, max_iter)


def optimal_transport(
    log_p: Array,
    b: Array,
    eps1: float = 0.1,
    method: str = "newton",
    *,
    tol: float = 1e-8,
    max_iter: int | None = None,
) -> Transport[Array]:
    """Solve entropic optimal transport (Eq. 1) for the predictions log P and a given class distribution b.

    >>> import numpy as np
    >>> t = optimal_transport(np.log([[0.8, 0.2], [0.7, 0.3]]), np.array([0.5, 0.5]))
    >>> t.plan.sum(axis=0).round(6)
    array([0.5, 0.5])
    """
    sizes = np.asarray(b.detach().cpu() if isinstance(b, Tensor) else b, dtype=np.float64)
    if sizes.shape != (log_p.shape[-1],) or (sizes <= 0).any() or abs(sizes.sum() - 1) > 1e-6:
        raise InputError(f"b must hold {log_p.shape[-1]} positive shares that sum to 1, got {sizes}")
    return _solve(log_p, eps1, fixed(sizes / sizes.sum()), method, tol, max_iter)


def _solve(
    log_p: Array, eps1: float, marginal: Marginal | None, method: str, tol: float, max_iter: int | None
) -> Transport[Array]:
    """Validate, solve, measure the residual, and hand back the kind of array that came in."""
    if not eps1 > 0:
        raise InputError(f"eps1={eps1} must be positive")
    if method not in _METHODS:
        raise InputError(f"method={method!r} is not one of {', '.join(map(repr, _METHODS))}")
    solver, default_steps = _METHODS[method]
    M = _cost(log_p)
    steps = 0
    if marginal is None:
        S = torch.softmax(-M / eps1, dim=1)
        b = S.mean(0)
    else:
        S, sizes, steps = solver(M, eps1, marginal, tol, default_steps if max_iter is None else max_iter)
        b = torch.from_numpy(sizes.copy()).to(M.device)
    plan = S / len(S)  # (N, C)
    residual = max(
        (plan.sum(1) - 1 / len(plan)).abs().sum().item(),
        (plan.sum(0) - b).abs().sum().item(),
        abs(b.sum().item() - 1),
    )
    converged = residual <= tol
    if not converged:
        warnings.warn(TransportWarning(residual, tol, steps), stacklevel=3)
    if isinstance(log_p, Tensor):
        return Transport(plan, b, residual, steps, converged)
    return Transport(plan.numpy(), b.numpy(), residual, steps, converged)


def _cost(log_p: NDArray[np.float64] | Tensor) -> Tensor:
    """Check log P and return M = -log P in float64, each row's smallest cost moved to 0."""
    given = log_p.detach() if isinstance(log_p, Tensor) else torch.from_numpy(np.ascontiguousarray(log_p))
    if given.ndim != 2 or 0 in given.shape:
        raise InputError(f"log_p must have the shape (N, C) with N, C at least 1, got {tuple(given.shape)}")
    M = -given.to(torch.float64)
    if bool((torch.isnan(M) | torch.isneginf(M)).any()):
        raise InputError("log_p holds NaN or +inf")
    best = M.min(1, keepdim=True).values
    if torch.isinf(best).any():
        row = int(torch.isinf(best).flatten().nonzero()[0])
        raise InputError(f"row {row} of log_p gives every class probability 0")
    return (M - best).clamp_(max=-LOG_ZERO)


Solution = tuple[Tensor, Vector, int]  # N times the plan (N, C), b (C,), steps taken


@dataclass(frozen=True)
class _DualPoint:
    """The negated dual at g: its value, N times the plan (N, C), the class sizes, and its slope (C,)."""

    g: Vector
    value: float
    S: Tensor
    sizes: ClassSizes
    slope: Vector

    @property
    def error(self) -> float:
        """How far the plan's column sums and b are apart, in L1."""
        return float(np.abs(self.slope).sum())


def _dual(M: Tensor, eps1: float, marginal: Marginal, g: Vector) -> _DualPoint:
    """Evaluate eps1 mean_i logsumexp((g - M_i) / eps1) - min_b(penalty(b) + <g, b>)."""
    logits = (torch.from_numpy(g).to(M.device) - M) / eps1
    total = torch.logsumexp(logits, dim=1, keepdim=True)
    S = (logits - total).exp_()
    sizes = marginal(g)
    return _DualPoint(g, eps1 * total.mean().item() - sizes.value, S, sizes, _numpy(S.mean(0)) - sizes.b)


def _newton(M: Tensor, eps1: float, marginal: Marginal, tol: float, max_iter: int) -> Solution:
    """Minimise the negated dual by damped Newton steps, from blunt to sharp.

    With costs far above eps1 the dual is all kinks and Newton's quadratic model of it is worthless. So the first
    problems have a larger eps1, each starts from the last one's g, and only the last is solved in full.
    """
    g: Vector = np.zeros(M.shape[1])
    steps = idle = 0
    for sharpness in _sharpening(float(M.max()), eps1):
        goal = tol / 10 if sharpness == eps1 else 1e-2
        point = _dual(M, sharpness, marginal, g)
        while point.error > goal and steps < max_iter:
            better = _newton_step(M, sharpness, marginal, point)
            steps += 1
            if better is None:  # no descent is left that float64 can see
                break
            idle = 0 if better.value < point.value or better.error < point.error else idle + 1
            if idle == 3:
                break
            point = better
        g = point.g
    return point.S, point.sizes.b, steps


def _sharpening(cost_range: float, eps1: float) -> list[float]:
    """Return the values of eps1 to pass through, each a quarter of the one before, eps1 itself the last."""
    ladder = [eps1]
    while ladder[0] * 10 < cost_range:
        ladder.insert(0, ladder[0] * 4)
    return ladder


def _newton_step(M: Tensor, eps1: float, marginal: Marginal, point: _DualPoint) -> _DualPoint | None:
    """Return the point after one Newton step that lowers the value enough (Armijo), or None if there is none."""
    S, D = point.S, point.sizes.bend
    hessian = _numpy(torch.diag(S.mean(0)) - S.T @ S / len(S)) / eps1 + np.diag(D)
    if D.any():
        hessian -= np.outer(D, D) / D.sum()
    # A constant added to g changes nothing, so the Hessian is flat along the ones; a rank-one term lifts it there
    # and leaves the step elsewhere as it is. The small ridge stands for what underflow took from the diagonal.
    scale = np.trace(hessian) / len(hessian) or 1.0
    hessian += scale / len(hessian) + 1e-12 * scale * np.eye(len(hessian))
    step = -np.linalg.solve(hessian, point.slope)
    # Between two kinks the dual is almost a plane and the step runs to infinity; no potential needs to move
    # further than the costs reach.
    step *= min(1.0, (float(M.max()) + eps1) / np.abs(step).max())
    descent, share = float(point.slope @ step), 1.0
    rounding = 1e-14 * max(1.0, abs(point.value))
    while share > 1e-10:
        trial = _dual(M, eps1, marginal, point.g + share * step)
        if trial.value <= point.value + 1e-4 * share * descent + rounding:
            return trial
        share /= 2
    return None


def _alternating(M: Tensor, eps1: float, marginal: Marginal, tol: float, max_iter: int) -> Solution:
    """Alternate f, g (Eq. 11, 12) and b (Eq. 17, 18) as Algorithm 1 does, in the log domain.

    Two departures, neither of which changes a fixed point: it starts from g = 0 and a uniform b instead of random
    ones, and h is found in a bracket, because ten bare Newton steps from h = 1 can miss it or end in NaN.
    """
    N, C = M.shape
    g = torch.zeros(C, dtype=M.dtype, device=M.device)
    b: Vector = np.full(C, 1 / C)
    S, steps = torch.softmax(-M / eps1, dim=1), 0
    while steps < max_iter:
        steps += 1
        f = -eps1 * (torch.logsumexp((g - M) / eps1, dim=1, keepdim=True) + np.log(N))
        g = eps1 * (torch.from_numpy(np.log(b)).to(M.device) - torch.logsumexp((f - M) / eps1, dim=0))
        b = marginal(_numpy(g)).b
        S = torch.softmax((g - M) / eps1, dim=1)
        if np.abs(_numpy(S.mean(0)) - b).sum() <= tol:
            break
    return S, b, steps


_METHODS: dict[str, tuple[Callable[[Tensor, float, Marginal, float, int], Solution], int]] = {
    "newton": (_newton, 200),
    "alternating": (_alternating, 1000),
}


def _numpy(vector: Tensor) -> Vector:
    """Return a small tensor as a numpy array."""
    return np.asarray(vector.cpu().numpy(), dtype=np.float64)
