"""The class distribution b, the column marginal of a transport plan (Eq. 13 to 19), and its estimation (appendix A).

A marginal maps the dual potentials g (C,) to the b on the simplex that minimises penalty(b) + <g, b>:

    fixed_marginal           b is given                                        ordinary optimal transport, Eq. 1
    log_barrier_marginal     penalty eps2 sum(-log b - log(1 - b))             SAOT, Eq. 2; M1 of the appendix
    kl_marginal              penalty eps2 KL(b || reference)                   semi-relaxed transport; M3

M2 of the appendix, `update_moving_average`, follows the counts of the predictions; b is then held fixed.

The minimiser of SAOT's penalty solves Eq. 14, (g_j - h) b_j^2 - ((g_j - h) + 2 eps2) b_j + eps2 = 0, and h is the
multiplier at which b sums to one (Eq. 18).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import logsumexp
from torch import Tensor

from rstc.errors import InputError

Vector = NDArray[np.float64]

MIN_CLASS_SHARE = 1e-9  # share of an empty class: a transport needs a positive marginal
MAX_EPS2 = 1.0  # for which b is almost uniform


@dataclass(frozen=True)
class MarginalSolution:
    """The minimiser of penalty(b) + <g, b> over the simplex.

    Attributes
    ----------
    b : (C,) array
        Class distribution.
    value : float
        penalty(b) + <g, b>.
    curvature : (C,) array
        D such that db/dg = D D^T / sum(D) - diag(D); zeros if b is fixed.
    """

    b: Vector
    value: float
    curvature: Vector


Marginal = Callable[[Vector], MarginalSolution]


def fixed_marginal(b: Vector) -> Marginal:
    """Return the marginal of a given class distribution: ordinary optimal transport (Eq. 1)."""

    def minimise(g: Vector) -> MarginalSolution:
        return MarginalSolution(b, float(g @ b), np.zeros_like(b))

    return minimise


def log_barrier_marginal(eps2: float) -> Marginal:
    """Return SAOT's marginal, with the penalty eps2 sum(-log b - log(1 - b)), for two classes or more."""

    def minimise(g: Vector) -> MarginalSolution:
        b = _minimise_log_barrier(g, eps2)
        penalty = -eps2 * (np.log(b) + np.log1p(-b)).sum()
        return MarginalSolution(b, float(penalty + g @ b), 1 / (eps2 * (b**-2 + (1 - b) ** -2)))

    return minimise


def kl_marginal(reference: Vector, eps2: float) -> Marginal:
    """Return the marginal with the penalty eps2 KL(b || reference): M3 of the appendix.

    The minimiser is proportional to reference_j exp(-g_j / eps2). Unlike SAOT's penalty, it does not keep
    classes from vanishing: repeated with each b as the next reference, it converges to the class sizes of P.

    >>> kl_marginal(np.array([0.5, 0.5]), eps2=0.1)(np.array([0.0, 0.1])).b.round(3)  # 1 to exp(-1)
    array([0.731, 0.269])
    """
    log_reference = np.log(reference)

    def minimise(g: Vector) -> MarginalSolution:
        logits = log_reference - g / eps2
        log_sum = logsumexp(logits)
        b = np.exp(logits - log_sum)
        return MarginalSolution(b, float(-eps2 * log_sum), b / eps2)

    return minimise


def update_moving_average(b: Vector, counts: NDArray[np.int64], mu: float = 0.1) -> Vector:
    """Return mu b + (1 - mu) counts / N: M2 of the appendix, after SoLar (Wang et al. 2022).

    A class without predictions loses nine tenths of its share at each update, but stays positive.

    >>> update_moving_average(np.array([0.5, 0.5]), np.array([3, 1]))
    array([0.725, 0.275])
    """
    b = np.maximum(mu * b + (1 - mu) * counts / counts.sum(), MIN_CLASS_SHARE)
    return np.asarray(b / b.sum())


def suggest_eps2(sizes: NDArray[np.int64]) -> float:
    """Suggest an eps2 for classes of about these sizes (C,): the more they vary, the smaller it is.

    The paper sets eps2 by hand: 0.1 for balanced data, 0.01 and 0.001 for lightly and heavily imbalanced data. These
    values result from sizes with a coefficient of variation of 0.25, 0.44 and 0.79.

    >>> [round(suggest_eps2(np.array(sizes)), 4) for sizes in ([100, 100], [125, 75], [144, 56], [179, 21])]
    [1.0, 0.1, 0.0104, 0.001]
    """
    variation = sizes.std() / sizes.mean()
    return float(min(MAX_EPS2, 0.1 * (0.25 / max(variation, 1e-9)) ** 4))


def validate_distribution(b: NDArray[np.float64] | Tensor, C: int, min_share: float) -> Vector:
    """Return b in float64; raise an InputError if it is no distribution over C classes."""
    shares = to_vector(b)
    if shares.shape != (C,) or not (shares >= min_share).all() or not abs(shares.sum() - 1) <= 1e-6:
        kind = "positive shares" if min_share else "shares, none negative,"
        raise InputError(f"b must hold {C} {kind} that sum to 1, got {shares}")
    return shares


def to_vector(values: NDArray[np.float64] | Tensor) -> Vector:
    """Return values as a numpy array in float64."""
    return np.asarray(values.detach().cpu() if isinstance(values, Tensor) else values, dtype=np.float64)


def _minimise_log_barrier(g: Vector, eps2: float) -> Vector:
    """Return b_j(h) (Eq. 17) at the h at which they sum to one (Eq. 18)."""
    C = len(g)
    # The d = g_j - h at which a class has size 1/C. Below h = min(g) - uniform_d every class is smaller than 1/C, above
    # max(g) - uniform_d every class is larger: a bracket in which the sum, monotone in h, must cross one.
    uniform_d = eps2 * C * (C - 2) / (C - 1)
    low, high = g.min() - uniform_d, g.max() - uniform_d
    if high - low < 1e-14 * max(1.0, abs(low)):
        return np.full(C, 1 / C)
    margin = 1e-9 * (high - low)  # rounding must not put both ends on one side
    h = brentq(lambda h: _solve_quadratic(g - h, eps2).sum() - 1, low - margin, high + margin, xtol=1e-15, maxiter=500)
    b = _solve_quadratic(g - h, eps2)
    return np.asarray(b / b.sum())


def _solve_quadratic(d: Vector, eps2: float) -> Vector:
    """Return the root of Eq. 14 in (0, 1), d = g - h, without 0/0 at d = 0 and without cancellation at d < 0."""
    root = np.hypot(d, 2 * eps2)  # of the discriminant
    d_plus_root = np.where(d > 0, d + root, 4 * eps2**2 / (root - np.minimum(d, 0)))
    return np.asarray(2 * eps2 / (d_plus_root + 2 * eps2))
