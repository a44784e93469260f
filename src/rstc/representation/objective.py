"""The training objective L = L_C + lambda_I L_I of a batch of views (Eq. 7), in one process or in several.

Each process has some texts of the batch and computes the gradient of the objective with respect to their views. The
gradients of all processes add up to that of the whole batch, whatever the number of processes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from rstc.representation.losses import class_contrastive_loss, nt_xent_loss
from rstc.representation.network import Network
from rstc.runtime.distributed import ProcessGroup


class Losses(NamedTuple):
    """The losses of a batch.

    Attributes
    ----------
    total : Tensor
        Scalar to minimise.
    L_C, L_I : Tensor
        The class-wise loss and NT-Xent of the whole batch; L_C is zero without labels.
    """

    total: Tensor
    L_C: Tensor
    L_I: Tensor


class ContrastiveObjective(nn.Module):
    """The objective L_C + lambda_I L_I of a network.

    Parameters
    ----------
    network : Network
        The network to train.
    lambda_i : float
        Weight of L_I.
    tau : float
        Temperature of L_I.
    processes : ProcessGroup
        The processes that share the texts.
    """

    def __init__(self, network: Network, lambda_i: float, tau: float, processes: ProcessGroup) -> None:
        super().__init__()
        self.network, self.lambda_i, self.tau, self.processes = network, lambda_i, tau, processes

    def forward(self, views: Sequence[Any], Q: Tensor | None, counts: Sequence[int]) -> Losses:
        """Compute the losses of a batch.

        Parameters
        ----------
        views : sequence of arrays
            The first and then the second views of this process's texts, as token ids or hidden states.
        Q : Tensor or None
            The pseudo-labels of these texts; None trains on L_I alone.
        counts : sequence of int
            Number of texts of the batch in each process. A process without texts passes a placeholder view, which does
            not enter the losses.

        Returns
        -------
        Losses
        """
        network, processes = self.network, self.processes
        B = counts[processes.rank]
        E1, E2 = (E[:B] for E in network.encoder(views).chunk(2))  # (B, D) each
        L_I = nt_xent_loss(network.projector(E1), network.projector(E2), self.tau, processes, counts)
        total, L_C = L_I, torch.zeros((), device=E1.device)
        if Q is not None:
            logits1, logits2 = network.cluster_head(E1), network.cluster_head(E2)  # (B, C) each
            local_L_C = class_contrastive_loss(logits1, logits2, Q[:B], n_texts=sum(counts))
            total = local_L_C + self.lambda_i * L_I
            L_C = processes.all_reduce(local_L_C.detach().clone())
        # DistributedDataParallel averages the gradients of the processes, whereas their sum is needed.
        return Losses(total * processes.size, L_C, L_I)


def distribute(objective: ContrastiveObjective, always_labelled: bool) -> nn.Module:
    """Wrap an objective so that backward sums the gradients of all processes.

    Parameters
    ----------
    objective : ContrastiveObjective
        The objective.
    always_labelled : bool
        Whether every batch has labels; without labels, the cluster head gets no gradient.
    """
    if objective.processes.is_single:
        return objective
    return DistributedDataParallel(objective, find_unused_parameters=not always_labelled)
