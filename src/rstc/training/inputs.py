"""The inputs of a training run (texts, views, encoder, number of clusters, partial labels) and their memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rstc.config import Config
from rstc.representation.encoder import Encoder
from rstc.representation.network import Network
from rstc.representation.views import Views
from rstc.runtime.distributed import ProcessGroup
from rstc.runtime.memory import MemoryEstimate
from rstc.validation.n_clusters import ClusterRange

ASSUMED_N_LAYERS = 12  # where all are trained
ASSUMED_N_CLUSTERS = 100  # for the memory estimate, while the number of clusters is unknown


@dataclass(frozen=True)
class WarmStart:
    """A trained model from which training continues.

    Attributes
    ----------
    network : Network
        Network of that model.
    labels : ndarray of shape (N,)
        Clusters that it predicts for the texts.
    start : str
        How its first labels were found.
    """

    network: Network
    labels: NDArray[np.int64]
    start: str


@dataclass(frozen=True)
class TrainingInputs:
    """The inputs of a run.

    Attributes
    ----------
    texts : sequence of str
        The N texts of this process.
    views : Views
        Two views of each text.
    encoder : Encoder
        The encoder to train.
    n_clusters : int or (int, int or None)
        Number of clusters, or the range within which it is estimated.
    partial_labels : ndarray of shape (N,), optional
        Class of each labelled text, -1 for the others. Class c is cluster c during training; there may be more clusters
        than classes.
    warm_start : WarmStart, optional
        A trained model to continue from; its clusters keep their numbers.
    features : ndarray of shape (N, F), optional
        The user's own features of the texts.
    """

    texts: Sequence[str]
    views: Views
    encoder: Encoder
    n_clusters: int | ClusterRange
    partial_labels: NDArray[np.int64] | None = None
    warm_start: WarmStart | None = None
    features: NDArray[np.float32] | None = None

    @property
    def min_clusters(self) -> int:
        """The smallest number of clusters."""
        return self.n_clusters[0] if isinstance(self.n_clusters, tuple) else self.n_clusters


def estimate_memory(
    texts: Sequence[str],
    encoder: Encoder,
    n_clusters: int | ClusterRange,
    config: Config,
    processes: ProcessGroup,
) -> MemoryEstimate:
    """Estimate the memory that a run takes in this process, whose texts are `texts`."""
    n_total = int(processes.total(len(texts)))
    n_fit_texts = min(config.max_fit_texts or n_total, n_total)
    n_layers = config.count_trained_layers(n_total)
    n_found = n_clusters if isinstance(n_clusters, int) else n_clusters[1] or ASSUMED_N_CLUSTERS
    return MemoryEstimate(
        n_texts=len(texts),
        n_characters=sum(map(len, texts)),
        n_fit_texts=-(-n_fit_texts // processes.size),
        max_tokens=encoder.max_tokens,
        n_clusters=n_found,
        dim=encoder.dim,
        encoder_bytes=sum(weights.numel() * weights.element_size() for _, weights in encoder.named_weights()),
        cache_bytes=config.cache_mb * 2**20 if n_layers else 0,
        batch_size=min(config.batch_size, n_fit_texts) if n_layers else 0,
        n_layers=ASSUMED_N_LAYERS if n_layers == "all" else n_layers,
        projection_dim=config.projection_dim if n_layers else 0,
        n_repeats=config.repeats,
        n_neighbours=min(config.neighbours, n_fit_texts // (2 * n_found) + 1),
    )
