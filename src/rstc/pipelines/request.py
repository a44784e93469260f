"""The request of a run: a file, how it is read, and how its texts are clustered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import Any

from rstc.config import Config, make_config
from rstc.errors import InputError
from rstc.representation.folder_checks import check_encoder_source
from rstc.results.comparisons import ComparisonRequest


@dataclass(frozen=True)
class RunRequest:
    """What a run is requested with, as `rstc cluster` takes it.

    Attributes
    ----------
    path : str
        The file, or "-" for standard input.
    out : Path
        The run folder.
    n_clusters : int, str or pair of int
        Number of clusters, "auto", or a range such as (10, 60) or "10-60".
    text_column : str or sequence of str, optional
        The column of texts, or several whose texts are joined by line breaks; by default the only column that can be
        it.
    view_columns : pair of str, optional
        Two columns of augmented versions of the texts, which take the place of the setting `views`.
    truth_column : str, optional
        A column of true classes; it has to exist, and is not used.
    label_column : str, optional
        A column of given classes, empty where a text has none; each class becomes a cluster of that name.
    format, encoding : str
        Format (by default by the name of the file) and encoding of the file.
    header : bool, optional
        Whether the first row of a CSV file or a sheet holds the names of the columns; by default it does, but it is
        refused if it looks like data.
    sheet : str, optional
        The sheet of a workbook, by its name or its number from 1; by default the first one.
    preset : str
        Preset that settings without a value come from.
    settings : mapping, optional
        Settings of the run (`rstc.Config`).
    seed : int
        Seed of the run.
    guard_formulas : bool
        Whether to escape texts in clusters.<format> that a spreadsheet would evaluate as a formula.
    keep_columns : bool
        Whether points.parquet and the page hold the other columns of the file.
    comparisons : ComparisonRequest, optional
        Columns of the file that the clusters are compared by at the end of the run.
    sources : mapping
        Where options and settings come from that were not given on the command line; the summary records it.
    overwrite : bool
        Whether an earlier run in the folder may be replaced.
    resume : bool
        Whether to resume from checkpoints in the folder.
    cache : Path, optional
        A folder that stores embeddings for later runs.
    """

    path: str
    out: Path
    n_clusters: int | str | tuple[int, int] = "auto"
    _: KW_ONLY
    text_column: str | Sequence[str] | None = None
    view_columns: tuple[str, str] | None = None
    truth_column: str | None = None
    label_column: str | None = None
    format: str | None = None
    encoding: str = "utf-8"
    header: bool | None = None
    sheet: str | None = None
    preset: str = "default"
    settings: Mapping[str, Any] | None = None
    seed: int = 0
    guard_formulas: bool = False
    keep_columns: bool = True
    comparisons: ComparisonRequest | None = None
    sources: Mapping[str, str] = field(default_factory=dict)
    overwrite: bool = False
    resume: bool = True
    cache: Path | None = None

    def check_settings(self) -> Config:
        """Return the settings of the run.

        Raises
        ------
        InputError
            If they do not fit together, or the encoder cannot be used.
        """
        config = make_config(self.preset, self.settings)
        if self.view_columns and "views" in (self.settings or {}):
            raise InputError("views come from two columns or from a view specification, not from both")
        if self.view_columns and not config.count_trained_layers(0):
            raise InputError("--views are used in training only; add --set training=always")
        check_encoder_source(config.encoder)
        return config
