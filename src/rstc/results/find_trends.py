"""Find what happens to clusters over time: count their texts in each period, and test for trends and peaks.

Each cluster is tested for a trend, a beginning and an end (`rstc.numerics.trends`). The smallest of the p-values, after
the weights below, is adjusted over the clusters, so that of the named trends at most 5 % are expected to be chance.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rstc.numerics.proportions import adjust_p_values, compute_shares, compute_wilson_interval
from rstc.numerics.trends import assess_beginnings, assess_ends, assess_peaks, assess_trends
from rstc.results.over_time import MIN_TEXTS, ClusterOverTime, Floats, OverTime, Peak, Trend
from rstc.results.periods import Dates, cut_periods

FALSE_DISCOVERY_RATE = 0.05
MIN_PERIODS = 5  # for tests
MIN_CHANGE = 1.2  # ratio of the last to the first share; of very many texts, a smaller one is significant but steady
MIN_OUTSIDE = 0.1  # share of all texts before a new cluster begins, or after one is gone
MAX_OUTSIDE_RATIO = 0.1  # share of a new cluster before it begins, as a multiple of that afterwards
MAX_PEAK_ROWS = 10
# Parts of the level: a trend is what is mostly looked for, and beginnings and ends have tiny p-values.
_TREND_WEIGHT, _EDGE_WEIGHT = 0.8, 0.1


def compute_over_time(
    dates: Dates,
    clusters: NDArray[np.int64],
    confidence: NDArray[np.float32],
    names: Mapping[int, str],
    column: str = "date",
    every: str | None = None,
) -> OverTime:
    """Count the texts of each cluster in each period, and test how their shares change.

    Parameters
    ----------
    dates : array of datetime64, shape (N,)
        The date of each text, NaT where it has none.
    clusters : array of int, shape (N,)
        The cluster of each text, negative for none.
    confidence : array of float, shape (N,)
        The confidence of each text.
    names : mapping
        The name of each cluster that is compared, by its number.
    column : str
        Where the dates come from.
    every : str, optional
        The length of a period; by default it is chosen by the span of the dates.

    Returns
    -------
    OverTime
    """
    periods = cut_periods(dates, every)
    T, codes, numbers = len(periods.starts), periods.codes, list(names)
    totals = np.bincount(codes[codes >= 0], minlength=T)
    counts = count_pairs(clusters, codes, numbers, T)
    is_fitted = periods.is_complete & (totals > 0)
    if is_fitted.sum() < MIN_PERIODS:
        is_fitted = totals > 0
    is_tested = bool(is_fitted.sum() >= MIN_PERIODS)
    low, high = compute_wilson_interval(counts, totals)
    trends = _find_trends(counts, totals, is_fitted) if is_tested else {}
    peaks = _find_peaks(counts, totals, is_fitted) if is_tested else {}
    shares = compute_shares(counts, totals)
    entries = []
    for i, number in enumerate(numbers):
        peak = None
        if i in peaks:
            period, expected, q_value = peaks[i]
            rows = np.flatnonzero((clusters == number) & (codes == period))
            best = rows[np.argsort(-confidence[rows], kind="stable")][:MAX_PEAK_ROWS]
            peak = Peak(period, expected, q_value, best.tolist())
        overall = float(counts[i].sum() / totals.sum())
        trend = trends.get(i, _Found("steady", overall, overall, 1.0, 1.0, 1.0))
        entries.append(
            ClusterOverTime(
                number,
                names[number],
                counts[i],
                shares[i],
                low[i],
                high[i],
                trend.trend,
                trend.first,
                trend.last,
                trend.last / trend.first if trend.first else 1.0,
                trend.change_low,
                trend.change_high,
                trend.q_value,
                trend.begins,
                trend.ends,
                peak,
            )
        )
    n_missing = int((codes < 0).sum())
    starts, is_complete, n_far = periods.starts, periods.is_complete, periods.n_far
    return OverTime(column, periods.every, starts, totals, is_complete, n_missing, n_far, is_tested, entries)


def count_pairs(
    clusters: NDArray[np.int64], codes: NDArray[np.int64], numbers: list[int], n_codes: int
) -> NDArray[np.int64]:
    """Return how many texts of each cluster have each code, (C, n_codes); negative codes are not counted."""
    order = np.argsort(numbers)
    positions = np.searchsorted(numbers, clusters, sorter=order)
    rows = order[np.minimum(positions, len(numbers) - 1)]
    is_counted = (np.asarray(numbers)[rows] == clusters) & (codes >= 0)
    pairs = rows[is_counted] * n_codes + codes[is_counted]
    return np.bincount(pairs, minlength=len(numbers) * n_codes).reshape(len(numbers), n_codes)


@dataclass(frozen=True)
class _Found:
    """What the tests of one cluster found; the names are those of `ClusterOverTime`."""

    trend: Trend
    first: float
    last: float
    change_low: float
    change_high: float
    q_value: float
    begins: int | None = None
    ends: int | None = None


def _find_trends(
    counts: NDArray[np.int64], totals: NDArray[np.int64], is_fitted: NDArray[np.bool_]
) -> dict[int, _Found]:
    """Test the clusters with enough texts, in the periods that trends are fitted to."""
    periods = np.flatnonzero(is_fitted)
    k, n = counts[:, periods].astype(np.float64), totals[periods].astype(np.float64)
    tested = np.flatnonzero(k.sum(1) >= MIN_TEXTS)
    if not len(tested):
        return {}
    k = k[tested]
    trends, beginnings, ends = assess_trends(k, n, _scale(periods)), assess_beginnings(k, n), assess_ends(k, n)
    weighted = np.minimum(
        1.0,
        [trends.p_values / _TREND_WEIGHT, beginnings.p_values / _EDGE_WEIGHT, ends.p_values / _EDGE_WEIGHT],
    )
    p_values = weighted.min(0)
    q_values = adjust_p_values(p_values)
    is_found = q_values < FALSE_DISCOVERY_RATE
    level = p_values[is_found].max(initial=0.0)  # of each of the three tests, after the adjustment
    is_edge = [
        (p <= level) & (edge.outside >= MIN_OUTSIDE) & (edge.ratios <= MAX_OUTSIDE_RATIO)
        for p, edge in zip(weighted[1:], (beginnings, ends), strict=True)
    ]
    found = {}
    for i, cluster in enumerate(tested.tolist()):
        first, last = float(trends.first[i]), float(trends.last[i])
        begins = int(periods[beginnings.periods[i]]) if is_found[i] and is_edge[0][i] else None
        ended = int(periods[ends.periods[i]]) if is_found[i] and is_edge[1][i] else None
        trend: Trend = "steady"
        if ended is not None:
            trend = "gone"
        elif begins is not None:
            trend = "new"
        elif is_found[i] and max(last / first, first / last) >= MIN_CHANGE:
            trend = "growing" if last > first else "fading"
        found[cluster] = _Found(
            trend,
            first,
            last,
            float(trends.change_low[i]),
            float(trends.change_high[i]),
            float(q_values[i]),
            begins,
            ended,
        )
    return found


def _find_peaks(
    counts: NDArray[np.int64], totals: NDArray[np.int64], is_fitted: NDArray[np.bool_]
) -> dict[int, tuple[int, float, float]]:
    """Return the period of each significant peak, the count that is expected there, and the adjusted p-value."""
    tested = np.flatnonzero(counts.sum(1) >= MIN_TEXTS)
    if not len(tested):
        return {}
    k, n = counts[tested].astype(np.float64), totals.astype(np.float64)
    peaks = assess_peaks(k, n, _scale(np.arange(len(totals))), is_fitted)
    q_values = adjust_p_values(peaks.p_values)
    return {
        int(tested[i]): (int(peaks.periods[i]), float(peaks.expected[i]), float(q_values[i]))
        for i in np.flatnonzero(q_values < FALSE_DISCOVERY_RATE)
    }


def _scale(periods: NDArray[np.int64]) -> Floats:
    """Return indices of periods as times from 0 to 1."""
    return np.asarray((periods - periods[0]) / max(int(periods[-1] - periods[0]), 1), dtype=np.float64)
