"""How texts that come later differ from those before, as a model sees both."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import jensenshannon


@dataclass(frozen=True)
class Drift:
    """How new texts differ from old ones.

    Attributes:
        texts: how many are new.
        shares: of the new texts in each cluster, (C,).
        shares_before: of the old ones.
        distance: between the two, 0 (alike) to 1 (in other clusters altogether): Jensen-Shannon's.
        expected: the distance that as many texts drawn from the old ones would have, in the mean.
        confidence, confidence_before: the mean confidence of new and of old texts; lower where new ones fit badly.
        moved: the share of the old texts that are in another cluster after the update.
    """

    texts: int
    shares: NDArray[np.float64]
    shares_before: NDArray[np.float64]
    distance: float
    expected: float
    confidence: float
    confidence_before: float
    moved: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return {
            name: np.round(value, 4).tolist() if isinstance(value, np.ndarray) else value
            for name, value in asdict(self).items()
        }


def drift(
    clusters: NDArray[np.int64], confidence: NDArray[np.floating], is_new: NDArray[np.bool_], n_clusters: int
) -> Drift:
    """Compare the clusters (N,) and the confidence (N,) of new texts with those of the others.

    >>> found = drift(np.array([0, 0, 1, 1, 1, 1]), np.ones(6), np.arange(6) >= 4, 2)
    >>> found.shares.tolist(), found.shares_before.tolist(), round(found.distance, 2)
    ([0.0, 1.0], [0.5, 0.5], 0.56)
    """
    shares, before = (_shares(clusters[rows], n_clusters) for rows in (is_new, ~is_new))
    rng, n = np.random.default_rng(0), int(is_new.sum())
    drawn = [_shares(rng.choice(clusters[~is_new], n), n_clusters) for _ in range(20)] if n and not is_new.all() else []
    return Drift(
        n,
        shares,
        before,
        _distance(shares, before),
        float(np.mean([_distance(one, before) for one in drawn])) if drawn else 0.0,
        float(confidence[is_new].mean()) if n else 0.0,
        float(confidence[~is_new].mean()) if not is_new.all() else 0.0,
    )


def _shares(clusters: NDArray[np.int64], n_clusters: int) -> NDArray[np.float64]:
    return np.bincount(clusters, minlength=n_clusters) / max(len(clusters), 1)


def _distance(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    return float(np.nan_to_num(jensenshannon(one, other, base=2)))
