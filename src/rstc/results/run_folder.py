"""The run folder: its lock, what it may replace, and the reading and writing of its clusters and its summary.

The names of its files are in `rstc.results.run_files`, the texts in `rstc.results.points`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

import numpy as np
import pandas as pd

from rstc.errors import InputError, first_line
from rstc.io.atomic import (
    check_writable,
    compute_checksum,
    find_leftovers,
    lock_output,
    read_json,
    remove_leftovers,
    replace_file,
    sha256,
)
from rstc.io.checkpoint_names import check_only_checkpoints
from rstc.io.columns import CLUSTER_COLUMNS, extract_texts
from rstc.io.csv_injection import SPREADSHEET_FORMATS, unescape_formulas
from rstc.io.formats import SUFFIXES, open_table_writer, read_table
from rstc.io.plain_folder import check_plain_folder
from rstc.results.edits import EDITS, read_log
from rstc.results.points import Points
from rstc.results.run_checks import MAX_SUMMARY_BYTES, check_summary
from rstc.results.run_files import (
    CHECKPOINTS,
    CLUSTERS,
    POINTS,
    RUN_FILES,
    SUMMARY,
    SUMMED_FILES,
    UNFINISHED,
    is_unfinished,
)
from rstc.results.summary import InputInfo, Summary

SECONDS_TO_WAIT = 10.0  # for another process that writes the run, where what is to be written is small

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


@contextmanager
def lock_run(folder: Path, wait: float = 0.0) -> Iterator[None]:
    """Hold the lock of a run folder that is going to be written, and remove what killed processes left of it.

    Parameters
    ----------
    folder : Path
        The run folder; it may be missing.
    wait : float
        Seconds to wait for another process that writes it.
    """
    with lock_output(folder, wait, make_parents=True):
        check_plain_folder(folder)
        remove_run_leftovers(folder)
        yield


def recover_run(folder: Path) -> None:
    """Restore a run folder that a killed process was writing, unless a process is writing it now; check its files."""
    check_plain_folder(folder)
    if find_leftovers(folder) or any(folder.glob(".*.tmp")):
        with suppress(InputError), lock_run(folder):
            pass


def hold_run_lock(
    function: Callable[Concatenate[Path, Parameters], Result],
) -> Callable[Concatenate[Path, Parameters], Result]:
    """Decorate a function that changes the run folder that is its first argument: it holds the folder's lock."""

    @wraps(function)
    def locked(folder: Path, /, *args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        with lock_run(folder):
            return function(folder, *args, **kwargs)

    return locked


def check_target(out: Path, overwrite: bool, recover: bool = True) -> None:
    """Raise InputError if a run cannot be written to a folder.

    The folder may be missing, be empty, hold checkpoints, or, with `overwrite`, hold an earlier run without
    corrections. It may also hold a run without map and page, which the caller has to compare with its own.

    Parameters
    ----------
    out : Path
        The folder.
    overwrite : bool
        Whether an earlier run may be replaced.
    recover : bool
        Whether a folder that a killed process was writing is restored first; without, nothing is written.
    """
    check_writable(out)
    if recover:
        recover_run(out)
    if not out.exists():
        return
    if not out.is_dir():
        raise InputError(f"{out} exists and is not a folder")
    check_only_checkpoints(out / CHECKPOINTS)
    names = {path.name for path in out.iterdir()} - {CHECKPOINTS}
    if not names:
        return
    if not names <= RUN_FILES or not _holds_summary(out):
        raise InputError(f"{out} holds something that is not a run of rstc; choose another folder")
    if read_log(out).edits:
        raise InputError(f"{out} holds an earlier run with corrections; choose another folder, or remove {out / EDITS}")
    if not overwrite and not is_unfinished(out):
        raise InputError(f"{out} holds an earlier run; choose another folder or use --overwrite")


def remove_run_leftovers(folder: Path) -> None:
    """Remove the temporary files that a killed process left in a run folder."""
    for name in RUN_FILES:
        remove_leftovers(folder / name)


def _holds_summary(folder: Path) -> bool:
    try:
        read_summary(folder)
    except InputError:
        return False
    return True


def write_clusters(folder: Path, tables: Iterable[pd.DataFrame], format: str, guard_formulas: bool = False) -> None:
    """Write clusters.<format>.

    Parameters
    ----------
    folder : Path
        The run folder.
    tables : iterable of DataFrame
        The rows of the input with their clusters, in chunks.
    format : str
        Format of the file.
    guard_formulas : bool
        Whether to escape texts that a spreadsheet would evaluate as a formula.
    """
    with open_table_writer(folder / f"{CLUSTERS}{SUFFIXES[format]}", format, guard_formulas) as write:
        for table in tables:
            write(table)


def read_rows(folder: Path, input_info: InputInfo, points: Points) -> pd.DataFrame:
    """Read the rows of the input back from clusters.<format>, without the columns that the run added.

    Parameters
    ----------
    folder : Path
        The run folder.
    input_info : InputInfo
        The input of the run, from its summary.
    points : Points
        The texts of the run, or a sample of them, which have to be in their rows of the file.

    Returns
    -------
    DataFrame
    """
    format, n_rows = input_info.format, input_info.n_rows
    path = folder / f"{CLUSTERS}{SUFFIXES[format]}"
    if format in ("txt", "txt.gz"):
        if len(points.texts) < input_info.n_texts:
            raise InputError(f"{folder} holds a sample of its texts only; cluster all texts in a CSV file instead")
        lines = np.full(n_rows, "", dtype=object)
        lines[points.rows] = points.texts
        return pd.DataFrame({"text": lines})
    table = read_table(str(path), format)
    if format == "xlsx":  # blank rows at the end of a sheet, which an update may have added, are not read
        table = table.reindex(range(max(n_rows, len(table))))
    if input_info.guard_formulas and format in SPREADSHEET_FORMATS:
        table = unescape_formulas(table)
    texts = extract_texts(table, input_info.text_column)
    if len(table) != n_rows or [texts[row] for row in points.rows] != points.texts:
        raise InputError(
            f"{path} does not hold the rows of the run in their order; restore it, and sort a copy instead"
        )
    return table.drop(columns=list(CLUSTER_COLUMNS), errors="ignore")


def write_summary(folder: Path, summary: Summary) -> None:
    """Write summary.json."""
    names = SUMMED_FILES if (folder / POINTS).is_file() else (UNFINISHED,)
    files = {name: sha256(folder / name) for name in names if (folder / name).is_file()}
    content = json.loads(json.dumps(replace(summary, files=files).to_json()))
    content["checksum"] = compute_checksum(content)
    with replace_file(folder / SUMMARY) as temporary:
        temporary.write_text(json.dumps(content, indent=1, ensure_ascii=False), encoding="utf-8")


def read_summary(folder: Path) -> Summary:
    """Read summary.json, after restoring a folder that a killed process was replacing."""
    recover_run(folder)
    path = folder / SUMMARY
    if not path.exists():
        raise InputError(f"there is no run in {folder}: {SUMMARY} is missing")
    content = read_json(path, MAX_SUMMARY_BYTES)
    if isinstance(content, dict) and content.get("checksum", "") not in ("", compute_checksum(content)):
        raise InputError(f"the run in {folder} was altered or damaged: {SUMMARY} is not the file that was written")
    try:
        summary = Summary.from_json(content)
        check_summary(summary)
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
        raise InputError(f"{path} is not the summary of a run ({first_line(error)})") from error
    return summary
