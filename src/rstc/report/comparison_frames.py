"""Comparisons of a fitted model's clusters in Python: data frames of their shares over time and by group."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rstc.errors import InputError
from rstc.io.column_types import parse_dates
from rstc.io.columns import to_series
from rstc.results.find_trends import compute_over_time
from rstc.results.group_shares import GroupShares, compute_group_shares
from rstc.results.groups import cut_groups
from rstc.results.over_time import OverTime
from rstc.validation.texts import NonEmptyTexts


@dataclass(frozen=True)
class FittedClusters:
    """The clusters of fitted texts.

    Attributes
    ----------
    texts : list of str or None
        The fitted texts, (N,); None for a row without a text.
    labels : array of int, shape (N,)
        Their clusters.
    confidence : array of float, shape (N,)
        Their confidence.
    names : mapping
        The name of each cluster that holds a text, by its number.
    """

    texts: list[str | None]
    labels: NDArray[np.int64]
    confidence: NDArray[np.float32]
    names: Mapping[int, str]

    def select_rows(self, values: Any, what: str) -> tuple[pd.Series[Any], NDArray[np.int64]]:
        """Return the values of the rows that hold a text, and these rows."""
        if isinstance(values, str):
            raise InputError(
                f"{what} must be one value per text, got the string {values!r}; the model keeps no columns but the "
                f"texts: pass table[{values!r}]"
            )
        column = to_series(values, what)
        if len(column) != len(self.texts):
            raise InputError(f"{what} must be one value per text, got {len(column):,} for {len(self.texts):,} texts")
        rows = np.array(NonEmptyTexts.from_list(self.texts).rows, dtype=np.int64)
        return column.iloc[rows].reset_index(drop=True), rows


def compare_over_time(fitted: FittedClusters, dates: Any, every: str | None) -> OverTime:
    """Compare the clusters of fitted texts over time, by a date for each text."""
    column, rows = fitted.select_rows(dates, "dates")
    parsed = parse_dates(column)
    if np.isnat(parsed).all():
        raise InputError(f"dates hold no date that can be read; the first value is {column.iloc[0]!r}")
    labels, confidence = fitted.labels[rows], fitted.confidence[rows]
    return compute_over_time(parsed, labels, confidence, fitted.names, str(column.name), every)


def compare_groups(fitted: FittedClusters, values: Any) -> GroupShares:
    """Compare the clusters of fitted texts between groups, by a value for each text."""
    column, rows = fitted.select_rows(values, "values")
    groups, rng = cut_groups(column), np.random.default_rng(0)
    return compute_group_shares(groups, fitted.labels[rows], fitted.names, str(column.name), rng)


def build_over_time_frame(fitted: FittedClusters, dates: Any, every: str | None) -> pd.DataFrame:
    """Build the data frame of `RSTC.over_time`."""
    result = compare_over_time(fitted, dates, every)
    frame = result.to_frame()
    frame.attrs["findings"] = result.list_findings()
    return frame


def build_group_frame(fitted: FittedClusters, values: Any) -> pd.DataFrame:
    """Build the data frame of `RSTC.by_group`."""
    shares = compare_groups(fitted, values)
    frame = shares.to_frame()
    frame.attrs |= {"findings": shares.list_findings(), "effect": shares.effect, "p_value": shares.p_value}
    return frame
