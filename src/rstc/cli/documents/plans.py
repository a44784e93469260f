"""The document of `rstc cluster --dry-run`: what a run would do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from rstc.cli.documents.base import Document, about


@dataclass(frozen=True, kw_only=True)
class SourceItem:
    """An option or a setting that was given, and where."""

    value: Any = about("Its value.")
    source: str = about("`command line`, `environment`, or the settings file.")


@dataclass(frozen=True, kw_only=True)
class TextsItem:
    """The texts of an input."""

    n_rows: int = about("Number of rows.")
    n_texts: int = about("Number of rows that hold a text.")
    n_distinct: int = about("Number of distinct texts.")
    n_characters: int = about("Number of characters.")
    languages: dict[str, float] = about("Share of each language among the texts, by ISO 639 code.")


@dataclass(frozen=True, kw_only=True)
class EncoderItem:
    """The encoder of a run."""

    name: str = about("Its folder or its name on the hub, or that of the bundled one.")
    reason: str | None = about("Why it is taken; null if it was named.")
    dim: int = about("Dimension of the embeddings.")
    max_tokens: int = about("Number of tokens to which texts are cut.")
    truncated_share: float = about("Share of the texts that are cut.")
    device: str = about("Where it computes.")
    n_to_encode: int = about("Number of distinct texts whose embeddings are not cached.")


@dataclass(frozen=True, kw_only=True)
class EstimateItem:
    """An estimate of what a run takes."""

    memory_gb: float = about("Memory at its peak, in GB.")
    free_memory_gb: float | None = about("Memory that is free or allowed, in GB; null if it is not known.")
    seconds: float = about("Seconds of the run.")
    seconds_by_part: dict[str, float] = about("Seconds of its parts.")


@dataclass(frozen=True, kw_only=True)
class PlanDocument(Document):
    """What `rstc cluster --dry-run` says that a run would do."""

    dry_run: Literal[True] = about("Nothing was written.")
    folder: str = about("The run folder that would be written.")
    action: Literal["start", "replace", "resume", "complete"] = about(
        "Whether the run starts in a new folder, replaces an earlier run, resumes from a checkpoint, or only makes the "
        "map and the page of an interrupted one."
    )
    writes: list[str] = about("Files and folders that would be written.")
    overwrites: list[str] = about("Those of them that exist.")
    file: str = about("The input.")
    format: str = about("Its format.")
    columns: dict[str, list[str]] = about(
        "Columns that are used, by purpose: `text`, `views`, `labels`, `truth`, `time`, `by`."
    )
    kept_columns: list[str] = about("Other columns, which are kept on the page.")
    texts: TextsItem = about("The texts.")
    n_clusters: int | list[int | None] = about(
        "The number of clusters, or the smallest and the largest number; null sets no limit."
    )
    n_trained: int = about("Number of texts that the clusters are found on.")
    training: str = about("Whether the encoder is trained, and how long at most.")
    encoder: EncoderItem = about("The encoder.")
    estimate: EstimateItem = about("What the run would take.")
    seed: int = about("Seed of the run.")
    preset: str = about("Preset that settings without a value come from.")
    given: dict[str, SourceItem] = about("Options and settings that were given, and where.")
