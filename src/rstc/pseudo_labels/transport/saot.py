"""Self-adaptive optimal transport (SAOT): pseudo-labels and class sizes in one convex problem (Eq. 2, Algorithm 1).

    min over pi, b of   <pi, M> + eps1 <pi, log pi - 1> + eps2 sum(-log b - log(1 - b)),   M = -log P,
    subject to          pi 1 = a = 1/N,   pi^T 1 = b,   b^T 1 = 1.

With the dual potentials f (N,) and g (C,) of the two marginals, pi_ij = exp((f_i + g_j - M_ij) / eps1) (Eq. 10).

This file states the problem and passes it to a solver: Newton's method on the dual in g (`newton`), or the paper's
alternating updates of f, g and b (`alternating`, `literal`), which take hundreds of iterations or do not converge; see
docs/saot.md. Two problems
that differ in the treatment of b are included: `optimal_transport`, where b is given (Eq. 1), and
`semi_relaxed_transport`, where a KL penalty keeps b near a reference (M3 of the paper's appendix A).
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Generic, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rstc.errors import InputError, TransportWarning
from rstc.pseudo_labels.transport.alternating import compute_spectral_radius, solve_alternating, solve_literal
from rstc.pseudo_labels.transport.costs import CostMatrix, build_costs, measure_sums, softmax_rows
from rstc.pseudo_labels.transport.marginals import (
    MIN_CLASS_SHARE,
    FixedMarginal,
    KLMarginal,
    LogBarrierMarginal,
    Marginal,
    Vector,
    to_vector,
    validate_distribution,
)
from rstc.pseudo_labels.transport.newton import DualSolution, solve_newton
from rstc.runtime.distributed import SINGLE_PROCESS, ProcessGroup

Array = TypeVar("Array", NDArray[np.float64], Tensor)

MIN_EPS2 = 1e-12  # a smaller eps2 has no effect in float64

Solver = Callable[[CostMatrix, float, Marginal, float, int, "Vector | None"], DualSolution]
SOLVERS: dict[str, tuple[Solver, int]] = {  # solver and default of max_iter
    "newton": (solve_newton, 200),
    "alternating": (solve_alternating, 1000),
    "literal": (solve_literal, 100),
}


@dataclass(frozen=True)
class Transport(Generic[Array]):
    """A transport plan between N texts and C classes.

    The plan pi (N, C) follows from log P and the potentials, and is computed when it is read: `labels` and
    `iter_blocks` need the memory of a block of rows, `plan` that of an (N, C) matrix in float64. log P is not copied,
    so it must not be changed before they are read.

    Attributes
    ----------
    b : (C,) array
        Class distribution.
    potentials : (C,) array
        g, one of the dual's solutions, from which a similar problem can start.
    residual : float
        The largest of |pi 1 - 1/N|, |pi^T 1 - b| and |sum b - 1|, in L1.
    iterations : int
        Steps taken by the solver.
    converged : bool
        Whether the residual is within the tolerance.
    costs : CostMatrix
        The costs M = -log P, which refer to the caller's log P.
    eps1 : float
        Weight of the plan's entropy.
    marginal : Marginal or None
        The model of b; None if there is no penalty on b.
    column_sums : (C,) array
        pi^T 1, which equals b as far as the residual says.

    Examples
    --------
    >>> import numpy as np
    >>> t = saot(np.log([[0.8, 0.2], [0.3, 0.7], [0.9, 0.1]]))
    >>> t.labels
    array([0, 1, 0])
    >>> t.rows(0, 2).shape, t.plan.shape
    ((2, 2), (3, 2))
    """

    b: Array
    potentials: Array
    residual: float
    iterations: int
    converged: bool
    costs: CostMatrix = field(repr=False, compare=False)
    eps1: float = field(repr=False)
    marginal: Marginal | None = field(repr=False)
    column_sums: Vector = field(repr=False)

    @cached_property
    def duality_gap(self) -> float:
        """An upper bound of how far the plan's objective is above the optimum, in the units of the costs.

        The plan with its own column sums c as class distribution is feasible, whatever the potentials, and the dual at
        the potentials bounds the optimum from below. The plan is the best one for its potentials, so that their
        difference is that of the marginals alone: penalty(c) + <g, c> - min_b (penalty(b) + <g, b>). For a given b,
        the gap is infinite unless the column sums are b to the last bit: the residual measures it there.
        """
        if self.marginal is None:
            return 0.0
        g = to_vector(self.potentials)
        value = self.marginal.penalty(self.column_sums) + float(g @ self.column_sums)
        return max(value - self.marginal.minimise(g).value, 0.0)

    @cached_property
    def stationarity(self) -> float:
        """The largest violation of the KKT condition for b: penalty'(b_j) + g_j is the same, h, for all classes.

        Together with the residual, which measures the constraints, it certifies the optimum: the condition for the
        plan, Eq. 10, holds by construction, and the problem is convex. It is in the units of the costs.
        """
        if self.marginal is None or isinstance(self.marginal, FixedMarginal):
            return 0.0
        b = to_vector(self.b)
        slopes = self.marginal.penalty_gradient(b) + to_vector(self.potentials)
        return float(np.abs(slopes - slopes @ b / b.sum()).max())

    @cached_property
    def spectral_radius(self) -> float:
        """The spectral radius of the paper's Algorithm 1 at this solution; below 1, it converges from nearby.

        Without a penalty on b the potentials are zero, and there is nothing to iterate: the radius is 0.
        """
        if self.marginal is None:
            return 0.0
        return compute_spectral_radius(self.costs, self.eps1, self.marginal, to_vector(self.potentials))

    @cached_property
    def plan(self) -> Array:
        """pi (N, C) in float64, kept once it is computed; N times a row is that text's distribution over the classes.

        If the rows are distributed over processes, these are the rows of this process.
        """
        plan = torch.empty(self.costs.log_p.shape, dtype=torch.float64, device=self.costs.log_p.device)
        for rows, block in self._iter_tensors():
            plan[rows] = block
        return self._convert(plan)

    @cached_property
    def labels(self) -> Array:
        """The most likely class of each text, (N,) of int64, kept once they are computed."""
        labels = torch.empty(len(self.costs.log_p), dtype=torch.int64, device=self.costs.log_p.device)
        for rows, block in self._iter_tensors():
            labels[rows] = block.argmax(1)
        return self._convert(labels)

    def rows(self, start: int, stop: int) -> Array:
        """Compute the rows from `start` to `stop` of the plan, (stop - start, C)."""
        return self._convert(self._compute_rows(self.costs.read(slice(start, stop))))

    def columns(self, classes: NDArray[np.int64]) -> Array:
        """Compute the columns of some classes of the plan, (N, len(classes)), in one pass over the costs."""
        shape = len(self.costs.log_p), len(classes)
        columns = torch.empty(shape, dtype=torch.float64, device=self.costs.log_p.device)
        chosen = torch.from_numpy(classes).to(columns.device)
        for rows, block in self._iter_tensors():
            columns[rows] = block[:, chosen]
        return self._convert(columns)

    def iter_blocks(self) -> Iterator[tuple[slice, Array]]:
        """Yield the rows of a block and the plan's block, (rows, C)."""
        for rows, block in self._iter_tensors():
            yield rows, self._convert(block)

    def _iter_tensors(self) -> Iterator[tuple[slice, Tensor]]:
        for rows, M in self.costs.iter_blocks():
            yield rows, self._compute_rows(M)

    def _compute_rows(self, M: Tensor) -> Tensor:
        """Return the plan's rows for costs, which are overwritten."""
        g = torch.as_tensor(self.potentials, device=M.device)
        return softmax_rows(M, g, self.eps1)[0].div_(self.costs.n_rows)

    def _convert(self, values: Tensor) -> Array:
        """Return values as an array or a tensor, whichever log P was."""
        return values if isinstance(self.b, Tensor) else values.numpy()


def saot(
    log_p: Array,
    eps1: float = 0.1,
    eps2: float = 0.01,
    method: str = "newton",
    *,
    tol: float = 1e-8,
    max_iter: int | None = None,
    start: Array | None = None,
    processes: ProcessGroup = SINGLE_PROCESS,
    ranks: ProcessGroup | None = None,
) -> Transport[Array]:
    """Solve self-adaptive optimal transport (Eq. 2) for the predictions log P.

    Rows are processed in blocks. Beyond log P, which is not copied, the solver needs the memory of a block and of a
    (C, C) matrix; with more than 512 classes, that of N C / 64 entries of a sparse matrix, or of 50 MB, instead.

    Parameters
    ----------
    log_p : (N, C) array or tensor
        log P. Exact zeros of P (-inf) are allowed, and rows need not sum to one: a constant added to a row changes
        nothing.
    eps1 : float
        Weight of the plan's entropy; smaller is closer to hard labels.
    eps2 : float
        Weight of the penalty that keeps classes from vanishing; 0 leaves the class sizes to P alone.
    method : {"newton", "alternating", "literal"}
        Newton's method on the dual in g; the paper's alternating updates with an exact b, until they converge; or the
        paper's Algorithm 1 to the letter, for `max_iter` iterations.
    tol : float
        Residual to reach.
    max_iter : int or None
        Largest number of steps; by default 200 for "newton", 1,000 for "alternating" and 100 for "literal".
    start : (C,) array or tensor, or None
        The potentials of a similar problem's solution, to start from.
    processes : ProcessGroup
        The processes that the rows are distributed over; each passes its own rows and gets their plan. Only vectors
        and (C, C) sums are communicated.
    ranks : ProcessGroup, optional
        Deprecated name of `processes`.

    Returns
    -------
    Transport
        In float64, as arrays or tensors, whichever log P is.

    Warns
    -----
    TransportWarning
        If the residual did not reach `tol`.

    Examples
    --------
    >>> import numpy as np
    >>> P = np.array([[0.8, 0.2], [0.7, 0.3], [0.6, 0.4]])
    >>> t = saot(np.log(P), eps1=0.1, eps2=0.1)
    >>> t.plan.sum(axis=1).round(6)
    array([0.333333, 0.333333, 0.333333])
    >>> np.allclose(t.plan.sum(axis=0), t.b), t.converged
    (True, True)
    """
    if ranks is not None:
        warnings.warn("saot(ranks=...) is deprecated, use saot(processes=...)", DeprecationWarning, stacklevel=2)
        processes = ranks
    if not eps2 >= 0:
        raise InputError(f"eps2={eps2} must not be negative")
    C = log_p.shape[1] if log_p.ndim == 2 else 0
    # Without a penalty, or with one class, g = 0 is the solution.
    marginal = None if eps2 < MIN_EPS2 or C == 1 else LogBarrierMarginal(eps2)
    return _solve(log_p, eps1, marginal, method, tol, max_iter, start, processes)


def semi_relaxed_transport(
    log_p: Array,
    b: Array,
    eps1: float = 0.1,
    eps2: float = 0.01,
    method: str = "newton",
    *,
    tol: float = 1e-8,
    max_iter: int | None = None,
    start: Array | None = None,
    processes: ProcessGroup = SINGLE_PROCESS,
) -> Transport[Array]:
    """Solve the transport whose class distribution is kept near a reference by eps2 KL(. || b): the paper's M3.

    Parameters
    ----------
    log_p : (N, C) array or tensor
        log P, as for `saot`.
    b : (C,) array or tensor
        Reference distribution. Shares below 1e-9 are taken as 1e-9: the b of one problem, in which a class may have
        vanished, can be the reference of the next.
    eps1, method, tol, max_iter, start, processes
        As for `saot`.
    eps2 : float
        Weight of the KL penalty, positive.

    Returns
    -------
    Transport

    Examples
    --------
    >>> import numpy as np
    >>> t = semi_relaxed_transport(np.log([[0.8, 0.2], [0.7, 0.3]]), np.array([0.5, 0.5]), eps2=1e4)
    >>> t.b.round(2)  # with so large a weight, b equals the reference
    array([0.5, 0.5])
    """
    if not eps2 > 0:
        raise InputError(f"eps2={eps2} must be positive")
    reference = np.maximum(validate_distribution(b, log_p.shape[-1], min_share=0.0), MIN_CLASS_SHARE)
    marginal = KLMarginal(reference / reference.sum(), eps2)
    return _solve(log_p, eps1, marginal, method, tol, max_iter, start, processes)


def optimal_transport(
    log_p: Array,
    b: Array,
    eps1: float = 0.1,
    method: str = "newton",
    *,
    tol: float = 1e-8,
    max_iter: int | None = None,
    start: Array | None = None,
    processes: ProcessGroup = SINGLE_PROCESS,
) -> Transport[Array]:
    """Solve entropic optimal transport (Eq. 1) for the predictions log P and a given class distribution.

    Parameters
    ----------
    log_p : (N, C) array or tensor
        log P, as for `saot`.
    b : (C,) array or tensor
        Class distribution, every share positive.
    eps1, method, tol, max_iter, start, processes
        As for `saot`.

    Returns
    -------
    Transport

    Examples
    --------
    >>> import numpy as np
    >>> t = optimal_transport(np.log([[0.8, 0.2], [0.7, 0.3]]), np.array([0.5, 0.5]))
    >>> t.plan.sum(axis=0).round(6)
    array([0.5, 0.5])
    """
    target = validate_distribution(b, log_p.shape[-1], min_share=sys.float_info.min)
    marginal = FixedMarginal(target / target.sum())
    return _solve(log_p, eps1, marginal, method, tol, max_iter, start, processes)


def _solve(
    log_p: Array,
    eps1: float,
    marginal: Marginal | None,
    method: str,
    tol: float,
    max_iter: int | None,
    start: Array | None,
    processes: ProcessGroup,
) -> Transport[Array]:
    """Validate, solve and measure the residual; without a marginal, g = 0 and b is the plan's column sums."""
    if not eps1 > 0:
        raise InputError(f"eps1={eps1} must be positive")
    if method not in SOLVERS:
        raise InputError(f"method={method!r} is not one of {', '.join(map(repr, SOLVERS))}")
    solver, default_max_iter = SOLVERS[method]
    costs = build_costs(log_p, processes)
    device, C = costs.log_p.device, costs.shape[1]
    g: Vector = np.zeros(C)
    b, iterations = None, 0
    if marginal is not None:
        max_iter = default_max_iter if max_iter is None else max_iter
        # The solver aims below the tolerance, because summation in another order may enlarge the residual a little.
        solution = solver(
            costs, eps1, marginal, tol / 10, max_iter, None if start is None else _validate_start(start, C)
        )
        g, b, iterations = solution.g, torch.from_numpy(solution.b.copy()).to(device), solution.iterations
    potentials = torch.from_numpy(g).to(device)
    column_sums, row_error = measure_sums(costs, potentials, eps1)
    if b is None:
        b = column_sums.clone()
    residual = max(row_error, (column_sums - b).abs().sum().item(), abs(b.sum().item() - 1))
    converged = residual <= tol
    if not converged:
        warnings.warn(TransportWarning(residual, tol, iterations), stacklevel=3)
    certificate = costs, eps1, marginal, column_sums.cpu().numpy()
    if isinstance(log_p, Tensor):
        return Transport(b, potentials, residual, iterations, converged, *certificate)
    return Transport(b.numpy(), potentials.numpy(), residual, iterations, converged, *certificate)


def _validate_start(start: NDArray[np.float64] | Tensor, C: int) -> Vector:
    """Return the potentials to start from in float64; raise an InputError if they cannot be potentials."""
    g = to_vector(start)
    if g.shape != (C,) or not np.isfinite(g).all():
        raise InputError(f"start must hold {C} finite potentials, got {g}")
    return g
