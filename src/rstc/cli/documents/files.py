"""Documents about files, scores, settings and the cache."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rstc.cli.documents.base import Document, about


@dataclass(frozen=True, kw_only=True)
class PredictionsDocument(Document):
    """Predictions that were written."""

    out: str = about("The file or folder.")
    n_files: int = about("Number of files that were written.")
    n_skipped: int = about("Number of files that an earlier call had written.")
    n_rows: int = about("Number of rows that were written.")
    n_texts: int = about("Number of rows that hold a text.")


@dataclass(frozen=True, kw_only=True)
class AugmentDocument(Document):
    """Augmented versions that were written."""

    out: str = about("The file.")
    n_rows: int = about("Number of rows.")
    n_texts: int = about("Number of rows that hold a text.")
    changed_share: float | None = about("Share of the texts that were changed; null without texts.")


@dataclass(frozen=True, kw_only=True)
class ComparisonsDocument(Document):
    """The clusters of a run over time and between groups, as in comparisons.json of the run folder."""

    folder: str = about("The run folder.")
    out: str | None = about("The table that was written.")
    over_time: dict[str, Any] | None = about("The clusters over time.")
    groups: list[dict[str, Any]] = about("The clusters by the groups of each column.")
    findings: list[str] = about("What is significant, in sentences, the strongest of each comparison first.")


@dataclass(frozen=True, kw_only=True)
class FilesDocument(Document):
    """Files that were written."""

    files: list[str] = about("The files and folders.")


@dataclass(frozen=True, kw_only=True)
class ClassItem:
    """A true class."""

    name: str = about("Its name.")
    size: int = about("Number of texts.")
    cluster: str | None = about("The cluster that is matched with it.")
    recall: float | None = about("Share of the class in this cluster.")
    precision: float | None = about("Share of the cluster in this class.")


@dataclass(frozen=True, kw_only=True)
class CalibrationItem:
    """How well confidence predicts the right cluster."""

    ece: float | None = about("Expected calibration error.")
    aurc: float | None = about("Area under the risk-coverage curve.")
    risk_at_half: float | None = about("Error of the surest half of the texts.")


@dataclass(frozen=True, kw_only=True)
class EvaluationDocument(Document):
    """Scores of clusters against true classes."""

    n_texts: int = about("Number of texts with a cluster and a true class.")
    n_left_out: int = about("Number of rows without one of them.")
    n_classes: int = about("Number of classes.")
    n_clusters: int = about("Number of clusters.")
    acc: float = about("Share of the texts in the right cluster, after the best matching.")
    nmi: float = about("Normalized mutual information.")
    ari: float = about("Adjusted Rand index.")
    ami: float = about("Adjusted mutual information.")
    calibration: CalibrationItem | None = about("Calibration of the confidence; null without a column of it.")
    classes: list[ClassItem] = about("The classes.")


@dataclass(frozen=True, kw_only=True)
class SettingItem:
    """A setting."""

    name: str = about("Its name.")
    group: str = about("The heading under which it is listed.")
    value: Any = about("Its value in the preset.")
    default: Any = about("Its default.")
    allowed: str = about("The values that are allowed.")
    meaning: str = about("What it does.")


@dataclass(frozen=True, kw_only=True)
class SettingsDocument(Document):
    """The settings of a preset."""

    preset: str = about("The preset.")
    settings: list[SettingItem] = about("The settings.")
    toml: str | None = about("The template of a settings file, with `--toml`.")


@dataclass(frozen=True, kw_only=True)
class CacheDocument(Document):
    """The folder of cached embeddings."""

    folder: str = about("The folder.")
    n_bytes: int = about("Its size.")
    n_runs: int = about("Number of runs whose embeddings it holds.")
    n_removed_bytes: int = about("Number of bytes that `--clear` removed.")
