"""Collect and describe what a run found: the clusters of all rows, the texts that are shown, the summary."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from rstc.estimator import RSTC
from rstc.io.columns import add_predictions, extract_texts
from rstc.io.predictions import NO_CLUSTER
from rstc.pipelines.inputs import RunInput
from rstc.results.describe import describe
from rstc.results.kept_columns import make_storable
from rstc.results.naming import name_by_keywords
from rstc.results.reliability import RunReliability, build_run_reliability, rate_cluster
from rstc.results.summary import (
    ClusterEntry,
    InputInfo,
    OutlierSummary,
    Summary,
    UpdateSummary,
    build_cluster_entry,
)
from rstc.runtime.distributed import ProcessGroup
from rstc.runtime.environment import package_versions
from rstc.validation.texts import NonEmptyTexts

MAX_SHOWN = 100_000  # texts on the page: a browser does not open more, and no process has to hold the texts of all
MIN_SHOWN_PER_CLUSTER = 5  # texts of each cluster that each process contributes


@dataclass(frozen=True)
class RunOutput:
    """The clusters of all rows of the input, and the texts that are shown.

    Attributes
    ----------
    clusters : array of int, shape (n_rows,)
        The cluster of each row, `NO_CLUSTER` where it has none.
    confidence : array of float, shape (n_rows,)
        Confidence of each row.
    shown : array of int, shape (N,)
        The rows that are shown, in order: all that hold a text, or a sample of them.
    texts : list of str
        The texts of these rows.
    E : array of float, shape (N, D)
        The embeddings of these rows.
    """

    clusters: NDArray[np.int64]
    confidence: NDArray[np.float32]
    shown: NDArray[np.int64]
    texts: list[str]
    E: NDArray[np.float32]


@dataclass(frozen=True)
class RunOrigin:
    """How a run was made: what neither its input nor its model records.

    Attributes
    ----------
    preset : str
        Name of the preset.
    seed : int or None
        Seed of the run.
    guard_formulas : bool
        Whether clusters.<format> is guarded against spreadsheet formulas.
    resumed_at : int or None
        The step at which the run was resumed from a checkpoint.
    update : UpdateSummary or None
        The rows that were added to an earlier run.
    keep_columns : bool
        Whether points.parquet and the page hold the other columns of the input.
    """

    preset: str
    seed: int | None
    guard_formulas: bool
    resumed_at: int | None = None
    update: UpdateSummary | None = None
    keep_columns: bool = True


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


def describe_clusters(output: RunOutput, model: RSTC) -> list[ClusterEntry]:
    """Describe and name the clusters that a run found.

    Parameters
    ----------
    output : RunOutput
        The clusters of all rows; quotes and keywords are of the texts that are shown.
    model : RSTC
        The fitted model.

    Returns
    -------
    list of ClusterEntry
        The clusters that hold a text, by number.
    """
    labels, confidence = output.clusters[output.shown], output.confidence[output.shown]
    descriptions = describe(output.texts, labels, confidence, output.E)
    names = name_by_keywords(descriptions, model.given_names)
    stability = model.reliability_.measure_stability() if model.reliability_ else {}
    sizes = np.bincount(output.clusters[output.clusters != NO_CLUSTER], minlength=model.n_clusters_).tolist()
    return [
        build_cluster_entry(
            replace(description, size=sizes[description.cluster]),
            output.texts,
            name=name,
            n_texts=model.n_texts_,
            label=model.classes_[description.cluster] if model.classes_ else None,
            estimated_share=float(model.class_distribution_[description.cluster]),
            reliability=rate_cluster(stability.get(description.cluster), sizes[description.cluster]),
        )
        for description, name in zip(descriptions, names, strict=True)
    ]


def build_summary(
    run_input: RunInput,
    output: RunOutput,
    model: RSTC,
    clusters: list[ClusterEntry],
    origin: RunOrigin,
    seconds: Mapping[str, float],
    n_processes: int,
) -> Summary:
    """Build the summary of a run.

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

    Returns
    -------
    Summary
    """
    encoder = model.network_.encoder
    return Summary(
        input=InputInfo(
            file=run_input.file,
            format=run_input.format,
            view_columns=run_input.columns.views,
            guard_formulas=origin.guard_formulas,
            keep_columns=origin.keep_columns,
            text_column=run_input.columns.text,
            n_rows=run_input.n_rows,
            n_texts=model.n_texts_,
            n_missing=run_input.n_rows - model.n_texts_,
            n_trained=model.n_trained_,
            n_shown=len(output.texts),
            n_processes=n_processes,
        ),
        n_clusters=model.n_clusters_,
        n_clusters_search=model.n_clusters_search_,
        clusters=clusters,
        outliers=_summarise_outliers(model, output.clusters[output.shown]),
        class_distribution=model.class_distribution_.tolist(),
        hierarchy=[[int(a), int(b), round(d, 4), int(n)] for a, b, d, n in model.hierarchy_.tolist()],
        n_iter=model.n_iter_,
        converged=model.converged_,
        history=model.history_,
        losses=[[None if loss is None else round(loss, 4) for loss in pair] for pair in model.losses_],
        preset=origin.preset,
        seed=origin.seed,
        resumed_at=origin.resumed_at,
        update=origin.update,
        settings=model.config_.to_dict(),
        device=str(encoder.device),
        precision=str(encoder.precision).removeprefix("torch."),
        versions=package_versions(),
        created=time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        seconds={stage: round(spent, 2) for stage, spent in seconds.items()},
        reliability=_assess_run(output, model, clusters),
    )


def _assess_run(output: RunOutput, model: RSTC, clusters: list[ClusterEntry]) -> RunReliability | None:
    """Assess how far a run can be trusted; None if the model was fitted without repeats."""
    if model.reliability_ is None:
        return None
    return build_run_reliability(
        model.reliability_.structure,
        output.confidence[output.clusters != NO_CLUSTER],
        [entry.reliability for entry in clusters if entry.reliability],
        max((entry.share for entry in clusters), default=0.0),
        model.reliability_.repeats.n_repeats,
    )


def _summarise_outliers(model: RSTC, labels: NDArray[np.int64]) -> OutlierSummary | None:
    """Count the outliers; None if the model does not detect them."""
    if model.outlier_detector_ is None:
        return None
    return OutlierSummary(
        requested=model.config_.noise,
        n_texts=int((labels == NO_CLUSTER).sum()),
        expected_left=round(model.outlier_detector_.expected_outlier_share, 4),
    )


def collect_columns(run_input: RunInput, shown: NDArray[np.int64]) -> tuple[pd.DataFrame, int]:
    """Collect the columns of the shown rows, without those that hold the texts and their augmented versions.

    Returns
    -------
    columns : DataFrame
        One row for each shown text.
    text_position : int
        The number of columns that stand before the texts.
    """
    text, views = run_input.columns.text, set(run_input.columns.views or ())
    parts, start = [], 0
    before: list[str] = []
    for table in run_input.read_tables():
        rows = shown[np.searchsorted(shown, start) : np.searchsorted(shown, start + len(table))] - start
        parts.append(table.iloc[rows].drop(columns=[text, *views], errors="ignore"))
        if not before and text in table.columns:
            before = [str(name) for name in table.columns[: table.columns.get_loc(text)]]
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
