"""Self-Train (Hadifar et al. 2019): an autoencoder of SIF sentence vectors whose encoder then sharpens its clusters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from sklearn.base import BaseEstimator, ClusterMixin
from torch import Tensor, nn
from torch.nn import functional as F

from rstc.baselines.validation import checked_texts
from rstc.baselines.dec import cluster_loss, soft_assignment, target_distribution
from rstc.baselines.word_vectors import scaled, sif_vectors, word_ids, word_vectors
from rstc.runtime.device import seeded
from rstc.pseudo_labels.kmeans import kmeans_labels

ROWS_A_PIECE = 4096  # of texts that are only looked at; the widest layer of more would need too much memory


class SelfTrain(ClusterMixin, BaseEstimator):
    """Self-training for short text clustering.

    SIF-weighted word vectors are compressed by an autoencoder. Its encoder, the decoder gone, then learns together
    with the cluster centres to meet the sharpened version p of its own soft assignments q (see `dec`), and k-means of
    what it gives makes the clusters.

    Source: Hadifar, Sterckx, Demeester and Develder (2019), "A self-training approach for short text clustering".
    Departures: the word vectors are factorised from the texts themselves (see `word_vectors`) rather than trained by
    word2vec on a larger corpus; epochs, steps and the time between renewals are the same for all datasets, where the
    original sets them for each one. Widths, batch size, rates and word dimensions are the original's.

    Args:
        n_clusters: how many clusters to find.
        random_state: a seed; None draws a new one each time.
        kmeans_starts: runs of k-means, of which the best counts.
        word_dim: dimensions of the word vectors.
        window: how many words away a word still counts as the context of another.
        layers: widths of the encoder after its input; the last one is the latent space. The decoder mirrors them.
        pretrain_epochs: rounds of the autoencoder through the texts.
        max_steps: the most steps of self-training.
        renew_every: steps after which p is computed anew.
        tol: self-training ends when fewer than this share of the texts changed their cluster between two renewals.
        batch_size: texts a step.
        pretrain_lr: Adam's rate for the autoencoder.
        lr: the rate of stochastic gradient descent, with momentum 0.9, in self-training.

    Attributes:
        labels_: the cluster of each text, (N,).
        embedding_: the latent vectors that k-means saw, (N, D).
        history_: at each renewal of p the step, the mean loss since the last one (None at first) and how many
            clusters are the likeliest of some text.
        n_iter_: steps of self-training taken.
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        random_state: int | None = None,
        kmeans_starts: int = 10,
        word_dim: int = 48,
        window: int = 5,
        layers: Sequence[int] = (500, 500, 2000, 20),
        pretrain_epochs: int = 15,
        max_steps: int = 1000,
        renew_every: int = 100,
        tol: float = 1e-4,
        batch_size: int = 64,
        pretrain_lr: float = 1e-3,
        lr: float = 0.1,
    ) -> None:
        self.n_clusters = n_clusters
        self.random_state = random_state
        self.kmeans_starts = kmeans_starts
        self.word_dim = word_dim
        self.window = window
        self.layers = layers
        self.pretrain_epochs = pretrain_epochs
        self.max_steps = max_steps
        self.renew_every = renew_every
        self.tol = tol
        self.batch_size = batch_size
        self.pretrain_lr = pretrain_lr
        self.lr = lr

    def fit(self, X: Sequence[str], y: object = None) -> SelfTrain:
        """Cluster texts; y is ignored, as true labels have no place in clustering."""
        rng = np.random.default_rng(self.random_state)
        texts = word_ids(checked_texts(X, self.n_clusters))
        vectors = word_vectors(texts, self.word_dim, self.window, rng)
        inputs = torch.from_numpy(scaled(sif_vectors(texts, vectors)))  # (N, D)
        # Initialisation draws from torch's global generator: it is set inside this fork and given back as it was.
        with seeded(torch.device("cpu"), int(rng.integers(2**63))):
            encoder = self._pretrained(inputs, rng)
            history, steps = self._self_train(encoder, inputs, rng)
        E = _encode(encoder, inputs).numpy()
        self.labels_ = kmeans_labels(E, self.n_clusters, rng, self.kmeans_starts).labels
        self.embedding_ = E
        self.history_ = history
        self.n_iter_ = steps
        return self

    def _pretrained(self, inputs: Tensor, rng: np.random.Generator) -> nn.Sequential:
        """Train an autoencoder on the mean squared error and return its encoder."""
        widths = [inputs.shape[1], *self.layers]
        encoder, decoder = _perceptron(widths), _perceptron(widths[::-1])
        optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], self.pretrain_lr, fused=True)
        batches = _batches(len(inputs), self.batch_size, rng)
        for _ in range(self.pretrain_epochs * -(-len(inputs) // self.batch_size)):
            batch = inputs[next(batches)]
            loss = F.mse_loss(decoder(encoder(batch)), batch)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        return encoder

    def _self_train(
        self, encoder: nn.Sequential, inputs: Tensor, rng: np.random.Generator
    ) -> tuple[list[dict[str, Any]], int]:
        """Train the encoder and the centres on KL(p || q), p renewed now and then; return history and steps taken."""
        found = kmeans_labels(_encode(encoder, inputs).numpy(), self.n_clusters, rng, self.kmeans_starts)
        centres = nn.Parameter(torch.from_numpy(found.centres))
        optimizer = torch.optim.SGD([*encoder.parameters(), centres], self.lr, momentum=0.9)
        batches = _batches(len(inputs), self.batch_size, rng)
        clusters, losses = torch.from_numpy(found.labels), list[float]()
        history: list[dict[str, Any]] = []
        for step in range(self.max_steps + 1):
            if step % self.renew_every == 0 or step == self.max_steps:
                q = soft_assignment(_encode(encoder, inputs), centres.detach())  # (N, C)
                p, before, clusters = target_distribution(q), clusters, q.argmax(1)
                loss = float(np.mean(losses)) if losses else None
                history.append({"step": step, "loss": loss, "clusters": len(clusters.unique())})
                losses.clear()
                changed = (clusters != before).float().mean().item()
                if step == self.max_steps or (step and changed < self.tol):
                    break
            rows = next(batches)
            objective = cluster_loss(soft_assignment(encoder(inputs[rows]), centres), p[rows])
            optimizer.zero_grad()
            objective.backward()
            optimizer.step()
            losses.append(objective.item())
        return history, step


def _perceptron(widths: Sequence[int]) -> nn.Sequential:
    """Return linear layers of these widths with a leaky ReLU between them, none after the last."""
    layers: list[nn.Module] = []
    for given, made in pairwise(widths):
        layers += [nn.Linear(given, made), nn.LeakyReLU(0.2)]
    return nn.Sequential(*layers[:-1])


def _batches(N: int, size: int, rng: np.random.Generator) -> Iterator[Tensor]:
    """Yield row numbers without end, each epoch in a new order."""
    while True:
        yield from torch.from_numpy(rng.permutation(N)).split(size)


@torch.no_grad()
def _encode(encoder: nn.Sequential, inputs: Tensor) -> Tensor:
    """Return the latent vectors of all texts."""
    return torch.cat([encoder(piece) for piece in inputs.split(ROWS_A_PIECE)])
