"""The run folder: names of its files, reading and writing them.

==================  ===========================================================================================
clusters.<format>   the rows of the input with their clusters (`rstc.io.columns.CLUSTER_COLUMNS`), in its format
summary.json        input, clusters and settings (`rstc.results.summary.Summary`)
points.parquet      each text with its cluster as the run found it, its place on the map, its nearest texts (`Points`)
embeddings.npy      the embeddings of these texts in half precision, which a cluster is split by without the model
report.html         the result as a page
model/              the trained model; missing from corrections without torch until they are applied with it
edits.json          corrections, if there are any (`rstc.results.edits.EditLog`)
edits-earlier.json  corrections before the last update (`rstc.results.earlier_edits.EarlierEdits`)
proposals.json      new clusters that an update proposes (`rstc.results.proposals.Proposal`)
model-found/        the model as the run trained it, if corrections were applied
names.json          answers of a language model that named clusters (`rstc names --url`)
comparisons.json    clusters over time and by group, if they were asked for (`rstc.results.comparisons.Comparisons`)
checkpoints/        the checkpoints of a run that has not found its clusters yet
unfinished.*        what the map and the page are made from, until they are (`UnfinishedRun`)
==================  ===========================================================================================
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

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
from rstc.io.parquet import read_bounded_parquet
from rstc.io.plain_folder import check_plain_folder
from rstc.results import kept_columns
from rstc.results.earlier_edits import EARLIER_EDITS
from rstc.results.edits import EDITS, read_log
from rstc.results.proposals import PROPOSALS
from rstc.results.run_checks import (
    MAX_SUMMARY_BYTES,
    check_embedding_size,
    check_file,
    check_summary,
)
from rstc.results.summary import InputInfo, Summary

if TYPE_CHECKING:
    from rstc.results.layout import Layout

CLUSTERS = "clusters"
SUMMARY = "summary.json"
POINTS = "points.parquet"
TEXT_EMBEDDINGS = "embeddings.npy"
REPORT = "report.html"
MODEL = "model"
ORIGINAL_MODEL = "model-found"
CHECKPOINTS = "checkpoints"
UNFINISHED = "unfinished.safetensors"
COMPARISONS = "comparisons.json"
NAME_ANSWERS = "names.json"
DESCRIPTION = "model.json"  # of a folder that is a model itself
SUMMED_FILES = (POINTS, TEXT_EMBEDDINGS)  # whose checksums the summary holds

SECONDS_TO_WAIT = 10.0  # for another process that writes the run, where what is to be written is small

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

POINT_COLUMNS = ["text", "row", "cluster", "confidence", "x", "y"]  # of points.parquet, beside the kept columns
NEIGHBOURS = "neighbours"  # and this one
FINE = "fine"  # and this one, where there is a finer level of detail than the clusters

RUN_FILES = frozenset(
    {
        SUMMARY,
        POINTS,
        TEXT_EMBEDDINGS,
        REPORT,
        MODEL,
        ORIGINAL_MODEL,
        EDITS,
        COMPARISONS,
        NAME_ANSWERS,
        EARLIER_EDITS,
        PROPOSALS,
        UNFINISHED,
        *(CLUSTERS + suffix for suffix in SUFFIXES.values()),
    }
)


@dataclass(frozen=True)
class Points:
    """The texts of a run, without the rows of the input that hold no text.

    Attributes
    ----------
    texts : list of str
        N texts.
    rows : array of int, shape (N,)
        The row of each text in the input, from 0.
    clusters : array of int, shape (N,)
        The cluster that the run found for each text.
    confidence : array of float, shape (N,)
        Confidence of each text, from 0 to 1.
    layout : array of uint16, shape (N, 2)
        The position of each text on the map.
    columns : DataFrame
        The other columns of the input, N rows; without columns if they are not kept.
    text_position : int
        Number of these columns that stand before the texts in the input.
    neighbours : array of int32, shape (N, k), or None
        The numbers of the nearest texts of each text, nearest first; None if they are not known.
    fine : array of int, shape (N,), or None
        Group of each text in the finest level of detail, negative for none; None if no level is finer than clusters.
    """

    texts: list[str]
    rows: NDArray[np.int64]
    clusters: NDArray[np.int64]
    confidence: NDArray[np.float32]
    layout: Layout
    columns: pd.DataFrame = field(default_factory=pd.DataFrame)
    text_position: int = 0
    neighbours: NDArray[np.int32] | None = None
    fine: NDArray[np.int64] | None = None


@dataclass(frozen=True)
class UnfinishedRun:
    """What the map and the page of a run are made from.

    Attributes
    ----------
    points : Points
        The texts, with zeros as their positions on the map.
    E : array of float, shape (N, D)
        The embeddings of the texts.
    command : dict or None
        What the run was requested with, of JSON values; None if no command completes it but `rstc report`.
    """

    points: Points
    E: NDArray[np.float32]
    command: dict[str, Any] | None


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


def write_points(folder: Path, points: Points) -> None:
    """Write points.parquet, whose kept columns stand before and after the texts as in the input."""
    kept = list(kept_columns.add_prefix(points.columns).items())
    columns = {
        **dict(kept[: points.text_position]),
        "text": points.texts,
        "row": points.rows,
        "cluster": points.clusters,
        "confidence": points.confidence,
        "x": points.layout[:, 0],
        "y": points.layout[:, 1],
        **({} if points.fine is None else {FINE: points.fine}),
        **dict(kept[points.text_position :]),
    }
    if points.neighbours is not None:
        columns[NEIGHBOURS] = list(points.neighbours)
    with replace_file(folder / POINTS) as temporary:
        pd.DataFrame(columns).to_parquet(temporary, index=False)


def read_points(folder: Path) -> Points:
    """Read points.parquet."""
    path = folder / POINTS
    try:
        stored = read_bounded_parquet(path)
        table = stored.select(POINT_COLUMNS).to_pandas(ignore_metadata=True)
        return Points(
            table["text"].tolist(),
            table["row"].to_numpy(np.int64),
            table["cluster"].to_numpy(np.int64),
            table["confidence"].to_numpy(np.float32),
            table[["x", "y"]].to_numpy(np.uint16),
            kept_columns.select_prefixed(stored),
            sum(
                name.startswith(kept_columns.PREFIX)
                for name in stored.column_names[: stored.column_names.index("text")]
            ),
            _read_neighbours(stored),
            stored[FINE].to_numpy().astype(np.int64) if FINE in stored.column_names else None,
        )
    except FileNotFoundError:
        if is_unfinished(folder):
            raise InputError(
                f"{folder} has no map and no page, because the run was interrupted; `rstc report {folder}` makes them"
            ) from None
        raise InputError(f"there is no {path}; cluster the file again") from None
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, OSError, pa.ArrowException) as error:
        raise InputError(f"{path} does not hold the texts of a run") from error


def _read_neighbours(stored: pa.Table) -> NDArray[np.int32] | None:
    """Return the nearest texts of each text (N, k), None if the run was made without them."""
    if NEIGHBOURS not in stored.column_names:
        return None
    lists = stored[NEIGHBOURS].combine_chunks()
    neighbours = np.asarray(lists.flatten().to_numpy(zero_copy_only=False), dtype=np.int32).reshape(len(lists), -1)
    if neighbours.size and not (neighbours.min() >= 0 and neighbours.max() < len(lists)):
        raise ValueError("a neighbour that is not a text")
    return neighbours


def write_embeddings(folder: Path, E: NDArray[np.floating]) -> None:
    """Write embeddings.npy: the embeddings (N, D) of the texts at unit length, in half precision."""
    lengths = np.linalg.norm(E, axis=1, keepdims=True)
    U = np.asarray(E / np.maximum(lengths, np.finfo(np.float32).tiny), dtype=np.float16)
    with replace_file(folder / TEXT_EMBEDDINGS) as temporary, temporary.open("wb") as file:
        np.save(file, U, allow_pickle=False)


def read_embeddings(folder: Path, n_texts: int) -> NDArray[np.float16] | None:
    """Read embeddings.npy, (N, D); None if the run has none for each of its N texts, as runs of earlier versions."""
    try:
        check_embedding_size(folder / TEXT_EMBEDDINGS)
        U = np.load(folder / TEXT_EMBEDDINGS, allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return None
    fits = isinstance(U, np.ndarray) and U.dtype == np.float16 and U.ndim == 2 and len(U) == n_texts
    return U if fits and np.isfinite(U).all() else None


def identify_texts(folder: Path) -> tuple[int, ...]:
    """Return what tells whether the texts of a run were replaced: corrections keep the file as it is."""
    try:
        status = (folder / POINTS).stat()
    except OSError:
        return ()
    return status.st_size, status.st_mtime_ns


def is_unfinished(folder: Path) -> bool:
    """Return whether a run folder holds results whose map and page are still to be made."""
    return (folder / UNFINISHED).is_file()


def write_unfinished(folder: Path, run: UnfinishedRun) -> None:
    """Write what the map and the page of a run are made from."""
    from safetensors.numpy import save_file

    points = run.points
    arrays = {
        "E": np.ascontiguousarray(run.E),
        "texts": np.frombuffer(json.dumps(points.texts).encode(), dtype=np.uint8),
        "rows": points.rows,
        "clusters": points.clusters,
        "confidence": points.confidence,
        "columns": np.frombuffer(kept_columns.to_bytes(points.columns), dtype=np.uint8),
    }
    if points.fine is not None:
        arrays[FINE] = points.fine
    with replace_file(folder / UNFINISHED) as temporary:
        metadata = {"command": json.dumps(run.command), "text_position": str(points.text_position)}
        save_file(arrays, temporary, metadata)


def read_unfinished(folder: Path) -> UnfinishedRun:
    """Read what the map and the page of a run are made from."""
    from safetensors import SafetensorError, safe_open

    path = folder / UNFINISHED
    if (folder / SUMMARY).is_file():
        check_file(folder, UNFINISHED, read_summary(folder))
    try:
        with safe_open(path, "np") as file:
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (it is no dict)
            metadata = file.metadata()
        command, text_position = json.loads(metadata["command"]), int(metadata.get("text_position", 0))
        texts = json.loads(arrays["texts"].tobytes())
        layout = np.zeros((len(texts), 2), dtype=np.uint16)
        columns = kept_columns.from_bytes(arrays["columns"].tobytes(), len(texts))
        points = Points(
            texts,
            arrays["rows"],
            arrays["clusters"],
            arrays["confidence"],
            layout,
            columns,
            text_position,
            fine=arrays.get(FINE),
        )
        E = arrays["E"]
        if not (E.ndim == 2 and len(E) == len(texts) and E.dtype.kind == "f" and np.isfinite(E).all()):
            raise ValueError("embeddings that are not those of the texts")
        return UnfinishedRun(points, E, command)
    except (SafetensorError, OSError, ValueError, KeyError, TypeError, AttributeError, pa.ArrowException) as error:
        raise InputError(f"{path} is damaged; cluster the file again with --overwrite") from error


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
