"""Training of the cluster head alone on fixed embeddings, so that it predicts labels found outside the network.

Embeddings may be distributed over processes. All draw the same batches of all rows, each computes the gradients of its
own rows of a batch, and the sums over all processes are applied everywhere, so that no embedding is sent.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

from rstc.runtime.distributed import SINGLE_PROCESS, ProcessGroup
from rstc.runtime.distributed_rows import DistributedRows

MAX_STEPS = 3000
EVALUATION_INTERVAL = 25  # steps
BLOCK_ROWS = 8192  # embeddings predicted at a time
MIN_CLUSTER_SHARE = 0.98  # share of the clusters that must be predicted at the end of the warm-up

FIT_ACCURACY = 0.995
FIT_BATCH_SIZE = 500
FIT_LR = 1e-3
FIT_PATIENCE = 500  # steps without improvement after which training stops
MIN_GAIN = 0.001  # of the accuracy that counts as an improvement


def warm_up_head(
    head: nn.Module,
    E: Tensor,
    labels: Tensor,
    target_accuracy: float,
    batch_size: int,
    lr: float,
    rng: np.random.Generator,
    processes: ProcessGroup = SINGLE_PROCESS,
) -> None:
    """Train a head until it predicts a share of the labels correctly, and predicts nearly all clusters.

    The transport of an untrained network's predictions collapses, and that of a network that fits its labels perfectly
    changes nothing. The warm-up ends between the two.

    Parameters
    ----------
    head : nn.Module
        Maps embeddings (B, D) to logits (B, C); trained in place. The same in all processes.
    E : Tensor of shape (n, D)
        Embeddings of this process.
    labels : Tensor of shape (n,)
        Their labels.
    target_accuracy : float
        Accuracy at which the warm-up ends; 0 skips it.
    batch_size : int
        Number of texts per step.
    lr : float
        Learning rate of Adam.
    rng : numpy.random.Generator
        Draws the batches; the same in all processes.
    processes : ProcessGroup
        The processes that the embeddings are distributed over.
    """
    if not target_accuracy:
        return
    trainer = _HeadTrainer(head, E, labels, lr, processes)
    for step in range(MAX_STEPS):
        if step % EVALUATION_INTERVAL == 0:
            evaluation = trainer.evaluate()
            has_clusters = len(evaluation.predicted) >= MIN_CLUSTER_SHARE * len(trainer.classes)
            if evaluation.accuracy >= target_accuracy and has_clusters:
                break
            head.train()
        trainer.take_step(rng.integers(trainer.rows.n_rows, size=batch_size))


def fit_head(
    head: nn.Module, E: Tensor, labels: Tensor, rng: np.random.Generator, processes: ProcessGroup = SINGLE_PROCESS
) -> None:
    """Train a head until it predicts nearly all labels correctly, and predicts every cluster.

    Labels that the head does not reproduce are lost, so dropout is off. If some clusters are then never predicted,
    training continues with half of each batch drawn from these clusters. It stops if there is no improvement, for
    example because equal texts have different labels.

    Parameters
    ----------
    head : nn.Module
        Maps embeddings (B, D) to logits (B, C); trained in place. The same in all processes.
    E : Tensor of shape (n, D)
        Embeddings of this process.
    labels : Tensor of shape (n,)
        Their labels.
    rng : numpy.random.Generator
        Draws the batches; the same in all processes.
    processes : ProcessGroup
        The processes that the embeddings are distributed over.
    """
    trainer = _HeadTrainer(head, E, labels, FIT_LR, processes)
    n_rows, half = trainer.rows.n_rows, FIT_BATCH_SIZE // 2
    interval = max(EVALUATION_INTERVAL, n_rows // FIT_BATCH_SIZE)  # predicting all texts costs as much as many steps
    for missing_clusters_only, target in ((False, FIT_ACCURACY), (True, 0)):
        best_score, best_step = -np.inf, 0
        for step in range(MAX_STEPS):
            if step % interval == 0:
                evaluation = trainer.evaluate()
                score = -float(evaluation.n_missing) if missing_clusters_only else evaluation.accuracy
                if score >= best_score + MIN_GAIN:
                    best_score, best_step = score, step
                if score >= target or step - best_step >= FIT_PATIENCE:
                    break
            batch = rng.integers(n_rows, size=FIT_BATCH_SIZE)
            if missing_clusters_only:
                batch[:half] = trainer.find_rows(evaluation, rng.integers(evaluation.n_missing, size=half))
            trainer.take_step(batch)


@dataclass(frozen=True)
class _Evaluation:
    """The predictions of a head.

    Attributes
    ----------
    accuracy : float
        Share of the rows of all processes whose label is predicted.
    predicted : Tensor
        The clusters that are predicted for any row of all processes.
    missing : ndarray
        The rows of this process whose label is never predicted, counted from its first row.
    missing_rows : DistributedRows
        These rows among those of all processes.
    """

    accuracy: float
    predicted: Tensor
    missing: NDArray[np.int64]
    missing_rows: DistributedRows

    @property
    def n_missing(self) -> int:
        """The number of rows of all processes whose label is never predicted."""
        return self.missing_rows.n_rows


class _HeadTrainer:
    """Evaluates a head on distributed embeddings and takes optimizer steps; see `fit_head`."""

    def __init__(self, head: nn.Module, E: Tensor, labels: Tensor, lr: float, processes: ProcessGroup) -> None:
        self.head, self.E, self.labels, self.processes = head, E, labels, processes
        self.rows = DistributedRows.from_local_count(len(E), processes)
        self.optimizer = torch.optim.Adam(head.parameters(), lr=lr)
        self.device = next(head.parameters()).device
        self.classes = self._find_distinct(labels)

    @torch.no_grad()
    def evaluate(self) -> _Evaluation:
        """Predict all embeddings in evaluation mode."""
        self.head.eval()
        predicted = torch.cat([self.head(block.to(self.device)).argmax(1).cpu() for block in self.E.split(BLOCK_ROWS)])
        distinct = self._find_distinct(predicted)
        missing = torch.isin(self.labels, distinct, invert=True).nonzero()[:, 0].numpy()
        missing_rows = DistributedRows.from_local_count(len(missing), self.processes)
        return _Evaluation(self.processes.mean(predicted == self.labels), distinct, missing, missing_rows)

    def take_step(self, batch: NDArray[np.int64]) -> None:
        """Take an optimizer step on rows of all processes."""
        own = torch.from_numpy(self.rows.to_local(batch))
        logits, labels = self.head(self.E[own].to(self.device)), self.labels[own].to(self.device)
        loss = F.cross_entropy(logits, labels, reduction="sum") / len(batch)
        self.optimizer.zero_grad()
        loss.backward()
        for parameter in self.head.parameters():
            if parameter.grad is not None:
                self.processes.all_reduce(parameter.grad)
        self.optimizer.step()

    def find_rows(self, evaluation: _Evaluation, positions: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return rows of all processes by their positions among the rows whose label is never predicted."""
        return evaluation.missing_rows.fetch(evaluation.missing + self.rows.local.start, positions)

    def _find_distinct(self, values: Tensor) -> Tensor:
        """Return the distinct values of all processes."""
        distinct: Tensor = torch.cat(self.processes.gather_objects(values.unique())).unique()
        return distinct
