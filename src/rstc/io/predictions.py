"""Predictions of a model: cluster, probabilities, embedding and confidence of each text."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

NO_CLUSTER = -1  # the cluster of a row without a text, and of an outlier
HIGH_CONFIDENCE = 0.8  # from here on: at least four of five repeated analyses give the text the same cluster
MEDIUM_CONFIDENCE = 0.5  # from here on; below, most of them give it another one
MAX_STORED_CLUSTERS = 10**6  # a file that claims more is refused before memory is allocated for them


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
    confidence : ndarray of float32, (N,)
        The probability that the text would be in the same cluster if the analysis were repeated; without meaning for an
        outlier and for a row without a text.
    """

    clusters: NDArray[np.int64]
    probabilities: NDArray[np.float32]
    embeddings: NDArray[np.float32]
    confidence: NDArray[np.float32]


def level_of(confidence: float) -> str:
    """Return the level of a confidence: "high", "medium" or "low".

    >>> [level_of(confidence) for confidence in (0.95, 0.8, 0.79, 0.5, 0.49)]
    ['high', 'high', 'medium', 'medium', 'low']
    """
    return "high" if confidence >= HIGH_CONFIDENCE else "medium" if confidence >= MEDIUM_CONFIDENCE else "low"


def confidence_of(probabilities: NDArray[np.float32], clusters: NDArray[np.int64] | None = None) -> NDArray[np.float32]:
    """Return the probability of each text's cluster, which stands in for a confidence that was not estimated.

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
