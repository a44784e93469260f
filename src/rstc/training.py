"""The alternation of pseudo-labels and representation: the loop that makes module (a) and module (b) one method.

First labels; then steps on L = L_C + lambda_I L_I (Eq. 7), and at growing intervals new labels for the whole set: as in
the paper by transport of what the network predicts, or found anew in the learned space by models that have not seen
them (crossfit). With several renewals it stops when the clusters settle. True labels never come here.

Several processes (ranks.py) may share a run, each with texts of its own. Batches are drawn from all texts by the same
draws everywhere, each process runs those that are its own, and gradients and transports are summed over all. Labels
that are found anew are looked for by the first process, which is given the embeddings of the texts that learn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from torch import Tensor
from torch.nn import functional as F

from rstc.asked import Within
from rstc.batching import Batches, Draws
from rstc.config import Config
from rstc.errors import InputError
from rstc.hardware import seeded
from rstc.history import MeanLosses, Renewal, contrast_entry, renewal_entry
from rstc.learners import choose_learners
from rstc.progress import Progress
from rstc.pseudo_labels.count import Count, count_clusters
from rstc.pseudo_labels.initial import FirstLabels, Recipe, first_labels
from rstc.pseudo_labels.kmeans import Clustering, kmeans_labels
from rstc.pseudo_labels.renewal import TransportedLabels
from rstc.pseudo_labels.words import read_words
from rstc.ranks import ALONE, Ranks
from rstc.representation.contrasts import Contrasts, spread
from rstc.representation.encoder import Encoder
from rstc.representation.heads import Centroids, ClusterHead, ClusteringNetwork, ProjectingNetwork
from rstc.representation.network import Network, Prediction
from rstc.representation.states import StateCache
from rstc.representation.teaching import give_head_start, teach_by_heart
from rstc.representation.views import Views
from rstc.schedule import StopTest, contrast_steps, last_step, renewal_steps

Watch = Callable[[int, NDArray[np.int64], NDArray[np.int64]], None]  # step, rows of texts, the clusters they are in


@dataclass(frozen=True)
class TrainResult:
    """A trained network and what it says of the texts it was trained on; cluster 0 is the largest.

    Attributes:
        network: the trained network.
        prediction: its final log P (N, C) and E (N, D).
        b: the estimated class distribution, (C,).
        history: one entry a renewal, the last one after the last step.
        losses: L_C and L_I of each step; None for L_C where there was no label.
        steps: training steps taken.
        n_trained: how many texts trained.
        settled: whether the stop test ended the training, rather than the step limit.
        count: how the number of clusters was found; None where it was given.
    """

    network: Network
    prediction: Prediction
    b: NDArray[np.float64]
    history: list[dict[str, Any]]
    losses: list[tuple[float | None, float]]
    steps: int
    n_trained: int
    settled: bool
    count: Count | None = None


def train(
    texts: Sequence[str],
    views: Views,
    encoder: Encoder,
    n_clusters: int | Within,
    config: Config,
    rng: np.random.Generator,
    progress: Progress | None = None,
    watch: Watch | None = None,
    ranks: Ranks = ALONE,
) -> TrainResult:
    """Cluster texts: train the encoder and its heads on labels that they help to make.

    The number of clusters is given, or the fewest and the most, within which the texts decide. Of several processes
    each gives its own texts and gets the prediction of these; all give the same generator.
    """
    progress = progress or Progress()
    fewest = n_clusters[0] if isinstance(n_clusters, tuple) else n_clusters
    learners = choose_learners(texts, fewest, config.max_texts, rng, ranks)
    counts = ranks.every(len(learners))
    if min(counts) == 0:
        raise InputError(f"{ranks.size} processes are more than the texts need; start fewer")
    steps = last_step(sum(counts), config)
    if config.class_contrast and contrast_steps(config) >= max(steps, 1):
        if steps == 0:
            raise InputError("contrast_steps need layers that learn: trainable_layers=0 takes no step")
        raise InputError(f"contrast_steps={config.contrast_steps} leave none of the {steps} steps to learn the labels")
    # Dropout and initialisation draw from torch's global generator and take no other: it is set inside this fork
    # and given back as it was.
    with seeded(encoder.device, int(rng.integers(2**63))):
        return _Training(texts, learners, counts, views, encoder, n_clusters, config, rng, progress, watch, ranks).run()


class _Training:
    """The state of one run of `train`: who learns, from what, and what has happened so far."""

    def __init__(
        self,
        texts: Sequence[str],
        learners: Sequence[int],
        counts: Sequence[int],
        views: Views,
        encoder: Encoder,
        n_clusters: int | Within,
        config: Config,
        rng: np.random.Generator,
        progress: Progress,
        watch: Watch | None,
        ranks: Ranks,
    ) -> None:
        self.config, self.encoder, self.rng, self.progress, self.ranks = config, encoder, rng, progress, ranks
        self.watch, self.learners = watch, np.asarray(learners)
        ends = np.cumsum(counts)  # of the processes' learners among all, in their order
        self.n_learners = int(ends[-1])
        self.own = slice(int(ends[ranks.rank]) - len(learners), int(ends[ranks.rank]))
        lasting = rng.spawn(1)[0]
        # What is drawn for the texts themselves differs from process to process; the rest must not.
        draws = Draws(rng, rng if ranks.alone else rng.spawn(ranks.size)[ranks.rank], lasting)
        encoder.train_layers(config.trainable_layers)
        with progress.stage("encode"):
            self.all_tokens = encoder.tokenize(texts)
            self.tokens = [self.all_tokens[i] for i in learners]
        self.cache = StateCache(encoder, config.cache_mb * 2**20, config.cache_folder) if encoder.is_cut else None
        self.E: Tensor | None = None  # of an encoder that does not learn, once it is known...
        self.found: FirstLabels | None = None  # ...and what is found in it
        asked = config.words and (config.class_contrast or isinstance(n_clusters, tuple))
        # They do not learn, so they are read once.
        said = ranks.things_at_first([texts[i] for i in learners]) if asked else None
        self.words = None if said is None else read_words(said, rng)
        ranks.same_draws(rng)
        self.count: Count | None = None
        if isinstance(n_clusters, tuple):
            self.count = self._counted(n_clusters)
            n_clusters = self.count.n_clusters
        self.n_clusters = n_clusters
        self.network = Network(
            encoder,
            ClusteringNetwork(encoder.dim, n_clusters, config.dropout),
            ProjectingNetwork(encoder.dim, config.projection_dim),
        )
        self.contrasts = spread(
            Contrasts(self.network, config.lambda_i, config.tau, ranks),
            with_labels_always=config.class_contrast and contrast_steps(config) == 0,
        )
        if not ranks.alone:
            torch.manual_seed(torch.initial_seed() + ranks.rank)  # each drops out something else
        self.batches = iter(
            Batches(
                self.tokens, views.of(learners), config.batch_size, ends, encoder, self.cache, draws, ranks, progress
            )
        )
        self.optimizer = _adam(self.network, config)
        # In float16 small gradients would vanish; the scaler lifts them. It stands aside in the other precisions.
        self.scaler = torch.amp.GradScaler(encoder.device.type, enabled=encoder.precision == torch.float16)
        self.transports: TransportedLabels | None = None
        if config.labels != "crossfit":
            self.transports = TransportedLabels(
                config.labels, n_clusters, config.eps1, config.transport_method, rng, ranks
            )
        self.eps2 = 0.0  # the first labels tell
        self.recipe = _recipe(config)
        self.clusters: Tensor | None = None  # at the last renewal
        self.history: list[dict[str, Any]] = []
        self.losses: list[tuple[float | None, float]] = []
        self.step, self.last_step = 0, last_step(self.n_learners, config)

    def _counted(self, within: Within) -> Count:
        """Estimate the number of clusters in the encoder's own space.

        What it draws is its own: with the number that it finds given, a run is the same.
        """
        rng = self.rng.spawn(1)[0]
        E = self.ranks.rows_at_first(F.normalize(self._embed(), dim=1))
        with self.progress.stage("count"):
            return self.ranks.at_first(
                lambda: count_clusters(_numpy(E), self.words, self.config.words, within, rng, self.progress.advance)
            )

    def run(self) -> TrainResult:
        """Go through the phases of the method."""
        config = self.config
        if not config.class_contrast:
            return self._run_without_labels()
        self._contrast_only(contrast_steps(config))
        labels = self._first_labels()
        renewals = renewal_steps(self.last_step, config)
        stop_test, losses = StopTest(config.stop_interval, self.ranks), MeanLosses()
        while True:
            if self.step in renewals or self.step == self.last_step:
                renewed = self._renewed(labels, self._predict())
                changed = stop_test.share_changed(self.step, renewed.prediction.clusters)
                settled = changed is not None and changed < config.delta
                self._record(losses, renewed, changed)
                if settled or self.step == self.last_step:
                    return self._finish(renewed.prediction, renewed.b, settled)
                labels, losses = renewed.labels, MeanLosses()
                del renewed  # as large as all texts times all clusters, and of no more use
            losses.add(*self._learn(labels))

    def _run_without_labels(self) -> TrainResult:
        """RSTC-I: L_I alone, then k-means in the learned space."""
        self._contrast_only(self.last_step)
        E = self._embed()
        everything = self.ranks.rows_at_first(E)
        with self.progress.stage("start"):
            found = self.ranks.at_first(lambda: self._kmeans(_numpy(everything)))
            self.ranks.same_draws(self.rng)
        head = Centroids(E.shape[1], self.n_clusters, unit_length=self.config.unit_length)
        head.centroids.copy_(torch.from_numpy(found.centres))
        self.network = Network(self.encoder, head, self.network.projector)
        prediction = self._predict()
        self._show(prediction.clusters)
        sizes = self.ranks.sum(prediction.clusters.bincount(minlength=self.n_clusters)).double() / self.n_learners
        return self._finish(prediction, sizes.numpy(), settled=False)

    def _contrast_only(self, steps: int) -> None:
        """Take steps of L_I alone: the representation spreads before any label pulls at it."""
        losses = MeanLosses()
        for _ in range(min(steps, self.last_step)):
            losses.add(*self._learn(None))
        if steps:
            self.history.append(contrast_entry(self.step, losses))

    def _first_labels(self) -> Tensor:
        """Find labels and let G_p learn them, the encoder fixed."""
        E, config = self._embed(), self.config
        everything = self.ranks.rows_at_first(E)
        with self.progress.stage("start"):
            found = self._found(everything)
            self.eps2 = found.eps2
            goal, batch, rate = config.head_start, config.batch_size, config.head_lr
            self._teach(
                lambda head: give_head_start(
                    head, _given(everything), torch.from_numpy(found.labels), goal, batch, rate, self.rng
                )
            )
            labels = torch.from_numpy(found.labels)[self.own]
        if config.labels == "crossfit":  # labels are a result of their own here, which training has to better
            self._record(MeanLosses(), Renewal(self.network.judge(E), labels, labels, found.b, _facts(found)), None)
        return labels

    def _found(self, E: Tensor | None, before: Tensor | None = None) -> FirstLabels:
        """Find labels by the embeddings and the words, whatever the network says; or from those before.

        Both are of all texts that learn; only the first process has them and looks.
        """
        if self.found is not None:
            return self.found
        found = self.ranks.at_first(
            lambda: first_labels(
                _numpy(E),
                self.words,
                self.n_clusters,
                self.recipe,
                self.rng,
                None if before is None else before.numpy(),
            )
        )
        self.ranks.same_draws(self.rng)
        if not self.encoder.learns:
            self.found = found
        return found

    def _teach(self, teach: Callable[[ClusterHead], None]) -> None:
        """Let the first process teach G_p, and all have it."""
        head = self.network.cluster_head
        self.ranks.at_first(lambda: teach(head))
        for learned in head.parameters():
            self.ranks.as_first(learned.data)
        self.ranks.same_draws(self.rng)

    def _kmeans(self, E: NDArray[np.float32]) -> Clustering:
        points = F.normalize(torch.from_numpy(E), dim=1).numpy() if self.config.unit_length else E
        return kmeans_labels(points, self.n_clusters, self.rng, self.config.kmeans_starts)

    def _learn(self, labels: Tensor | None) -> tuple[float, float]:
        """Take one step on L_C + lambda_I L_I, or without labels on L_I alone; return both losses."""
        with self.progress.stage("views"):
            batch = next(self.batches)
        with self.progress.stage("train"):
            self.network.train()
            Q = None if labels is None else labels[torch.from_numpy(batch.rows)].to(self.encoder.device)
            loss, L_C, L_I = self.contrasts(batch.views, Q, batch.counts)
            self.optimizer.zero_grad()
            self.scaler.scale(loss).backward()
            self.scaler.step(self.optimizer)
            self.scaler.update()
            self.step += 1
            self.progress.advance(self.step, self.last_step)
            self.losses.append((None if labels is None else L_C.item(), L_I.item()))
            return L_C.item(), L_I.item()

    def _renewed(self, labels: Tensor, prediction: Prediction) -> Renewal:
        """Renew the labels by what the network predicts, or beside it."""
        with self.progress.stage("renew"):
            if self.transports is None:
                return self._anew(labels, prediction)
            return self._transported(self.transports, prediction)

    def _transported(self, transports: TransportedLabels, prediction: Prediction) -> Renewal:
        """Turn what the network predicts into labels."""
        found = transports.renew(prediction.log_p, prediction.clusters.numpy(), self.eps2)
        facts = {"transport_residual": found.residual, "transport_steps": found.iterations}
        return Renewal(prediction, prediction.clusters, found.plan.argmax(1), found.b.numpy(), facts)

    def _anew(self, before: Tensor, prediction: Prediction) -> Renewal:
        """Find labels in the learned space and teach them to the network."""
        ranks = self.ranks
        everything, labelled, placed = (ranks.rows_at_first(of) for of in (prediction.E, before, prediction.clusters))
        found = self._found(everything, labelled)
        place = ranks.at_first(lambda: _matched(found.labels, _numpy(placed), self.n_clusters))
        labels, b = torch.from_numpy(place[found.labels]), np.empty_like(found.b)
        b[place] = found.b
        self._teach(lambda head: teach_by_heart(head, _given(everything), labels, self.rng))
        taught = self.network.judge(prediction.E)
        return Renewal(taught, taught.clusters, labels[self.own], b, _facts(found))

    def _predict(self) -> Prediction:
        return self.network.judge(self._embed("renew"))

    def _embed(self, stage: str = "encode") -> Tensor:
        """Embed the texts that learn: from the kept states where there are frozen layers, once if all are."""
        encoder = self.encoder
        if self.E is not None:
            return self.E
        with self.progress.stage(stage):
            E = encoder.embed(self.tokens, self.progress.advance, self.cache.states if self.cache else None)
            if not encoder.learns:
                self.E = E
            return E

    def _record(self, losses: MeanLosses, renewed: Renewal, changed: float | None) -> None:
        """Write down what a renewal found, and show it to whoever watches."""
        self._show(renewed.clusters)
        moved = None if self.clusters is None else self.ranks.mean(self.clusters != renewed.clusters)
        self.clusters = renewed.clusters
        self.history.append(renewal_entry(self.step, losses, renewed, changed, moved, self.ranks))

    def _show(self, clusters: Tensor) -> None:
        if self.watch:
            self.watch(self.step, self.learners, clusters.numpy())

    def _finish(self, prediction: Prediction, b: NDArray[np.float64], settled: bool) -> TrainResult:
        """Label all texts; number the clusters by size, the largest first, and settle close calls."""
        network = self.network
        if self.cache and self.config.cache_folder:
            with self.progress.stage("keep"):
                self.cache.save()
        self.cache, self.batches = None, iter(())  # nobody learns any more
        if self.ranks.largest(len(self.all_tokens) - len(self.tokens)) > 0:
            with self.progress.stage("predict"):
                prediction = network.predict(self.all_tokens, self.progress.advance)
        sizes = self.ranks.sum(prediction.clusters.bincount(minlength=self.n_clusters))
        order = sizes.argsort(descending=True, stable=True)
        network.cluster_head.reorder(order)
        with self.progress.stage("predict"):
            final = network.settle(self.all_tokens, network.judge(prediction.E))
        b = b[order.numpy()]
        return TrainResult(
            network.eval(), final, b, self.history, self.losses, self.step, self.n_learners, settled, self.count
        )


def _given(values: Tensor | None) -> Tensor:
    """Return what the first process has of all, in that process."""
    assert values is not None
    return values


def _numpy(values: Tensor | None) -> NDArray[Any]:
    """Return the same as an array."""
    return np.asarray(_given(values).numpy())


def _adam(network: Network, config: Config) -> torch.optim.Adam:
    """Return Adam with a rate for the encoder's learning parameters and one for the heads'."""
    learning = [p for p in network.encoder.parameters() if p.requires_grad]
    heads = [*network.cluster_head.parameters(), *network.projector.parameters()]
    groups = [{"params": heads, "lr": config.head_lr}]
    if learning:
        groups.append({"params": learning, "lr": config.encoder_lr})
    return torch.optim.Adam(groups, fused=True)


def _recipe(config: Config) -> Recipe:
    """Return how first labels are to be found."""
    return Recipe(**{field.name: getattr(config, field.name) for field in fields(Recipe)})


def _facts(found: FirstLabels) -> dict[str, Any]:
    """Return what the history tells of labels that were found anew."""
    return {"start": found.start, "eps2": found.eps2, "agreement": found.agreement}


def _matched(labels: NDArray[np.int64], clusters: NDArray[np.int64], n_clusters: int) -> NDArray[np.int64]:
    """Return which cluster each label is to be called after (C,), so that as many texts as can be keep theirs.

    >>> _matched(np.array([0, 0, 1, 1]), np.array([1, 1, 0, 1]), 2)
    array([1, 0])
    """
    common = np.bincount(labels * n_clusters + clusters, minlength=n_clusters**2).reshape(n_clusters, n_clusters)
    return np.asarray(linear_sum_assignment(-common)[1], dtype=np.int64)
