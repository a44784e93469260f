"""New labels from what the network predicts: the transports of the paper, each with its own class sizes."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rstc.training.checkpoint_file import Snapshot
from rstc.pseudo_labels.transport.marginals import moving_average
from rstc.pseudo_labels.transport.saot import Transport, optimal_transport, saot, transport_near
from rstc.runtime.distributed import ALONE, Ranks

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
        ranks: the processes among which the texts are spread.
    """

    def __init__(
        self,
        source: str,
        n_clusters: int,
        eps1: float,
        method: str,
        rng: np.random.Generator,
        ranks: Ranks = ALONE,
    ) -> None:
        if source not in SOURCES:
            raise ValueError(f"source={source!r} is not one of {', '.join(SOURCES)}")
        self.source, self.eps1, self.method = source, eps1, method
        self.b = _random_distribution(n_clusters, rng)
        if source == "ot-uniform":
            self.b = np.full(n_clusters, 1 / n_clusters)
        self.potentials: Tensor | None = None
        self.ranks = ranks

    def snapshot(self) -> Snapshot:
        """Return where the last one ended."""
        potentials = {} if self.potentials is None else {"potentials": self.potentials.cpu().numpy()}
        return Snapshot({}, {"b": self.b, **potentials})

    def restore(self, snapshot: Snapshot) -> None:
        """Go on from there."""
        self.b, potentials = snapshot.arrays["b"], snapshot.arrays.get("potentials")
        self.potentials = None if potentials is None else torch.from_numpy(potentials.copy())

    def renew(self, log_p: Tensor, clusters: NDArray[np.int64], eps2: float) -> Transport[Tensor]:
        """Transport log P (N, C), by which texts are in clusters (N,); eps2 weighs the penalty on b."""
        start, ranks = self.potentials, self.ranks
        if self.source == "saot":
            found = saot(log_p, self.eps1, eps2, self.method, start=start, ranks=ranks)
        elif self.source == "ot-near":
            b = torch.from_numpy(self.b)
            found = transport_near(log_p, b, self.eps1, eps2, self.method, start=start, ranks=ranks)
            self.b = found.b.numpy()
        else:
            if self.source == "ot-average":
                counts = torch.from_numpy(np.bincount(clusters, minlength=len(self.b)))
                self.b = moving_average(self.b, ranks.sum(counts).numpy())
            b = torch.from_numpy(self.b)
            found = optimal_transport(log_p, b, self.eps1, self.method, start=start, ranks=ranks)
        self.potentials = found.potentials
        return found


def _random_distribution(n_clusters: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Draw a class distribution."""
    b = rng.random(n_clusters) + 1e-3  # no class of size zero
    return np.asarray(b / b.sum())
