"""Clusters by group: their shares in the groups that the values of a column make, and where they are over-represented.

Each cell, a cluster in a group, is compared with the other groups by Fisher's exact test, and the p-values are adjusted
over all cells, so that of the cells that are marked at most 5 % are expected to be chance.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rstc.numerics.proportions import (
    adjust_p_values,
    assess_table,
    compute_cell_p_values,
    compute_ratio_interval,
    compute_wilson_interval,
)
from rstc.results.find_trends import FALSE_DISCOVERY_RATE, count_pairs
from rstc.results.groups import Groups
from rstc.results.over_time import MIN_TEXTS, Floats
from rstc.results.wording import format_percent, format_ratio, quote

MAX_FINDINGS = 20  # sentences


@dataclass(frozen=True)
class GroupShares:
    """The clusters of a run by the groups of a column. Arrays have one row per cluster and one column per group.

    Attributes
    ----------
    column : str
        The column.
    values : list of str
        The name of each group, (G,).
    totals : array of int, shape (G,)
        Number of texts in each group, outliers included.
    n_missing : int
        Number of texts without a value.
    clusters : list of int
        The clusters, (C,); outliers are none of them.
    names : list of str
        Their names, (C,).
    counts : array of int, shape (C, G)
        Number of texts of a cluster in a group.
    shares, low, high : array of float, shape (C, G)
        Share of the group's texts that are in the cluster, with its 95 % interval.
    ratios, ratio_low, ratio_high : array of float, shape (C, G)
        The share as a multiple of that in all other groups, with its 95 % interval.
    q_values : array of float, shape (C, G)
        Adjusted p-values of the hypothesis that the share is the same in the other groups; 1 for small clusters.
    effect : float
        Cramer's V, corrected for bias: 0 if clusters and groups are independent, 1 if one determines the other.
    p_value : float
        Of the hypothesis that clusters and groups are independent.
    """

    column: str
    values: list[str]
    totals: NDArray[np.int64]
    n_missing: int
    clusters: list[int]
    names: list[str]
    counts: NDArray[np.int64]
    shares: Floats
    low: Floats
    high: Floats
    ratios: Floats
    ratio_low: Floats
    ratio_high: Floats
    q_values: Floats
    effect: float
    p_value: float

    @property
    def signs(self) -> NDArray[np.int64]:
        """1 for the cells that are significantly over-represented, -1 for under-represented ones, else 0: (C, G)."""
        is_found = self.q_values < FALSE_DISCOVERY_RATE
        return np.where(is_found, np.where(self.ratios > 1, 1, -1), 0)

    def list_cells(self) -> list[tuple[int, int]]:
        """Return the significant cells as (row, column), those with the largest ratios by their intervals first.

        In a column with two groups, what is over-represented in one is under-represented in the other, and only the
        former is listed.
        """
        signs = self.signs
        cells = zip(*np.nonzero(signs > 0 if len(self.values) == 2 else signs), strict=True)
        with np.errstate(divide="ignore"):
            strengths = np.where(signs > 0, np.log(self.ratio_low), -np.log(self.ratio_high))
        return sorted(((int(i), int(j)) for i, j in cells), key=lambda cell: -strengths[cell])

    def describe_cell(self, row: int, column: int) -> str:
        """Return a sentence on the share of a cluster in a group."""
        n_others = int(self.totals.sum() - self.totals[column])
        share_elsewhere = (int(self.counts[row].sum()) - int(self.counts[row, column])) / max(n_others, 1)
        low, high = (format_percent(ends[row, column], unit=False) for ends in (self.low, self.high))
        share = f"{format_percent(self.shares[row, column])}, 95 % interval {low} to {high}"
        where = f"where {self.column} is {self.values[column]} ({share})"
        if not share_elsewhere:
            return f"{quote(self.names[row])} occurs only {where}."
        only = "only " if self.ratios[row, column] < 1 else ""
        times = f"{only}{format_ratio(self.ratios[row, column])} times as frequent"
        return f"{quote(self.names[row])} is {times} {where} as elsewhere ({format_percent(share_elsewhere)})."

    def list_findings(self) -> list[str]:
        """Return sentences on the significant cells: the strongest one of each cluster, then the others."""
        cells = self.list_cells()
        best = {row: (row, column) for row, column in reversed(cells)}
        ordered = sorted(cells, key=lambda cell: best[cell[0]] != cell)  # stable
        return [self.describe_cell(*cell) for cell in ordered[:MAX_FINDINGS]]

    def to_frame(self) -> pd.DataFrame:
        """Return a table with one row per cluster and group."""
        C, G = self.counts.shape
        return pd.DataFrame(
            {
                "cluster": np.repeat(self.clusters, G),
                "cluster_name": np.repeat(np.array(self.names, dtype=object), G),
                "value": np.tile(np.array(self.values, dtype=object), C),
                "count": self.counts.ravel(),
                "total": np.tile(self.totals, C),
                "share": self.shares.ravel(),
                "low": self.low.ravel(),
                "high": self.high.ravel(),
                "ratio": self.ratios.ravel(),
                "ratio_low": self.ratio_low.ravel(),
                "ratio_high": self.ratio_high.ravel(),
                "q_value": self.q_values.ravel(),
                "sign": self.signs.ravel(),
            }
        )

    def to_json(self) -> dict[str, Any]:
        """Return a JSON object, which the page shows."""
        arrays = (self.counts, self.shares, self.low, self.high, self.ratios, self.q_values, self.signs)
        names = ("count", "share", "low", "high", "ratio", "q_value", "sign")
        return {
            "column": self.column,
            "values": self.values,
            "totals": self.totals.tolist(),
            "n_missing": self.n_missing,
            "effect": float(f"{self.effect:.4g}"),
            "p_value": float(f"{self.p_value:.4g}"),
            "clusters": self.clusters,
            "cells": [
                [
                    {
                        name: value if isinstance(value, int) else float(f"{value:.5g}")
                        for name, value in zip(names, cell, strict=True)
                    }
                    for cell in zip(*(array[row].tolist() for array in arrays), strict=True)
                ]
                for row in range(len(self.clusters))
            ],
            "findings": self.list_findings(),
        }


def compute_group_shares(
    groups: Groups, clusters: NDArray[np.int64], names: Mapping[int, str], column: str, rng: np.random.Generator
) -> GroupShares:
    """Count the texts of each cluster in each group, and test where clusters are over- or under-represented.

    Parameters
    ----------
    groups : Groups
        The group of each text, (N,).
    clusters : array of int, shape (N,)
        The cluster of each text, negative for none.
    names : mapping
        The name of each cluster that is compared, by its number.
    column : str
        The column that the groups come from.
    rng : Generator
        Draws tables, where the counts are too small for the chi-squared distribution.

    Returns
    -------
    GroupShares
    """
    G, numbers = len(groups.values), list(names)
    totals = np.bincount(groups.codes[groups.codes >= 0], minlength=G)
    counts = count_pairs(clusters, groups.codes, numbers, G)
    sizes, n = counts.sum(1), int(totals.sum())
    low, high = compute_wilson_interval(counts, totals)
    ratios, ratio_low, ratio_high = compute_ratio_interval(
        counts, totals, sizes[:, None] - counts, np.maximum(n - totals, 1)
    )
    p_values = compute_cell_p_values(counts, sizes, totals, n)
    p_values[sizes < MIN_TEXTS] = np.nan
    others = totals - counts.sum(0)  # outliers, which belong to the table as a whole
    table = assess_table(np.vstack([counts, others]), rng)
    return GroupShares(
        column,
        groups.values,
        totals,
        int((groups.codes < 0).sum()),
        numbers,
        [names[number] for number in numbers],
        counts,
        counts / totals,
        low,
        high,
        ratios,
        ratio_low,
        ratio_high,
        adjust_p_values(p_values),
        table.effect,
        table.p_value,
    )
