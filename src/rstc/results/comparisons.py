"""Comparisons of a run's clusters over time and between groups: what was asked, the results, comparisons.json.

The results are computed from the texts' columns and from the clusters after corrections, whenever the page is written.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from rstc.errors import InputError
from rstc.io.atomic import read_json, replace_file
from rstc.io.column_types import parse_dates
from rstc.io.columns import list_text_columns
from rstc.results.corrected_run import CorrectedRun
from rstc.results.edits import MAX_LOG_BYTES
from rstc.results.find_trends import compute_over_time
from rstc.results.group_shares import GroupShares, compute_group_shares
from rstc.results.groups import cut_groups
from rstc.results.over_time import OverTime
from rstc.results.periods import EVERY, cut_periods
from rstc.results.records import Record
from rstc.results.run_files import COMPARISONS
from rstc.results.run_folder import read_rows

MIN_DATES = 0.5  # share of the values of a column of dates that have to be readable
_SAMPLE_ROWS = 2000  # that are checked for it

logger = logging.getLogger(__name__)
Result = TypeVar("Result")


@dataclass(frozen=True)
class ComparisonRequest(Record):
    """What clusters are compared by.

    Attributes
    ----------
    time : str or None
        The column of dates.
    every : str or None
        The length of a period; None if the span of the dates decides.
    by : list of str
        The columns of groups.
    """

    time: str | None = None
    every: str | None = None
    by: list[str] = field(default_factory=list)

    @classmethod
    def build(cls, time: str | None, every: str | None, by: Sequence[str]) -> ComparisonRequest | None:
        """Return the request of some options, None if they ask for nothing."""
        if every is not None and every not in EVERY:
            raise InputError(f"every={every!r} is not one of {', '.join(EVERY)}")
        if every is not None and time is None:
            raise InputError(f"every={every!r} needs a column of dates: --time COLUMN")
        return cls(time, every, list(dict.fromkeys(by))) if time is not None or by else None


@dataclass(frozen=True)
class Comparisons:
    """The results of a request.

    Attributes
    ----------
    request : ComparisonRequest
        What was asked.
    over_time : OverTime or None
        The clusters over time.
    groups : list of GroupShares
        The clusters by the groups of each column.
    """

    request: ComparisonRequest
    over_time: OverTime | None
    groups: list[GroupShares]

    def to_frame(self) -> pd.DataFrame:
        """Return a table in long form: one row per cluster and period, then one per cluster and group."""
        parts = [shares.to_frame().assign(column=shares.column) for shares in self.groups]
        if self.over_time is not None:
            frame = self.over_time.to_frame().rename(columns={"period": "value"})
            periods = frame["value"].dt.strftime("%Y-%m-%d")
            parts.insert(0, frame.assign(value=periods, column=self.over_time.column))
        table = pd.concat([part.dropna(axis=1, how="all") for part in parts], ignore_index=True)
        return table[["column", *(name for name in table.columns if name != "column")]]


def check_request(columns: pd.DataFrame, request: ComparisonRequest) -> None:
    """Raise InputError if columns do not hold what a request needs; quick, as it comes before a model is loaded."""
    if request.time is not None:
        _check_dates(_select(columns, request.time))
        if request.every is not None:
            cut_periods(parse_dates(columns[request.time]), request.every)
    for name in request.by:
        cut_groups(_select(columns, name))


def _select(columns: pd.DataFrame, name: str) -> pd.Series[Any]:
    if name not in columns.columns:
        others = ", ".join(map(repr, columns.columns))
        available = f"the columns beside the texts are {others}" if others else "there is none beside the texts"
        raise InputError(f"there is no column {name!r}; {available}")
    return columns[name]


def _check_dates(column: pd.Series[Any]) -> None:
    """Raise InputError if most values of a column are not dates."""
    present = column[column.notna() & (column.astype(str).str.strip() != "")]
    if present.empty:
        raise InputError(f"column {column.name!r} holds no dates: it is empty")
    sample = present.iloc[:: max(1, len(present) // _SAMPLE_ROWS)]
    is_unreadable = np.isnat(parse_dates(sample))
    if is_unreadable.mean() > 1 - MIN_DATES:
        examples = list(dict.fromkeys(str(value)[:40] for value in sample[is_unreadable]))[:3]
        share = f"{100 * is_unreadable.mean():.0f} %"
        raise InputError(
            f"column {column.name!r} does not hold dates: {share} of its values are none, such as "
            f"{', '.join(map(repr, examples))}"
        )


def read_columns(folder: Path, run: CorrectedRun) -> pd.DataFrame:
    """Return the columns of a run's shown texts, from clusters.<format> if they are not kept with the texts.

    Parameters
    ----------
    folder : Path
        The run folder.
    run : CorrectedRun
        The run in it.

    Returns
    -------
    DataFrame
        One row per shown text, without the texts themselves.
    """
    points, source = run.points, run.summary.input
    if len(points.columns.columns) or source.format == "txt":
        return points.columns
    table = read_rows(folder, source, points)
    others = [name for name in table.columns if name not in list_text_columns(source.text_column)]
    return table[others].iloc[points.rows].reset_index(drop=True)


def compute_comparisons(
    run: CorrectedRun, columns: pd.DataFrame, request: ComparisonRequest, strict: bool = True
) -> Comparisons:
    """Compare the clusters of a run, after its corrections, as requested.

    Parameters
    ----------
    run : CorrectedRun
        The run.
    columns : DataFrame
        The columns of its texts.
    request : ComparisonRequest
        What to compare by.
    strict : bool
        Whether a column that cannot be compared by raises InputError; otherwise it is left out with a warning in the
        log, as rows that were added since may have made it so.

    Returns
    -------
    Comparisons
    """
    names = dict(sorted(run.state.names.items()))
    present = set(np.unique(run.clusters).tolist())
    names = {cluster: name for cluster, name in names.items() if cluster in present}

    def attempt(compute: Callable[[], Result]) -> Result | None:
        try:
            return compute()
        except InputError as problem:
            if strict:
                raise
            logger.warning("%s", problem)
            return None

    def compare_over_time(column: str) -> OverTime:
        _check_dates(_select(columns, column))
        dates = parse_dates(columns[column])
        return compute_over_time(dates, run.clusters, run.points.confidence, names, column, request.every)

    def compare_groups(column: str) -> GroupShares:
        groups = cut_groups(_select(columns, column))
        return compute_group_shares(groups, run.clusters, names, column, np.random.default_rng(0))

    time = request.time
    over_time = None if time is None else attempt(lambda: compare_over_time(time))
    groups = [attempt(lambda column=column: compare_groups(column)) for column in request.by]  # type: ignore[misc]
    return Comparisons(request, over_time, [shares for shares in groups if shares is not None])


def write_request(folder: Path, request: ComparisonRequest | None) -> None:
    """Write comparisons.json with what is to be compared, before there are results; remove it if that is nothing."""
    if request is None:
        (folder / COMPARISONS).unlink(missing_ok=True)
    else:
        _write(folder, request.to_json())


def write_comparisons(folder: Path, comparisons: Comparisons) -> None:
    """Write comparisons.json with the request and its results."""
    over_time, groups = comparisons.over_time, comparisons.groups
    results = {"over_time": over_time and over_time.to_json(), "groups": [shares.to_json() for shares in groups]}
    _write(folder, comparisons.request.to_json() | results)


def _write(folder: Path, content: dict[str, Any]) -> None:
    with replace_file(folder / COMPARISONS) as temporary:
        temporary.write_text(json.dumps(content, ensure_ascii=False, allow_nan=False), encoding="utf-8")


def read_request(folder: Path) -> ComparisonRequest | None:
    """Return what the clusters of a run folder were compared by last, None if they were not."""
    path = folder / COMPARISONS
    if not path.exists():
        return None
    try:
        stored = read_json(path, MAX_LOG_BYTES)
        request = ComparisonRequest.from_json(stored)
        names = [*request.by, *(name for name in (request.time, request.every) if name is not None)]
        if not isinstance(stored, dict) or isinstance(request.by, str) or not all(isinstance(n, str) for n in names):
            raise TypeError("the columns are no names")
        return ComparisonRequest.build(request.time, request.every, request.by)
    except (ValueError, TypeError, AttributeError, OSError) as error:
        raise InputError(f"{path} does not hold comparisons; remove it, and run `rstc compare` again") from error


def repeat_comparisons(folder: Path, run: CorrectedRun) -> Comparisons | None:
    """Compute again what the clusters of a run folder were compared by last; None if they were not.

    Parameters
    ----------
    folder : Path
        The run folder.
    run : CorrectedRun
        The run in it, with its corrections.

    Returns
    -------
    Comparisons or None
    """
    request = read_request(folder)
    if request is None:
        return None
    try:
        columns = read_columns(folder, run)
    except InputError as problem:  # the rows were moved or sorted, which a page can be written without
        logger.warning("%s", problem)
        return None
    return compute_comparisons(run, columns, request, strict=False)
