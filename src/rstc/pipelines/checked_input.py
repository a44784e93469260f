"""Check what a run is requested with before anything slow is imported: its settings, and its input with its columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from rstc.config import Config, make_config
from rstc.errors import InputError
from rstc.io.columns import to_text_column
from rstc.io.formats import detect_format
from rstc.pipelines.inputs import RunInput, read_input
from rstc.representation.folder_checks import check_encoder_source
from rstc.results.comparisons import ComparisonRequest, check_request
from rstc.runtime.distributed import ProcessGroup
from rstc.validation.fit_input import FitInput, validate_fit_input


def check_settings(preset: str, settings: Mapping[str, Any] | None, view_columns: tuple[str, str] | None) -> Config:
    """Return the settings of a run; raise InputError if they do not fit together or the encoder cannot be used."""
    config = make_config(preset, settings)
    if view_columns and "views" in (settings or {}):
        raise InputError("views come from two columns or from a view specification, not from both")
    if view_columns and not config.count_trained_layers(0):
        raise InputError("--views are used in training only; add --set training=always")
    check_encoder_source(config.encoder)
    return config


def read_checked_input(
    path: str,
    n_clusters: int | str | tuple[int, int],
    config: Config,
    processes: ProcessGroup,
    *,
    format: str | None = None,
    encoding: str = "utf-8",
    sheet: str | None = None,
    text_column: str | Sequence[str] | None = None,
    view_columns: tuple[str, str] | None = None,
    truth_column: str | None = None,
    label_column: str | None = None,
    comparisons: ComparisonRequest | None = None,
) -> tuple[RunInput, FitInput]:
    """Read the input of a run and check it.

    Parameters
    ----------
    path : str
        The file, or "-" for standard input.
    n_clusters : int, str or pair of int
        The requested number of clusters.
    config : Config
        The settings of the run.
    processes : ProcessGroup
        The processes that share the run.
    format, encoding, sheet, text_column, view_columns, truth_column, label_column, comparisons
        As in `rstc.pipelines.cluster.cluster_file`.

    Returns
    -------
    run_input : RunInput
        The rows.
    fit_input : FitInput
        Their texts, as a model is fitted on them.
    """
    run_input = read_input(
        path,
        detect_format(path, format),
        encoding,
        processes,
        to_text_column(text_column),
        view_columns,
        truth_column,
        label_column,
        sheet,
    )
    fit_input = validate_fit_input(
        run_input.texts,
        run_input.labels,
        n_clusters,
        class_contrast=config.class_contrast,
        noise=config.noise,
        processes=processes,
    )
    if comparisons is not None:
        processes.run_on_first(lambda: check_request(_read_columns(run_input, comparisons), comparisons))
    return run_input, fit_input


def _read_columns(run_input: RunInput, comparisons: ComparisonRequest) -> pd.DataFrame:
    """Read the columns that are compared by, and the first rows of the others, without the texts."""
    texts, compared = {run_input.columns.text, *(run_input.columns.views or ())}, {comparisons.time, *comparisons.by}
    parts: list[pd.DataFrame] = []
    for table in run_input.read_tables():
        parts.append(table[[name for name in table.columns if name not in texts and (not parts or name in compared)]])
    return pd.concat(parts, ignore_index=True)
