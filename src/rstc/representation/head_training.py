"""Training of the cluster head alone on fixed embeddings, so that it predicts labels found outside the network."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

MAX_STEPS = 3000
EVALUATION_INTERVAL = 25  # steps
BLOCK_ROWS = 8192  # embeddings predicted at a time
MIN_CLUSTER_SHARE = 0.98  # share of the clusters that must be predicted at the end of the warm-up

FIT_ACCURACY = 0.995
FIT_BATCH_SIZE = 500
FIT_LR = 1e-3
FIT_PATIENCE = 500  # steps without improvement after which training stops


def warm_up_head(
    head: nn.Module,
    E: Tensor,
    labels: Tensor,
    target_accuracy: float,
    batch_size: int,
    lr: float,
    rng: np.random.Generator,
) -> None:
    """Train a head until it predicts a share of the labels correctly, and predicts nearly all clusters.

    The transport of an untrained network's predictions collapses, and that of a network that fits its labels perfectly
    changes nothing. The warm-up ends between the two.

    Parameters
    ----------
    head : nn.Module
        Maps embeddings (B, D) to logits (B, C); trained in place.
    E : Tensor of shape (N, D)
        Embeddings.
    labels : Tensor of shape (N,)
        Their labels.
    target_accuracy : float
        Accuracy at which the warm-up ends; 0 skips it.
    batch_size : int
        Number of texts per step.
    lr : float
        Learning rate of Adam.
    rng : numpy.random.Generator
        Draws the batches.
    """
    optimizer = torch.optim.Adam(head.parameters(), lr=lr)
    for step in range(MAX_STEPS if target_accuracy else 0):
        if step % EVALUATION_INTERVAL == 0:
            predicted = _predict(head, E)
            is_accurate = (predicted == labels).float().mean() >= target_accuracy
            if is_accurate and len(predicted.unique()) >= MIN_CLUSTER_SHARE * len(labels.unique()):
                break
            head.train()
        _take_step(head, optimizer, E, labels, torch.from_numpy(rng.integers(len(E), size=batch_size)))


def fit_head(head: nn.Module, E: Tensor, labels: Tensor, rng: np.random.Generator) -> None:
    """Train a head until it predicts nearly all labels correctly, and predicts every cluster.

    Labels that the head does not reproduce are lost, so dropout is off. If some clusters are then never predicted,
    training continues with half of each batch drawn from these clusters. It stops if there is no improvement, for
    example because equal texts have different labels.

    Parameters
    ----------
    head : nn.Module
        Maps embeddings (B, D) to logits (B, C); trained in place.
    E : Tensor of shape (N, D)
        Embeddings.
    labels : Tensor of shape (N,)
        Their labels.
    rng : numpy.random.Generator
        Draws the batches.
    """
    optimizer = torch.optim.Adam(head.parameters(), lr=FIT_LR)
    half = FIT_BATCH_SIZE // 2
    interval = max(EVALUATION_INTERVAL, len(E) // FIT_BATCH_SIZE)  # predicting all texts costs as much as many steps
    for missing_clusters_only, target in ((False, FIT_ACCURACY), (True, 0)):
        best_score, best_step = -np.inf, 0
        for step in range(MAX_STEPS):
            if step % interval == 0:
                predicted = _predict(head, E)
                missing = torch.isin(labels, predicted, invert=True).nonzero()[:, 0]  # texts of clusters not predicted
                accuracy = (predicted == labels).float().mean().item()
                score = -float(len(missing)) if missing_clusters_only else accuracy
                if score > best_score:
                    best_score, best_step = score, step
                if score >= target or step - best_step >= FIT_PATIENCE:
                    break
            batch = torch.from_numpy(rng.integers(len(E), size=FIT_BATCH_SIZE))
            if missing_clusters_only:
                batch[:half] = missing[torch.from_numpy(rng.integers(len(missing), size=half))]
            _take_step(head, optimizer, E, labels, batch)


@torch.no_grad()
def _predict(head: nn.Module, E: Tensor) -> Tensor:
    """Predict the cluster of each embedding, (N,), in evaluation mode."""
    head.eval()
    return torch.cat([head(block.to(_device(head))).argmax(1).cpu() for block in E.split(BLOCK_ROWS)])


def _take_step(head: nn.Module, optimizer: torch.optim.Optimizer, E: Tensor, labels: Tensor, batch: Tensor) -> None:
    """Take an optimizer step on the rows of a batch."""
    device = _device(head)
    loss = F.cross_entropy(head(E[batch].to(device)), labels[batch].to(device))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def _device(head: nn.Module) -> torch.device:
    return next(head.parameters()).device
