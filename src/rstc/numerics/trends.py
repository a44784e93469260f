"""Trends of counts over periods: tests of whether shares change, begin, end or peak, for many series at once.

k (C, T) are the counts of C series in T periods, n (T,) the totals, of which they are shares, and x (T,) the time.
Shares follow a logistic regression on time, logit p = a + b x, whose counts vary phi times as much as binomial ones.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rstc.numerics.proportions import compute_lower_tail, compute_upper_tail

Floats = NDArray[np.float64]

PRIOR_SD = 3.0  # of a slope over the whole span, a factor of 20; keeps the slope of a series that starts at 0 finite
STRAY_SHARE = 0.02  # of the texts of a series that may come before its beginning or after its end
_MAX_CORRELATION = 0.8
_MAX_NEWTON_STEPS = 50
_PRIOR_PAIRS = 4.0  # pairs of periods that the other series count for in the overdispersion of one
_ENOUGH = 1000.0  # degrees of freedom of an estimate that is as good as exact


@dataclass(frozen=True)
class LogitTrends:
    """Fitted logistic regressions of shares on time.

    Attributes
    ----------
    slopes, slope_errors : array of float, shape (C,)
        b, and its standard error for binomial counts.
    P : array of float, shape (C, T)
        The fitted shares.
    residuals : array of float, shape (C, T)
        Pearson residuals, 0 where the total is 0.
    """

    slopes: Floats
    slope_errors: Floats
    P: Floats  # (C, T)
    residuals: Floats  # (C, T)


@dataclass(frozen=True)
class Dispersions:
    """Estimated variances of the counts of series, as multiples of the binomial ones.

    Attributes
    ----------
    phi : array of float, shape (C,)
        At least 1.
    df : float
        Degrees of freedom of the estimates.
    """

    phi: Floats
    df: float


@dataclass(frozen=True)
class TrendTests:
    """Tests of whether the shares of series change over time.

    Attributes
    ----------
    p_values : array of float, shape (C,)
        Of the hypothesis that b = 0.
    phi : array of float, shape (C,)
        Overdispersion, with the correlation of successive periods.
    first, last : array of float, shape (C,)
        The fitted shares in the first and in the last period.
    change_low, change_high : array of float, shape (C,)
        95 % interval of the ratio of the last to the first.
    """

    p_values: Floats
    phi: Floats
    first: Floats
    last: Floats
    change_low: Floats
    change_high: Floats


@dataclass(frozen=True)
class EdgeTests:
    """Tests of whether series begin after the first period, or end before the last one.

    Attributes
    ----------
    periods : array of int, shape (C,)
        The period with which a series begins (or ends), but for stray texts.
    p_values : array of float, shape (C,)
        Of the hypothesis that the share is the same before (or after) it.
    outside : array of float, shape (C,)
        The share of all texts that come before (or after) it.
    ratios : array of float, shape (C,)
        The share of the series there as a multiple of that in the other periods.
    """

    periods: NDArray[np.int64]
    p_values: Floats
    outside: Floats
    ratios: Floats


@dataclass(frozen=True)
class PeakTests:
    """Tests of whether the largest excess of series over their trends is more than chance.

    Attributes
    ----------
    periods : array of int, shape (C,)
        The period with the largest residual.
    expected : array of float, shape (C,)
        The count that the trend through the other periods expects there.
    p_values : array of float, shape (C,)
        Corrected for the number of periods.
    """

    periods: NDArray[np.int64]
    expected: Floats
    p_values: Floats


def fit_logit_trends(k: Floats, n: Floats, x: Floats) -> LogitTrends:
    """Fit logistic regressions of shares on time, by Newton's method with a weak normal prior on the slopes.

    Parameters
    ----------
    k : array of float, shape (C, T)
        The counts.
    n : array of float, shape (T,) or (C, T)
        The totals; 0 leaves a period out.
    x : array of float, shape (T,)
        The time of each period.

    Returns
    -------
    LogitTrends

    Examples
    --------
    >>> k, n, x = np.array([[20.0, 40.0]]), np.array([400.0, 400.0]), np.array([0.0, 1.0])
    >>> fit_logit_trends(k, n, x).P.round(3).tolist()
    [[0.05, 0.1]]
    """
    n = np.broadcast_to(n, k.shape)
    x = np.broadcast_to(x - np.mean(x), k.shape)
    K, N = k.sum(1), n.sum(1)
    a, b = np.log((K + 0.5) / (N - K + 0.5)), np.zeros(len(k))

    def information() -> tuple[Floats, Floats, Floats, Floats]:
        P = 1 / (1 + np.exp(-np.clip(a[:, None] + b[:, None] * x, -30, 30)))
        W = n * P * (1 - P)
        return P, W.sum(1) + 1e-9, (W * x).sum(1), (W * x**2).sum(1) + PRIOR_SD**-2

    for _ in range(_MAX_NEWTON_STEPS):
        P, aa, ab, bb = information()
        errors = k - n * P
        gradient_a, gradient_b = errors.sum(1), (errors * x).sum(1) - b / PRIOR_SD**2
        step_a = (bb * gradient_a - ab * gradient_b) / (aa * bb - ab**2)
        step_b = (aa * gradient_b - ab * gradient_a) / (aa * bb - ab**2)
        a, b = a + np.clip(step_a, -2, 2), b + np.clip(step_b, -2, 2)
        if max(np.abs(step_a).max(initial=0), np.abs(step_b).max(initial=0)) < 1e-9:
            break
    P, aa, ab, bb = information()
    residuals = np.where(n > 0, (k - n * P) / np.sqrt(np.maximum(n * P * (1 - P), 1e-12)), 0.0)
    return LogitTrends(b, np.sqrt(aa / (aa * bb - ab**2)), P, residuals)


def estimate_dispersions(residuals: Floats, counts: Floats, df: float) -> Dispersions:
    """Estimate the overdispersion of each series, shrunk towards what the other series suggest for one of its size.

    Bursts that multiply the share of a period by a random factor of variance s^2 make phi = 1 + s^2 times the mean
    count; s^2 is estimated from all series. The estimates from the squared residuals of single series in few periods
    are uncertain: they are taken for scaled chi-squared values around that line, and moved towards it the more, the
    less they differ from it beyond that (Smyth 2004, for counts Lund et al. 2012).

    Parameters
    ----------
    residuals : array of float, shape (C, T)
        Pearson residuals.
    counts : array of float, shape (C,)
        The mean count of each series in a period.
    df : float
        Degrees of freedom of the residuals, for each series.

    Returns
    -------
    Dispersions
    """
    from scipy.optimize import brentq
    from scipy.special import digamma, polygamma

    raw = np.maximum((residuals**2).sum(1) / df, 1e-3)
    if len(raw) < 4:  # too few to compare with each other
        return Dispersions(np.maximum(raw, 1.0), df)
    line = 1 + max(0.0, float((raw - 1).sum() / counts.sum())) * counts
    logs = np.log(raw / line) - digamma(df / 2) + np.log(df / 2)
    excess = logs.var(ddof=1) - polygamma(1, df / 2)
    if excess <= polygamma(1, _ENOUGH / 2):
        prior_df = _ENOUGH
    else:
        prior_df = float(brentq(lambda d: polygamma(1, d / 2) - excess, 1e-3, _ENOUGH))
    prior = line * np.exp(logs.mean() + digamma(prior_df / 2) - np.log(prior_df / 2))
    phi = (prior_df * prior + df * raw) / (prior_df + df)
    return Dispersions(np.maximum(phi, 1.0), min(df + prior_df, df * len(raw)))


def assess_trends(k: Floats, n: Floats, x: Floats) -> TrendTests:
    """Test whether the share of each series grows or falls over time, by the score of b = 0.

    The score is the sum of x over the texts of a series, as in the test of Cochran and Armitage. Its variance is
    multiplied by the overdispersion and, where successive residuals are correlated, because bursts last longer than a
    period, by (1 + r) / (1 - r); the ratio is compared with an F distribution.

    Parameters
    ----------
    k, n, x : array of float, shape (C, T), (T,) and (T,)
        Counts, totals and times, for at least three periods.

    Returns
    -------
    TrendTests
    """
    from scipy.stats import f, t

    trends, used = fit_logit_trends(k, n, x), np.flatnonzero(n > 0)
    dispersions = estimate_dispersions(trends.residuals, k.sum(1) / len(used), len(used) - 2)
    r = _estimate_correlations(trends.residuals, len(used))
    phi = dispersions.phi * (1 + r) / (1 - r)
    N, shares = n.sum(), k.sum(1) / n.sum()
    centred = x - (n * x).sum() / N
    scores = ((k - n * shares[:, None]) * centred).sum(1)
    variances = shares * (1 - shares) * (n * centred**2).sum() * N / max(N - 1, 1)
    p_values = f.sf(scores**2 / np.maximum(variances * phi, 1e-12), 1, dispersions.df)
    first, last = trends.P[:, used[0]], trends.P[:, used[-1]]
    # d log p / d b = (1 - p) x, and the intercept moves both shares alike unless they are large.
    half = t.isf(0.025, dispersions.df) * np.sqrt(phi) * trends.slope_errors * np.ptp(x[used]) * (1 - shares)
    changes = np.log(last / first)
    return TrendTests(p_values, phi, first, last, np.exp(changes - half), np.exp(changes + half))


def _estimate_correlations(residuals: Floats, n_periods: int) -> Floats:
    """Return the correlation of successive residuals: that of all series together, or that of one where it is clear."""
    products, squares = (residuals[:, 1:] * residuals[:, :-1]).sum(1), (residuals**2).sum(1)
    r = products / np.maximum(squares, 1e-12) + 2 / n_periods  # two fitted parameters make it smaller by that
    is_clear = r > 1.64 / np.sqrt(n_periods)
    return np.asarray(np.clip(np.maximum(r.mean(), np.where(is_clear, r, 0)), 0, _MAX_CORRELATION))


def assess_beginnings(k: Floats, n: Floats) -> EdgeTests:
    """Test whether series begin later than the first period.

    A series begins with the period of its first text but for `STRAY_SHARE` of its texts, which may be misplaced. The
    number of texts of all series before it is the test statistic: that it is at least so large has the probability that
    a binomial count, of the texts of the series, each before the beginning with the share of all texts there, is at
    most the number of strays. No choice of the period has to be corrected for. Overdispersion is estimated from
    differences between successive periods since the beginning, and from those of all series.

    Parameters
    ----------
    k, n : array of float, shape (C, T) and (T,)
        Counts and totals.

    Returns
    -------
    EdgeTests
    """
    K, N = k.sum(1), n.sum()
    strays = np.floor(STRAY_SHARE * K)
    periods = (k.cumsum(1) > strays[:, None]).argmax(1)
    before = np.append(0.0, n.cumsum())[periods]
    counts = np.c_[np.zeros(len(k)), k.cumsum(1)][np.arange(len(k)), periods]
    squares, is_pair = _compare_successive(k, n)
    all_phi = [float(row[pairs].mean()) for row, pairs in zip(squares, is_pair, strict=True) if pairs.any()]
    typical_phi = max(1.0, float(np.median(all_phi))) if all_phi else 1.0
    is_pair = is_pair & (np.arange(squares.shape[1]) >= periods[:, None])
    total = np.where(is_pair, squares, 0).sum(1) + _PRIOR_PAIRS * typical_phi
    phi = np.maximum(1.0, total / (is_pair.sum(1) + _PRIOR_PAIRS))
    outside = before / N
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.where(before > 0, (counts / before) / ((K - counts) / (N - before)), 1.0)
    p_values = np.where(before > 0, compute_lower_tail(strays, K, outside, phi), 1.0)
    return EdgeTests(periods, p_values, outside, ratios)


def assess_ends(k: Floats, n: Floats) -> EdgeTests:
    """Test whether series end before the last period: `assess_beginnings` with the time reversed."""
    reverse = assess_beginnings(k[:, ::-1], n[::-1])
    return EdgeTests(k.shape[1] - 1 - reverse.periods, reverse.p_values, reverse.outside, reverse.ratios)


def _compare_successive(k: Floats, n: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """Return the chi-squared values of successive periods with equal shares, and which pairs hold a text: (C, T - 1).

    The mean of the values is the overdispersion, whatever the trend.
    """
    m, shares = k[:, 1:] + k[:, :-1], n[1:] / np.maximum(n[1:] + n[:-1], 1)
    variances = m * shares * (1 - shares)
    is_pair = variances > 0
    return (k[:, 1:] - m * shares) ** 2 / np.where(is_pair, variances, 1), is_pair


def assess_peaks(k: Floats, n: Floats, x: Floats, is_fitted: NDArray[np.bool_]) -> PeakTests:
    """Test whether the period with the largest excess of a series over its trend holds more texts than chance explains.

    The trend and the overdispersion are estimated without that period.

    Parameters
    ----------
    k, n, x : array of float, shape (C, T), (T,) and (T,)
        Counts, totals and times.
    is_fitted : array of bool, shape (T,)
        The periods that trends are fitted to, at least four; incomplete ones are only tested.

    Returns
    -------
    PeakTests
    """
    from scipy.stats import norm, t

    C, rows = len(k), np.arange(len(k))
    n_fitted = np.where(is_fitted, n, 0.0)
    P = fit_logit_trends(k * is_fitted, n_fitted, x).P
    residuals = np.where(n > 0, (k - n * P) / np.sqrt(np.maximum(n * P * (1 - P), 1e-12)), -np.inf)
    periods = residuals.argmax(1)
    n_others = np.tile(n_fitted, (C, 1))
    n_others[rows, periods] = 0
    others = fit_logit_trends(np.where(n_others > 0, k, 0), n_others, x)
    n_periods = int((n_fitted > 0).sum())
    dispersions = estimate_dispersions(others.residuals, k.sum(1) / n_periods, max(n_periods - 3, 1))
    counts, expected = k[rows, periods], n[periods] * others.P[rows, periods]
    # The slope is uncertain as well, which matters at both ends.
    distances = (x[periods] - x.mean()) * others.slope_errors
    phi = dispersions.phi * (1 + expected * distances**2)
    total = np.where(n_others > 0, k, 0).sum(1) + counts
    shares = expected / np.maximum((n_others * others.P).sum(1) + expected, 1e-12)
    tails = compute_upper_tail(counts, total, shares, phi)
    p_values = t.sf(norm.isf(np.clip(tails, 1e-300, 1)), dispersions.df)
    return PeakTests(periods, expected, np.minimum(1.0, p_values * int((n > 0).sum())))
