"""Figures of comparisons: clusters over time as small multiples, and clusters by group as a heat map."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping
from typing import TYPE_CHECKING

import numpy as np

from rstc.report.colours import GREY
from rstc.report.figure_style import remove_frame, shorten_name
from rstc.results.group_shares import GroupShares
from rstc.results.over_time import ClusterOverTime, OverTime
from rstc.results.wording import format_percent, format_ratio

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MAX_PANELS = 12  # clusters over time, those with the strongest trends
MIN_PANELS = 3  # so many steady ones are drawn where nothing was found
MAX_ROWS = 40  # clusters of the heat map, those with the strongest findings
_COLUMNS = 3  # panels side by side
_LARGEST_RATIO = 4.0  # that colours distinguish
_MAX_VALUE_LENGTH = 18  # characters of a group's name
_LIGHT = 0.45  # luminance below which text on a cell is white


def name_figure(column: str, taken: Container[str]) -> str:
    """Return the name of the figure of a column, of characters that every file system allows.

    >>> name_figure("user country/region", ()), name_figure("age", {"by_age"})
    ('by_user_country_region', 'by_age_2')
    """
    safe = re.sub(r"[^\w-]+", "_", column).strip("_")[:60]
    name = base = f"by_{safe}"
    number = 1
    while name in taken:
        number += 1
        name = f"{base}_{number}"
    return name


def draw_over_time(figure: Figure, result: OverTime, colours: Mapping[int, str]) -> None:
    """Draw the shares of the clusters with the strongest trends, with bands of their 95 % intervals."""
    n_found = sum(entry.trend != "steady" or entry.peak is not None for entry in result.clusters)
    entries = result.sort_by_strength()[: min(MAX_PANELS, -(-max(n_found, MIN_PANELS) // _COLUMNS) * _COLUMNS)]
    n_rows = -(-len(entries) // _COLUMNS)
    figure.set_size_inches(9.5, 2.1 * n_rows + 0.6)
    panels = np.atleast_1d(figure.subplots(n_rows, _COLUMNS, sharex=True)).ravel()
    for axes, entry in zip(panels, entries, strict=False):
        _draw_panel(axes, result, entry, colours.get(entry.cluster, GREY))
    for axes in panels[len(entries) :]:
        axes.set_axis_off()
    for axes in panels[max(0, len(entries) - _COLUMNS) : len(entries)]:
        axes.xaxis.set_tick_params(labelbottom=True)
    more = f", {len(entries)} of {len(result.clusters)} clusters" if len(entries) < len(result.clusters) else ""
    figure.suptitle(
        f"Share of the texts by {result.every}{more}, with 95 % intervals",
        fontsize=10,
        x=0.008,
        ha="left",
        weight="bold",
    )


def _draw_panel(axes: Axes, result: OverTime, entry: ClusterOverTime, colour: str) -> None:
    """Draw one cluster over time: its shares, their intervals, its trend and its peak."""
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
    from matplotlib.ticker import MaxNLocator, PercentFormatter

    periods = result.periods.astype("datetime64[s]")
    low, high, shares = (100 * values for values in (entry.low, entry.high, entry.shares))
    axes.fill_between(periods, low, high, color=colour, alpha=0.18, lw=0)
    axes.plot(periods, shares, color=colour, lw=1.4)
    incomplete = ~result.is_complete
    axes.plot(periods[incomplete], shares[incomplete], "o", mfc="white", mec=colour, ms=4)
    if entry.trend in ("growing", "fading"):
        fitted = np.flatnonzero(result.is_complete)
        ends = [fitted[0], fitted[-1]]
        times = np.linspace(0, 1, 50)
        days = periods[ends[0]].astype(float) + times * (periods[ends[1]] - periods[ends[0]]).astype(float)
        trend = 100 * entry.first * entry.change**times
        axes.plot(days.astype("datetime64[s]"), trend, color="#333333", lw=0.9, ls=(0, (4, 2)))
    if entry.peak is not None:
        period = entry.peak.period
        label = format_percent(shares[period] / 100)
        axes.annotate(
            label, (periods[period], shares[period]), (5, 0), textcoords="offset points", fontsize=7, va="center"
        )
        axes.plot(periods[period], shares[period], "o", color=colour, ms=4, clip_on=False)
    top = min(100.0, 1.08 * float(np.nanmax(np.minimum(high, 3 * np.nanmax(shares)))))
    axes.set_ylim(0, max(top, 0.1))
    axes.yaxis.set_major_locator(MaxNLocator(3))
    axes.yaxis.set_major_formatter(PercentFormatter(decimals=0 if top > 4 else 1, symbol=" %"))
    locator = AutoDateLocator(minticks=3, maxticks=5)  # type: ignore[no-untyped-call]
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(ConciseDateFormatter(locator, show_offset=False))  # type: ignore[no-untyped-call]
    axes.tick_params(labelsize=7, length=2)
    axes.grid(axis="y", color="#e6e6e6", lw=0.6)
    axes.set_axisbelow(True)
    change = f" × {format_ratio(entry.change)}" if entry.trend in ("growing", "fading") else ""
    axes.set_title(shorten_name(entry.name), fontsize=8.5, loc="left", pad=12, weight="bold")
    notes = f"{entry.trend}{change}{', with a peak' if entry.peak else ''}"
    axes.text(
        0, 1.02, notes, transform=axes.transAxes, fontsize=7.5, color=GREY if entry.trend == "steady" else "#333333"
    )
    remove_frame(axes)


def draw_groups(figure: Figure, shares: GroupShares) -> None:
    """Draw the shares of clusters in groups, coloured by their ratio to the other groups where it is significant."""
    from matplotlib.colors import TwoSlopeNorm

    rows = _choose_rows(shares)
    n_rows, n_columns = len(rows), len(shares.values)
    figure.set_size_inches(min(18.0, 2.9 + 0.78 * n_columns), max(2.6, 0.27 * n_rows + 1.5))
    axes = figure.add_subplot()
    limit = np.log2(_LARGEST_RATIO)
    with np.errstate(divide="ignore"):
        log_ratios = np.clip(np.log2(shares.ratios[rows]), -limit, limit)
    signs = shares.signs[rows]
    # What is not significant is left pale, so that the eye goes to what is.
    norm = TwoSlopeNorm(0, -limit, limit)
    image = axes.pcolormesh(
        np.where(signs != 0, log_ratios, 0.15 * log_ratios), cmap="PuOr_r", norm=norm, edgecolors="white", linewidth=1.5
    )
    colours = image.to_rgba(np.where(signs != 0, log_ratios, 0.15 * log_ratios))
    for i, row in enumerate(rows):
        for j in range(n_columns):
            luminance = float(colours[i, j, :3] @ [0.2126, 0.7152, 0.0722])
            is_marked = signs[i, j] != 0
            axes.text(
                j + 0.5,
                i + 0.5,
                format_percent(shares.shares[row, j]) + {1: " ▲", -1: " ▼"}.get(int(signs[i, j]), ""),
                ha="center",
                va="center",
                fontsize=7.5,
                weight="bold" if is_marked else "normal",
                color="white" if luminance < _LIGHT else "black" if is_marked else "#6b6b6b",
            )
    labels = [
        f"{shorten_name(value, _MAX_VALUE_LENGTH)}\n{total:,}"
        for value, total in zip(shares.values, shares.totals.tolist(), strict=True)
    ]
    slanted = any(len(value) > 10 for value in shares.values)
    axes.set_xticks(np.arange(n_columns) + 0.5, labels, fontsize=7.5)
    if slanted:
        axes.set_xticks(
            np.arange(n_columns) + 0.5, labels, rotation=35, ha="left", rotation_mode="anchor", fontsize=7.5
        )
    axes.set_yticks(np.arange(n_rows) + 0.5, [shorten_name(shares.names[row], 34) for row in rows], fontsize=8)
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    axes.invert_yaxis()
    axes.spines[:].set_visible(False)
    bar = figure.colorbar(image, ax=axes, shrink=min(1.0, 3.2 / max(0.27 * n_rows, 1.2)), aspect=18, pad=0.02)
    bar.set_ticks([-2, -1, 0, 1, 2], labels=["¼", "½", "1", "2", "4"])
    bar.set_label("times as frequent as elsewhere", fontsize=7.5)
    bar.ax.tick_params(labelsize=7.5, length=2)
    bar.outline.set_visible(False)
    more = f", {n_rows} of {len(shares.clusters)} clusters" if n_rows < len(shares.clusters) else ""
    figure.suptitle(
        f"Share of each group's texts by {shorten_name(shares.column)}{more}",
        fontsize=10,
        x=0.015,
        ha="left",
        weight="bold",
    )


def _choose_rows(shares: GroupShares) -> list[int]:
    """Return the clusters of the heat map: those with the strongest findings first, if not all fit, else by size."""
    found = list(dict.fromkeys(row for row, _ in shares.list_cells()))
    by_size = np.argsort(-shares.counts.sum(1), kind="stable").tolist()
    chosen = [*found, *(row for row in by_size if row not in found)][:MAX_ROWS]
    return [row for row in by_size if row in chosen]
