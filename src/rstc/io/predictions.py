"""Predictions of a model: cluster, probabilities and embedding of each text, and the confidence that follows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

NO_CLUSTER = -1  # the cluster of a row without a text, and of an outlier


@dataclass(frozen=True)
class Assignment:
    """Predictions of a model for N rows.

    Attributes
    ----------
    clusters : ndarray of int64, (N,)
        The cluster of each text; `NO_CLUSTER` for an outlier and for a row without a text.
    probabilities : ndarray of float32, (N, C)
        The probability of each cluster; zeros for a row without a text.
    embeddings : ndarray of float32, (N, D)
        The text in the learned space; zeros for a row without a text.
    """

    clusters: NDArray[np.int64]
    probabilities: NDArray[np.float32]
    embeddings: NDArray[np.float32]

    @property
    def confidence(self) -> NDArray[np.float32]:
        """The confidence of each text, (N,)."""
        return confidence_of(self.probabilities)


def confidence_of(probabilities: NDArray[np.float32], clusters: NDArray[np.int64] | None = None) -> NDArray[np.float32]:
    """Return the confidence of each text: the probability of its cluster.

    Parameters
    ----------
    probabilities : array of float, shape (N, C)
        Probability of each cluster.
    clusters : array of int, shape (N,), optional
        The cluster of each text, by default the most probable one. The confidence of a text in `NO_CLUSTER` has no
        meaning.

    Returns
    -------
    array of float, shape (N,)

    Examples
    --------
    >>> P = np.array([[0.75, 0.25], [0.5, 0.5], [0.0, 0.0]])
    >>> confidence_of(P).tolist(), confidence_of(P, np.array([1, 0, 0])).tolist()
    ([0.75, 0.5, 0.0], [0.25, 0.5, 0.0])
    """
    if clusters is None:
        return np.asarray(probabilities.max(axis=1, initial=0))
    return np.asarray(np.take_along_axis(probabilities, np.maximum(clusters, 0)[:, None], axis=1)[:, 0])
