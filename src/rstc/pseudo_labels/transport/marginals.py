"""How large the classes are: the class distribution b that a transport plan has to meet (Eq. 2, 13 to 19).

A marginal answers one question of the dual solver: given the class potentials g (C,), which b minimises
penalty(b) + <g, b>, at what value, and how does it bend? `fixed` is ordinary optimal transport, where b is given.

The paper's appendix compares three ways to estimate b. M1 is `penalised`, SAOT itself: b is found while the plan is
sought, and a penalty keeps classes from vanishing. M2 is `moving_average`: b follows the counts of the predictions and
is then held fixed. M3 is `near`: b is found while the plan is sought, and held near the last b instead.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import logsumexp

Vector = NDArray[np.float64]

SMALLEST_CLASS = 1e-9  # the share of a class that nobody is in
MOST_EPS2 = 1.0  # by which b is as good as even


@dataclass(frozen=True)
class ClassSizes:
    """The minimiser of penalty(b) + <g, b> over the simplex.

    Attributes:
        b: the class distribution, (C,).
        value: penalty(b) + <g, b>.
        bend: D, (C,), such that db/dg = D D^T / sum(D) - diag(D); zero where b does not move.
    """

    b: Vector
    value: float
    bend: Vector


Marginal = Callable[[Vector], ClassSizes]


def fixed(b: Vector) -> Marginal:
    """Return the marginal whose class distribution is given and stays: ordinary optimal transport (Eq. 1)."""

    def sizes(g: Vector) -> ClassSizes:
        return ClassSizes(b, float(g @ b), np.zeros_like(b))

    return sizes


def penalised(eps2: float) -> Marginal:
    """Return SAOT's marginal, whose penalty is eps2 * sum(-log b - log(1 - b)), for two classes or more."""

    def sizes(g: Vector) -> ClassSizes:
        b = _class_sizes(g, eps2)
        penalty = -eps2 * (np.log(b) + np.log1p(-b)).sum()
        return ClassSizes(b, float(penalty + g @ b), 1 / (eps2 * (b**-2 + (1 - b) ** -2)))

    return sizes


def near(last_b: Vector, eps2: float) -> Marginal:
    """Return the marginal whose penalty is eps2 * KL(b || last b): M3.

    The minimiser has b_j proportional to last b_j exp(-g_j / eps2). Unlike SAOT's, this penalty protects no class:
    again and again on the same predictions, it ends at the sizes that these have on their own.

    >>> near(np.array([0.5, 0.5]), eps2=0.1)(np.array([0.0, 0.1])).b.round(3)  # 1 to exp(-1)
    array([0.731, 0.269])
    """
    log_last = np.log(last_b)

    def sizes(g: Vector) -> ClassSizes:
        logits = log_last - g / eps2
        log_sum = logsumexp(logits)
        b = np.exp(logits - log_sum)
        return ClassSizes(b, float(-eps2 * log_sum), b / eps2)

    return sizes


def moving_average(last_b: Vector, counts: NDArray[np.int64], mu: float = 0.1) -> Vector:
    """Return mu times the last b plus 1 - mu times the shares of the clusters, of which so many texts (C,) are: M2.

    After Wang et al. 2022 (SoLar), as the paper's appendix has it. A cluster that nobody is in loses nine tenths
    of its share each time; it stays above nothing, as a transport must.

    >>> moving_average(np.array([0.5, 0.5]), np.array([3, 1]))
    array([0.725, 0.275])
    """
    b = np.maximum(mu * last_b + (1 - mu) * counts / counts.sum(), SMALLEST_CLASS)
    return np.asarray(b / b.sum())


def suggested_eps2(sizes: NDArray[np.int64]) -> float:
    """Return an eps2 for classes that seem to have these sizes (C,): the more they vary, the less it is.

    The paper sets eps2 by hand: 0.1 for balanced sets, 0.01 and 0.001 for lightly and heavily imbalanced ones. This
    passes through the same values where the sizes' coefficient of variation is 0.25, 0.44 and 0.79.

    >>> [round(suggested_eps2(np.array(sizes)), 4) for sizes in ([100, 100], [125, 75], [144, 56], [179, 21])]
    [1.0, 0.1, 0.0104, 0.001]
    """
    variation = sizes.std() / sizes.mean()
    return float(min(MOST_EPS2, 0.1 * (0.25 / max(variation, 1e-9)) ** 4))


def _class_sizes(g: Vector, eps2: float) -> Vector:
    """Return b_j(h) (Eq. 17) for the h at which they sum to one (Eq. 18)."""
    C = len(g)
    # d at which a class has size 1/C. With h below min(g) - even every class is smaller than 1/C, with h above
    # max(g) - even every class is larger: a bracket in which the sum, monotone in h, must cross one.
    even = eps2 * C * (C - 2) / (C - 1)
    low, high = g.min() - even, g.max() - even
    if high - low < 1e-14 * max(1.0, abs(low)):
        return np.full(C, 1 / C)
    margin = 1e-9 * (high - low)  # rounding must not put both ends on one side
    h = brentq(lambda h: _root(g - h, eps2).sum() - 1, low - margin, high + margin, xtol=1e-15, maxiter=500)
    b = _root(g - h, eps2)
    return np.asarray(b / b.sum())


def _root(d: Vector, eps2: float) -> Vector:
    """Return the root of Eq. 14 in (0, 1), written without the 0/0 at d = 0 and without cancellation at d < 0."""
    radius = np.hypot(d, 2 * eps2)
    d_plus_radius = np.where(d > 0, d + radius, 4 * eps2**2 / (radius - np.minimum(d, 0)))
    return np.asarray(2 * eps2 / (d_plus_radius + 2 * eps2))
