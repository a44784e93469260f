"""From a file to a result: cluster a file into a run folder, or write two versions of its texts."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rstc.io.predictions import NO_CLUSTER
from rstc.training.checkpoint_file import Checkpoints
from rstc.config import make_config
from rstc.errors import InputError
from rstc.estimator import RSTC
from rstc.io.atomic import check_writable
from rstc.io.csv_injection import SPREADSHEETS
from rstc.pipelines.outputs import Found, found_in
from rstc.pipelines.inputs import Columns, Given, read_given
from rstc.runtime.device import choose_device
from rstc.pipelines.augment import augment
from rstc.runtime.progress import Listener, Progress
from rstc.runtime.distributed import ALONE, Ranks, current_ranks
from rstc.representation.view_specs import read_recipe
from rstc.results.describe import ClusterDescription, describe
from rstc.results.layout import places
from rstc.results.naming import keyword_names
from rstc.results.corrected_run import RunNow, quotes
from rstc.report.html.render import page
from rstc.results.run_folder import CHECKPOINTS, MODEL, Points, check_target, read_rows, write_run
from rstc.runtime.signals import Stopping
from rstc.io.readers import STANDARD_INPUT, check_other_file, format_of, read_table, table_writer
from rstc.io.columns import check_free_names, find_text_column, labelled, texts_of
from rstc.runtime.environment import versions

VERSIONS = ("text1", "text2")


def cluster_file(
    path: str,
    out: Path,
    n_clusters: int | str | tuple[int, int] = "auto",
    *,
    text_column: str | None = None,
    view_columns: tuple[str, str] | None = None,
    truth_column: str | None = None,
    label_column: str | None = None,
    format: str | None = None,
    encoding: str = "utf-8",
    preset: str = "default",
    settings: Mapping[str, Any] | None = None,
    seed: int = 0,
    guard_formulas: bool = False,
    overwrite: bool = False,
    resume: bool = True,
    stopping: Stopping | None = None,
    listener: Listener | None = None,
) -> dict[str, Any] | None:
    """Cluster the texts of a file, write the run folder, and return the summary that is in it.

    If asked, clusters.csv is guarded against formulas: a spreadsheet would run a text such as =HYPERLINK(...).

    Until it is written, the folder holds where the run is; the same call goes on from there, unless it is not to
    resume.

    With `view_columns`, two columns of the file hold changed versions of each text for the encoder to learn from. A
    `label_column` holds what is known of some texts: each class in it is a cluster of that name. A `truth_column` has
    to be there and is not read. Of several processes that share the run, each reads its share of the rows; the first
    writes the folder, and the others return None.
    """
    ranks = current_ranks()
    choose_device(make_config(preset, settings).device)  # a setting that is wrong is told before any work is done
    if view_columns and "views" in (settings or {}):
        raise InputError("views come from two columns or from a recipe, not from both")
    ranks.at_first(lambda: check_target(out, overwrite))
    progress = Progress(listener)
    with progress.stage("read"):
        kind = format_of(path, format)
        given = read_given(path, kind, encoding, ranks, text_column, view_columns, truth_column, label_column)
    model = RSTC(n_clusters, preset=preset, random_state=seed, **(settings or {}))
    checkpoints = Checkpoints(out / CHECKPOINTS, resume, replace=overwrite, stopping=stopping or Stopping())
    model.fit(given.texts, given.labels, views=given.views, progress=listener, checkpoints=checkpoints)
    model.text_column_ = given.columns.text
    source = {
        "file": "standard input" if path == STANDARD_INPUT else Path(path).name,
        "format": kind,
        "view_columns": view_columns,
        "guard_formulas": guard_formulas,
    }
    made = {"preset": preset, "seed": seed, "resumed_at": checkpoints.resumed_at, "update": None}
    return _written(out, model, given, source, made, progress, ranks)


def update_run(folder: Path, path: str, *, encoding: str = "utf-8", listener: Listener | None = None) -> dict[str, Any]:
    """Take the rows of a file into a run: its model goes on training, and its clusters keep their numbers.

    The folder then holds the rows from before and after them the new ones; return the summary, with the drift in it.
    """
    now = RunNow.read(folder)
    before, progress = now.summary, Progress(listener)
    if now.log.edits:
        raise InputError(
            f"{folder} holds corrections (a merge is one), which are of its rows as they are now: undo them in "
            f"rstc explore, update, and correct then"
        )
    now.check_complete()
    source, column = before["input"], before["input"]["text_column"]
    kind = source["format"]
    with progress.stage("read"):
        old = read_rows(folder, source, now.points)
        new = read_table(path, format_of(path), encoding)
        find_text_column(new, column)  # it has to be there
        check_free_names(new)
        table = pd.concat([old, new], ignore_index=True)
        if kind in SPREADSHEETS:
            table = table.fillna("")
    with progress.stage("load"):
        model = RSTC.load(folder / MODEL)
    model.update(texts_of(new, column), old=texts_of(old, column), progress=listener)
    texts, rows = texts_of(table, column), range(len(table))
    given = Given(Columns(column, None), texts, None, None, rows, len(table), lambda: [table])
    source = {name: source.get(name) for name in ("file", "format", "view_columns", "guard_formulas")}
    drift = {"file": Path(path).name, "rows": len(new)} | model.drift_.to_dict()
    made = {"preset": before["preset"], "seed": before["seed"], "resumed_at": None, "update": drift}
    summary = _written(folder, model, given, source, made, progress, ALONE)
    assert summary is not None
    return summary


def _written(
    out: Path,
    model: RSTC,
    given: Given,
    source: dict[str, Any],
    made: dict[str, Any],
    progress: Progress,
    ranks: Ranks,
) -> dict[str, Any] | None:
    """Describe what a model found in rows, write the run's folder, and return its summary."""
    progress.seconds |= model.seconds_
    with progress.stage("describe"):
        found = found_in(given, model, ranks)
        if found is None:
            return None
        labels = found.clusters[found.shown]
        described = describe(found.texts, labels, found.confidence[found.shown], found.E)
        names = keyword_names(described, model.classes_)
    with progress.stage("map"):
        points = Points(found.texts, found.shown, labels, found.confidence[found.shown], places(found.E))
    encoder, b = model.network_.encoder, model.class_distribution_
    summary = {
        "input": source
        | {
            "text_column": given.columns.text,
            "rows": given.n_rows,
            "texts": model.n_texts_,
            "missing": given.n_rows - model.n_texts_,
            "trained_on": model.n_trained_,
            "shown": len(found.texts),
            "processes": ranks.size,
        },
        "n_clusters": model.n_clusters_,
        "count": asdict(model.count_) if model.count_ else None,
        "clusters_found": len(described),
        "clusters": [_entry(one, name, found, model) for one, name in zip(described, names, strict=True)],
        "noise": _noise(model, labels),
        "class_distribution": b.tolist(),
        "hierarchy": [[int(a), int(b), round(d, 4), int(n)] for a, b, d, n in model.hierarchy_.tolist()],
        "steps": model.n_iter_,
        "settled": model.settled_,
        "history": model.history_,
        "losses": [[None if loss is None else round(loss, 4) for loss in both] for both in model.losses_],
        **made,
        "settings": model.config_.to_dict(),
        "device": str(encoder.device),
        "precision": str(encoder.precision).removeprefix("torch."),
        "versions": versions(),
        "made": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
    }

    def timed_summary() -> dict[str, Any]:
        summary["seconds"] = {name: round(spent, 2) for name, spent in progress.so_far().items()}
        return summary

    with progress.stage("write"):
        tables, make_page = _labelled(given, found), partial(_page, points=points)
        guard = bool(source["guard_formulas"])
        write_run(out, tables, source["format"], points, model.save, timed_summary, make_page, guard)
    return summary


def _page(summary: dict[str, Any], points: Points) -> str:
    return page(RunNow(summary, points))


def _labelled(given: Given, found: Found) -> Iterator[pd.DataFrame]:
    """Yield the rows of the file with their clusters, a piece at a time."""
    start = 0
    for table in given.tables():
        rows = slice(start, start + len(table))
        texts = texts_of(table, given.columns.text)
        yield labelled(table, texts, found.clusters[rows], found.confidence[rows])
        start += len(table)


def augment_file(
    path: str,
    out: Path,
    views: str,
    *,
    text_column: str | None = None,
    format: str | None = None,
    encoding: str = "utf-8",
    seed: int = 0,
    encoder: str | None = None,
    device: str = "auto",
    listener: Listener | None = None,
) -> pd.DataFrame:
    """Write a file again with two changed versions of each text; return the texts and what became of them."""
    read_recipe(views)  # a mistake in it is told before any work is done
    kind, target = format_of(path, format), format_of(str(out))
    if str(out) == STANDARD_INPUT or target == "txt":
        raise InputError(f"{out} cannot hold columns; write csv, tsv, jsonl or parquet")
    check_writable(out)
    check_other_file(path, out)
    table = read_table(path, kind, encoding)
    column = find_text_column(table, text_column)
    for name in VERSIONS:
        if name in table.columns:
            raise InputError(f"the input already has a column {name!r}; rename or remove it first")
    texts = texts_of(table, column)
    first, second = augment(texts, views, random_state=seed, encoder=encoder, device=device, progress=listener)
    made = pd.DataFrame(dict(zip(("text", *VERSIONS), (texts, first, second), strict=True)), index=table.index)
    with table_writer(out, target) as write:
        write(pd.concat([table, made[list(VERSIONS)]], axis=1))
    return made


def _noise(model: RSTC, labels: NDArray[np.int64]) -> dict[str, Any] | None:
    """Return what the summary tells of texts that belong nowhere, where it was asked."""
    if model.strangers_ is None:
        return None
    put_aside = int((labels == NO_CLUSTER).sum())
    return {"asked": model.config_.noise, "texts": put_aside, "expected_left": round(model.strangers_.left, 4)}


def _entry(one: ClusterDescription, name: str, found: Found, model: RSTC) -> dict[str, Any]:
    """Return a cluster's entry in the summary."""
    size, b, n_texts = int((found.clusters == one.cluster).sum()), model.class_distribution_, model.n_texts_
    label = model.classes_[one.cluster] if model.classes_ else None
    said = {"typical": one.typical, "doubtful": one.doubtful}
    shares = {"size": size, "share": size / n_texts, "estimated_share": float(b[one.cluster])}
    return {"name": name, "label": label} | asdict(one) | shares | quotes(found.texts, **said)
