"""The summary of a run: its input, its clusters and how they were found; summary.json in the run folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rstc.io.columns import TextColumn
from rstc.pseudo_labels.cluster_count import ClusterCount, cluster_count_from_dict
from rstc.results.decisions import describe_decisions, describe_level
from rstc.results.levels import Level
from rstc.results.messages import Message
from rstc.results.records import Record, check_types, stored_as, stored_if_set
from rstc.results.reliability import ClusterReliability, RunReliability

if TYPE_CHECKING:
    from typing_extensions import Self

    from rstc.results.describe import ClusterDescription

MAX_QUOTE_LENGTH = 500  # characters of a text that a summary quotes


@dataclass(frozen=True, kw_only=True)
class InputInfo(Record):
    """The input of a run.

    Attributes
    ----------
    file : str
        Name of the file, without its folder.
    format : str
        Format of the file, which is the format of clusters.<format> as well.
    view_columns : sequence of str or None
        The two columns that hold augmented versions of the texts.
    guard_formulas : bool
        Whether clusters.<format> is guarded against spreadsheet formulas.
    keep_columns : bool
        Whether points.parquet and the page hold the other columns of the input.
    sheet : str or None
        The sheet that was requested of a workbook, by name or number; None for the first one.
    text_column : str or list of str
        The column that holds the texts, or several whose texts are joined.
    n_rows : int
        Number of rows.
    n_texts : int
        Number of rows that hold a text.
    n_missing : int
        Number of rows without a text.
    n_trained : int
        Number of texts that training used; fewer than `n_texts` where `max_fit_texts` limits it.
    n_shown : int
        Number of texts in points.parquet and on the page; fewer than `n_texts` where several processes made the run.
    n_processes : int
        Number of processes that shared the run.
    digest : str or None
        Checksum of the rows of the file; None in summaries of versions that did not store it.
    """

    file: str
    format: str
    view_columns: Sequence[str] | None = None
    guard_formulas: bool = False
    keep_columns: bool = field(default=True, metadata=stored_if_set())
    sheet: str | None = field(default=None, metadata=stored_if_set())
    text_column: TextColumn
    n_rows: int = field(metadata=stored_as("rows"))
    n_texts: int = field(metadata=stored_as("texts"))
    n_missing: int = field(metadata=stored_as("missing"))
    n_trained: int = field(metadata=stored_as("trained_on"))
    n_shown: int = field(metadata=stored_as("shown"))
    n_processes: int = field(default=1, metadata=stored_as("processes"))
    digest: str | None = field(default=None, metadata=stored_if_set())

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """Read the input of a run; a summary that names no number of shown texts shows all of them."""
        return super().from_json({"shown": values["texts"], **values})


@dataclass(frozen=True, kw_only=True)
class ClusterEntry(Record):
    """One cluster of a run.

    Attributes
    ----------
    name : str
        Name of the cluster.
    label : object
        The given class that the cluster is, None if it is a new one.
    cluster : int
        Number of the cluster.
    size : int
        Number of texts.
    confidence : float or None
        Mean confidence of the texts, None where corrections left no text with a confidence.
    keywords : list of str
        Words and phrases that are frequent in the cluster and rare elsewhere, best first.
    typical, doubtful : list of str
        The texts nearest to the centre of the cluster, and those of lowest confidence, cut to `MAX_QUOTE_LENGTH`.
    near : list of int
        The clusters with the nearest centres.
    share : float
        Share of the texts of the run.
    estimated_share : float or None
        The entry of b for the cluster, None where corrections changed which texts it holds.
    typical_rows, doubtful_rows : list of int
        Indices of the quoted texts among the shown texts of the run.
    reliability : ClusterReliability or None
        How far the cluster can be trusted; None if it was not estimated, or if corrections changed the cluster.
    description : str or None
        A sentence on what the texts are about; None unless a person or a language model wrote one.
    """

    name: str
    label: Any = None
    cluster: int
    size: int
    confidence: float | None
    keywords: list[str]
    typical: list[str]
    doubtful: list[str]
    near: list[int]
    share: float
    estimated_share: float | None
    typical_rows: list[int] = field(metadata=stored_as("typical_at"))
    doubtful_rows: list[int] = field(metadata=stored_as("doubtful_at"))
    reliability: ClusterReliability | None = field(default=None, metadata=stored_if_set())
    description: str | None = field(default=None, metadata=stored_if_set())

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """Read an entry from a JSON object."""
        stored = values.get("reliability")
        return super().from_json({**values, "reliability": stored and ClusterReliability.from_json(stored)})


def build_cluster_entry(
    description: ClusterDescription,
    texts: Sequence[str],
    *,
    name: str,
    n_texts: int,
    label: Any = None,
    estimated_share: float | None = None,
    reliability: ClusterReliability | None = None,
    sentence: str | None = None,
) -> ClusterEntry:
    """Build the entry of a cluster from its description.

    Parameters
    ----------
    description : ClusterDescription
        The cluster, with row indices into `texts`.
    texts : sequence of str
        The shown texts of the run.
    name : str
        Name of the cluster.
    n_texts : int
        Number of texts of the run, of which the cluster holds a share.
    label : object, optional
        The given class that the cluster is.
    estimated_share : float, optional
        The entry of b for the cluster.
    reliability : ClusterReliability, optional
        How far the cluster can be trusted.
    sentence : str, optional
        What the texts are about, in words: the `description` of the entry.

    Returns
    -------
    ClusterEntry

    Examples
    --------
    >>> from rstc.results.describe import ClusterDescription
    >>> description = ClusterDescription(0, 2, 0.9, keywords=[], typical=[1], doubtful=[0], near=[])
    >>> entry = build_cluster_entry(description, ["late again", "where is it"], name="late", n_texts=4)
    >>> entry.typical, entry.typical_rows, entry.share
    (['where is it'], [1], 0.5)
    """
    return ClusterEntry(
        name=name,
        label=label,
        cluster=description.cluster,
        size=description.size,
        confidence=description.confidence,
        keywords=[keyword.text for keyword in description.keywords],
        typical=[texts[row][:MAX_QUOTE_LENGTH] for row in description.typical],
        doubtful=[texts[row][:MAX_QUOTE_LENGTH] for row in description.doubtful],
        near=description.near,
        share=description.size / n_texts,
        estimated_share=estimated_share,
        typical_rows=description.typical,
        doubtful_rows=description.doubtful,
        reliability=reliability,
        description=sentence,
    )


@dataclass(frozen=True, kw_only=True)
class OutlierSummary(Record):
    """The outliers of a run with the setting `noise`.

    Attributes
    ----------
    requested : float
        The setting `noise`.
    n_texts : int
        Number of outliers among the shown texts.
    expected_left : float
        Expected share of outliers among the texts that kept their cluster.
    """

    requested: float = field(metadata=stored_as("asked"))
    n_texts: int = field(metadata=stored_as("texts"))
    expected_left: float


@dataclass(frozen=True, kw_only=True)
class UpdateSummary(Record):
    """The rows that `rstc update` added to a run last, and how they differ from the earlier ones.

    Attributes
    ----------
    file : str
        Name of the file with the new rows.
    n_rows, n_texts : int
        Number of new rows, and of new texts among them.
    shares, shares_before : list of float
        Share of each cluster among the new texts, and among the earlier ones.
    distance : float
        Jensen-Shannon distance of the two.
    expected : float
        Mean distance of as many texts drawn from the earlier ones.
    confidence, confidence_before : float
        Mean confidence of the new texts, and of the earlier ones.
    moved : float
        Share of the earlier texts whose cluster changed.
    """

    file: str
    n_rows: int = field(metadata=stored_as("rows"))
    n_texts: int = field(metadata=stored_as("texts"))
    shares: list[float]
    shares_before: list[float]
    distance: float
    expected: float
    confidence: float
    confidence_before: float
    moved: float


@dataclass(frozen=True, kw_only=True)
class UpdateEntry(Record):
    """One update of a run.

    Attributes
    ----------
    file : str
        Name of the file.
    n_rows : int
        Number of rows that were added.
    n_known : int
        Number of its rows that the run held already.
    n_edits : int
        Number of corrections before it.
    digest : str
        Checksum of all rows of the file.
    date : str
        When it was made, in ISO 8601.
    """

    file: str
    n_rows: int = field(metadata=stored_as("rows"))
    n_known: int = field(default=0, metadata=stored_as("known"))
    n_edits: int = field(default=0, metadata=stored_as("corrections"))
    digest: str
    date: str


@dataclass(frozen=True, kw_only=True)
class ClusterOverlap(Record):
    """Two clusters that texts are hard to tell apart by.

    Attributes
    ----------
    cluster, other : int
        The smaller and the larger cluster.
    share : float
        Share of the texts of the smaller one that are confused with the other.
    """

    cluster: int
    other: int
    share: float

    def describe(self, names: Mapping[int, str]) -> str:
        """Describe the pair in a sentence, with the names of the clusters and what to do.

        Examples
        --------
        >>> ClusterOverlap(cluster=3, other=1, share=0.42).describe({3: "lost parcels", 1: "late parcels"})
        "'lost parcels' (3) and 'late parcels' (1) are hard to tell apart (42 % of the smaller one): merge them?"
        """
        pair = " and ".join(f"{names.get(c, f'cluster {c}')!r} ({c})" for c in (self.cluster, self.other))
        return f"{pair} are hard to tell apart ({100 * self.share:.0f} % of the smaller one): merge them?"


@dataclass(frozen=True, kw_only=True)
class TruthScores(Record):
    """Scores of the clusters against true classes.

    Attributes
    ----------
    column : str
        The column of the input that holds the true classes.
    n_texts : int
        Number of texts with a true class.
    acc, nmi, ari : float
        Accuracy after the best matching, normalized mutual information, adjusted Rand index.
    classes : list
        The true classes, one per row of `matrix`.
    clusters : list of int
        The clusters, one per column of `matrix`.
    matrix : list of list of int
        Number of texts of each class in each cluster.
    calibration : dict or None
        How well confidence predicts the right cluster: `ece`, `aurc`, `risk_at_half`, the `bins` of the reliability
        diagram, and `coverage` and `risk` of the risk-coverage curve.
    """

    column: str
    n_texts: int = field(metadata=stored_as("texts"))
    acc: float
    nmi: float
    ari: float
    classes: list[Any]
    clusters: list[Any]
    matrix: list[list[int]]
    calibration: dict[str, Any] | None = field(default=None, metadata=stored_if_set())


@dataclass(frozen=True, kw_only=True)
class Summary:
    """The result of a run, and how it was made.

    Attributes
    ----------
    input : InputInfo
        The rows that were clustered.
    n_clusters : int
        Number of clusters of the model; some may hold no text.
    n_clusters_search : ClusterCount or None
        How the number of clusters was estimated, None where it was given.
    clusters : list of ClusterEntry
        The clusters that hold a text, as the run found them; corrections are kept apart.
    outliers : OutlierSummary or None
        The outliers, None unless the setting `noise` is used.
    class_distribution : list of float
        b, the estimated share of each cluster.
    hierarchy : list of list of float
        Tree over the clusters, as scipy's linkage matrix.
    n_iter : int
        Number of training steps.
    converged : bool
        Whether the clusters stopped changing before the step limit.
    history : list of dict
        Measurements at each update of the pseudo-labels.
    losses : list of list
        Class-wise and instance-wise loss of each step.
    preset : str
        Name of the preset.
    seed : int
        Seed of the run.
    resumed_at : int or None
        The step at which the run was resumed from a checkpoint, None if it was not.
    update : UpdateSummary or None
        The rows that were added last, None if there was no update.
    settings : dict
        All settings of the run.
    device, precision : str
        Where and in which precision the encoder computed.
    versions : dict
        Versions of Python and of the packages.
    created : str
        When the run ended, in ISO 8601.
    seconds : dict
        Seconds of each stage.
    truth : TruthScores or None
        Scores against true classes, None where there are none.
    reliability : RunReliability or None
        How far the run can be trusted, None if it was not estimated.
    levels : list of Level
        The levels of detail, coarse to fine; empty if there is no other one than the clusters.
    messages : sequence of Message
        What matters about the texts and the clusters, warnings first.
    updates : list of UpdateEntry
        All updates of the run, oldest first.
    overlaps : list of ClusterOverlap
        Pairs of clusters that an update made hard to tell apart.
    files : dict of str to str
        The sha256 of other files of the run folder that are written with the summary, by name.
    sources : dict
        Options (such as "--seed") and settings that were not given on the command line, and where they were.
    languages : dict of str to float
        Share of each language among the shown texts that have one, by ISO 639 code, the most frequent first; languages
        of less than one per cent are left out. Empty in summaries of versions that did not detect languages.
    encoder_reason : str or None
        Why the encoder was taken, None if it was named.
    """

    input: InputInfo
    n_clusters: int
    n_clusters_search: ClusterCount | None
    clusters: list[ClusterEntry]
    outliers: OutlierSummary | None
    class_distribution: list[float]
    hierarchy: list[list[float]]
    n_iter: int
    converged: bool
    history: list[dict[str, Any]]
    losses: list[list[float | None]]
    preset: str
    seed: int | None
    resumed_at: int | None
    update: UpdateSummary | None
    settings: dict[str, Any]
    device: str
    precision: str
    versions: dict[str, str]
    created: str
    seconds: dict[str, float]
    truth: TruthScores | None = None
    reliability: RunReliability | None = None
    levels: list[Level] = field(default_factory=list)
    messages: Sequence[Message] = ()
    updates: list[UpdateEntry] = field(default_factory=list)
    overlaps: list[ClusterOverlap] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)
    sources: dict[str, str] = field(default_factory=dict)
    languages: dict[str, float] = field(default_factory=dict)
    encoder_reason: str | None = None

    @property
    def decisions(self) -> list[str]:
        """What the run decided by itself, one sentence each."""
        level = describe_level(self.n_clusters_search, self.n_clusters, self.settings.get("detail"))
        encoder = [self.encoder_reason] if self.encoder_reason else []
        return [*describe_decisions(self.history, self.converged), *encoder, *level]

    def to_json(self) -> dict[str, Any]:
        """Return the summary as the JSON object of summary.json."""
        summary = {
            "input": self.input.to_json(),
            "n_clusters": self.n_clusters,
            "count": None if self.n_clusters_search is None else self.n_clusters_search.to_dict(),
            "clusters_found": len(self.clusters),
            "clusters": [entry.to_json() for entry in self.clusters],
            "noise": None if self.outliers is None else self.outliers.to_json(),
            "class_distribution": self.class_distribution,
            "hierarchy": self.hierarchy,
            "steps": self.n_iter,
            "settled": self.converged,
            "history": self.history,
            "losses": self.losses,
            "preset": self.preset,
            "seed": self.seed,
            "resumed_at": self.resumed_at,
            "update": None if self.update is None else self.update.to_json(),
            "settings": self.settings,
            "device": self.device,
            "precision": self.precision,
            "versions": self.versions,
            "made": self.created,
            "seconds": self.seconds,
        }
        optional = {
            "reliability": self.reliability and {"sentence": self.reliability.describe(), **self.reliability.to_json()},
            "decisions": self.decisions,
            "levels": [level.to_json() for level in self.levels],
            "truth": self.truth and self.truth.to_json(),
            "messages": [message.to_json() for message in self.messages],
            "updates": [entry.to_json() for entry in self.updates],
            "overlaps": [overlap.to_json() for overlap in self.overlaps],
            "files": self.files,
            "sources": self.sources,
            "languages": self.languages,
            "encoder_reason": self.encoder_reason,
        }
        return summary | {name: value for name, value in optional.items() if value}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Summary:
        """Read a summary from the JSON object of summary.json.

        Raises KeyError, TypeError or AttributeError for an object that is no summary.
        """
        outliers, update, truth = values.get("noise"), values.get("update"), values.get("truth")
        reliability = values.get("reliability")
        entries: dict[str, Any] = dict(  # noqa: C408 (as the fields are written)
            input=InputInfo.from_json(values["input"]),
            n_clusters=values["n_clusters"],
            n_clusters_search=cluster_count_from_dict(values.get("count")),
            clusters=[ClusterEntry.from_json(entry) for entry in values["clusters"]],
            outliers=None if outliers is None else OutlierSummary.from_json(outliers),
            class_distribution=values["class_distribution"],
            hierarchy=values.get("hierarchy") or [],
            n_iter=values["steps"],
            converged=values["settled"],
            history=values["history"],
            losses=values.get("losses", []),
            preset=values["preset"],
            seed=values["seed"],
            resumed_at=values.get("resumed_at"),
            update=None if update is None else UpdateSummary.from_json(update),
            settings=values["settings"],
            device=values["device"],
            precision=values["precision"],
            versions=values["versions"],
            created=values["made"],
            seconds=values["seconds"],
            truth=None if truth is None else TruthScores.from_json(truth),
            reliability=None if reliability is None else RunReliability.from_json(reliability),
            levels=[Level.from_json(level) for level in values.get("levels", [])],
            messages=[Message.from_json(message) for message in values.get("messages", [])],
            updates=[UpdateEntry.from_json(entry) for entry in values.get("updates", [])],
            overlaps=[ClusterOverlap.from_json(overlap) for overlap in values.get("overlaps", [])],
            files=values.get("files", {}),
            sources={str(name): str(source) for name, source in values.get("sources", {}).items()},
            languages=dict(values.get("languages", {})),
            encoder_reason=values.get("encoder_reason"),
        )
        check_types(cls, entries)
        return cls(**entries)
