"""The result of estimating the number of clusters, and its form in summary.json and model.json."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

COARSE, MEDIUM, FINE = "coarse", "medium", "fine"  # levels of detail: medium has the given or estimated number

# Keys of fields in summary.json and model.json that differ from the names of the fields.
DISK_KEYS = {"neighbour_nmi": "told", "silhouette": "apart", "stability": "stable", "certainty": "sure"}


@dataclass(frozen=True)
class Candidate:
    """A number of clusters and its scores, each from about 0 to 1."""

    n_clusters: int
    neighbour_nmi: float
    silhouette: float
    stability: float

    @property
    def score(self) -> float:
        """The sum of the three scores, from 0 to 3."""
        return self.neighbour_nmi + self.silhouette + self.stability


@dataclass(frozen=True)
class ClusterCount:
    """An estimate of the number of clusters.

    Attributes
    ----------
    n_clusters : int
        The estimate.
    low, high : int
        Range of numbers with about the same score.
    certainty : {"clear", "fair", "weak"}
        How prominent the peak is, compared with the noise of the score and with other peaks.
    runners_up : tuple of int
        Numbers at the other peaks, the best first.
    candidates : tuple of Candidate
        All numbers that were scored, in increasing order.
    """

    n_clusters: int
    low: int
    high: int
    certainty: str
    runners_up: tuple[int, ...]
    candidates: tuple[Candidate, ...]

    @property
    def coarser(self) -> int | None:
        """A smaller number that fits about as well, if the estimate is weak: the best smaller peak, or else `low`.

        >>> ClusterCount(18, 16, 20, "weak", (40, 6), ()).coarser, ClusterCount(18, 16, 20, "weak", (40,), ()).coarser
        (6, 16)
        >>> ClusterCount(18, 16, 20, "fair", (6,), ()).coarser is None
        True
        """
        smaller = [number for number in (*self.runners_up, self.low) if number < self.n_clusters]
        return smaller[0] if self.certainty == "weak" and smaller else None

    def to_dict(self) -> dict[str, Any]:
        """Return the estimate as JSON values, with the keys of summary.json and model.json."""
        candidates = [_to_disk_keys(vars(candidate)) for candidate in self.candidates]
        return _to_disk_keys(vars(self) | {"runners_up": list(self.runners_up), "candidates": candidates})


def cluster_count_from_dict(values: Mapping[str, Any] | None) -> ClusterCount | None:
    """Restore an estimate from the result of `ClusterCount.to_dict`; None for None."""
    if values is None:
        return None
    fields = _to_field_names(values)
    fields["runners_up"] = tuple(values["runners_up"])
    fields["candidates"] = tuple(Candidate(**_to_field_names(entry)) for entry in values["candidates"])
    return ClusterCount(**fields)


def _to_disk_keys(values: Mapping[str, Any]) -> dict[str, Any]:
    """Rename fields to their keys on disk."""
    return {DISK_KEYS.get(name, name): value for name, value in values.items()}


def _to_field_names(values: Mapping[str, Any]) -> dict[str, Any]:
    """Rename keys on disk to the names of the fields."""
    field_names = {key: name for name, key in DISK_KEYS.items()}
    return {field_names.get(key, key): value for key, value in values.items()}
