"""The run of a fitted model: its clusters described, and its summary, for the run folder and for the page."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rstc.io.columns import TEXT_COLUMN
from rstc.io.predictions import NO_CLUSTER
from rstc.language.detection import measure_languages
from rstc.results.comparisons import ComparisonRequest
from rstc.results.corrected_run import CorrectedRun
from rstc.results.describe import describe
from rstc.results.kept_columns import make_storable
from rstc.results.layout import Layout
from rstc.results.levels import Level, build_levels
from rstc.results.messages import Message, find_messages
from rstc.results.naming import name_clusters
from rstc.results.points import Points
from rstc.results.reliability import RunReliability, build_run_reliability, rate_cluster
from rstc.results.summary import (
    ClusterEntry,
    ClusterOverlap,
    InputInfo,
    OutlierSummary,
    Summary,
    UpdateEntry,
    UpdateSummary,
    build_cluster_entry,
)
from rstc.runtime.environment import package_versions


class ClusteredTexts(Protocol):
    """What a summary needs of a fitted `rstc.RSTC`, which this layer does not know."""

    n_clusters_: int
    n_texts_: int
    n_trained_: int
    truncated_share_: float
    text_column_: str | None
    labels_: NDArray[np.int64]
    confidence_: NDArray[np.float32]
    embedding_: NDArray[np.float32]
    seconds_: dict[str, float]
    preset: str
    random_state: Any
    n_iter_: int
    converged_: bool
    class_distribution_: NDArray[np.float64]
    hierarchy_: NDArray[np.float64]
    history_: list[dict[str, Any]]
    losses_: list[tuple[float | None, float]]
    classes_: list[Any] | None
    n_clusters_search_: Any
    outlier_detector_: Any
    reliability_: Any
    network_: Any
    config_: Any
    encoder_reason_: str | None

    @property
    def level_labels(self) -> Any:
        """The levels of detail: their labels, and which of them the clusters are."""

    @property
    def given_names(self) -> Sequence[Any] | None:
        """The names that clusters have already."""

    @property
    def given_descriptions(self) -> Sequence[str | None] | None:
        """The descriptions that clusters have already."""


MAX_SHOWN = 100_000  # texts on a page: a browser does not open more


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
    comparisons : ComparisonRequest or None
        What the clusters are compared by.
    digest : str or None
        Checksum of the rows of the first file.
    updates : tuple of UpdateEntry
        All updates.
    overlaps : tuple of ClusterOverlap
        Pairs of clusters that the update made hard to tell apart.
    sources : mapping
        Options and settings that were not given on the command line, and where they were.
    """

    preset: str
    seed: int | None
    guard_formulas: bool = False
    resumed_at: int | None = None
    update: UpdateSummary | None = None
    keep_columns: bool = True
    comparisons: ComparisonRequest | None = None
    digest: str | None = None
    updates: tuple[UpdateEntry, ...] = ()
    overlaps: tuple[ClusterOverlap, ...] = ()
    sources: Mapping[str, str] = field(default_factory=dict)


def describe_clusters(output: RunOutput, model: ClusteredTexts) -> list[ClusterEntry]:
    """Describe and name the clusters that a run found.

    Parameters
    ----------
    output : RunOutput
        The clusters of all rows; quotes and keywords are of the texts that are shown.
    model : ClusteredTexts
        The fitted model.

    Returns
    -------
    list of ClusterEntry
        The clusters that hold a text, by number.
    """
    labels, confidence = output.clusters[output.shown], output.confidence[output.shown]
    descriptions = describe(output.texts, labels, confidence, output.E)
    names = name_clusters(descriptions, output.texts, model.given_names)
    sentences = model.given_descriptions
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
            sentence=sentences[description.cluster] if sentences else None,
        )
        for description, name in zip(descriptions, names, strict=True)
    ]


def build_summary(
    input_info: InputInfo,
    output: RunOutput,
    model: ClusteredTexts,
    clusters: list[ClusterEntry],
    origin: RunOrigin,
    seconds: Mapping[str, float],
    levels: list[Level],
) -> Summary:
    """Build the summary of a run.

    Parameters
    ----------
    input_info : InputInfo
        The rows that were clustered.
    output : RunOutput
        The clusters of all rows.
    model : ClusteredTexts
        The fitted model.
    clusters : list of ClusterEntry
        The clusters that hold a text.
    origin : RunOrigin
        How the run was made.
    seconds : mapping
        Seconds of each stage.
    levels : list of Level
        The levels of detail.

    Returns
    -------
    Summary
    """
    encoder = model.network_.encoder
    return Summary(
        input=input_info,
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
        levels=levels,
        updates=list(origin.updates),
        overlaps=list(origin.overlaps),
        sources=dict(origin.sources),
        encoder_reason=model.encoder_reason_,
        messages=find_model_messages(model, output.texts, output.clusters[output.shown], input_info.n_missing),
        languages=measure_languages(output.texts),
    )


def find_model_messages(
    model: ClusteredTexts, texts: Sequence[str], labels: NDArray[np.int64], n_missing: int
) -> list[Message]:
    """Find what matters about a fitted model's texts and their clusters (`rstc.results.messages`)."""
    encoder = model.network_.encoder
    return find_messages(
        texts,
        labels,
        n_missing=n_missing,
        max_tokens=encoder.max_tokens,
        truncated_share=model.truncated_share_,
        encoder_limit=encoder.max_input_tokens,
        encoder=model.config_.encoder,
        encoder_reason=model.encoder_reason_,
    )


def _assess_run(output: RunOutput, model: ClusteredTexts, clusters: list[ClusterEntry]) -> RunReliability | None:
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


def _summarise_outliers(model: ClusteredTexts, labels: NDArray[np.int64]) -> OutlierSummary | None:
    """Count the outliers; None if the model does not detect them."""
    if model.outlier_detector_ is None:
        return None
    return OutlierSummary(
        requested=model.config_.noise,
        n_texts=int((labels == NO_CLUSTER).sum()),
        expected_left=round(model.outlier_detector_.expected_outlier_share, 4),
    )


def select_shown(texts: Sequence[str | None]) -> NDArray[np.int64]:
    """Return the rows of a list that hold a text, or evenly spaced ones of them if a page cannot show all.

    >>> select_shown(["late", None, "lost"]).tolist()
    [0, 2]
    """
    rows = np.array([row for row, text in enumerate(texts) if text is not None], dtype=np.int64)
    return rows[:: max(-(-len(rows) // MAX_SHOWN), 1)]


def build_fitted_run(
    model: ClusteredTexts,
    all_texts: Sequence[str | None],
    layout: Layout,
    *,
    title: str = "texts",
    columns: pd.DataFrame | None = None,
    neighbours: NDArray[np.int32] | None = None,
) -> CorrectedRun:
    """Build the run of a model that was fitted in Python, as a run folder would hold it.

    Parameters
    ----------
    model : ClusteredTexts
        The fitted model.
    all_texts : sequence of str or None
        The rows that it was fitted on.
    layout : array of uint16, shape (N, 2)
        The position on the map of each row of `select_shown(all_texts)`.
    title : str
        What the page calls the texts.
    columns : DataFrame, optional
        Other columns of the same rows.
    neighbours : array of int32, shape (N, k), optional
        The nearest texts of each text.

    Returns
    -------
    CorrectedRun
    """
    shown = select_shown(all_texts)
    texts = [str(all_texts[row]) for row in shown]
    output = RunOutput(model.labels_, model.confidence_, shown, texts, model.embedding_[shown])
    seed = model.random_state
    origin = RunOrigin(model.preset, int(seed) if isinstance(seed, (int, np.integer)) else None)
    input_info = InputInfo(
        file=title,
        format="python",
        text_column=model.text_column_ or TEXT_COLUMN,
        n_rows=len(all_texts),
        n_texts=model.n_texts_,
        n_missing=len(all_texts) - model.n_texts_,
        n_trained=model.n_trained_,
        n_shown=len(texts),
    )
    clusters, levels = describe_clusters(output, model), model.level_labels
    names = {entry.cluster: entry.name for entry in clusters}
    described, fine = build_levels(levels.labels, levels.chosen, texts, shown, names)
    summary = build_summary(input_info, output, model, clusters, origin, model.seconds_, described)
    kept = pd.DataFrame() if columns is None else make_storable(columns.iloc[shown])
    points = Points(
        texts,
        shown,
        output.clusters[shown],
        output.confidence[shown],
        layout,
        kept,
        neighbours=neighbours,
        fine=fine,
    )
    return CorrectedRun(summary, points)
