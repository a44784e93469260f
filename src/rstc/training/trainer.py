"""The alternation of pseudo-labels and representation: the loop that makes module (a) and module (b) one method.

First labels; then steps on L = L_C + lambda_I L_I (Eq. 7), and at growing intervals new labels for the whole set: as in
the paper by transport of what the network predicts, or found anew in the learned space by models that have not seen
them (crossfit). With several renewals it stops when the clusters settle. True labels never come here.

Several processes (ranks.py) may share a run, each with texts of its own. Batches are drawn from all texts by the same
draws everywhere, each process runs those that are its own, and gradients and transports are summed over all.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from rstc.validation.n_clusters import Within
from rstc.training.data_loader import Batches, Draws
from rstc.training.checkpoint_file import Checkpoints, Snapshot, draws_state
from rstc.config import Config
from rstc.training.state import Course, End
from rstc.errors import InputError, RetryWarning
from rstc.runtime.device import seeded
from rstc.training.history import MeanLosses, Renewal, Watch, contrast_entry, renewal_entry
from rstc.training.checkpointing import Keeping
from rstc.training.label_updater import Labelling
from rstc.training.subsample import Learners, who_learns
from rstc.runtime.progress import Progress
from rstc.pseudo_labels.n_clusters import Count, count_clusters, read_count
from rstc.pseudo_labels.words import Words, read_words
from rstc.runtime.distributed import ALONE, Ranks
from rstc.representation.encoder import Encoder
from rstc.representation.heads import Centroids, ClusteringNetwork, ProjectingNetwork
from rstc.representation.network import Network, Prediction
from rstc.representation.hidden_state_cache import StateCache
from rstc.representation.optimizer import NotFiniteError, Steps
from rstc.representation.views import Views
from rstc.training.fingerprint import run_facts
from rstc.training.schedule import StopTest, contrast_steps, last_step, renewal_steps
from rstc.runtime.signals import Stopped

SLOWER = 0.1  # learning rates after a step that left the finite numbers, beside those before


class Begin(NamedTuple):
    """A model from which training goes on: its network, and where it puts the texts, (N,)."""

    network: Network
    labels: NDArray[np.int64]


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
        order: which number each cluster had while training, (C,): the known class that it is, if there is one.
    """

    network: Network
    prediction: Prediction
    b: NDArray[np.float64]
    history: list[dict[str, Any]]
    losses: list[tuple[float | None, float]]
    steps: int
    n_trained: int
    settled: bool
    count: Count | None
    order: NDArray[np.int64]


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
    checkpoints: Checkpoints | None = None,
    known: NDArray[np.int64] | None = None,
    begin: Begin | None = None,
) -> TrainResult:
    """Cluster texts: train the encoder and its heads on labels that they help to make.

    The number of clusters is given, or the fewest and the most, within which the texts decide. Of several processes
    each gives its own texts and gets the prediction of these; all give the same generator. With checkpoints, where the
    run is is kept at each renewal and when it is stopped, and a run that was begun before goes on from there. Of some
    texts the class may be known, -1 of the others: then each class is a cluster, and there may be more. A model that
    was trained before can go on with these texts, its clusters keeping their numbers.
    """
    progress = progress or Progress()
    snapshot = None
    if checkpoints:
        run = run_facts(texts, views, encoder, n_clusters, config, rng, ranks, known)
        snapshot = ranks.at_first(lambda: checkpoints.open(run))
    learners = who_learns(
        texts,
        n_clusters[0] if isinstance(n_clusters, tuple) else n_clusters,
        config.max_fit_texts,
        lambda some: encoder.embed(encoder.tokenize(some), progress.advance),
        rng,
        ranks,
        snapshot.arrays.get("learners") if snapshot else None,
        known,
        progress,
    )
    _check_steps(learners.n, config)
    # Dropout and initialisation draw from torch's global generator and take no other: it is set inside this fork
    # and given back as it was.
    with seeded(encoder.device, int(rng.integers(2**63))):
        training = _Training(
            texts,
            learners,
            views,
            encoder,
            n_clusters,
            config,
            rng,
            progress,
            watch,
            ranks,
            checkpoints,
            snapshot,
            known,
            begin,
        )
        with checkpoints.stopping.listening(among_others=not ranks.alone) if checkpoints else nullcontext():
            return training.run()


def _check_steps(n_learners: int, config: Config) -> None:
    """Refuse a run in which no step is left to learn the labels."""
    steps = last_step(n_learners, config)
    if not config.class_contrast or contrast_steps(config) < max(steps, 1):
        return
    if steps == 0:
        raise InputError("contrast_steps need layers that learn: trainable_layers=0 takes no step")
    raise InputError(f"contrast_steps={config.contrast_steps} leave none of the {steps} steps to learn the labels")


class _Training:
    """One run of `train`: who learns, from what, by what, and how far it has come."""

    def __init__(
        self,
        texts: Sequence[str],
        learners: Learners,
        views: Views,
        encoder: Encoder,
        n_clusters: int | Within,
        config: Config,
        rng: np.random.Generator,
        progress: Progress,
        watch: Watch | None,
        ranks: Ranks,
        checkpoints: Checkpoints | None,
        snapshot: Snapshot | None,
        known: NDArray[np.int64] | None,
        begin: Begin | None,
    ) -> None:
        self.config, self.encoder, self.rng, self.progress, self.ranks = config, encoder, rng, progress, ranks
        self.watch, self.learners = watch, learners
        lasting = rng.spawn(1)[0]
        # What is drawn for the texts themselves differs from process to process; the rest must not.
        self.draws = Draws(rng, rng if ranks.alone else rng.spawn(ranks.size)[ranks.rank], lasting)
        self.course = Course()
        encoder.train_layers(config.trainable_layers)
        with progress.stage("encode"):
            self.all_tokens = encoder.tokenize(texts)
            self.tokens = [self.all_tokens[i] for i in learners.rows]
        self.cache = StateCache(encoder, config.cache_mb * 2**20, config.cache_folder) if encoder.is_cut else None
        self.E: Tensor | None = None  # of an encoder that does not learn, once it is known
        if self.cache and (snapshot or contrast_steps(config) or not config.class_contrast):
            self._embed()  # a kept state depends in its last bits on the company it was computed in: always this one
        asked = config.words and (config.class_contrast or isinstance(n_clusters, tuple))
        # They do not learn, so they are read once.
        said = ranks.things_at_first([texts[i] for i in learners.rows]) if asked else None
        words = None if said is None else read_words(said, rng)
        ranks.same_draws(rng)
        self.count: Count | None = None
        if isinstance(n_clusters, tuple):
            self.count = read_count(snapshot.facts["count"]) if snapshot else self._counted(n_clusters, words)
            assert self.count is not None
            n_clusters = self.count.n_clusters
        self.n_clusters = n_clusters
        self.before = None if begin is None else torch.from_numpy(begin.labels[learners.rows])
        head = ClusteringNetwork(encoder.dim, n_clusters, config.dropout)
        projector = ProjectingNetwork(encoder.dim, config.projection_dim)
        if begin:
            projector = begin.network.projector
            head = begin.network.cluster_head if isinstance(begin.network.cluster_head, ClusteringNetwork) else head
        self.network = Network(encoder, head, projector)
        always = config.class_contrast and contrast_steps(config) == 0
        self.steps = Steps(self.network, config.encoder_lr, config.head_lr, config.lambda_i, config.tau, always, ranks)
        if not ranks.alone:
            torch.manual_seed(torch.initial_seed() + ranks.rank)  # each drops out something else
        self.batches = Batches(
            self.tokens,
            views.of(learners.rows.tolist()),
            config.batch_size,
            learners.ends,
            encoder,
            self.cache,
            self.draws,
            ranks,
            progress,
        )
        known = None if known is None else known[learners.rows]
        self.labelling = Labelling(self.network, words, n_clusters, config, known, learners.own, rng, ranks)
        self.stop_test = StopTest(config.stop_interval, ranks)
        self.last_step = last_step(learners.n, config)
        self.renewals = renewal_steps(self.last_step, config) | {self.last_step}
        if snapshot:
            self._restore(snapshot)
        self.keeping = Keeping(self._snapshot, checkpoints, snapshot is not None, ranks, progress)

    def _counted(self, within: Within, words: Words | None) -> Count:
        """Estimate the number of clusters in the encoder's own space.

        What it draws is its own: with the number that it finds given, a run is the same.
        """
        rng = self.rng.spawn(1)[0]
        E = self.ranks.rows_at_first(F.normalize(self._embed(), dim=1))
        with self.progress.stage("count"):
            return self.ranks.at_first(
                lambda: count_clusters(
                    E.numpy(),  # type: ignore[union-attr]  # the first process has it
                    words,
                    self.config.words,
                    within,
                    rng,
                    self.progress.advance,
                )
            )

    def run(self) -> TrainResult:
        """Go through the phases of the method, from wherever it is."""
        if self.count:
            self.keeping.save_if_new()
        try:
            while True:
                try:
                    return self._go_on()
                except NotFiniteError as problem:
                    self._go_back(problem)
        except Stopped:
            self.keeping.save_if_new()
            raise

    def _go_on(self) -> TrainResult:
        """Go through the phases of the method that are left."""
        config, course = self.config, self.course
        if not config.class_contrast:
            return self._run_without_labels()
        if course.end:
            return self._finish(self._predict(), *course.end)
        if course.labels is None:
            self._contrast_only(contrast_steps(config))
            course.labels = self._first_labels()
            self.keeping.keep()
        while True:
            if course.step in self.renewals and course.renewed_at < course.step:
                prediction = self._predict()
                with self.progress.stage("renew"):
                    renewed = self.labelling.renewed(course.labels, prediction)
                changed = self.stop_test.share_changed(course.step, renewed.prediction.clusters)
                settled = changed is not None and changed < config.delta
                self._record(renewed, changed)
                course.labels, course.renewed_at, course.since = renewed.labels, course.step, MeanLosses()
                if settled or course.step == self.last_step:
                    course.end = End(renewed.b, settled)
                    self.keeping.keep()
                    return self._finish(renewed.prediction, *course.end)
                del renewed, prediction  # as large as all texts times all clusters, and of no more use
                self.keeping.keep()
            self._learn(course.labels)

    def _run_without_labels(self) -> TrainResult:
        """RSTC-I: L_I alone, then k-means in the learned space."""
        self._contrast_only(self.last_step)
        E = self._embed()
        with self.progress.stage("start"):
            found = self.labelling.by_kmeans(E)
        head = Centroids(E.shape[1], self.n_clusters, unit_length=self.config.unit_length)
        head.centroids.copy_(torch.from_numpy(found.centres))
        self.network = Network(self.encoder, head, self.network.projector)
        prediction = self._predict()
        self._show(prediction.clusters)
        sizes = self.ranks.sum(prediction.clusters.bincount(minlength=self.n_clusters)).double() / self.learners.n
        return self._finish(prediction, sizes.numpy(), settled=False)

    def _contrast_only(self, steps: int) -> None:
        """Take steps of L_I alone: the representation spreads before any label pulls at it."""
        course = self.course
        while course.step < min(steps, self.last_step):
            self._learn(None)
        if steps and not course.history:
            course.history.append(contrast_entry(course.step, course.since))
            course.since = MeanLosses()
            self.keeping.keep()

    def _first_labels(self) -> Tensor:
        """Find labels to begin with, or go on from those that a model gave before."""
        E = self._embed()
        with self.progress.stage("start"):
            before = self.before
            found = self.labelling.first(E) if before is None else self.labelling.going_on(before, E)
        if self.labelling.finds_anew or before is not None:
            self._record(found, None)
        return found.labels

    def _learn(self, labels: Tensor | None) -> None:
        """Take one step on L_C + lambda_I L_I, or without labels on L_I alone."""
        course = self.course
        with self.keeping.step(renewal_follows=lambda: course.step in self.renewals):
            with self.progress.stage("views"):
                batch = next(self.batches)
            with self.progress.stage("train"):
                Q = None if labels is None else labels[torch.from_numpy(batch.rows)]
                L_C, L_I = self.steps.take(batch.views, Q, batch.counts)
                course.step += 1
                course.since.add(L_C, L_I)
                course.losses.append((None if labels is None else L_C, L_I))
                self.progress.advance(course.step, self.last_step)

    def _go_back(self, problem: NotFiniteError) -> None:
        """Go back to where all was well, once, and go on with smaller steps."""
        step = self.course.step
        if self.course.slowed:
            raise InputError(
                f"{problem} at step {step}, and not with smaller steps either; lower encoder_lr and head_lr, or "
                "compute in precision=float32"
            ) from problem
        self._restore(self.ranks.at_first(lambda: self.keeping.good))
        self.course.slowed = True
        self.steps.slow_down(SLOWER)
        self.keeping.keep()
        warnings.warn(RetryWarning(step, self.course.step, SLOWER), stacklevel=2)

    def _snapshot(self) -> Snapshot:
        """Return where the run is; of several processes, the first has it of all."""
        parts = {
            "course": self.course.snapshot(self.ranks.rows_at_first),
            "steps": self.steps.snapshot(),
            "batches": self.batches.snapshot(),
            "stop": self.stop_test.snapshot(),
            "labelling": self.labelling.snapshot(),
        }
        facts = {
            "step": self.course.step,
            "count": asdict(self.count) if self.count else None,
            "draws": draws_state(self.draws.alike),
            "own": self.ranks.every(draws_state(self.draws.own)),
        }
        rows = None
        if self.learners.sampled:
            rows = self.ranks.rows_at_first(torch.from_numpy(self.learners.rows + self.learners.first_row))
        return Snapshot.of(facts, {} if rows is None else {"learners": rows.numpy()}, **parts)

    def _restore(self, snapshot: Snapshot) -> None:
        """Go on from where a run was: views are drawn before the encoder changes, generators are set last."""
        self.batches.restore(snapshot.part("batches"))
        self.steps.restore(snapshot.part("steps"))
        self.course = Course.read(snapshot.part("course"), self.learners.own)
        self.stop_test.restore(snapshot.part("stop"), self.learners.own)
        self.labelling.restore(snapshot.part("labelling"))
        own = snapshot.facts["own"]
        if len(own) == self.ranks.size:
            self.draws.own.bit_generator.state = own[self.ranks.rank]
        self.draws.alike.bit_generator.state = snapshot.facts["draws"]

    def _predict(self) -> Prediction:
        return self.network.judge(self._embed("renew"))

    def _embed(self, stage: str = "encode") -> Tensor:
        """Embed the texts that learn: from the kept states where there are frozen layers, once if all are."""
        encoder = self.encoder
        if self.E is not None:
            return self.E
        with self.progress.stage(stage):
            E = encoder.embed(self.tokens, self.progress.advance, self.cache.states if self.cache else None)
            if not self.ranks.largest(float(not E.isfinite().all())):
                self.E = E if not encoder.learns else None
                return E
        if self.course.step == 0:
            raise InputError("the encoder gives some texts an embedding that is not made of finite numbers")
        raise NotFiniteError("an embedding is not made of finite numbers")

    def _record(self, renewed: Renewal, changed: float | None) -> None:
        """Write down what a renewal found, and show it to whoever watches."""
        course = self.course
        self._show(renewed.clusters)
        moved = None if course.clusters is None else self.ranks.mean(course.clusters != renewed.clusters)
        course.clusters = renewed.clusters
        course.history.append(renewal_entry(course.step, course.since, renewed, changed, moved, self.ranks))

    def _show(self, clusters: Tensor) -> None:
        if self.watch:
            self.watch(self.course.step, self.learners.rows, clusters.numpy())

    def _finish(self, prediction: Prediction, b: NDArray[np.float64], settled: bool) -> TrainResult:
        """Label all texts; number the clusters by size, the largest first, and settle close calls."""
        network = self.network
        if self.cache and self.config.cache_folder:
            with self.progress.stage("keep"):
                self.cache.save()
        self.cache = self.batches.cache = None  # nobody learns any more
        if self.learners.sampled:
            with self.progress.stage("predict"):
                prediction = network.predict(self.all_tokens, self.progress.advance)
        sizes = self.ranks.sum(prediction.clusters.bincount(minlength=self.n_clusters))
        order = sizes.argsort(descending=True, stable=True) if self.before is None else torch.arange(self.n_clusters)
        network.cluster_head.reorder(order)
        with self.progress.stage("predict"):
            final = network.settle(self.all_tokens, network.judge(prediction.E))
        b = b[order.numpy()]
        if self.learners.sampled:  # in which rare texts are more than their share
            b = (sizes[order].double() / sizes.sum()).numpy()
        course = self.course
        return TrainResult(
            network.eval(),
            final,
            b,
            course.history,
            course.losses,
            course.step,
            self.learners.n,
            settled,
            self.count,
            order.numpy(),
        )
