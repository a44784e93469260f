"""SCCL: instance-wise contrast and DEC's clustering on one encoder, k-means at the end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClusterMixin
from torch import Tensor, nn

from rstc.baselines.validation import checked_texts
from rstc.baselines.dec import cluster_loss, soft_assignment, target_distribution
from rstc.errors import InputError
from rstc.runtime.device import choose_device, choose_precision, seeded
from rstc.training.history import Watch
from rstc.pseudo_labels.kmeans import kmeans_labels
from rstc.representation.augmenters.word_noise import WordDeletion
from rstc.representation.encoder import Encoder, TokenIds
from rstc.representation.heads import ProjectingNetwork
from rstc.representation.loading import load_encoder
from rstc.representation.losses import instance_contrast
from rstc.representation.hidden_state_cache import StateCache
from rstc.representation.views import GivenViews


class SCCL(ClusterMixin, BaseEstimator):
    """Supporting clustering with contrastive learning.

    After Zhang et al. 2021, "Supporting Clustering with Contrastive Learning". In each step the two views of a batch
    are contrasted (NT-Xent at temperature tau) and the texts themselves are pulled to cluster centres, which start at
    those of k-means and learn too: eta times KL(p || q), q being the Student-t assignments and p DEC's sharpened
    target of the batch. At the end k-means clusters the learned embeddings. Learning rates, batch size, tau and eta are
    the original's as we know them; it departs from it in the encoder (the embedded MiniLM), in how many of its layers
    learn, in the number of steps, and in views that leave out words where none are given.

    Args:
        n_clusters: how many clusters to find.
        random_state: a seed.
        kmeans_starts: runs of k-means, of which the best is kept.
        encoder: a Sentence-Transformers model as a folder or a hub name; None: the embedded MiniLM.
        max_tokens: texts are cut to this many tokens.
        trainable_layers: how many of the last transformer layers learn, or "all".
        max_steps: training steps.
        batch_size: texts in a step.
        encoder_lr: learning rate of the encoder.
        head_lr: learning rate of the projection and of the centres.
        tau: temperature of the contrast.
        eta: weight of the clustering loss.
        alpha: degrees of freedom of Student's t.
        watch_interval: steps between two looks at the assignments q of all texts.
        cache_folder: where what the frozen layers gave is kept for later runs; None: nowhere.
        device: cpu, cuda, cuda:1, mps; auto: a GPU where there is one.

    Attributes:
        labels_: the cluster of each text, (N,), by k-means.
        embedding_: the learned embeddings, (N, D).
        history_: at each look the step, the mean losses since the last and the number of clusters in argmax q.
        n_iter_: steps taken.
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        random_state: int | None = None,
        kmeans_starts: int = 10,
        encoder: str | None = None,
        max_tokens: int = 32,
        trainable_layers: int | str = 1,
        max_steps: int = 1000,
        batch_size: int = 400,
        encoder_lr: float = 1e-5,
        head_lr: float = 1e-3,
        tau: float = 0.5,
        eta: float = 10.0,
        alpha: float = 1.0,
        watch_interval: int = 50,
        cache_folder: str | None = None,
        device: str = "auto",
    ) -> None:
        self.n_clusters = n_clusters
        self.random_state = random_state
        self.kmeans_starts = kmeans_starts
        self.encoder = encoder
        self.max_tokens = max_tokens
        self.trainable_layers = trainable_layers
        self.max_steps = max_steps
        self.batch_size = batch_size
        self.encoder_lr = encoder_lr
        self.head_lr = head_lr
        self.tau = tau
        self.eta = eta
        self.alpha = alpha
        self.watch_interval = watch_interval
        self.cache_folder = cache_folder
        self.device = device

    def fit(
        self,
        X: Sequence[str],
        y: object = None,
        *,
        views: tuple[Sequence[str], Sequence[str]] | None = None,
        watch: Watch | None = None,
    ) -> SCCL:
        """Cluster texts.

        Args:
            X: the texts.
            y: ignored.
            views: ready-made pairs; by default two versions of each text with a tenth of its words left out.
            watch: called with (step, rows, clusters) at each look, the clusters being argmax q, of all rows.
        """
        texts = checked_texts(X, self.n_clusters)
        if self.watch_interval < 1:
            raise InputError(f"watch_interval={self.watch_interval} must be at least 1")
        rng = np.random.default_rng(self.random_state)
        drop = WordDeletion(0.1)
        pairs = GivenViews(*views) if views else GivenViews(drop(texts, rng), drop(texts, rng))
        device = choose_device(self.device)
        encoder = load_encoder(self.encoder, "mean", self.max_tokens, device, choose_precision("auto", device))
        with seeded(encoder.device, int(rng.integers(2**63))):
            self._train(texts, pairs, encoder, rng, watch)
        return self

    def _train(
        self, texts: list[str], pairs: GivenViews, encoder: Encoder, rng: np.random.Generator, watch: Watch | None
    ) -> None:
        encoder.train_layers(self.trainable_layers)
        cache = StateCache(encoder, 2**30, self.cache_folder) if encoder.is_cut else None
        tokens = [encoder.tokenize(some) for some in (texts, pairs.first, pairs.second)]
        E = self._embed(encoder, tokens[0], cache)
        centres = nn.Parameter(torch.from_numpy(self._kmeans(E, rng)[1]).to(encoder.device))
        projector = ProjectingNetwork(encoder.dim, 128).to(encoder.device)
        heads = {"params": [centres, *projector.parameters()], "lr": self.head_lr}
        learning = {"params": [p for p in encoder.parameters() if p.requires_grad], "lr": self.encoder_lr}
        optimizer = torch.optim.Adam([group for group in (heads, learning) if group["params"]])

        history: list[dict[str, Any]] = []
        losses: list[tuple[float, float]] = []
        batches = _batches(tokens, self.batch_size, cache, rng)
        for step in range(self.max_steps + 1):
            if step % self.watch_interval == 0 or step == self.max_steps:
                E = self._embed(encoder, tokens[0], cache)
                clusters = soft_assignment(E, centres.detach().cpu(), self.alpha).argmax(1).numpy()
                contrast, clustering = np.mean(losses, axis=0).tolist() if losses else (None, None)
                entry = {"step": step, "loss_instance": contrast, "loss_cluster": clustering}
                history.append(entry | {"clusters": len(np.unique(clusters))})
                losses = []
                if watch:
                    watch(step, np.arange(len(texts)), clusters)
            if step == self.max_steps:
                break
            encoder.train()
            E0, E1, E2 = encoder(next(batches)).chunk(3)
            contrast = instance_contrast(projector(E1), projector(E2), self.tau)
            q = soft_assignment(E0, centres, self.alpha)
            clustering = cluster_loss(q, target_distribution(q).detach())
            optimizer.zero_grad()
            (contrast + self.eta * clustering).backward()
            optimizer.step()
            losses.append((contrast.item(), clustering.item()))
        if cache:
            cache.save()
        self.labels_, _ = self._kmeans(E, rng)
        self.embedding_ = E.numpy()
        self.history_ = history
        self.n_iter_ = self.max_steps

    def _kmeans(self, E: Tensor, rng: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        found = kmeans_labels(E.numpy(), self.n_clusters, rng, self.kmeans_starts)
        return found.labels, found.centres

    def _embed(self, encoder: Encoder, tokens: list[TokenIds], cache: StateCache | None) -> Tensor:
        return encoder.embed(
            tokens, states_of=cache.states if cache else None
        ).clone()  # for use outside inference mode


def _batches(
    tokens: list[list[TokenIds]], batch_size: int, cache: StateCache | None, rng: np.random.Generator
) -> Iterator[list[Any]]:
    """Yield batches without end: some texts, then their first, then their second views."""
    N = len(tokens[0])
    B = min(batch_size, N)
    while True:
        order = rng.permutation(N)
        for start in range(0, N - B + 1, B):
            chosen = [kind[i] for kind in tokens for i in order[start : start + B]]
            yield list(cache.states(chosen)) if cache else chosen
