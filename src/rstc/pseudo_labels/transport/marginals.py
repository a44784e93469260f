"""The class distribution b, the column marginal of a transport plan (Eq. 13 to 19), and its estimation (appendix A).

A marginal maps the dual potentials g (C,) to the b on the simplex that minimises penalty(b) + <g, b>:

    FixedMarginal          b is given                                 ordinary optimal transport, Eq. 1
    LogBarrierMarginal     penalty eps2 sum(-log b - log(1 - b))      SAOT, Eq. 2; M1 of the appendix
    KLMarginal             penalty eps2 KL(b || reference)            semi-relaxed transport; M3

M2 of the appendix, `update_moving_average`, follows the counts of the predictions; b is then held fixed.

The minimiser of SAOT's penalty solves Eq. 14, (g_j - h) b_j^2 - ((g_j - h) + 2 eps2) b_j + eps2 = 0, and h is the
multiplier at which b sums to one (Eq. 18).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import logsumexp, rel_entr
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


class Marginal(Protocol):
    """A model of the class distribution b: its penalty, and the b that minimises penalty(b) + <g, b>."""

    def minimise(self, g: Vector) -> MarginalSolution:
        """Return the minimiser of penalty(b) + <g, b> over the simplex."""
        ...

    def penalty(self, b: Vector) -> float:
        """Return penalty(b)."""
        ...

    def penalty_gradient(self, b: Vector) -> Vector:
        """Return the gradient of the penalty at b, (C,)."""
        ...


@dataclass(frozen=True)
class FixedMarginal:
    """A given class distribution b: ordinary optimal transport (Eq. 1). Its penalty is infinite for any other one."""

    b: Vector

    def minimise(self, g: Vector) -> MarginalSolution:
        """Return b."""
        return MarginalSolution(self.b, float(g @ self.b), np.zeros_like(self.b))

    def penalty(self, b: Vector) -> float:
        """Return 0 for the given distribution, to the last bit, else infinity."""
        return 0.0 if np.array_equal(b, self.b) else np.inf

    def penalty_gradient(self, b: Vector) -> Vector:
        """Return NaN: the penalty has no gradient."""
        return np.full_like(b, np.nan)


@dataclass(frozen=True)
class LogBarrierMarginal:
    """SAOT's marginal, with the penalty eps2 sum(-log b - log(1 - b)), for two classes or more."""

    eps2: float

    def minimise(self, g: Vector) -> MarginalSolution:
        """Return b(h) (Eq. 17) at the h at which it sums to one (Eq. 18)."""
        b = _minimise_log_barrier(g, self.eps2)
        return MarginalSolution(b, float(self.penalty(b) + g @ b), self.curvature(b))

    def penalty(self, b: Vector) -> float:
        """Return eps2 sum(-log b - log(1 - b))."""
        return float(-self.eps2 * (np.log(b) + np.log1p(-b)).sum())

    def penalty_gradient(self, b: Vector) -> Vector:
        """Return eps2 (1 / (1 - b) - 1 / b)."""
        return np.asarray(self.eps2 * (1 / (1 - b) - 1 / b))

    def curvature(self, b: Vector) -> Vector:
        """Return the inverse of the penalty's second derivative at b, which is also db/dh of Eq. 17, (C,)."""
        return np.asarray(1 / (self.eps2 * (b**-2 + (1 - b) ** -2)))

    def solve_quadratic(self, d: Vector) -> Vector:
        """Return the root of Eq. 14 in (0, 1), d = g - h, without 0/0 at d = 0 and without cancellation at d < 0."""
        return _solve_quadratic(d, self.eps2)


@dataclass(frozen=True)
class KLMarginal:
    """The marginal with the penalty eps2 KL(b || reference): M3 of the appendix.

    The minimiser is proportional to reference_j exp(-g_j / eps2). Unlike SAOT's penalty, it does not keep
    classes from vanishing: repeated with each b as the next reference, it converges to the class sizes of P.

    >>> KLMarginal(np.array([0.5, 0.5]), eps2=0.1).minimise(np.array([0.0, 0.1])).b.round(3)  # 1 to exp(-1)
    array([0.731, 0.269])
    """

    reference: Vector
    eps2: float

    def minimise(self, g: Vector) -> MarginalSolution:
        """Return the softmax of log reference - g / eps2."""
        logits = np.log(self.reference) - g / self.eps2
        log_sum = logsumexp(logits)
        b = np.exp(logits - log_sum)
        return MarginalSolution(b, float(-self.eps2 * log_sum), b / self.eps2)

    def penalty(self, b: Vector) -> float:
        """Return eps2 KL(b || reference)."""
        return float(self.eps2 * rel_entr(b, self.reference).sum())

    def penalty_gradient(self, b: Vector) -> Vector:
        """Return eps2 (log(b / reference) + 1)."""
        return np.asarray(self.eps2 * (np.log(b) - np.log(self.reference) + 1))


def update_moving_average(b: Vector, counts: NDArray[np.int64], mu: float = 0.1) -> Vector:
    """Return mu b + (1 - mu) counts / N: M2 of the appendix, after SoLar (Wang et al. 2022).

    A class without predictions loses nine tenths of its share at each update, but stays positive.

    >>> update_moving_average(np.array([0.5, 0.5]), np.array([3, 1]))
    array([0.725, 0.275])
    """
    b = np.maximum(mu * b + (1 - mu) * counts / counts.sum(), MIN_CLASS_SHARE)
    return np.asarray(b / b.sum())


def count_by_first_appearance(clusters: NDArray[np.int64], n_clusters: int) -> NDArray[np.int64]:
    """Count the texts of each cluster, in the order in which the clusters first appear among the texts.

    The authors' released code takes these counts for those of the clusters in their own order when it computes M2.
    Clusters without a text come last.

    >>> count_by_first_appearance(np.array([2, 2, 0, 2]), 3)
    array([3, 1, 0])
    """
    _, first_rows, counts = np.unique(clusters, return_index=True, return_counts=True)
    ordered = np.zeros(n_clusters, dtype=np.int64)
    ordered[: len(counts)] = counts[np.argsort(first_rows)]
    return ordered


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
