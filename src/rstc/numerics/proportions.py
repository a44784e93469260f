"""Proportions of counts: Wilson intervals, exact tests with overdispersion, ratios, and adjustment for many tests.

Notation: k of n texts; phi >= 1 is the overdispersion, the variance of a count as a multiple of the binomial one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Z_95 = 1.959963984540054  # the normal quantile of 95 % intervals

Floats = NDArray[np.float64]


def compute_wilson_interval(counts: ArrayLike, totals: ArrayLike) -> tuple[Floats, Floats]:
    """Return the 95 % score intervals of Wilson (1927) for proportions; NaN where the total is 0.

    They have about the nominal coverage for small counts too, and are not empty at 0 of n.

    >>> low, high = compute_wilson_interval([0, 5], [10, 10])
    >>> low.round(3).tolist(), high.round(3).tolist()
    ([0.0, 0.237], [0.278, 0.763])
    """
    k, n = np.broadcast_arrays(np.asarray(counts, dtype=np.float64), np.asarray(totals, dtype=np.float64))
    with np.errstate(invalid="ignore", divide="ignore"):
        p = k / n
        centre = p + Z_95**2 / (2 * n)
        half = Z_95 * np.sqrt(p * (1 - p) / n + Z_95**2 / (4 * n**2))
        low, high = ((centre + sign * half) / (1 + Z_95**2 / n) for sign in (-1, 1))
    low, high = np.where(k == 0, 0, low), np.where(k == n, 1, high)  # without rounding errors
    return np.where(n > 0, low, np.nan), np.where(n > 0, high, np.nan)


def compute_shares(counts: ArrayLike, totals: ArrayLike) -> Floats:
    """Return counts as shares of totals; NaN where the total is 0."""
    n = np.asarray(totals, dtype=np.float64)
    return np.asarray(np.asarray(counts, dtype=np.float64) / np.where(n > 0, n, np.nan))


def adjust_p_values(p_values: ArrayLike) -> Floats:
    """Return the q-values of Benjamini and Hochberg (1995) over all entries; 1 for those that are NaN: not tested.

    Rejecting all tests with q < 0.05 keeps the expected share of false ones among the rejected at 5 % or below.

    >>> adjust_p_values([0.01, 0.04, 0.03, float("nan")]).round(3).tolist()
    [0.03, 0.04, 0.04, 1.0]
    """
    from scipy.stats import false_discovery_control

    p = np.asarray(p_values, dtype=np.float64)
    q, is_tested = np.ones(p.shape), ~np.isnan(p)
    if is_tested.any():
        q[is_tested] = false_discovery_control(p[is_tested].ravel())
    return q


def compute_lower_tail(counts: ArrayLike, trials: ArrayLike, shares: ArrayLike, phi: ArrayLike = 1.0) -> Floats:
    """Return P(X <= k) for a binomial X; with overdispersion, of the effective numbers k / phi of n / phi.

    >>> compute_lower_tail(0, 10, 0.5).round(6).item()
    0.000977
    """
    from scipy.special import betainc

    k, n, p, phi = np.broadcast_arrays(
        *(np.asarray(value, dtype=np.float64) for value in (counts, trials, shares, phi))
    )
    with np.errstate(invalid="ignore"):
        tail = betainc(np.maximum(n - k, 1e-12) / phi, k / phi + 1, 1 - p)
    return np.where(k >= n, 1.0, tail)


def compute_upper_tail(counts: ArrayLike, trials: ArrayLike, shares: ArrayLike, phi: ArrayLike = 1.0) -> Floats:
    """Return P(X >= k) for a binomial X; with overdispersion, of the effective numbers k / phi of n / phi.

    >>> compute_upper_tail(10, 10, 0.5).round(6).item()
    0.000977
    """
    n, p = np.asarray(trials, dtype=np.float64), np.asarray(shares, dtype=np.float64)
    return compute_lower_tail(n - np.asarray(counts, dtype=np.float64), n, 1 - p, phi)


def compute_cell_p_values(table: NDArray[Any], row_totals: NDArray[Any], column_totals: NDArray[Any], n: int) -> Floats:
    """Test each cell of a table against the rest of its column and row: Fisher's exact test of the 2 x 2 table.

    Given the margins, a cell that is independent of its column is hypergeometric. The p-value is twice the smaller
    tail, which is exact for small counts: it is below a level at most as often as the level says.

    Parameters
    ----------
    table : array of int, shape (R, C)
        The counts.
    row_totals, column_totals : array of int, shape (R,) and (C,)
        The margins; rows or columns that the table leaves out may make them larger than its sums.
    n : int
        The number of texts.

    Returns
    -------
    array of float, shape (R, C)
    """
    from scipy.stats import hypergeom

    K, n_column = row_totals[:, None], column_totals[None, :]
    lower, upper = hypergeom.cdf(table, n, K, n_column), hypergeom.sf(table - 1, n, K, n_column)
    return np.asarray(np.minimum(1.0, 2 * np.minimum(lower, upper)))


def compute_ratio_interval(k: ArrayLike, n: ArrayLike, k_other: ArrayLike, n_other: ArrayLike) -> tuple[Floats, ...]:
    """Return the ratio of two proportions with its 95 % interval, by the normal distribution of its logarithm.

    Half a text is added to each count and total for the interval (Walters 1985), and for the ratio too where the other
    count is 0, so that all of them are finite.

    Returns
    -------
    ratio, low, high : array of float

    >>> [value.round(2).item() for value in compute_ratio_interval(30, 100, 100, 1000)]
    [3.0, 2.13, 4.28]
    """
    k, n, k_other, n_other = (np.asarray(value, dtype=np.float64) for value in (k, n, k_other, n_other))
    with np.errstate(invalid="ignore", divide="ignore"):
        centre = np.log((k + 0.5) / (n + 0.5)) - np.log((k_other + 0.5) / (n_other + 0.5))
        variance = 1 / (k + 0.5) - 1 / (n + 0.5) + 1 / (k_other + 0.5) - 1 / (n_other + 0.5)
        half = Z_95 * np.sqrt(np.maximum(variance, 0))
        ratio = np.where(k_other > 0, (k / n) / (k_other / n_other), np.exp(centre))
    return ratio, np.fmin(np.exp(centre - half), ratio), np.fmax(np.exp(centre + half), ratio)


@dataclass(frozen=True)
class TableTest:
    """A test of whether the rows and the columns of a table of counts are independent.

    Attributes
    ----------
    effect : float
        Cramer's V, corrected for bias.
    p_value : float
        Of the hypothesis that they are.
    """

    effect: float
    p_value: float


def assess_table(table: NDArray[Any], rng: np.random.Generator, n_draws: int = 999) -> TableTest:
    """Test whether the rows and the columns of a table of counts are independent, by Pearson's chi-squared statistic.

    Where more than a fifth of the expected counts are below 5, its distribution is that of random tables with the same
    margins (Patefield 1981), else the chi-squared one. Cramer's V is corrected as by Bergsma (2013): V^2 would be
    (R - 1) (C - 1) / (n - 1) by chance.

    Parameters
    ----------
    table : array of int, shape (R, C)
        The counts; rows and columns without any are ignored.
    rng : Generator
        Draws the random tables.
    n_draws : int
        Their number.

    Returns
    -------
    TableTest

    Examples
    --------
    >>> assess_table(np.array([[50, 0], [0, 50]]), np.random.default_rng(0)).effect
    1.0
    """
    from scipy.stats import chi2, random_table

    table = np.asarray(table, dtype=np.int64)
    table = table[table.sum(1) > 0][:, table.sum(0) > 0]
    R, C, n = *table.shape, int(table.sum())
    if min(R, C) < 2:
        return TableTest(0.0, 1.0)
    expected = table.sum(1)[:, None] * table.sum(0)[None, :] / n
    statistic, df = float(((table - expected) ** 2 / expected).sum()), (R - 1) * (C - 1)
    if (expected < 5).mean() > 0.2:
        draws = random_table(table.sum(1), table.sum(0)).rvs(n_draws, random_state=rng)
        drawn = ((draws - expected) ** 2 / expected).sum((1, 2))
        p_value = float((1 + (drawn >= statistic - 1e-9).sum()) / (1 + n_draws))
    else:
        p_value = float(chi2.sf(statistic, df))
    excess = max(0.0, statistic / n - df / (n - 1))
    largest = min(size - 1 - (size - 1) ** 2 / (n - 1) for size in (R, C))
    return TableTest(float(np.sqrt(min(1.0, excess / largest))) if largest > 0 else 0.0, p_value)
