"""The folder that a run leaves.

clusters.<format>   the rows of the input with their clusters
summary.json        what was found, and how
points.parquet      each text with the cluster that the run found, and its place on the map
report.html         the result as a page
model/              the trained model
edits.json          corrections, where somebody made any
model-found/        the model from before corrections were applied, where they were
checkpoints/        where a run is that is not finished
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rstc.training.checkpoint_file import check_ours
from rstc.errors import InputError
from rstc.io.atomic import check_writable, clear_leftovers, replaced_file, replaced_folder
from rstc.io.csv_injection import SPREADSHEETS, with_formulas
from rstc.results.edits import EDITS, read_log
from rstc.results.layout import Places
from rstc.io.readers import SUFFIXES, read_table, table_writer
from rstc.io.columns import texts_of

SUMMARY = "summary.json"
MODEL = "model"
FOUND_MODEL = "model-found"
CLUSTERS = "clusters"
POINTS = "points.parquet"
REPORT = "report.html"
CHECKPOINTS = "checkpoints"


@dataclass(frozen=True)
class Points:
    """The texts of a run, N of them: rows of the input without a text are not among them.

    Attributes:
        texts: what they say.
        rows: which rows of the input they are, (N,), from 0.
        clusters: which cluster the run found for them, (N,).
        confidence: 0 to 1, (N,).
        places: where they stand on the map, (N, 2).
    """

    texts: list[str]
    rows: NDArray[np.int64]
    clusters: NDArray[np.int64]
    confidence: NDArray[np.float32]
    places: Places


def check_target(out: Path, overwrite: bool) -> None:
    """Refuse a folder that holds something else, or an earlier run that is not to be overwritten.

    What processes that were killed there left behind goes, but for their checkpoints.
    """
    check_writable(out)
    clear_leftovers(out)
    if not out.exists():
        return
    if not out.is_dir():
        raise InputError(f"{out} exists and is not a folder")
    check_ours(out / CHECKPOINTS)
    names = {path.name for path in out.iterdir()} - {CHECKPOINTS}
    if not names:
        return
    ours = {SUMMARY, POINTS, REPORT, MODEL, FOUND_MODEL, EDITS, *(CLUSTERS + suffix for suffix in SUFFIXES.values())}
    if SUMMARY not in names or not names <= ours or "clusters_found" not in read_summary(out):
        raise InputError(f"{out} holds something that is not a run of rstc; choose another folder")
    if read_log(out).edits:
        raise InputError(f"{out} holds an earlier run with corrections; choose another folder, or remove {out / EDITS}")
    if not overwrite:
        raise InputError(f"{out} holds an earlier run; choose another folder or say --overwrite")


def write_run(
    out: Path,
    tables: Iterable[pd.DataFrame],
    format: str,
    points: Points,
    save_model: Callable[[Path], None],
    summarise: Callable[[], dict[str, Any]],
    make_page: Callable[[dict[str, Any]], str],
    harmless: bool = False,
) -> None:
    """Write a run's folder, the rows in pieces; it appears complete or not at all.

    The summary comes late: it tells how long that took.
    """
    with replaced_folder(out) as new:
        write_clusters(new, tables, format, harmless)
        write_points(new, points)
        save_model(new / MODEL)
        summary = summarise()
        write_summary(new, summary)
        (new / REPORT).write_text(make_page(summary), encoding="utf-8")


def write_clusters(folder: Path, tables: Iterable[pd.DataFrame], format: str, harmless: bool = False) -> None:
    """Write clusters.<format> from pieces of a table; if asked, so that a spreadsheet finds no formulas in it."""
    with table_writer(folder / f"{CLUSTERS}{SUFFIXES[format]}", format, harmless) as write:
        for table in tables:
            write(table)


def read_rows(folder: Path, source: dict[str, Any], points: Points) -> pd.DataFrame:
    """Read the rows of the input back from clusters.<format>, without the clusters; `source` is the summary's input."""
    format, n_rows, text_column = source["format"], source["rows"], source["text_column"]
    path = folder / f"{CLUSTERS}{SUFFIXES[format]}"
    if format == "txt":
        texts = np.full(n_rows, "", dtype=object)
        texts[points.rows] = points.texts
        return pd.DataFrame({"text": texts})
    table = read_table(str(path), format)
    if source.get("guard_formulas") and format in SPREADSHEETS:
        table = with_formulas(table)
    there = [text for text in texts_of(table, text_column) if text is not None]
    if len(table) != n_rows or there != points.texts:
        raise InputError(f"{path} does not hold the rows of the run in their order; bring them back, and sort a copy")
    return table.drop(columns=["cluster", "confidence"], errors="ignore")


def write_points(folder: Path, points: Points) -> None:
    """Write points.parquet."""
    columns = {
        "text": points.texts,
        "row": points.rows,
        "cluster": points.clusters,
        "confidence": points.confidence,
        "x": points.places[:, 0],
        "y": points.places[:, 1],
    }
    with replaced_file(folder / POINTS) as new:
        pd.DataFrame(columns).to_parquet(new, index=False)


def read_points(folder: Path) -> Points:
    """Read points.parquet."""
    path = folder / POINTS
    try:
        table = pd.read_parquet(path)
        return Points(
            table["text"].tolist(),
            table["row"].to_numpy(np.int64),
            table["cluster"].to_numpy(np.int64),
            table["confidence"].to_numpy(np.float32),
            table[["x", "y"]].to_numpy(np.uint16),
        )
    except FileNotFoundError:
        raise InputError(f"there is no {path}; cluster again to have a page") from None
    except (ValueError, KeyError, OSError) as problem:
        raise InputError(f"{path} does not hold the texts of a run") from problem


def write_summary(folder: Path, summary: dict[str, Any]) -> None:
    """Write summary.json."""
    with replaced_file(folder / SUMMARY) as new:
        new.write_text(json.dumps(summary, indent=1, ensure_ascii=False), encoding="utf-8")


def read_summary(out: Path) -> dict[str, Any]:
    """Read a run's summary.json."""
    path = out / SUMMARY
    try:
        summary: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(f"there is no run in {out}: {SUMMARY} is missing") from None
    except ValueError as problem:
        raise InputError(f"{path} is not the summary of a run") from problem
    return summary


def find_model(folder: Path) -> Path:
    """Return the model's folder of a run's folder, or the folder itself if it is a model's."""
    return folder / MODEL if (folder / MODEL).is_dir() else folder
