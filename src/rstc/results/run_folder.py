"""The folder that a run leaves: clusters.<format>, summary.json and model/."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd

from rstc.errors import InputError
from rstc.files import check_writable, replaced_folder
from rstc.tables import SUFFIXES, table_writer

SUMMARY = "summary.json"
MODEL = "model"
CLUSTERS = "clusters"


def check_target(out: Path, overwrite: bool) -> None:
    """Refuse a folder that holds something else, or an earlier run that is not to be overwritten."""
    check_writable(out)
    if not out.exists():
        return
    if not out.is_dir():
        raise InputError(f"{out} exists and is not a folder")
    names = {path.name for path in out.iterdir()}
    if not names:
        return
    ours = {SUMMARY, MODEL, *(CLUSTERS + suffix for suffix in SUFFIXES.values())}
    if SUMMARY not in names or not names <= ours or "clusters_found" not in read_summary(out):
        raise InputError(f"{out} holds something that is not a run of rstc; choose another folder")
    if not overwrite:
        raise InputError(f"{out} holds an earlier run; choose another folder or say --overwrite")


def write_run(
    out: Path,
    table: pd.DataFrame,
    format: str,
    save_model: Callable[[Path], None],
    summarise: Callable[[], dict[str, Any]],
) -> None:
    """Write a run's folder; it appears complete or not at all. The summary comes last: it tells how long that took."""
    with replaced_folder(out) as new:
        with table_writer(new / f"{CLUSTERS}{SUFFIXES[format]}", format) as write:
            write(table)
        save_model(new / MODEL)
        (new / SUMMARY).write_text(json.dumps(summarise(), indent=1, ensure_ascii=False), encoding="utf-8")


def read_summary(out: Path) -> dict[str, Any]:
    """Read a run's summary.json."""
    path = out / SUMMARY
    try:
        summary: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"there is no run in {out}: {SUMMARY} is missing") from None
    except ValueError as problem:
        raise InputError(f"{path} is not the summary of a run") from problem
    return summary


def find_model(folder: Path) -> Path:
    """Return the model's folder of a run's folder, or the folder itself if it is a model's."""
    return folder / MODEL if (folder / MODEL).is_dir() else folder
