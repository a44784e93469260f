"""The two contrasts: class-wise against the pseudo-labels (Eq. 4), instance-wise between the views (Eq. 5, 6)."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F


def class_contrast(logits1: Tensor, logits2: Tensor, Q: Tensor) -> Tensor:
    """Return L_C = <Q, -log P1> / N + <Q, -log P2> / N (Eq. 4).

    Args:
        logits1, logits2: predictions of the two views before the softmax, (B, C).
        Q: pseudo-labels of the texts, (B,) class numbers.

    >>> confident = torch.tensor([[9.0, 0.0], [0.0, 9.0]])
    >>> round(class_contrast(confident, confident, torch.tensor([0, 1])).item(), 4)
    0.0002
    """
    return F.cross_entropy(logits1, Q) + F.cross_entropy(logits2, Q)


def instance_contrast(Z1: Tensor, Z2: Tensor, tau: float) -> Tensor:
    """Return L_I, the mean over all 2B views of the cost of finding their partner among 2B - 1 others (Eq. 5, 6).

    Args:
        Z1, Z2: projected views of unit length, (B, D2).
        tau: temperature.

    >>> Z = torch.eye(2)
    >>> round(instance_contrast(Z, Z, tau=1.0).item(), 4)  # log(e + 1 + 1) - 1
    0.5514
    """
    B = len(Z1)
    Z = torch.cat([Z1, Z2])  # (2B, D2)
    similarity = Z @ Z.T / tau  # (2B, 2B)
    similarity.fill_diagonal_(-torch.inf)
    partner = torch.arange(2 * B, device=Z.device).roll(B)
    return F.cross_entropy(similarity, partner)
