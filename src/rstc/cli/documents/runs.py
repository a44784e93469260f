"""Documents about runs: new ones, updated and corrected ones, and what is known of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from rstc.cli.documents.base import Document, about

if TYPE_CHECKING:
    from rstc.pseudo_labels.cluster_count import ClusterCount
    from rstc.results.messages import Message
    from rstc.results.summary import ClusterEntry


@dataclass(frozen=True, kw_only=True)
class ClusterItem:
    """A cluster."""

    cluster: int = about("Number of the cluster.")
    name: str = about("Name of the cluster.")
    description: str | None = about("A sentence that a person or a language model wrote.")
    label: str | None = about("The given class (`--labels`) that the cluster is.")
    size: int = about("Number of texts.")
    share: float = about("Share of the texts of the run.")
    confidence: float | None = about("Mean confidence of the texts; null after some corrections.")
    keywords: list[str] = about("Words and phrases that are frequent in the cluster and rare elsewhere, best first.")
    typical: list[str] = about("Typical texts, cut to 500 characters.")
    n_found: int | None = about("Number of repeats that found the cluster again; null if this was not estimated.")
    n_repeats: int | None = about("Number of repeats.")

    @classmethod
    def list_from(cls, entries: Iterable[ClusterEntry]) -> list[ClusterItem]:
        """Return the items of entries of a summary, in their order."""
        return [
            cls(
                cluster=entry.cluster,
                name=entry.name,
                description=entry.description,
                label=None if entry.label is None else str(entry.label),
                size=entry.size,
                share=entry.share,
                confidence=entry.confidence,
                keywords=entry.keywords,
                typical=entry.typical,
                n_found=entry.reliability.n_found if entry.reliability else None,
                n_repeats=entry.reliability.n_repeats if entry.reliability else None,
            )
            for entry in entries
        ]


@dataclass(frozen=True, kw_only=True)
class MessageItem:
    """What matters about a run."""

    level: Literal["warning", "note"] = about("`warning` where the clusters may not be what the user wants.")
    text: str = about("What was found, with a number.")
    advice: str | None = about("What can be done about it.")

    @classmethod
    def list_from(cls, messages: Iterable[Message]) -> list[MessageItem]:
        """Return the items of the messages of a summary."""
        return [cls(level=message.level, text=message.text, advice=message.advice) for message in messages]


@dataclass(frozen=True, kw_only=True)
class SearchItem:
    """The estimate of the number of clusters."""

    n_clusters: int = about("The estimated number.")
    low: int = about("The smallest number that fits about as well.")
    high: int = about("The largest number that fits about as well.")
    certainty: Literal["clear", "fair", "weak"] = about("How certain the estimate is.")
    others: list[int] = about("Other candidates.")

    @classmethod
    def build(cls, count: ClusterCount | None) -> SearchItem | None:
        """Return the item of an estimate."""
        if count is None:
            return None
        certainty: Any = count.certainty
        return cls(
            n_clusters=count.n_clusters,
            low=count.low,
            high=count.high,
            certainty=certainty,
            others=list(count.runners_up),
        )


@dataclass(frozen=True, kw_only=True)
class LevelItem:
    """A level of detail."""

    name: str = about("`coarse`, `medium` or `fine`.")
    n_clusters: int = about("Number of its groups.")
    is_chosen: bool = about("Whether its groups are the clusters of the run.")

    @classmethod
    def list_from(cls, levels: Iterable[Any]) -> list[LevelItem]:
        """Return the items of the levels of a run."""
        return [cls(name=one.name, n_clusters=len(one.groups), is_chosen=one.is_chosen) for one in levels]


@dataclass(frozen=True, kw_only=True)
class ScoresItem:
    """Scores of clusters against true classes, from 0 to 1."""

    acc: float = about("Share of the texts in the right cluster, after the best matching of clusters and classes.")
    nmi: float = about("Normalized mutual information.")
    ari: float = about("Adjusted Rand index.")


@dataclass(frozen=True, kw_only=True)
class RunDocument(Document):
    """A finished run."""

    folder: str = about("The run folder.")
    files: dict[str, str] = about("Files of the run: `clusters`, `report`, `summary`, `model`.")
    n_rows: int = about("Number of rows of the input.")
    n_texts: int = about("Number of rows that hold a text.")
    n_trained: int = about("Number of texts that the clusters were found on.")
    text_columns: list[str] = about("The columns that hold the texts.")
    n_clusters: int = about("Number of clusters that hold a text.")
    search: SearchItem | None = about("How the number of clusters was estimated; null where it was given.")
    clusters: list[ClusterItem] = about("The clusters.")
    n_outliers: int | None = about("Number of outliers (cluster -1); null without the setting `noise`.")
    levels: list[LevelItem] = about("Levels of detail, coarse to fine; empty if there is only one.")
    reliability: str | None = about("How far the run can be trusted, in a sentence.")
    messages: list[MessageItem] = about("What matters about the texts and the clusters.")
    decisions: list[str] = about("What the run decided by itself.")
    n_iter: int = about("Number of training steps.")
    resumed_at: int | None = about("The step at which the run was resumed.")
    scores: ScoresItem | None = about("Scores against the column `--truth`.")
    findings: list[str] = about("What the comparisons by `--time` and `--by` found.")
    seed: int | None = about("Seed of the run.")
    sources: dict[str, str] = about("Options and settings from a file or the environment, and where each came from.")
    seconds: dict[str, float] = about("Seconds of each stage.")


@dataclass(frozen=True, kw_only=True)
class ProposalItem:
    """A group of new texts that may become a cluster."""

    id: int = about("Number of the proposal.")
    name: str = about("Name of the cluster that it would become.")
    size: int = about("Number of texts.")
    keywords: list[str] = about("Words that are frequent in the group.")
    nearest_cluster: int | None = about("The cluster with the nearest mean.")


@dataclass(frozen=True, kw_only=True)
class UpdateDocument(Document):
    """A run after an update."""

    folder: str = about("The run folder.")
    n_rows: int = about("Number of rows that were added.")
    n_texts: int = about("Number of texts that were added.")
    n_known: int = about("Number of rows that the run held already.")
    drift: float | None = about("Distance of the cluster shares of new and old texts; null if nothing was added.")
    expected_drift: float | None = about("The distance that is expected by chance.")
    moved: float | None = about("Share of the old texts whose cluster changed.")
    clusters: list[ClusterItem] = about("The clusters.")
    proposals: list[ProposalItem] = about("Proposals that are open.")
    findings: list[str] = about("What the comparisons of the run found.")


@dataclass(frozen=True, kw_only=True)
class DecisionDocument(Document):
    """A run after proposals were accepted or declined."""

    folder: str = about("The run folder.")
    n_accepted: int = about("Number of proposals that became clusters.")
    n_declined: int = about("Number of proposals that were declined.")
    clusters: list[ClusterItem] = about("The clusters.")


@dataclass(frozen=True, kw_only=True)
class ClustersDocument(Document):
    """The clusters of a run after corrections."""

    folder: str = about("The run folder.")
    n_edits: int = about("Number of corrections.")
    n_noise: int = about("Number of texts in no cluster (-1).")
    clusters: list[ClusterItem] = about("The clusters.")
    levels: list[LevelItem] = about("Levels of detail.")


@dataclass(frozen=True, kw_only=True)
class PromptItem:
    """A prompt for a language model."""

    cluster: int = about("Number of the cluster.")
    is_answered: bool = about("Whether it was answered before and would not be sent.")
    prompt: str = about("The prompt.")


@dataclass(frozen=True, kw_only=True)
class PromptsDocument(Document):
    """The prompts of `rstc names --dry-run`."""

    folder: str = about("The run folder.")
    receiver: str = about("Who would get the prompts.")
    prompts: list[PromptItem] = about("The prompts.")


@dataclass(frozen=True, kw_only=True)
class ServerDocument(Document):
    """A server, written when it is ready; the command goes on until it is interrupted."""

    folder: str = about("The run folder.")
    address: str = about("The address; that of `explore` holds its token: whoever knows it can edit.")


@dataclass(frozen=True, kw_only=True)
class InfoDocument(Document):
    """A run or a model."""

    folder: str = about("The folder.")
    n_clusters: int = about("Number of clusters of the model.")
    n_texts: int = about("Number of texts that the model was fitted to; 0 if this is not known.")
    n_iter: int = about("Number of training steps.")
    preset: str = about("The preset.")
    seed: int | None = about("The seed.")
    encoder: str = about("The encoder.")
    settings: dict[str, Any] = about("All settings.")
    versions: dict[str, str] = about("Versions of the packages that the model was made with.")
    is_run: bool = about("Whether the folder is a run, of which there is more to say than of a model.")
    is_finished: bool = about("Whether the run has its map and its page.")
    n_edits: int = about("Number of corrections.")
    reliability: str | None = about("How far the run can be trusted, in a sentence.")
    messages: list[MessageItem] = about("What matters about the texts and the clusters.")
    decisions: list[str] = about("What the run decided by itself.")
    clusters: list[ClusterItem] = about("The clusters after corrections; empty if the folder is no run.")
    sources: dict[str, str] = about("Options and settings from a file or the environment, and where each came from.")
