"""Dropout that is faster than torch's on a CPU, where torch draws each element of a mask separately."""

from __future__ import annotations

import torch
from torch import Tensor, nn

LEVELS = 2**16


class FastDropout(nn.Dropout):
    """Dropout that draws its mask from random bits, sixteen for each element; `p` is rounded to a multiple of 2**-16.

    >>> dropout = FastDropout(0.25).train()
    >>> y = dropout(torch.ones(10_000))
    >>> sorted({round(v, 4) for v in y.tolist()}), bool(abs(y.mean() - 1) < 0.03)
    ([0.0, 1.3333], True)
    """

    def forward(self, x: Tensor) -> Tensor:
        """Return x with a share `p` of its elements set to 0 and the others scaled by 1 / (1 - p)."""
        threshold = round(self.p * LEVELS)
        if not self.training or threshold == 0 or x.device.type != "cpu" or threshold == LEVELS:
            return super().forward(x)
        words = torch.empty((x.numel() + 3) // 4, dtype=torch.int64).random_(-(2**63), None)  # 64 bits: four elements
        levels = words.view(torch.int16)[: x.numel()].view(x.shape)
        mask = (levels >= threshold - LEVELS // 2).to(x.dtype).mul_(LEVELS / (LEVELS - threshold))
        return x * mask


def replace_dropout(model: nn.Module) -> None:
    """Replace every plain dropout of a model by `FastDropout`."""
    for parent in model.modules():
        for name, child in parent.named_children():
            if type(child) is nn.Dropout:
                setattr(parent, name, FastDropout(child.p).train(child.training))
