"""Cluster a file into a run folder, and update a run with more rows: read, validate, fit, describe, write."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from rstc.config import make_config
from rstc.errors import InputError
from rstc.estimator import RSTC
from rstc.io.atomic import replace_folder
from rstc.io.columns import check_reserved_columns, extract_texts, find_text_column
from rstc.io.csv_injection import SPREADSHEET_FORMATS
from rstc.io.formats import detect_format, read_table
from rstc.pipelines.inputs import Columns, RunInput, read_input
from rstc.pipelines.outputs import (
    RunOrigin,
    build_summary,
    collect_output,
    describe_clusters,
    iter_clustered_tables,
)
from rstc.report.html.render import write_page
from rstc.results.corrected_run import CorrectedRun
from rstc.results.layout import compute_layout
from rstc.results.run_folder import (
    CHECKPOINTS,
    MODEL,
    Points,
    check_target,
    read_rows,
    write_clusters,
    write_points,
    write_summary,
)
from rstc.results.summary import Summary, UpdateSummary
from rstc.runtime.device import choose_device
from rstc.runtime.distributed import SINGLE_PROCESS, ProcessGroup, current_process_group
from rstc.runtime.progress import Listener, Progress
from rstc.runtime.signals import StopHandler
from rstc.training.checkpointing import CheckpointFolder


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
    stop_handler: StopHandler | None = None,
    listener: Listener | None = None,
) -> Summary | None:
    """Cluster the texts of a file and write the run folder.

    Until the run is finished, the folder holds its checkpoints; the same call resumes from there. Of several processes
    that share a run, each reads its share of the rows, and the first writes the folder.

    Parameters
    ----------
    path : str
        The file, or "-" for standard input.
    out : Path
        The run folder.
    n_clusters : int, str or pair of int
        Number of clusters, "auto", or a range such as (10, 60) or "10-60".
    text_column : str, optional
        The column of texts; by default the only column that can be it.
    view_columns : pair of str, optional
        Two columns of augmented versions of the texts, which take the place of the setting `views`.
    truth_column : str, optional
        A column of true classes; it has to exist, and is not used.
    label_column : str, optional
        A column of given classes, empty where a text has none; each class becomes a cluster of that name.
    format, encoding : str
        Format (by default by the name of the file) and encoding of the file.
    preset : str
        Preset that settings without a value come from.
    settings : mapping, optional
        Settings of the run (`rstc.Config`).
    seed : int
        Seed of the run.
    guard_formulas : bool
        Whether to escape texts in clusters.<format> that a spreadsheet would evaluate as a formula.
    overwrite : bool
        Whether an earlier run in the folder may be replaced.
    resume : bool
        Whether to resume from checkpoints in the folder.
    stop_handler : StopHandler, optional
        Receives requests to stop; the run then writes a checkpoint and ends.
    listener : callable, optional
        Called with (stage, done, total).

    Returns
    -------
    Summary or None
        None in all processes but the first.
    """
    processes = current_process_group()
    choose_device(make_config(preset, settings).device)  # report invalid settings before any work is done
    if view_columns and "views" in (settings or {}):
        raise InputError("views come from two columns or from a view specification, not from both")
    processes.run_on_first(lambda: check_target(out, overwrite))
    progress = Progress(listener)
    with progress.stage("read"):
        file_format = detect_format(path, format)
        run_input = read_input(
            path, file_format, encoding, processes, text_column, view_columns, truth_column, label_column
        )
    model = RSTC(n_clusters, preset=preset, random_state=seed, **(settings or {}))
    checkpoints = CheckpointFolder(
        out / CHECKPOINTS, resume, replace=overwrite, stop_handler=stop_handler or StopHandler()
    )
    texts = pd.Series(run_input.texts, name=run_input.columns.text, dtype=object)  # the model keeps the column's name
    model.fit(texts, run_input.labels, views=run_input.views, progress=listener, checkpoints=checkpoints)
    origin = RunOrigin(preset, seed, guard_formulas, resumed_at=checkpoints.resumed_at)
    return _describe_and_write(out, run_input, model, origin, progress, processes)


def update_run(folder: Path, path: str, *, encoding: str = "utf-8", listener: Listener | None = None) -> Summary:
    """Add the rows of a file to a run: training continues with them, and clusters keep their numbers.

    The folder then holds the earlier rows followed by the new ones.

    Parameters
    ----------
    folder : Path
        The run folder.
    path : str
        The file with the new rows.
    encoding : str
        Encoding of the file.
    listener : callable, optional
        Called with (stage, done, total).

    Returns
    -------
    Summary
        The new summary; its field `update` compares the new rows with the earlier ones.
    """
    run = CorrectedRun.read(folder)
    progress = Progress(listener)
    if run.log.edits:
        raise InputError(
            f"{folder} holds corrections, merges included, which refer to its present rows: undo them with "
            f"`rstc explore`, update the run, and correct it afterwards"
        )
    run.check_complete()
    before = run.summary.input
    with progress.stage("read"):
        old = read_rows(folder, before, run.points)
        new = read_table(path, detect_format(path), encoding)
        find_text_column(new, before.text_column)  # raises if it is missing
        check_reserved_columns(new)
        table = pd.concat([old, new], ignore_index=True)
        if before.format in SPREADSHEET_FORMATS:
            table = table.fillna("")
    with progress.stage("load"):
        model = RSTC.load(folder / MODEL)
    old_texts, new_texts = (extract_texts(rows, before.text_column) for rows in (old, new))
    model.update(new_texts, old=old_texts, progress=listener)
    run_input = RunInput(
        before.file,
        before.format,
        Columns(before.text_column, before.view_columns),
        extract_texts(table, before.text_column),
        views=None,
        labels=None,
        rows=range(len(table)),
        n_rows=len(table),
        read_tables=lambda: [table],
    )
    update = UpdateSummary.from_json({"file": Path(path).name, "rows": len(new)} | model.drift_.to_dict())
    origin = RunOrigin(run.summary.preset, run.summary.seed, before.guard_formulas, update=update)
    summary = _describe_and_write(folder, run_input, model, origin, progress, SINGLE_PROCESS)
    assert summary is not None
    return summary


def _describe_and_write(
    out: Path, run_input: RunInput, model: RSTC, origin: RunOrigin, progress: Progress, processes: ProcessGroup
) -> Summary | None:
    """Describe the clusters of a fitted model and write the run folder; None in all processes but the first."""
    progress.seconds |= model.seconds_
    with progress.stage("describe"):
        output = collect_output(run_input, model, processes)
        if output is None:
            return None
        clusters = describe_clusters(output, model)
    with progress.stage("map"):
        points = Points(
            output.texts,
            output.shown,
            output.clusters[output.shown],
            output.confidence[output.shown],
            compute_layout(output.E),
        )
    with progress.stage("write"), replace_folder(out) as folder:
        write_clusters(folder, iter_clustered_tables(run_input, output), run_input.format, origin.guard_formulas)
        write_points(folder, points)
        model.save(folder / MODEL)
        # Written last but for the page, so that it holds the time spent on writing.
        seconds = progress.elapsed()
        summary = build_summary(run_input, output, model, clusters, origin, seconds, processes.size)
        write_summary(folder, summary)
        write_page(folder, CorrectedRun(summary, points))
    return summary
