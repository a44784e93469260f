"""How far a run can be trusted, in numbers and plain sentences: for each cluster, and for the run as a whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rstc.io.predictions import HIGH_CONFIDENCE, MEDIUM_CONFIDENCE
from rstc.results.records import Record

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from rstc.pseudo_labels.stability import ClusterStability
    from rstc.pseudo_labels.structure import Structure

STABLE_SHARE, UNSTABLE_SHARE = 0.8, 0.5  # of the repeats that find a cluster again
UNCLEAR_CONFUSION = 0.1  # share of a cluster's texts that repeats put into another one, from which it is mentioned
STABLE_AGREEMENT, MIN_AGREEMENT = 0.6, 0.35  # of two repeats, by adjusted mutual information
ONE_TOPIC_SHARE = 0.9  # of the texts in the largest cluster
MAX_NAME = 40  # characters of a cluster's name in a sentence


@dataclass(frozen=True, kw_only=True)
class ClusterReliability(Record):
    """How far a cluster can be trusted.

    Attributes
    ----------
    n_found, n_repeats : int
        Number of repeats that found the cluster again, and of all repeats.
    separation : float
        Mean silhouette of its texts, from -1 to 1.
    size_low, size_high : int
        Interval of its number of texts: 90 percent of the repeats lie in it.
    confused_with : int or None
        The other cluster that repeats put most of its texts into.
    confusion : float
        Share of its texts that they put there, on average.
    """

    n_found: int
    n_repeats: int
    separation: float
    size_low: int
    size_high: int
    confused_with: int | None
    confusion: float

    @property
    def level(self) -> str:
        """How often the cluster is found again: "stable", "unsure" or "unstable"."""
        share = self.n_found / self.n_repeats
        return "stable" if share >= STABLE_SHARE else "unsure" if share >= UNSTABLE_SHARE else "unstable"

    def describe(self, names: Mapping[int, str]) -> str:
        """Describe the cluster in a sentence, with the names of the clusters.

        Examples
        --------
        >>> reliability = ClusterReliability(
        ...     n_found=28, n_repeats=30, separation=0.4, size_low=20, size_high=31, confused_with=2, confusion=0.15
        ... )
        >>> reliability.describe({2: "refund, money"})
        "found again in 28 of 30 repeats, with 20 to 31 texts; its border with 'refund, money' is unclear"
        """
        sentence = f"found again in {self.n_found} of {self.n_repeats} repeats"
        if self.level != "unstable":  # else what the repeats found in its place is another cluster
            sentence += f", with {self.size_low:,} to {self.size_high:,} texts"
        if self.level == "unstable" and self.separation < 0:
            return f"{sentence}; its texts have little in common"
        if self.confused_with is None or self.confusion < UNCLEAR_CONFUSION:
            return sentence
        name = names.get(self.confused_with, f"cluster {self.confused_with}")
        return f"{sentence}; its border with {name[:MAX_NAME]!r} is unclear"


@dataclass(frozen=True, kw_only=True)
class RunReliability(Record):
    """How far a run can be trusted.

    Attributes
    ----------
    verdict : str
        "stable", "partly stable", "one topic", "no structure" or "random words".
    agreement : float
        Mean adjusted mutual information of two repeats, on texts that neither has seen.
    n_repeats : int
        Number of repeats.
    n_found_again, n_clusters : int
        Number of clusters that at least half of the repeats find again, and of all clusters that hold a text.
    high, medium, low : float
        Share of the texts of each level of confidence.
    mean_confidence : float
        Mean confidence of the texts: about this share would be in the same cluster again.
    word_dependence : float or None
        By how many standard deviations the words of a text belong together more than by chance; None if not tested.
    other_n_clusters : int or None
        A number of clusters that the texts support clearly better than the given one.
    """

    verdict: str
    agreement: float
    n_repeats: int
    n_found_again: int
    n_clusters: int
    high: float
    medium: float
    low: float
    mean_confidence: float
    word_dependence: float | None = None
    other_n_clusters: int | None = None

    @property
    def is_warning(self) -> bool:
        """Whether the clusters should not be relied on as they are."""
        return self.verdict in ("one topic", "no structure", "random words") or self.other_n_clusters is not None

    def describe(self) -> str:
        """Describe in a line how far the run can be trusted, and what to do."""
        found = f"{self.n_found_again} of {self.n_clusters} are found again in most repeats"
        between = f"{_percent(self.low)} of the texts are between clusters (low confidence)"
        sentence = {
            "stable": f"The clusters are stable: {found}; {between}"
            + (", read these before you count them." if self.low >= 0.005 else "."),
            "partly stable": f"The clusters are partly stable: {found}; {between}. Rely on the clusters that are found "
            "again, and read the others.",
            "one topic": "Almost all texts are in one cluster, and repeats do not agree on the others: the texts may "
            "have one topic only. To divide it, ask for more clusters.",
            "no structure": "No clear structure was found: repeated on parts of the texts, the analysis finds other "
            f"clusters ({found}). Check that the column is the right one; the texts may have one topic only.",
            "random words": "No structure was found: the words of a text belong together no more than words drawn at "
            "random, so the clusters mean nothing. Check that the column is the right one.",
        }[self.verdict]
        if self.other_n_clusters is None:
            return sentence
        return (
            f"{sentence} About {self.other_n_clusters} clusters would fit these texts clearly better: let the number "
            "be estimated."
        )


def rate_cluster(stability: ClusterStability | None, size: int) -> ClusterReliability | None:
    """Return how far a cluster of this size can be trusted, by its stability; None if that was not measured."""
    if stability is None:
        return None
    return ClusterReliability(
        n_found=stability.n_found,
        n_repeats=stability.n_repeats,
        separation=round(stability.separation, 4),
        size_low=round(stability.relative_low * size),
        size_high=round(stability.relative_high * size),
        confused_with=stability.confused_with,
        confusion=round(stability.confusion, 4),
    )


def build_run_reliability(
    structure: Structure,
    confidence: NDArray[np.float32],
    clusters: Sequence[ClusterReliability],
    largest_share: float,
    n_repeats: int,
) -> RunReliability:
    """Build the reliability of a run.

    Parameters
    ----------
    structure : Structure
        Whether the texts have clusters.
    confidence : array of float, shape (N,)
        Confidence of the texts that have a cluster.
    clusters : sequence of ClusterReliability
        The clusters.
    largest_share : float
        Share of the texts in the largest cluster.
    n_repeats : int
        Number of repeats.

    Returns
    -------
    RunReliability
    """
    agreement = structure.agreement
    if structure.has_random_words:
        verdict = "random words"
    elif largest_share >= ONE_TOPIC_SHARE and agreement < STABLE_AGREEMENT:
        verdict = "one topic"
    elif agreement < MIN_AGREEMENT:
        verdict = "no structure"
    else:
        verdict = "stable" if agreement >= STABLE_AGREEMENT else "partly stable"
    high = float((confidence >= HIGH_CONFIDENCE).mean()) if len(confidence) else 0.0
    low = float((confidence < MEDIUM_CONFIDENCE).mean()) if len(confidence) else 0.0
    return RunReliability(
        verdict=verdict,
        agreement=round(agreement, 4),
        n_repeats=n_repeats,
        n_found_again=sum(cluster.level != "unstable" for cluster in clusters),
        n_clusters=len(clusters),
        high=round(high, 4),
        medium=round(1 - high - low, 4),
        low=round(low, 4),
        mean_confidence=round(float(confidence.mean()) if len(confidence) else 0.0, 4),
        word_dependence=None if structure.word_dependence is None else round(structure.word_dependence, 2),
        other_n_clusters=structure.other_n_clusters,
    )


def _percent(share: float) -> str:
    """Return a share in percent, in whole numbers but for small ones."""
    return f"{100 * share:.0f} %" if share >= 0.02 or share == 0 else f"{100 * share:.1f} %"
