"""Where texts belong, as a model says it in one pass over them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

NO_CLUSTER = -1


@dataclass(frozen=True)
class Assignment:
    """Where texts belong.

    Attributes:
        clusters: the cluster of each text, (N,); -1 where there is no text, or one that belongs nowhere.
        probabilities: of each cluster, (N, C); zeros where there is no text.
        embeddings: in the learned space, (N, D); zeros where there is no text.
    """

    clusters: NDArray[np.int64]
    probabilities: NDArray[np.float32]
    embeddings: NDArray[np.float32]

    @property
    def confidence(self) -> NDArray[np.float32]:
        """The probability of each text's own cluster, (N,)."""
        return np.asarray(self.probabilities.max(axis=1, initial=0))
