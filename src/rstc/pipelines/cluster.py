"""Cluster a file into a run folder: read, validate, fit, write, draw the map.

Torch and scikit-learn take seconds to import. They are imported inside the functions, after the input was read and
validated: whatever is wrong with an input or a setting is said before.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from rstc.config import Config
from rstc.errors import InputError
from rstc.io.atomic import replace_folder
from rstc.io.durability import flush_folder
from rstc.io.formats import SUFFIXES
from rstc.pipelines.inputs import RunInput, digest_rows, read_checked_input
from rstc.pipelines.request import RunRequest
from rstc.report.html.render import write_page
from rstc.results.comparisons import write_request
from rstc.results.corrected_run import CorrectedRun
from rstc.results.points import Points, write_embeddings, write_points
from rstc.results.proposals import read_proposals
from rstc.results.run_files import (
    CHECKPOINTS,
    CLUSTERS,
    MODEL,
    UNFINISHED,
    is_unfinished,
)
from rstc.results.run_folder import (
    check_target,
    hold_run_lock,
    lock_run,
    read_summary,
    write_clusters,
    write_summary,
)
from rstc.results.summary import Summary
from rstc.results.unfinished_run import UnfinishedRun, read_unfinished, write_unfinished
from rstc.runtime.distributed import ProcessGroup, current_process_group
from rstc.runtime.progress import Listener, Progress
from rstc.runtime.signals import StopHandler

if TYPE_CHECKING:
    from rstc.estimator import RSTC
    from rstc.report.fitted_run import RunOrigin

Command = dict[str, Any]  # what a run was requested with, as JSON values


def cluster_file(
    request: RunRequest, *, stop_handler: StopHandler | None = None, listener: Listener | None = None
) -> Summary | None:
    """Cluster the texts of a file and write the run folder.

    Until the clusters are found, the folder holds checkpoints; the same call resumes from there. The clusters and the
    model are written before the map and the page are made; if that is interrupted, the same call makes them. Of several
    processes that share a run, each reads its share of the rows, and the first writes the folder.

    Parameters
    ----------
    request : RunRequest
        What is clustered, how, and where the run is written.
    stop_handler : StopHandler, optional
        Receives requests to stop; the run then writes a checkpoint and ends.
    listener : callable, optional
        Called with (stage, done, total).

    Returns
    -------
    Summary or None
        None in all processes but the first.
    """
    out, overwrite, config = request.out, request.overwrite, request.check_settings()
    processes = current_process_group()
    processes.run_on_first(lambda: check_target(out, overwrite))
    progress = Progress(listener)
    with progress.stage("read"):
        run_input, _ = read_checked_input(request, config, processes)

    def describe_command() -> Command:
        return describe_request(request, run_input, config)

    with ExitStack() as stack:
        processes.run_on_first(lambda: stack.enter_context(lock_run(out)))
        processes.run_on_first(lambda: check_target(out, overwrite))  # another process may have written it meanwhile
        if processes.run_on_first(lambda: can_be_completed(request, describe_command)):
            if not processes.is_first:
                return None
            write_request(out, request.comparisons)
            return add_map_and_page(out, progress)
        with progress.stage("load"):
            progress.advance(0, 0)
            from rstc.estimator import RSTC
            from rstc.report.fitted_run import RunOrigin
            from rstc.runtime.device import choose_device
            from rstc.training.checkpointing import CheckpointFolder

        choose_device(config.device)  # raises if it is not available
        model = RSTC(request.n_clusters, preset=request.preset, random_state=request.seed, **(request.settings or {}))
        checkpoints = CheckpointFolder(
            out / CHECKPOINTS, request.resume, replace=overwrite, stop_handler=stop_handler or StopHandler()
        )
        column = run_input.columns.text
        name = tuple(column) if isinstance(column, list) else column
        texts = pd.Series(run_input.texts, name=name, dtype=object)  # the model keeps the names of its columns
        model.fit(
            texts,
            run_input.labels,
            views=run_input.views,
            progress=listener,
            checkpoints=checkpoints,
            cache=request.cache,
        )
        origin = RunOrigin(
            request.preset,
            request.seed,
            request.guard_formulas,
            checkpoints.resumed_at,
            keep_columns=request.keep_columns,
            comparisons=request.comparisons,
            sources=request.sources,
        )
        if not write_results(out, run_input, model, origin, progress, processes, describe_command):
            return None
        return add_map_and_page(out, progress)


def write_results(
    out: Path,
    run_input: RunInput,
    model: RSTC,
    origin: RunOrigin,
    progress: Progress,
    processes: ProcessGroup,
    describe_command: Callable[[], Command] | None = None,
    write_more: Callable[[Path, Points], None] | None = None,
) -> bool:
    """Write the clusters, the summary and the model of a run, and what its map and its page are made from.

    Parameters
    ----------
    out : Path
        The run folder, which is replaced as a whole.
    run_input : RunInput
        The rows of this process.
    model : RSTC
        The model, fitted on these rows.
    origin : RunOrigin
        How the run was made.
    progress : Progress
        Times the stages of the run.
    processes : ProcessGroup
        The processes that share the run.
    describe_command : callable, optional
        Returns what the run was requested with; without it, only `rstc report` completes an interrupted run.
    write_more : callable, optional
        Called with the new folder and the points of the run, to write what only updated runs have.

    Returns
    -------
    bool
        Whether this process wrote the folder: the first one does.
    """
    from rstc.pipelines.outputs import (
        collect_columns,
        collect_output,
        describe_levels,
        iter_clustered_tables,
        summarise_run,
    )
    from rstc.report.fitted_run import describe_clusters

    progress.seconds |= model.seconds_
    with progress.stage("describe"):
        output = collect_output(run_input, model, processes)
        if output is None:
            return False
        clusters = describe_clusters(output, model)
        points = Points(
            output.texts,
            output.shown,
            output.clusters[output.shown],
            output.confidence[output.shown],
            np.zeros((len(output.texts), 2), dtype=np.uint16),
            *(collect_columns(run_input, output.shown) if origin.keep_columns else ()),
        )
        names = {entry.cluster: entry.name for entry in clusters}
        model.rename_clusters(names)
    with progress.stage("levels"):
        levels, fine = describe_levels(output, model, names, processes)
        points = replace(points, fine=fine)
    with progress.stage("write"), replace_folder(out) as folder:
        tables = iter_clustered_tables(run_input, output, names)
        write_clusters(folder, tables, run_input.format, origin.guard_formulas)
        model.save(folder / MODEL)
        command = describe_command() if describe_command else None
        write_unfinished(folder, UnfinishedRun(points, output.E, command))
        write_request(folder, origin.comparisons)
        if command:
            origin = replace(origin, digest=command["rows"])
        seconds = progress.elapsed()
        write_summary(
            folder, summarise_run(run_input, output, model, clusters, origin, seconds, processes.size, levels)
        )
        if write_more:
            write_more(folder, points)
    progress.announce(f"{CLUSTERS}{SUFFIXES[run_input.format]} written; drawing the map")
    return True


@hold_run_lock
def add_map_and_page(folder: Path, progress: Progress) -> Summary:
    """Draw the map of a run whose results are written, and write it and the page.

    It needs nothing but the folder, so that it can be done again after an interruption, with the same result.

    Parameters
    ----------
    folder : Path
        A run folder that `write_results` wrote.
    progress : Progress
        Times the stages of the run.

    Returns
    -------
    Summary
    """
    from rstc.results.layout import compute_layout
    from rstc.results.neighbours import find_text_neighbours

    with progress.stage("map"):
        unfinished = read_unfinished(folder)
        layout = compute_layout(unfinished.E)
        points = replace(unfinished.points, layout=layout, neighbours=find_text_neighbours(unfinished.E, layout))
    with progress.stage("write"):
        write_points(folder, points)
        write_embeddings(folder, unfinished.E)
        # Written last but for the page, so that it holds the time spent on the map.
        summary, elapsed = read_summary(folder), progress.elapsed()
        seconds = {stage: spent for stage, spent in summary.seconds.items() if stage != "write"}
        seconds |= {stage: round(elapsed[stage], 2) for stage in ("map", "write")}
        summary = replace(summary, seconds=seconds)
        write_summary(folder, summary)
        write_page(folder, CorrectedRun(summary, points, proposals=read_proposals(folder)))
        shutil.rmtree(folder / CHECKPOINTS, ignore_errors=True)  # of a run from scratch that was interrupted
        (folder / UNFINISHED).unlink()
        flush_folder(folder)
    return summary


def describe_request(request: RunRequest, run_input: RunInput, config: Config) -> Command:
    """Return what the result of a run follows from, to recognise the same command."""
    command = {
        "file": run_input.file,
        "format": run_input.format,
        "rows": digest_rows(run_input),
        "text column": run_input.columns.text,
        "view columns": run_input.columns.views,
        "label column": run_input.columns.labels,
        "clusters": request.n_clusters,
        "settings": config.to_dict(),
        "preset": request.preset,
        "seed": request.seed,
        "guard formulas": request.guard_formulas,
        "keep columns": request.keep_columns,
        "rstc": version("rstc"),
    }
    described: Command = json.loads(json.dumps(command))
    return described


def can_be_completed(request: RunRequest, describe_command: Callable[[], Command]) -> bool:
    """Return whether the run folder holds the results of the same command, whose map and page are missing."""
    if not is_unfinished(request.out):
        return False
    if read_unfinished(request.out).command == describe_command():
        return request.resume
    if not request.overwrite:
        raise InputError(f"{request.out} holds an earlier run; choose another folder or use --overwrite")
    return False
