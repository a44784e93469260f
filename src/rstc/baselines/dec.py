"""Deep embedded clustering (Xie et al. 2016): soft assignment q, its sharpened target p, and the loss KL(p || q)."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F


def soft_assignment(E: Tensor, centres: Tensor, alpha: float = 1.0) -> Tensor:
    """Return q (N, C), how much each point (N, D) belongs to each centre (C, D), by a Student t kernel.

    q_ij is proportional to (1 + |e_i - c_j|^2 / alpha)^(-(alpha + 1) / 2), and each row sums to one.

    >>> soft_assignment(torch.tensor([[0.0]]), torch.tensor([[0.0], [1.0]]))  # 1 to 1/2
    tensor([[0.6667, 0.3333]])
    """
    # Multiplied out, as all differences at once, (N, C, D), would not fit in memory; rounding can fall below zero.
    squares = E.square().sum(1, keepdim=True) + centres.square().sum(1) - 2 * E @ centres.T  # (N, C)
    return torch.softmax(-(alpha + 1) / 2 * torch.log1p(squares.clamp(min=0) / alpha), dim=1)


def target_distribution(q: Tensor) -> Tensor:
    """Return p (N, C): q squared over the size f_j of each cluster, so that sure texts count more; rows sum to one.

    p_ij is proportional to q_ij^2 / f_j with f_j = sum_i q_ij.

    >>> target_distribution(torch.tensor([[0.75, 0.25], [0.25, 0.75]]))  # 9 to 1
    tensor([[0.9000, 0.1000],
            [0.1000, 0.9000]])
    """
    weights = q.square() / q.sum(0)
    return weights / weights.sum(1, keepdim=True)


def cluster_loss(q: Tensor, p: Tensor) -> Tensor:
    """Return KL(p || q), the sum over clusters of p log(p / q), as the mean over the rows.

    >>> cluster_loss(torch.tensor([[0.5, 0.5]]), torch.tensor([[1.0, 0.0]]))  # log 2
    tensor(0.6931)
    """
    return F.kl_div(q.log(), p, reduction="batchmean")
