"""Deep embedded clustering (Xie et al. 2016): soft assignments q, their sharpened target p, and the loss KL(p || q)."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F


def soft_assignment(E: Tensor, centres: Tensor, alpha: float = 1.0) -> Tensor:
    """Assign points softly to cluster centres by a Student t kernel.

    q_ij is proportional to (1 + |e_i - c_j|^2 / alpha)^(-(alpha + 1) / 2), and each row sums to one.

    Parameters
    ----------
    E : Tensor of shape (N, D)
        The points.
    centres : Tensor of shape (C, D)
        The cluster centres.
    alpha : float
        Degrees of freedom of the kernel.

    Returns
    -------
    Tensor of shape (N, C)
        The assignments q.

    Examples
    --------
    >>> soft_assignment(torch.tensor([[0.0]]), torch.tensor([[0.0], [1.0]]))  # 1 to 1/2
    tensor([[0.6667, 0.3333]])
    """
    # Multiplied out, because all differences at once, (N, C, D), would not fit in memory; rounding can fall below zero.
    squared_distances = E.square().sum(1, keepdim=True) + centres.square().sum(1) - 2 * E @ centres.T  # (N, C)
    return torch.softmax(-(alpha + 1) / 2 * torch.log1p(squared_distances.clamp(min=0) / alpha), dim=1)


def target_distribution(q: Tensor) -> Tensor:
    """Sharpen soft assignments q (N, C) to the target p (N, C), whose rows sum to one.

    p_ij is proportional to q_ij^2 / f_j with the cluster size f_j = sum_i q_ij.

    Examples
    --------
    >>> target_distribution(torch.tensor([[0.75, 0.25], [0.25, 0.75]]))  # 9 to 1
    tensor([[0.9000, 0.1000],
            [0.1000, 0.9000]])
    """
    weights = q.square() / q.sum(0)
    return weights / weights.sum(1, keepdim=True)


def cluster_loss(q: Tensor, p: Tensor) -> Tensor:
    """Compute KL(p || q) = sum_j p_j log(p_j / q_j), averaged over the rows.

    Examples
    --------
    >>> cluster_loss(torch.tensor([[0.5, 0.5]]), torch.tensor([[1.0, 0.0]]))  # log 2
    tensor(0.6931)
    """
    return F.kl_div(q.log(), p, reduction="batchmean")
