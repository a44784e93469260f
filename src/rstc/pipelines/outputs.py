"""Collect what a run on a file found: the clusters of all rows, the texts that are shown, the summary."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from rstc.estimator import RSTC
from rstc.io.columns import add_predictions, extract_texts, list_text_columns
from rstc.io.predictions import NO_CLUSTER
from rstc.pipelines.inputs import RunInput
from rstc.pseudo_labels.cluster_count import COARSE, MEDIUM
from rstc.report.fitted_run import MAX_SHOWN, RunOrigin, RunOutput, build_summary
from rstc.results.kept_columns import make_storable
from rstc.results.levels import Level, build_levels
from rstc.results.summary import ClusterEntry, InputInfo, Summary
from rstc.runtime.distributed import ProcessGroup
from rstc.validation.texts import NonEmptyTexts

MIN_SHOWN_PER_CLUSTER = 5  # texts of each cluster that each process contributes


def collect_output(run_input: RunInput, model: RSTC, processes: ProcessGroup) -> RunOutput | None:
    """Collect the clusters of all rows from the processes that share a run.

    Parameters
    ----------
    run_input : RunInput
        The rows of this process.
    model : RSTC
        The model, fitted on these rows.
    processes : ProcessGroup
        The processes that share the run.

    Returns
    -------
    RunOutput or None
        None in all processes but the first.
    """
    confidence = model.confidence_
    data = NonEmptyTexts.from_list(run_input.texts)
    text_rows = np.array(data.rows, dtype=np.int64)
    if processes.is_single and len(text_rows) <= MAX_SHOWN:
        rows = text_rows if len(text_rows) < len(data.all_texts) else slice(None)  # a slice copies nothing
        return RunOutput(model.labels_, confidence, text_rows, data.texts, model.embedding_[rows])
    shown = text_rows[_choose_shown(model.labels_[text_rows], model.n_texts_, processes)]
    local = (model.labels_, confidence, shown + run_input.rows.start, model.embedding_[shown])
    gathered = [processes.gather_rows(torch.from_numpy(np.ascontiguousarray(array))) for array in local]
    shown_texts = processes.gather_lists([str(run_input.texts[row]) for row in shown])
    if shown_texts is None:
        return None
    clusters, all_confidence, all_shown, E = (tensor.numpy() for tensor in gathered if tensor is not None)
    return RunOutput(clusters, all_confidence, all_shown, shown_texts, E)


def _choose_shown(labels: NDArray[np.int64], n_texts: int, processes: ProcessGroup) -> NDArray[np.int64]:
    """Return which texts of this process are shown: every n-th, and the first ones of each cluster."""
    step = -(-n_texts // MAX_SHOWN)
    offset = sum(processes.gather_objects(len(labels))[: processes.rank])
    is_shown = (np.arange(len(labels)) + offset) % step == 0
    order = np.argsort(labels, kind="stable")
    rank_in_cluster = np.arange(len(labels)) - np.searchsorted(labels[order], labels[order])
    is_shown[order[rank_in_cluster < MIN_SHOWN_PER_CLUSTER]] = True
    return np.flatnonzero(is_shown)


def describe_levels(
    output: RunOutput, model: RSTC, names: Mapping[int, str], processes: ProcessGroup
) -> tuple[list[Level], NDArray[np.int64] | None]:
    """Describe the levels of detail of a run.

    Parameters
    ----------
    output : RunOutput
        The clusters of all rows.
    model : RSTC
        The fitted model.
    names : mapping
        Name of each cluster.
    processes : ProcessGroup
        The processes that share the run; of several, each model knows the labels of its own texts only.

    Returns
    -------
    levels : list of Level
        From coarse to fine.
    fine : array of int, shape (N,), or None
        Group of each shown text in the finest level, if that is finer than the clusters.
    """
    levels = model.level_labels
    labels, clusters = levels.labels, output.clusters
    if not processes.is_single:
        if levels.chosen != MEDIUM:
            return [], None
        labels = {COARSE: np.where(clusters == NO_CLUSTER, NO_CLUSTER, levels.groups[clusters]), MEDIUM: clusters}
    return build_levels(labels, levels.chosen, output.texts, output.shown, names)


def summarise_run(
    run_input: RunInput,
    output: RunOutput,
    model: RSTC,
    clusters: list[ClusterEntry],
    origin: RunOrigin,
    seconds: Mapping[str, float],
    n_processes: int,
    levels: list[Level],
) -> Summary:
    """Build the summary of a run on a file.

    Parameters
    ----------
    run_input : RunInput
        The rows that were read.
    output : RunOutput
        The clusters of all rows.
    model : RSTC
        The fitted model.
    clusters : list of ClusterEntry
        The clusters that hold a text.
    origin : RunOrigin
        How the run was made.
    seconds : mapping
        Seconds of each stage.
    n_processes : int
        Number of processes that shared the run.
    levels : list of Level
        The levels of detail, from `describe_levels`.

    Returns
    -------
    Summary
    """
    input_info = InputInfo(
        file=run_input.file,
        format=run_input.format,
        view_columns=run_input.columns.views,
        guard_formulas=origin.guard_formulas,
        keep_columns=origin.keep_columns,
        sheet=run_input.sheet,
        text_column=run_input.columns.text,
        n_rows=run_input.n_rows,
        n_texts=model.n_texts_,
        n_missing=run_input.n_rows - model.n_texts_,
        n_trained=model.n_trained_,
        n_shown=len(output.texts),
        n_processes=n_processes,
        digest=origin.digest,
    )
    return build_summary(input_info, output, model, clusters, origin, seconds, levels)


def collect_columns(run_input: RunInput, shown: NDArray[np.int64]) -> tuple[pd.DataFrame, int]:
    """Collect the columns of the shown rows, without a column of texts and columns of their augmented versions.

    Returns
    -------
    columns : DataFrame
        One row for each shown text.
    text_position : int
        The number of columns that stand before the texts; texts that are joined stand before the first of their parts.
    """
    texts = list_text_columns(run_input.columns.text)
    left_out = {*(texts if len(texts) == 1 else ()), *(run_input.columns.views or ())}  # the parts of joined texts stay
    parts, start = [], 0
    before: list[str] = []
    for table in run_input.read_tables():
        rows = shown[np.searchsorted(shown, start) : np.searchsorted(shown, start + len(table))] - start
        parts.append(table.iloc[rows].drop(columns=list(left_out), errors="ignore"))
        if not before and texts[0] in table.columns:
            before = [str(name) for name in table.columns[: table.columns.get_loc(texts[0])]]
        start += len(table)
    columns = make_storable(pd.concat(parts, ignore_index=True))
    return columns, sum(name in before for name in columns.columns)


def iter_clustered_tables(run_input: RunInput, output: RunOutput, names: Mapping[int, str]) -> Iterator[pd.DataFrame]:
    """Yield the rows of the input with their clusters and the clusters' names, in chunks."""
    start = 0
    for table in run_input.read_tables():
        rows = slice(start, start + len(table))
        texts = extract_texts(table, run_input.columns.text)
        yield add_predictions(table, texts, output.clusters[rows], output.confidence[rows], names)
        start += len(table)
