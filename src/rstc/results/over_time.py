"""Clusters over time: counts and shares per period, trends (new, growing, steady, fading, gone) and peaks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rstc.results.periods import Dates, Every, label_period
from rstc.results.wording import format_percent, format_ratio, quote

Trend = Literal["new", "growing", "steady", "fading", "gone"]
Floats = NDArray[np.float64]

MIN_TEXTS = 5  # of a cluster that is tested


@dataclass(frozen=True)
class Peak:
    """A period with more texts of a cluster than its trend explains.

    Attributes
    ----------
    period : int
        Index of the period.
    expected : float
        The number of texts that the trend through the other periods expects.
    q_value : float
        Adjusted p-value.
    rows : list of int
        Indices of the texts of the cluster in that period, the most confident first, only the first ones of many.
    """

    period: int
    expected: float
    q_value: float
    rows: list[int]


@dataclass(frozen=True)
class ClusterOverTime:
    """One cluster over time.

    Attributes
    ----------
    cluster : int
        Number of the cluster.
    name : str
        Name of the cluster.
    counts : array of int, shape (T,)
        Number of texts in each period.
    shares, low, high : array of float, shape (T,)
        Share of the period's texts, with its 95 % interval; NaN where a period has no texts.
    trend : {"new", "growing", "steady", "fading", "gone"}
        What happens to the share.
    first, last : float
        The shares of the fitted trend in the first and in the last complete period.
    change, change_low, change_high : float
        Ratio of the last to the first, with its 95 % interval.
    q_value : float
        Adjusted p-value of the hypothesis that the share is steady; 1 if the cluster was not tested.
    begins, ends : int or None
        The period that a new cluster begins with, and the last one of a cluster that is gone.
    peak : Peak or None
        The largest excess over the trend, if it is significant.
    """

    cluster: int
    name: str
    counts: NDArray[np.int64]
    shares: Floats
    low: Floats
    high: Floats
    trend: Trend
    first: float
    last: float
    change: float
    change_low: float
    change_high: float
    q_value: float
    begins: int | None
    ends: int | None
    peak: Peak | None


@dataclass(frozen=True)
class OverTime:
    """The clusters of a run over time.

    Attributes
    ----------
    column : str
        The column of dates.
    every : str
        The length of a period.
    periods : array of datetime64[D], shape (T,)
        The first day of each period.
    totals : array of int, shape (T,)
        Number of texts in each period, outliers included.
    is_complete : array of bool, shape (T,)
        False for a first or last period that the dates begin or end within; trends are not fitted to them.
    n_missing : int
        Number of texts without a date.
    n_far : int
        Number of texts among them whose date is so far from all others that it was left out.
    is_tested : bool
        Whether there are enough periods for tests.
    clusters : list of ClusterOverTime
        One entry per cluster; outliers have none.
    """

    column: str
    every: Every
    periods: Dates
    totals: NDArray[np.int64]
    is_complete: NDArray[np.bool_]
    n_missing: int
    n_far: int
    is_tested: bool
    clusters: list[ClusterOverTime]

    def sort_by_strength(self) -> list[ClusterOverTime]:
        """Return the clusters whose share changes or peaks first, those with the largest changes leading."""
        order: dict[Trend, int] = {"new": 0, "gone": 0, "growing": 1, "fading": 1, "steady": 3}
        return sorted(
            self.clusters,
            key=lambda entry: (
                2 if entry.peak and entry.trend == "steady" else order[entry.trend],
                -_conservative_change(entry) if entry.trend != "steady" else 0.0,
                -entry.counts.sum(),
            ),
        )

    def describe(self, entry: ClusterOverTime) -> str:
        """Return one or two sentences on a cluster."""
        name, size = quote(entry.name), int(entry.counts.sum())
        if entry.trend in ("new", "gone"):
            parts = []
            if entry.begins is not None:
                parts.append(f"is new since {label_period(self.periods[entry.begins], self.every)}")
            if entry.ends is not None:
                parts.append(f"is gone after {label_period(self.periods[entry.ends], self.every)}")
            sentence = (
                f"{name} {' and '.join(parts)}: {size:,} texts, {self._count_outside(entry)} {self._where(entry)}."
            )
        elif entry.trend == "steady":
            share = size / max(int(self.totals.sum()), 1)
            sentence = f"{name} is steady: {format_percent(share)} of the texts."
            if entry.q_value == 1 and (not self.is_tested or size < MIN_TEXTS):
                sentence = f"{name} has too few {'texts' if self.is_tested else 'periods'} for a trend."
        else:
            verb = "grows" if entry.trend == "growing" else "fades"
            sentence = (
                f"{name} {verb} from {format_percent(entry.first)} to {format_percent(entry.last)} of the texts "
                f"({format_ratio(entry.change)} times, 95 % interval {format_ratio(entry.change_low)} to "
                f"{format_ratio(entry.change_high)})."
            )
        return f"{sentence} {self.describe_peak(entry)}".strip()

    def describe_peak(self, entry: ClusterOverTime) -> str:
        """Return a sentence on the peak of a cluster, "" if it has none."""
        if entry.peak is None:
            return ""
        count, expected = int(entry.counts[entry.peak.period]), entry.peak.expected
        when = label_period(self.periods[entry.peak.period], self.every)
        return f"It peaks in {when}: {count:,} texts where {expected:,.{0 if expected >= 10 else 1}f} are expected."

    def list_findings(self) -> list[str]:
        """Return the sentences on the clusters whose share changes or peaks, the strongest first."""
        found = [entry for entry in self.sort_by_strength() if entry.trend != "steady" or entry.peak]
        return [self.describe(entry) for entry in found]

    def to_frame(self) -> pd.DataFrame:
        """Return a table with one row per cluster and period."""
        T = len(self.periods)
        parts = [
            pd.DataFrame(
                {
                    "cluster": entry.cluster,
                    "cluster_name": entry.name,
                    "period": self.periods.astype("datetime64[s]"),
                    "count": entry.counts,
                    "total": self.totals,
                    "share": entry.shares,
                    "low": entry.low,
                    "high": entry.high,
                    "is_complete": self.is_complete,
                    "is_peak": np.arange(T) == (-1 if entry.peak is None else entry.peak.period),
                    "trend": entry.trend,
                    "change": entry.change,
                    "change_low": entry.change_low,
                    "change_high": entry.change_high,
                    "q_value": entry.q_value,
                }
            )
            for entry in self.clusters
        ]
        return pd.concat(parts, ignore_index=True)

    def to_json(self) -> dict[str, Any]:
        """Return a JSON object, which the page shows."""
        return {
            "column": self.column,
            "every": self.every,
            "periods": self.periods.astype(str).tolist(),
            "totals": self.totals.tolist(),
            "incomplete": np.flatnonzero(~self.is_complete).tolist(),
            "n_missing": self.n_missing,
            "clusters": [
                {
                    "id": entry.cluster,
                    "counts": entry.counts.tolist(),
                    "shares": [_round(share) for share in entry.shares.tolist()],
                    "low": [_round(share) for share in entry.low.tolist()],
                    "high": [_round(share) for share in entry.high.tolist()],
                    "trend": entry.trend,
                    "change": _round(entry.change),
                    "q_value": _round(entry.q_value),
                    "sentence": self.describe(entry),
                    "peak": None if entry.peak is None else {"period": entry.peak.period, "rows": entry.peak.rows},
                }
                for entry in self.clusters
            ],
        }

    def _where(self, entry: ClusterOverTime) -> str:
        sides = [name for name, period in (("before", entry.begins), ("after", entry.ends)) if period is not None]
        return " or ".join(sides)

    def _count_outside(self, entry: ClusterOverTime) -> str:
        before = 0 if entry.begins is None else int(entry.counts[: entry.begins].sum())
        after = 0 if entry.ends is None else int(entry.counts[entry.ends + 1 :].sum())
        return f"{before + after:,}" if before + after else "none"


def _conservative_change(entry: ClusterOverTime) -> float:
    """Return the end of the interval of the change that is nearest to no change, as a distance from it."""
    nearest = entry.change_low if entry.change > 1 else 1 / entry.change_high
    return float(np.log(max(nearest, 1e-9)))


def _round(value: float) -> float | None:
    """Return a number with the digits that the page needs, None for NaN."""
    return None if value != value else float(f"{value:.5g}")
