"""Drift: how new texts differ from earlier ones in their clusters and in the confidence of the predictions."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import jensenshannon

N_DRAWS = 20  # samples of the earlier texts that estimate the distance without drift


@dataclass(frozen=True)
class Drift:
    """How new texts differ from earlier ones.

    Attributes
    ----------
    texts : int
        The number of new texts.
    shares : ndarray of shape (C,)
        The share of the new texts in each cluster.
    shares_before : ndarray of shape (C,)
        The share of the earlier texts in each cluster.
    distance : float
        Jensen-Shannon distance between `shares` and `shares_before`, from 0 (equal) to 1 (no cluster in common).
    expected : float
        Mean distance of random samples of the earlier texts, each as large as the new texts.
    confidence, confidence_before : float
        Mean confidence of the new and of the earlier texts; low if the new texts fit no cluster well.
    moved : float
        The share of the earlier texts that are in another cluster after the update.
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
        """Return the fields as JSON values."""
        return {
            name: np.round(value, 4).tolist() if isinstance(value, np.ndarray) else value
            for name, value in asdict(self).items()
        }


def measure_drift(
    clusters: NDArray[np.int64], confidence: NDArray[np.floating], is_new: NDArray[np.bool_], n_clusters: int
) -> Drift:
    """Compare the clusters and the confidence of new texts with those of earlier ones.

    Parameters
    ----------
    clusters : ndarray of shape (N,)
        The cluster of each text.
    confidence : ndarray of shape (N,)
        Probability of that cluster.
    is_new : ndarray of shape (N,)
        Whether the text is new.
    n_clusters : int
        C.

    Returns
    -------
    Drift

    Examples
    --------
    >>> drift = measure_drift(np.array([0, 0, 1, 1, 1, 1]), np.ones(6), np.arange(6) >= 4, 2)
    >>> drift.shares.tolist(), drift.shares_before.tolist(), round(drift.distance, 2)
    ([0.0, 1.0], [0.5, 0.5], 0.56)
    """
    shares, shares_before = (_cluster_shares(clusters[rows], n_clusters) for rows in (is_new, ~is_new))
    rng, n_new = np.random.default_rng(0), int(is_new.sum())
    draws = []
    if n_new and not is_new.all():
        draws = [_cluster_shares(rng.choice(clusters[~is_new], n_new), n_clusters) for _ in range(N_DRAWS)]
    return Drift(
        n_new,
        shares,
        shares_before,
        _distance(shares, shares_before),
        float(np.mean([_distance(draw, shares_before) for draw in draws])) if draws else 0.0,
        float(confidence[is_new].mean()) if n_new else 0.0,
        float(confidence[~is_new].mean()) if not is_new.all() else 0.0,
    )


def _cluster_shares(clusters: NDArray[np.int64], n_clusters: int) -> NDArray[np.float64]:
    return np.bincount(clusters, minlength=n_clusters) / max(len(clusters), 1)


def _distance(first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
    return float(np.nan_to_num(jensenshannon(first, second, base=2)))
