"""Self-Train (Hadifar et al. 2019): an autoencoder of SIF embeddings, then DEC's self-training of its encoder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.preprocessing import minmax_scale
from torch import Tensor, nn
from torch.nn import functional as F

from rstc.baselines.dec import cluster_loss, soft_assignment, target_distribution
from rstc.baselines.validation import validate_texts
from rstc.baselines.word_vectors import fit_word_vectors, index_words, sif_embeddings
from rstc.pseudo_labels.kmeans import fit_kmeans
from rstc.runtime.device import fork_rng

BLOCK_ROWS = 4096  # texts encoded at once; the activations of the widest layer take the most memory


class SelfTrain(ClusterMixin, BaseEstimator):
    """Self-training for short text clustering.

    SIF embeddings of the texts are compressed by an autoencoder. Its encoder is then trained together with cluster
    centres on KL(p || q), where q are the soft assignments and p their sharpened target (see `rstc.baselines.dec`).
    A text's cluster is the one of its largest q.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    random_state : int or None, default=None
        Seed; None draws a new one for each fit.
    kmeans_starts : int, default=100
        Number of k-means runs for the first centres, of which the one with the lowest inertia is kept.
    word_dim : int, default=48
        Dimensions of the word vectors.
    window : int, default=5
        Maximum distance of two words that count as co-occurring.
    sif_a : float, default=0.1
        The a of smooth inverse frequency: a word w counts a / (a + p(w)).
    layers : sequence of int, default=(500, 500, 2000, 20)
        Widths of the encoder's layers; the last one is the latent dimension. The decoder mirrors them.
    pretrain_epochs : int, default=15
        Epochs of the autoencoder.
    max_steps : int, default=1000
        Maximum number of self-training steps.
    renew_every : int, default=100
        Steps between two updates of p.
    tol : float, default=1e-4
        Self-training ends when fewer than this share of the texts changed their cluster between two updates of p.
    batch_size : int, default=64
        Texts per step.
    pretrain_lr : float, default=1e-3
        Learning rate of Adam for the autoencoder.
    lr : float, default=0.1
        Learning rate of self-training, by stochastic gradient descent with momentum 0.9.

    Attributes
    ----------
    labels_ : ndarray of shape (N,)
        Cluster of each text.
    embedding_ : ndarray of shape (N, D)
        Latent vector of each text.
    history_ : list of dict
        For each update of p the step, the mean loss since the previous one (None at first) and the number of clusters
        in argmax q.
    n_iter_ : int
        Number of self-training steps.

    Notes
    -----
    Differences from the original: the word vectors are learned from the texts themselves (see
    `rstc.baselines.word_vectors`) instead of by word2vec on a larger corpus; epochs, steps and the update interval are
    the same for all data sets, where the original sets them per data set. Widths, batch size, learning rates, word
    dimensions, a, the scaling of the inputs, the k-means starts and the final clusters are those of the released code.

    References
    ----------
    Hadifar, Sterckx, Demeester and Develder (2019), "A self-training approach for short text clustering".
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        random_state: int | None = None,
        kmeans_starts: int = 100,
        word_dim: int = 48,
        window: int = 5,
        sif_a: float = 0.1,
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
        self.sif_a = sif_a
        self.layers = layers
        self.pretrain_epochs = pretrain_epochs
        self.max_steps = max_steps
        self.renew_every = renew_every
        self.tol = tol
        self.batch_size = batch_size
        self.pretrain_lr = pretrain_lr
        self.lr = lr

    def fit(self, X: Sequence[str], y: object = None) -> SelfTrain:
        """Cluster texts.

        Parameters
        ----------
        X : sequence of str
            The texts.
        y : ignored
        """
        rng = np.random.default_rng(self.random_state)
        texts = index_words(validate_texts(X, self.n_clusters))
        vectors = fit_word_vectors(texts, self.word_dim, self.window, rng)  # (V, D)
        inputs = torch.from_numpy(minmax_scale(sif_embeddings(texts, vectors, self.sif_a)))  # (N, D)
        # Weight initialisation draws from torch's global generator, whose state is restored afterwards.
        with fork_rng(torch.device("cpu"), int(rng.integers(2**63))):
            encoder = self._pretrain_encoder(inputs, rng)
            clusters, history = self._self_train(encoder, inputs, rng)
        self.labels_ = clusters.numpy()
        self.embedding_ = _encode(encoder, inputs).numpy()
        self.history_ = history
        self.n_iter_ = history[-1]["step"]
        return self

    def _pretrain_encoder(self, inputs: Tensor, rng: np.random.Generator) -> nn.Sequential:
        """Train an autoencoder on the mean squared error; return its encoder."""
        widths = [inputs.shape[1], *self.layers]
        encoder, decoder = _make_mlp(widths), _make_mlp(widths[::-1])
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
    ) -> tuple[Tensor, list[dict[str, Any]]]:
        """Train the encoder and the centres on KL(p || q); return argmax q (N,) and the history."""
        clustering = fit_kmeans(_encode(encoder, inputs).numpy(), self.n_clusters, rng, self.kmeans_starts)
        centres = nn.Parameter(torch.from_numpy(clustering.centres))
        optimizer = torch.optim.SGD([*encoder.parameters(), centres], self.lr, momentum=0.9)
        batches = _batches(len(inputs), self.batch_size, rng)
        clusters, losses = torch.from_numpy(clustering.labels), list[float]()
        history: list[dict[str, Any]] = []
        for step in range(self.max_steps + 1):
            if step % self.renew_every == 0 or step == self.max_steps:
                q = soft_assignment(_encode(encoder, inputs), centres.detach())  # (N, C)
                p, previous, clusters = target_distribution(q), clusters, q.argmax(1)
                loss = float(np.mean(losses)) if losses else None
                history.append({"step": step, "loss": loss, "clusters": len(clusters.unique())})
                losses.clear()
                changed = (clusters != previous).float().mean().item()
                if step == self.max_steps or (step and changed < self.tol):
                    break
            rows = next(batches)
            objective = cluster_loss(soft_assignment(encoder(inputs[rows]), centres), p[rows])
            optimizer.zero_grad()
            objective.backward()
            optimizer.step()
            losses.append(objective.item())
        return clusters, history


def _make_mlp(widths: Sequence[int]) -> nn.Sequential:
    """Make linear layers of the given widths with leaky ReLU between them."""
    layers: list[nn.Module] = []
    for n_inputs, n_outputs in pairwise(widths):
        layers += [nn.Linear(n_inputs, n_outputs), nn.LeakyReLU(0.2)]
    return nn.Sequential(*layers[:-1])


def _batches(N: int, size: int, rng: np.random.Generator) -> Iterator[Tensor]:
    """Yield batches of row indices indefinitely, in a new order each epoch."""
    while True:
        yield from torch.from_numpy(rng.permutation(N)).split(size)


@torch.no_grad()
def _encode(encoder: nn.Sequential, inputs: Tensor) -> Tensor:
    """Compute the latent vectors of all texts, block by block."""
    return torch.cat([encoder(block) for block in inputs.split(BLOCK_ROWS)])
