"""Teach the clustering network alone, the encoder fixed: labels that were found beside it become what it predicts."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

MOST_STEPS = 3000
STEPS_BETWEEN_LOOKS = 25
ROWS_A_PIECE = 8192  # of predictions that are held at a time
ALMOST_ALL = 0.98  # of the clusters

BY_HEART = 0.995  # of the labels
BY_HEART_BATCH = 500
BY_HEART_LR = 1e-3
STEPS_WITHOUT_PROGRESS = 500


def give_head_start(
    head: nn.Module, E: Tensor, labels: Tensor, goal: float, batch_size: int, lr: float, rng: np.random.Generator
) -> None:
    """Teach a head (B, D) -> (B, C) the labels (N,) of embeddings (N, D) just long enough.

    A transport from a network that knows nothing yet follows it into collapse; from one that knows its labels by heart
    it changes nothing. So it learns until it agrees with a share of the labels, the goal, and predicts all but a few
    clusters.
    """
    optimizer = torch.optim.Adam(head.parameters(), lr=lr)
    for step in range(MOST_STEPS if goal else 0):
        if step % STEPS_BETWEEN_LOOKS == 0:
            found = _predicted(head, E)
            agree = (found == labels).float().mean() >= goal
            if agree and len(found.unique()) >= ALMOST_ALL * len(labels.unique()):
                break
            head.train()
        _learn(head, optimizer, E, labels, torch.from_numpy(rng.integers(len(E), size=batch_size)))


def teach_by_heart(head: nn.Module, E: Tensor, labels: Tensor, rng: np.random.Generator) -> None:
    """Teach a head (B, D) -> (B, C) all but a few of the labels (N,) of embeddings (N, D), and every cluster.

    For labels that are a result already: whatever the head does not learn of them is lost. So dropout, which would make
    it forget, is off. If it then lacks some clusters, it goes on, and half of what it sees is of those. It gives up
    where nothing helps, as with equal texts of different labels.
    """
    optimizer = torch.optim.Adam(head.parameters(), lr=BY_HEART_LR)
    half = BY_HEART_BATCH // 2
    look = max(STEPS_BETWEEN_LOOKS, len(E) // BY_HEART_BATCH)  # a look at all texts costs as much as many steps
    for clusters_only, goal in ((False, BY_HEART), (True, 0)):
        best, best_step = -np.inf, 0
        for step in range(MOST_STEPS):
            if step % look == 0:
                found = _predicted(head, E)
                missing = torch.isin(labels, found, invert=True).nonzero()[:, 0]
                reached = -float(len(missing)) if clusters_only else (found == labels).float().mean().item()
                if reached > best:
                    best, best_step = reached, step
                if reached >= goal or step - best_step >= STEPS_WITHOUT_PROGRESS:
                    break
            batch = torch.from_numpy(rng.integers(len(E), size=BY_HEART_BATCH))
            if clusters_only:
                batch[:half] = missing[torch.from_numpy(rng.integers(len(missing), size=half))]
            _learn(head, optimizer, E, labels, batch)


@torch.no_grad()
def _predicted(head: nn.Module, E: Tensor) -> Tensor:
    head.eval()
    return torch.cat([head(piece.to(_device(head))).argmax(1).cpu() for piece in E.split(ROWS_A_PIECE)])


def _learn(head: nn.Module, optimizer: torch.optim.Optimizer, E: Tensor, labels: Tensor, batch: Tensor) -> None:
    device = _device(head)
    loss = F.cross_entropy(head(E[batch].to(device)), labels[batch].to(device))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def _device(head: nn.Module) -> torch.device:
    return next(head.parameters()).device
