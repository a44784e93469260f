"""The contrastive losses of the paper: class-wise against pseudo-labels (Eq. 4), NT-Xent between views (Eq. 5, 6).

Both work in a single process and in several processes that share a batch, whose gradients add up to the gradient of the
loss of the whole batch.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

from rstc.runtime.distributed import SINGLE_PROCESS, ProcessGroup


def class_contrastive_loss(logits1: Tensor, logits2: Tensor, Q: Tensor, n_texts: int | None = None) -> Tensor:
    """Return L_C = <Q, -log P1> / N + <Q, -log P2> / N (Eq. 4).

    Parameters
    ----------
    logits1, logits2 : Tensor of shape (B, C)
        Predictions of the two views before the softmax.
    Q : Tensor of shape (B,)
        Pseudo-labels of the texts, as class numbers.
    n_texts : int, optional
        N, the size of the batch over all processes; by default B. With it, the result is this process's part of L_C,
        and the parts of all processes add up to L_C.

    Returns
    -------
    Tensor
        A scalar.

    Examples
    --------
    >>> confident = torch.tensor([[9.0, 0.0], [0.0, 9.0]])
    >>> round(class_contrastive_loss(confident, confident, torch.tensor([0, 1])).item(), 4)
    0.0002
    """
    N = len(Q) if n_texts is None else n_texts
    return F.cross_entropy(logits1, Q, reduction="sum") / N + F.cross_entropy(logits2, Q, reduction="sum") / N


def nt_xent_loss(
    Z1: Tensor, Z2: Tensor, tau: float, processes: ProcessGroup = SINGLE_PROCESS, counts: Sequence[int] | None = None
) -> Tensor:
    """Return L_I, the normalised temperature-scaled cross entropy over all 2B views (Eq. 5, 6).

    Each view has its partner as the positive and the other 2B - 2 views of the batch as negatives.

    Parameters
    ----------
    Z1, Z2 : Tensor of shape (B, D2)
        Projected views of unit length, of this process's texts.
    tau : float
        Temperature.
    processes : ProcessGroup
        The processes whose views are gathered, so that each has those of all as negatives. Gradients flow to this
        process's views only.
    counts : sequence of int, optional
        The number of texts of each process; needed with several processes.

    Returns
    -------
    Tensor
        A scalar, the same in all processes.

    Examples
    --------
    >>> Z = torch.eye(2)
    >>> round(nt_xent_loss(Z, Z, tau=1.0).item(), 4)  # log(e + 1 + 1) - 1
    0.5514
    """
    Z1, Z2 = (processes.gather_rows_with_grad(Z, counts or [len(Z)]) for Z in (Z1, Z2))
    B = len(Z1)
    Z = torch.cat([Z1, Z2])  # (2B, D2)
    similarity = Z @ Z.T / tau  # (2B, 2B)
    similarity.fill_diagonal_(-torch.inf)
    partner = torch.arange(2 * B, device=Z.device).roll(B)
    return F.cross_entropy(similarity, partner)
