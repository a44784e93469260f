"""How large the classes are: the class distribution b that a transport plan has to meet (Eq. 2, 13 to 19).

A marginal answers one question of the dual solver: given the class potentials g (C,), which b minimises
penalty(b) + <g, b>, at what value, and how does it bend? `penalised` is the paper's SAOT, where b is estimated
while the plan is sought; `fixed` is ordinary optimal transport, where b is given.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

Vector = NDArray[np.float64]


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
