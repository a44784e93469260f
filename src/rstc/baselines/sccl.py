"""SCCL (Zhang et al. 2021): NT-Xent and DEC's clustering loss on one encoder, then k-means of its embeddings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClusterMixin
from torch import Tensor, nn

from rstc.baselines.dec import cluster_loss, soft_assignment, target_distribution
from rstc.baselines.validation import validate_texts
from rstc.errors import InputError
from rstc.pseudo_labels.kmeans import fit_kmeans
from rstc.representation.augmenters.word_noise import WordDeletion
from rstc.representation.encoder import Encoder, TokenIds
from rstc.representation.heads import ProjectingNetwork
from rstc.representation.hidden_state_cache import HiddenStateCache
from rstc.representation.loading import load_encoder
from rstc.representation.losses import nt_xent_loss
from rstc.representation.views import PrecomputedViews
from rstc.runtime.device import choose_device, choose_precision, fork_rng
from rstc.runtime.progress import Watch


class SCCL(ClusterMixin, BaseEstimator):
    """Supporting clustering with contrastive learning (SCCL).

    Each step contrasts the two views of a batch (NT-Xent at temperature tau) and pulls the texts themselves to cluster
    centres, which are initialised by k-means and trained as well. The loss is eta NT-Xent + KL(p || q), with the
    Student t assignments q of the batch and DEC's target p (see `rstc.baselines.dec`). At the end k-means clusters
    the learned embeddings.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    random_state : int or None, default=None
        Seed; None draws a new one for each fit.
    kmeans_starts : int, default=10
        Number of k-means runs, of which the one with the lowest inertia is kept.
    encoder : str or None, default=None
        A Sentence-Transformers model, as a folder or a hub name; None is the bundled all-MiniLM-L6-v2.
    max_tokens : int, default=32
        Texts are truncated to this many tokens.
    trainable_layers : int or "all", default=1
        How many of the last transformer layers are trained.
    max_steps : int, default=1000
        Number of optimizer steps.
    batch_size : int, default=400
        Texts per step.
    encoder_lr : float, default=1e-5
        Learning rate of the encoder.
    head_lr : float, default=1e-3
        Learning rate of the projection head and of the centres.
    tau : float, default=0.5
        Temperature of NT-Xent.
    eta : float, default=10.0
        Weight of NT-Xent.
    alpha : float, default=1.0
        Degrees of freedom of the Student t kernel.
    watch_interval : int, default=50
        Steps between two evaluations of the assignments q of all texts.
    cache_folder : str or None, default=None
        Folder in which the hidden states of the frozen layers are cached for later runs; None does not keep them.
    device : str, default="auto"
        "cpu", "cuda", "cuda:1" or "mps"; "auto" is a GPU if there is one.

    Attributes
    ----------
    labels_ : ndarray of shape (N,)
        Cluster of each text, by k-means.
    embedding_ : ndarray of shape (N, D)
        The learned embeddings.
    history_ : list of dict
        For each evaluation the step, the mean losses since the previous one and the number of clusters in argmax q.
    n_iter_ : int
        Number of steps.

    Notes
    -----
    Learning rates, batch size and tau are the original's, as far as known. The weights are those of the released
    training, ten for NT-Xent and one for clustering; the article puts its weight eta on the clustering loss. Other
    differences: the encoder, the number of trainable layers, the number of steps, and views by word deletion where none
    are given.

    References
    ----------
    Zhang et al. (2021), "Supporting clustering with contrastive learning".
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

        Parameters
        ----------
        X : sequence of str
            The texts.
        y : ignored
        views : pair of sequences of str, optional
            The two views of each text; by default each is the text with a tenth of its words deleted.
        watch : callable, optional
            Called with (step, rows, clusters) at each evaluation, where clusters is argmax q of all rows.
        """
        texts = validate_texts(X, self.n_clusters)
        if self.watch_interval < 1:
            raise InputError(f"watch_interval={self.watch_interval} must be at least 1")
        rng = np.random.default_rng(self.random_state)
        if views is None:
            delete_words = WordDeletion(0.1)
            views = delete_words(texts, rng), delete_words(texts, rng)
        pairs = PrecomputedViews(*views)
        device = choose_device(self.device)
        encoder = load_encoder(self.encoder, "mean", self.max_tokens, device, choose_precision("auto", device))
        with fork_rng(encoder.device, int(rng.integers(2**63))):
            self._train(texts, pairs, encoder, rng, watch)
        return self

    def _train(
        self, texts: list[str], pairs: PrecomputedViews, encoder: Encoder, rng: np.random.Generator, watch: Watch | None
    ) -> None:
        """Train the encoder, the projection head and the centres, and set the fitted attributes."""
        encoder.train_layers(self.trainable_layers)
        cache = HiddenStateCache(encoder, 2**30, self.cache_folder) if encoder.is_split else None
        tokens = [encoder.tokenize(column) for column in (texts, pairs.first, pairs.second)]
        E = self._embed(encoder, tokens[0], cache)
        centres = nn.Parameter(torch.from_numpy(self._kmeans(E, rng)[1]).to(encoder.device))
        projector = ProjectingNetwork(encoder.dim, 128).to(encoder.device)
        head_group = {"params": [centres, *projector.parameters()], "lr": self.head_lr}
        encoder_group = {"params": [p for p in encoder.parameters() if p.requires_grad], "lr": self.encoder_lr}
        optimizer = torch.optim.Adam([group for group in (head_group, encoder_group) if group["params"]])

        history: list[dict[str, Any]] = []
        losses: list[tuple[float, float]] = []
        batches = _batches(tokens, self.batch_size, cache, rng)
        for step in range(self.max_steps + 1):
            if step % self.watch_interval == 0 or step == self.max_steps:
                E = self._embed(encoder, tokens[0], cache)
                clusters = soft_assignment(E, centres.detach().cpu(), self.alpha).argmax(1).numpy()
                loss_instance, loss_cluster = np.mean(losses, axis=0).tolist() if losses else (None, None)
                entry = {"step": step, "loss_instance": loss_instance, "loss_cluster": loss_cluster}
                history.append(entry | {"clusters": len(np.unique(clusters))})
                losses = []
                if watch:
                    watch(step, np.arange(len(texts)), clusters)
            if step == self.max_steps:
                break
            encoder.train()
            E0, E1, E2 = encoder(next(batches)).chunk(3)
            loss_instance = nt_xent_loss(projector(E1), projector(E2), self.tau)
            q = soft_assignment(E0, centres, self.alpha)
            loss_cluster = cluster_loss(q, target_distribution(q).detach())
            optimizer.zero_grad()
            (self.eta * loss_instance + loss_cluster).backward()
            optimizer.step()
            losses.append((loss_instance.item(), loss_cluster.item()))
        if cache:
            cache.save()
        self.labels_, _ = self._kmeans(E, rng)
        self.embedding_ = E.numpy()
        self.history_ = history
        self.n_iter_ = self.max_steps

    def _kmeans(self, E: Tensor, rng: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Cluster embeddings by k-means; return the labels (N,) and the centres (C, D)."""
        clustering = fit_kmeans(E.numpy(), self.n_clusters, rng, self.kmeans_starts)
        return clustering.labels, clustering.centres

    def _embed(self, encoder: Encoder, tokens: list[TokenIds], cache: HiddenStateCache | None) -> Tensor:
        """Embed texts (N, D), as a tensor that can be used outside inference mode."""
        return encoder.embed(tokens, get_states=cache.get if cache else None).clone()


def _batches(
    tokens: list[list[TokenIds]], batch_size: int, cache: HiddenStateCache | None, rng: np.random.Generator
) -> Iterator[list[Any]]:
    """Yield batches indefinitely: B texts, then their first views, then their second views."""
    N = len(tokens[0])
    B = min(batch_size, N)
    while True:
        order = rng.permutation(N)
        for start in range(0, N - B + 1, B):
            batch = [column[i] for column in tokens for i in order[start : start + B]]
            yield list(cache.get(batch)) if cache else batch
