"""New labels from what the network predicts: the transports of the paper, each with its own class sizes."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rstc.pseudo_labels.marginals import moving_average
from rstc.pseudo_labels.transport import Transport, optimal_transport, saot, transport_near

SOURCES = ("saot", "ot-random", "ot-uniform", "ot-average", "ot-near")


class TransportedLabels:
    """Transports of log P (N, C), one after the other, each beginning where the last one ended.

    Args:
        source: where the class distribution b comes from: "saot" estimates it (M1); "ot-random" and "ot-uniform" hold
            one fixed; "ot-average" follows the counts of the predictions (M2); "ot-near" stays near the last (M3).
        n_clusters: C.
        eps1: weight of the plan's entropy.
        method: how the transport is solved.
        rng: draws the b that some begin with.
    """

    def __init__(self, source: str, n_clusters: int, eps1: float, method: str, rng: np.random.Generator) -> None:
        if source not in SOURCES:
            raise ValueError(f"source={source!r} is not one of {', '.join(SOURCES)}")
        self.source, self.eps1, self.method = source, eps1, method
        self.b = _random_distribution(n_clusters, rng)
        if source == "ot-uniform":
            self.b = np.full(n_clusters, 1 / n_clusters)
        self.potentials: Tensor | None = None

    def renew(self, log_p: Tensor, clusters: NDArray[np.int64], eps2: float) -> Transport[Tensor]:
        """Transport log P (N, C), by which texts are in clusters (N,); eps2 weighs the penalty on b."""
        start = self.potentials
        if self.source == "saot":
            found = saot(log_p, self.eps1, eps2, self.method, start=start)
        elif self.source == "ot-near":
            found = transport_near(log_p, torch.from_numpy(self.b), self.eps1, eps2, self.method, start=start)
            self.b = found.b.numpy()
        else:
            if self.source == "ot-average":
                self.b = moving_average(self.b, clusters)
            found = optimal_transport(log_p, torch.from_numpy(self.b), self.eps1, self.method, start=start)
        self.potentials = found.potentials
        return found


def _random_distribution(n_clusters: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Draw a class distribution."""
    b = rng.random(n_clusters) + 1e-3  # no class of size zero
    return np.asarray(b / b.sum())
