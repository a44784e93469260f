"""Self-adaptive optimal transport: pseudo-labels and class sizes in one convex problem (Eq. 2, Algorithm 1).

    min over pi, b of  <pi, M> + eps1 <pi, log pi - 1> + eps2 sum(-log b - log(1 - b)),   M = -log P,
    such that          pi 1 = 1/N,  pi^T 1 = b,  b^T 1 = 1.

This file states the problem and hands it to a solver: Newton's method on the dual (dual.py), or the paper's alternation
of f, g and b (alternation.py), which needs hundreds of rounds or stalls.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rstc.errors import InputError, TransportWarning
from rstc.pseudo_labels.transport.alternating import alternate
from rstc.pseudo_labels.transport.costs import Costs, read_costs
from rstc.pseudo_labels.transport.newton import DualSolution, softmax_rows, solve_dual
from rstc.pseudo_labels.transport.marginals import SMALLEST_CLASS, Marginal, Vector, fixed, near, penalised
from rstc.runtime.distributed import ALONE, Ranks

Array = TypeVar("Array", NDArray[np.float64], Tensor)

NO_PENALTY = 1e-12  # an eps2 below this cannot be told from 0 in float64


@dataclass(frozen=True)
class Transport(Generic[Array]):
    """A transport plan between N texts and C classes.

    Attributes:
        plan: pi, (N, C); N times a row is that text's distribution over the classes.
        b: the class distribution, (C,).
        potentials: g, (C,), one of the dual's solutions: what a similar problem can start from.
        residual: the largest of |pi 1 - 1/N|, |pi^T 1 - b| and |sum b - 1|, in L1.
        iterations: steps taken by the solver.
        converged: whether the residual is within the tolerance.
    """

    plan: Array
    b: Array
    potentials: Array
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
    start: Array | None = None,
    ranks: Ranks = ALONE,
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
        start: the potentials of a similar problem's solution, to start from.
        ranks: the processes among which the rows are spread; each gives its own and gets their plan. Only vectors and
            C x C sums go from one to another.

    Returns:
        The plan, b and g as the kind of array that came in, in float64. Memory is that of log P and the plan, as
        the rows are worked through in pieces; with more than 512 classes the solver holds two matrices of N x C in
        float32 besides.

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
        return _solve(log_p, eps1, None, method, tol, max_iter, start, ranks)
    return _solve(log_p, eps1, penalised(eps2), method, tol, max_iter, start, ranks)


def transport_near(
    log_p: Array,
    b: Array,
    eps1: float = 0.1,
    eps2: float = 0.01,
    method: str = "newton",
    *,
    tol: float = 1e-8,
    max_iter: int | None = None,
    start: Array | None = None,
    ranks: Ranks = ALONE,
) -> Transport[Array]:
    """Solve the transport whose class distribution is estimated near a given b: the paper's M3.

    As `saot`, with eps2 KL(. || b) in the place of its penalty. A share of the given b below 1e-9 is taken as 1e-9: the
    b of one problem, where a class may have vanished altogether, can be given to the next.

    >>> import numpy as np
    >>> t = transport_near(np.log([[0.8, 0.2], [0.7, 0.3]]), np.array([0.5, 0.5]), eps2=1e4)
    >>> t.b.round(2)  # so heavy a penalty leaves b where it was
    array([0.5, 0.5])
    """
    if not eps2 > 0:
        raise InputError(f"eps2={eps2} must be positive to hold b near another")
    last = np.maximum(_checked_sizes(b, log_p.shape[-1], least=0.0), SMALLEST_CLASS)
    return _solve(log_p, eps1, near(last / last.sum(), eps2), method, tol, max_iter, start, ranks)


def optimal_transport(
    log_p: Array,
    b: Array,
    eps1: float = 0.1,
    method: str = "newton",
    *,
    tol: float = 1e-8,
    max_iter: int | None = None,
    start: Array | None = None,
    ranks: Ranks = ALONE,
) -> Transport[Array]:
    """Solve entropic optimal transport (Eq. 1) for the predictions log P and a given class distribution b.

    >>> import numpy as np
    >>> t = optimal_transport(np.log([[0.8, 0.2], [0.7, 0.3]]), np.array([0.5, 0.5]))
    >>> t.plan.sum(axis=0).round(6)
    array([0.5, 0.5])
    """
    sizes = _checked_sizes(b, log_p.shape[-1], least=sys.float_info.min)
    return _solve(log_p, eps1, fixed(sizes / sizes.sum()), method, tol, max_iter, start, ranks)


def _solve(
    log_p: Array,
    eps1: float,
    marginal: Marginal | None,
    method: str,
    tol: float,
    max_iter: int | None,
    start: Array | None,
    ranks: Ranks,
) -> Transport[Array]:
    """Validate, solve, measure the residual, and hand back the kind of array that came in."""
    if not eps1 > 0:
        raise InputError(f"eps1={eps1} must be positive")
    if method not in _METHODS:
        raise InputError(f"method={method!r} is not one of {', '.join(map(repr, _METHODS))}")
    solver, default_steps = _METHODS[method]
    costs = read_costs(log_p, ranks)
    device, C = costs.log_p.device, costs.shape[1]
    g: Vector = np.zeros(C)
    b, steps = None, 0
    if marginal is not None:
        most = default_steps if max_iter is None else max_iter
        # The solver aims below the tolerance: summed up in another order, the residual may come out a little larger.
        solution = solver(costs, eps1, marginal, tol / 10, most, None if start is None else _checked_start(start, C))
        g, b, steps = solution.g, torch.from_numpy(solution.b.copy()).to(device), solution.steps
    potentials = torch.from_numpy(g).to(device)
    plan = _plan(costs, potentials, eps1)
    column_sums = ranks.sum(plan.sum(0))
    if b is None:
        b = column_sums.clone()
    residual = max(
        ranks.total((plan.sum(1) - 1 / costs.n_rows).abs().sum().item()),
        (column_sums - b).abs().sum().item(),
        abs(b.sum().item() - 1),
    )
    converged = residual <= tol
    if not converged:
        warnings.warn(TransportWarning(residual, tol, steps), stacklevel=3)
    if isinstance(log_p, Tensor):
        return Transport(plan, b, potentials, residual, steps, converged)
    return Transport(plan.numpy(), b.numpy(), potentials.numpy(), residual, steps, converged)


def _plan(costs: Costs, g: Tensor, eps1: float) -> Tensor:
    """Return pi(g), the rows of this process, (n, C)."""
    plan = torch.empty(costs.log_p.shape, dtype=torch.float64, device=g.device)
    for rows, M in costs.pieces():
        plan[rows] = softmax_rows(M, g, eps1)[0].div_(costs.n_rows)
    return plan


def _checked_sizes(b: NDArray[np.float64] | Tensor, C: int, least: float) -> Vector:
    sizes = _vector(b)
    if sizes.shape != (C,) or not (sizes >= least).all() or not abs(sizes.sum() - 1) <= 1e-6:
        kind = "positive shares" if least else "shares, none negative,"
        raise InputError(f"b must hold {C} {kind} that sum to 1, got {sizes}")
    return sizes


def _checked_start(start: NDArray[np.float64] | Tensor, C: int) -> Vector:
    g = _vector(start)
    if g.shape != (C,) or not np.isfinite(g).all():
        raise InputError(f"start must hold {C} finite potentials, got {g}")
    return g


def _vector(values: NDArray[np.float64] | Tensor) -> Vector:
    return np.asarray(values.detach().cpu() if isinstance(values, Tensor) else values, dtype=np.float64)


Solver = Callable[[Costs, float, Marginal, float, int, "Vector | None"], DualSolution]
_METHODS: dict[str, tuple[Solver, int]] = {"newton": (solve_dual, 200), "alternating": (alternate, 1000)}
