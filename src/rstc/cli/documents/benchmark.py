"""Documents of `rstc benchmark`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rstc.cli.documents.base import Document, about


@dataclass(frozen=True, kw_only=True)
class BenchmarkRunsDocument(Document):
    """Runs of a benchmark."""

    n_requested: int = about("Number of runs that were requested.")
    n_stored: int = about("Number of them that the store held before.")
    n_failed: int = about("Number of runs that failed.")
    is_complete: bool = about("Whether the store holds all of them; if not, the exit code is 1.")
    runs: list[dict[str, Any]] = about("The runs that were made now, as in the store.")
    errors: list[str] = about("Why runs are missing.")


@dataclass(frozen=True, kw_only=True)
class TableDocument(Document):
    """A table as text."""

    format: str = about("`markdown`, `latex` or `csv`.")
    table: str = about("The table.")
    out: str | None = about("The file that was written.")


@dataclass(frozen=True, kw_only=True)
class MethodsDocument(Document):
    """A comparison of two methods."""

    methods: list[str] = about("The two methods.")
    metric: str = about("The metric.")
    mean_difference: float = about("Mean over the data sets of the first minus the second.")
    n_wins: int = about("Number of data sets on which the first is better.")
    n_sets: int = about("Number of data sets.")
    n_pairs: int = about("Number of pairs of runs.")
    p_value: float = about("Two-sided p-value.")


@dataclass(frozen=True, kw_only=True)
class DatasetItem:
    """A data set of the benchmark."""

    name: str = about("Its name.")
    title: str = about("Its title.")
    n_classes: int = about("Number of classes.")
    n_texts: int = about("Number of texts.")
    mean_words: float = about("Mean number of words of a text.")
    imbalance_ratio: float = about("Size of the largest class over that of the smallest.")
    imbalance: str = about("How uneven its classes are.")
    views: str = about("Where its augmented versions come from.")


@dataclass(frozen=True, kw_only=True)
class DatasetsDocument(Document):
    """Data sets of the benchmark."""

    datasets: list[DatasetItem] = about("The data sets.")


@dataclass(frozen=True, kw_only=True)
class DownloadItem:
    """A data set that was downloaded."""

    name: str = about("Its name.")
    status: str = about("`downloaded`, `kept` or `already complete`.")
    problem: str | None = about("Why its views could not be had.")


@dataclass(frozen=True, kw_only=True)
class DownloadDocument(Document):
    """Data sets that were downloaded."""

    folder: str = about("The folder.")
    datasets: list[DownloadItem] = about("The data sets.")


@dataclass(frozen=True, kw_only=True)
class FiguresDocument(Document):
    """Figures of the benchmark."""

    files: list[str] = about("The files.")
    missing: dict[str, str] = about("Figures that were not drawn, and which runs they lack.")
