"""A training step's two losses: of a batch of views to L_C + lambda_I L_I, in one process or spread over many.

Each process has some texts of the batch. L_C is a sum over them, and L_I asks for each view's partner among those of
all processes. A process's gradient is that of the whole loss by its own views; the gradients of all add up to that of
the whole batch, whatever the number of processes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel

from rstc.runtime.distributed import Ranks
from rstc.representation.losses import class_contrast, instance_contrast
from rstc.representation.network import Network


class Losses(NamedTuple):
    """What is to be made smaller, and of what it is made: L_C and L_I of the whole batch."""

    total: Tensor
    L_C: Tensor
    L_I: Tensor


class Contrasts(nn.Module):
    """The losses of a batch."""

    def __init__(self, network: Network, lambda_i: float, tau: float, ranks: Ranks) -> None:
        super().__init__()
        self.network, self.lambda_i, self.tau, self.ranks = network, lambda_i, tau, ranks

    def forward(self, views: Sequence[Any], Q: Tensor | None, counts: Sequence[int]) -> Losses:
        """Return the losses of a batch.

        Args:
            views: as sequences, the first and then the second views of this process's texts.
            Q: the labels of these texts; None: L_I alone.
            counts: how many texts of the batch each process has; one that stands in where there is none counts for
                nothing.
        """
        network = self.network
        E1, E2 = network.encoder(views).chunk(2)  # (B, D) each
        if not self.ranks.alone:
            own = counts[self.ranks.rank]
            return self._of_own(E1[:own], E2[:own], Q, counts)
        L_I = instance_contrast(network.projector(E1), network.projector(E2), self.tau)
        if Q is None:
            return Losses(L_I, torch.zeros((), device=E1.device), L_I)
        L_C = class_contrast(network.cluster_head(E1), network.cluster_head(E2), Q)
        return Losses(L_C + self.lambda_i * L_I, L_C, L_I)

    def _of_own(self, E1: Tensor, E2: Tensor, Q: Tensor | None, counts: Sequence[int]) -> Losses:
        """Return the losses of a batch that is spread over processes."""
        network, ranks = self.network, self.ranks
        Z1, Z2 = (ranks.with_own(network.projector(E), counts) for E in (E1, E2))
        L_I = instance_contrast(Z1, Z2, self.tau)
        total, L_C = L_I, torch.zeros((), device=E1.device)
        if Q is not None:
            both = (F.cross_entropy(network.cluster_head(E), Q[: len(E)], reduction="sum") for E in (E1, E2))
            own = sum(both, torch.zeros((), device=E1.device)) / len(Z1)
            total, L_C = own + self.lambda_i * L_I, ranks.sum(own.detach().clone())
        return Losses(total * ranks.size, L_C, L_I)  # torch takes the mean of the gradients, and the sum is meant


def spread(contrasts: Contrasts, with_labels_always: bool) -> nn.Module:
    """Return the losses so that their gradients are those of all processes; without labels, G_p learns nothing."""
    if contrasts.ranks.alone:
        return contrasts
    return DistributedDataParallel(contrasts, find_unused_parameters=not with_labels_always)
