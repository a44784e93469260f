"""Compare the clusters of a finished run over time and between groups, and show the result on its page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from rstc.errors import InputError
from rstc.io.formats import detect_format, open_table_writer
from rstc.report.html.render import write_page
from rstc.results.comparisons import (
    ComparisonRequest,
    Comparisons,
    check_request,
    compute_comparisons,
    read_columns,
    read_request,
    write_comparisons,
)
from rstc.results.corrected_run import CorrectedRun


def compare_run(
    folder: Path, time: str | None = None, every: str | None = None, by: Sequence[str] = (), out: Path | None = None
) -> Comparisons:
    """Compare the clusters of a run by columns of its input; the page and comparisons.json show the result.

    Parameters
    ----------
    folder : Path
        The run folder.
    time : str, optional
        A column of dates.
    every : {"day", "week", "month", "quarter", "year"}, optional
        The length of a period; by default the span of the dates decides.
    by : sequence of str
        Columns of groups. Without `time` and `by`, the comparisons of the last call are repeated.
    out : Path, optional
        A file for all numbers, in long form.

    Returns
    -------
    Comparisons
    """
    format = None if out is None else detect_format(str(out))
    if format == "txt":
        raise InputError(f"{out} cannot hold a table; choose a file of another format, such as shares.csv")
    request = ComparisonRequest.build(time, every, by)
    run = CorrectedRun.read(folder)
    request = request or read_request(folder)
    if request is None:
        raise InputError("nothing to compare by; name a column of dates with --time or a column of groups with --by")
    columns = read_columns(folder, run)
    check_request(columns, request)
    comparisons = compute_comparisons(run, columns, request)
    if out is not None and format is not None:
        write_table(out, format, comparisons.to_frame())
    write_comparisons(folder, comparisons)
    write_page(folder, run, comparisons)
    return comparisons


def write_table(out: Path, format: str, table: pd.DataFrame) -> None:
    """Write all numbers of comparisons to a file; shares are rounded to the digits that counts can have."""
    numbers = table.select_dtypes("float").columns
    rounded = table.assign(**{name: table[name].map(lambda value: float(f"{value:.6g}")) for name in numbers})
    with open_table_writer(out, format) as write:
        write(rounded)
