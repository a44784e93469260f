"""The training loop, which alternates pseudo-labelling (module (a) of the paper) and representation learning (b).

First labels are found, then the network takes steps on L = L_C + lambda_I L_I (Eq. 7), and at growing intervals the
labels of all texts are updated: by a transport of the predictions, as in the paper, or by crossfit in the learned
space. A run with several label updates stops when the clusters have converged. True labels are never used here.

Several processes may share a run, each with its own texts (rstc.runtime.distributed). All draw the same batches of all
texts, each process encodes its own texts of a batch, and gradients and transports are summed over the processes.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rstc.config import Config
from rstc.errors import InputError, RetryWarning, first_line
from rstc.pseudo_labels.cluster_count import ClusterCount
from rstc.representation.heads import CentroidHead
from rstc.representation.network import Network, Prediction
from rstc.representation.optimizer import NonFiniteError
from rstc.runtime.device import fork_rng
from rstc.runtime.distributed import SINGLE_PROCESS, ProcessGroup
from rstc.runtime.progress import Progress, Watch
from rstc.runtime.signals import StopRequested
from rstc.training.checkpoint_file import StateDict
from rstc.training.checkpointing import Checkpointer, CheckpointFolder
from rstc.training.fingerprint import fingerprint_run
from rstc.training.history import MeanLosses, make_contrast_entry, make_update_entry
from rstc.training.inputs import TrainingInputs
from rstc.training.label_updater import LabelUpdate
from rstc.training.reliability import Reliability
from rstc.training.state import Outcome, TrainingState
from rstc.training.subsample import choose_training_texts
from rstc.training.trainer_parts import TrainerParts, build_trainer_parts, read_texts

LR_REDUCTION = 0.1  # factor of the learning rates after a loss that is not finite


@dataclass(frozen=True)
class TrainResult:
    """A trained network and its predictions for the texts of this process; cluster 0 is the largest.

    Attributes
    ----------
    network : Network
        The trained network.
    prediction : Prediction
        Its final log P (N, C) and E (N, D).
    b : ndarray of shape (C,)
        The estimated class distribution.
    history : list of dict
        An entry for each label update, the last one after the last step.
    losses : list of (float or None, float)
        L_C and L_I of each step; L_C is None for a step without labels.
    n_steps : int
        Number of optimizer steps taken.
    n_trained : int
        Number of training texts.
    converged : bool
        Whether the stopping criterion ended the training, rather than the step limit.
    cluster_count : ClusterCount or None
        The estimate of the number of clusters; None if the number was given.
    order : ndarray of shape (C,)
        The id of each cluster during training, which with partial labels is that of its class.
    reliability : Reliability or None
        How far the clusters can be trusted; None if it was not estimated.
    start : str
        How the first labels were found: "kmeans", "linkage", "spectral" or "known".
    """

    network: Network
    prediction: Prediction
    b: NDArray[np.float64]
    history: list[dict[str, Any]]
    losses: list[tuple[float | None, float]]
    n_steps: int
    n_trained: int
    converged: bool
    cluster_count: ClusterCount | None
    order: NDArray[np.int64]
    reliability: Reliability | None
    start: str


def train(
    inputs: TrainingInputs,
    config: Config,
    rng: np.random.Generator,
    *,
    progress: Progress | None = None,
    watch: Watch | None = None,
    processes: ProcessGroup = SINGLE_PROCESS,
    checkpoints: CheckpointFolder | None = None,
    cache_folder: Path | None = None,
) -> TrainResult:
    """Cluster texts: train the encoder and its heads on pseudo-labels.

    Parameters
    ----------
    inputs : TrainingInputs
        The texts, their views, the encoder and the number of clusters.
    config : Config
        The settings.
    rng : numpy.random.Generator
        The same in all processes.
    progress : Progress, optional
        Times the stages and reports their progress.
    watch : callable, optional
        Called with the step, the training rows and their clusters at each label update.
    processes : ProcessGroup
        The processes that share the run. Each has its own texts and returns their predictions.
    checkpoints : CheckpointFolder, optional
        Where the state is saved at each label update and when the run is stopped, and from where a run is resumed.
    cache_folder : Path, optional
        Where embeddings by the untrained encoder are stored for later runs (`EmbeddingCache`).

    Returns
    -------
    TrainResult
    """
    progress = progress or Progress()
    checkpoint: StateDict | None = None
    if checkpoints:
        run = fingerprint_run(inputs, config, rng, processes)
        checkpoint = processes.run_on_first(lambda: checkpoints.open(run))
    n_texts = int(processes.total(len(inputs.texts)))
    texts = read_texts(inputs, config.count_trained_layers(n_texts), cache_folder, processes, progress)
    with _explain_checkpoint_errors(checkpoints if checkpoint else None):
        previous_rows = checkpoint["training_rows"] if checkpoint else None
        subsample = choose_training_texts(inputs, texts, config.max_fit_texts, rng, processes, progress, previous_rows)
    # Dropout and weight initialisation draw from torch's global generator, which is restored afterwards.
    with fork_rng(inputs.encoder.device, int(rng.integers(2**63))):
        with _explain_checkpoint_errors(checkpoints if checkpoint else None):
            parts = build_trainer_parts(inputs, config, rng, texts, subsample, checkpoint, processes, progress)
            trainer = Trainer(parts, processes, progress, watch, checkpoints, checkpoint)
        stop_handler = checkpoints.stop_handler if checkpoints else None
        with stop_handler.listen(shared=not processes.is_single) if stop_handler else nullcontext():
            return trainer.run()


@contextmanager
def _explain_checkpoint_errors(checkpoints: CheckpointFolder | None) -> Iterator[None]:
    """Raise InputError for what goes wrong with the content of a checkpoint, if a run is resumed from one.

    A checksum shows damage, but a file from elsewhere may hold anything under a valid one.
    """
    try:
        yield
    except InputError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError, RuntimeError, OverflowError) as problem:
        if checkpoints is None:
            raise
        raise InputError(
            f"a checkpoint in {checkpoints.folder} does not hold the state of this run ({first_line(problem)[:200]}); "
            "--from-scratch starts anew"
        ) from problem


class Trainer:
    """Runs the phases of the method.

    Parameters
    ----------
    parts : TrainerParts
        Network, optimizer, data loader, label updater and schedule.
    processes : ProcessGroup
        The processes that share the run.
    progress : Progress
        Times the stages.
    watch : callable, optional
        Called with the step, the training rows and their clusters at each label update.
    checkpoints : CheckpointFolder, optional
        Where the state is saved.
    checkpoint : dict, optional
        The state to resume from.

    Attributes
    ----------
    state : TrainingState
        The current state.
    """

    def __init__(
        self,
        parts: TrainerParts,
        processes: ProcessGroup,
        progress: Progress,
        watch: Watch | None = None,
        checkpoints: CheckpointFolder | None = None,
        checkpoint: StateDict | None = None,
    ) -> None:
        self.parts, self.processes, self.progress, self.watch = parts, processes, progress, watch
        self.state = TrainingState()
        if checkpoint:
            self.load_state_dict(checkpoint)
        is_saved = checkpoint is not None
        self.checkpointer = Checkpointer(self.state_dict, checkpoints, processes, progress, is_saved)

    def run(self) -> TrainResult:
        """Run all remaining phases; after a loss that is not finite, resume once with lower learning rates."""
        if self.parts.cluster_count:
            self.checkpointer.write_pending()
        try:
            while True:
                try:
                    return self._run_phases()
                except NonFiniteError as error:
                    self._restore_last_good(error)
        except StopRequested:
            self.checkpointer.write_pending()
            raise

    def state_dict(self) -> StateDict:
        """Return the state of the run; in the first process, it includes the state of all processes."""
        parts, processes = self.parts, self.processes
        return {
            "step": self.state.step,
            "training": self.state.state_dict(processes),
            "optimizer": parts.optimizer.state_dict(),
            "data_loader": parts.data_loader.state_dict(),
            "stopping": parts.stopping.state_dict(),
            "label_updater": parts.label_updater.state_dict(),
            "generators": parts.generators.state_dict(processes),
            "cluster_count": parts.cluster_count.to_dict() if parts.cluster_count else None,
            "training_rows": parts.subsample.gather_rows(processes),
        }

    def load_state_dict(self, state: StateDict) -> None:
        """Restore a state."""
        parts = self.parts
        parts.data_loader.load_state_dict(state["data_loader"])  # first: fixed views come from the untrained encoder
        parts.optimizer.load_state_dict(state["optimizer"])
        self.state = TrainingState.from_state_dict(state["training"], parts.subsample.local_rows)
        parts.stopping.load_state_dict(state["stopping"])
        parts.label_updater.load_state_dict(state["label_updater"])
        parts.generators.load_state_dict(state["generators"], self.processes)  # last: the data loader draws

    def _run_phases(self) -> TrainResult:
        """Run the remaining phases of the method."""
        parts, state = self.parts, self.state
        if not parts.schedule.uses_labels:
            return self._run_without_labels()
        if state.outcome:
            return self._finish(parts.network, self._predict(), state.outcome)
        if state.labels is None:
            self._train_on_instance_loss(parts.schedule.contrast_steps)
            state.labels = self._find_first_labels()
            self.checkpointer.save()
        while True:
            if state.step in parts.schedule.label_update_steps and state.last_update_step < state.step:
                final_prediction = self._update_labels(state.labels)
                self.checkpointer.save()
                if final_prediction and state.outcome:
                    return self._finish(parts.network, final_prediction, state.outcome)
            self._take_step(state.labels)

    def _run_without_labels(self) -> TrainResult:
        """Run RSTC-I: train on L_I alone, then cluster the learned space by k-means."""
        parts = self.parts
        self._train_on_instance_loss(parts.schedule.max_steps)
        E = parts.texts.embed(step=self.state.step)
        with self.progress.stage("start"):
            clustering = parts.label_updater.cluster_by_kmeans(E)
        n_clusters = parts.label_updater.n_clusters
        head = CentroidHead(E.shape[1], n_clusters, unit_length=parts.label_updater.config.unit_length)
        head.centroids.copy_(torch.from_numpy(clustering.centres))
        network = Network(parts.texts.encoder, head, parts.network.projector)
        prediction = network.predict_embeddings(parts.texts.embed("renew", self.state.step))
        self._notify(prediction.clusters)
        sizes = self.processes.all_reduce(prediction.clusters.bincount(minlength=n_clusters)).double()
        b = (sizes / parts.subsample.n_texts).numpy()
        return self._finish(network, prediction, Outcome(b, converged=False))

    def _train_on_instance_loss(self, n_steps: int) -> None:
        """Take steps on L_I alone, which spread the embeddings before the first labels are found."""
        state = self.state
        while state.step < min(n_steps, self.parts.schedule.max_steps):
            self._take_step(None)
        if n_steps and not state.history:
            state.history.append(make_contrast_entry(state.step, state.recent_losses))
            state.recent_losses = MeanLosses()
            self.checkpointer.save()

    def _find_first_labels(self) -> Tensor:
        """Find the first labels, or update the labels of a warm start."""
        parts, warm_start_labels = self.parts, self.parts.warm_start_labels
        E = parts.texts.embed(step=self.state.step)
        with self.progress.stage("start"):
            if warm_start_labels is None:
                update = parts.label_updater.find_first(E)
            else:
                update = parts.label_updater.continue_from(warm_start_labels, E)
        if parts.label_updater.uses_crossfit or warm_start_labels is not None:
            self._record(update, None)
        return update.labels

    def _update_labels(self, labels: Tensor) -> Prediction | None:
        """Update the labels and test whether training ends; return the final predictions if it does."""
        parts, state = self.parts, self.state
        prediction = self._predict()
        with self.progress.stage("renew"):
            update = parts.label_updater.update(labels, prediction)
        share_changed = parts.stopping.test(state.step, update.prediction.clusters)
        converged = parts.stopping.is_met(share_changed)
        if state.step == parts.schedule.trial_step:
            converged = parts.stopping.is_met(self.processes.mean(update.labels != labels))
        self._record(update, share_changed)
        state.labels, state.last_update_step, state.recent_losses = update.labels, state.step, MeanLosses()
        if not converged and state.step < parts.schedule.max_steps:
            return None
        state.outcome = Outcome(update.b, converged)
        return update.prediction

    def _take_step(self, labels: Tensor | None) -> None:
        """Take an optimizer step on L_C + lambda_I L_I, or on L_I alone without labels."""
        parts, state = self.parts, self.state
        updates = parts.schedule.label_update_steps
        with self.checkpointer.guard_step(label_update_follows=lambda: state.step in updates):
            with self.progress.stage("views"):
                batch = next(parts.data_loader)
            with self.progress.stage("train"):
                Q = None if labels is None else labels[torch.from_numpy(batch.rows)]
                L_C, L_I = parts.optimizer.step(batch.views, Q, batch.counts)
                state.step += 1
                state.recent_losses.add(L_C, L_I)
                state.losses.append((None if labels is None else L_C, L_I))
                self.progress.advance(state.step, parts.schedule.max_steps)

    def _restore_last_good(self, error: NonFiniteError) -> None:
        """Return to the state of the last label update with lower learning rates; raise the second time."""
        step = self.state.step
        if self.state.lr_was_reduced:
            raise InputError(
                f"{error} at step {step}, even with lower learning rates; lower encoder_lr and head_lr, or set "
                "precision=float32"
            ) from error
        self.load_state_dict(self.processes.run_on_first(lambda: self.checkpointer.last_good))
        self.state.lr_was_reduced = True
        self.parts.optimizer.scale_learning_rates(LR_REDUCTION)
        self.checkpointer.save()
        warnings.warn(RetryWarning(step, self.state.step, LR_REDUCTION), stacklevel=2)

    def _predict(self) -> Prediction:
        return self.parts.network.predict_embeddings(self.parts.texts.embed("renew", self.state.step))

    def _record(self, update: LabelUpdate, share_changed: float | None) -> None:
        """Add a label update to the history, and pass its clusters to the callback `watch`."""
        state = self.state
        self._notify(update.clusters)
        moved = None if state.clusters is None else self.processes.mean(state.clusters != update.clusters)
        state.clusters = update.clusters
        entry = make_update_entry(state.step, state.recent_losses, update, share_changed, moved, self.processes)
        state.history.append(entry)

    def _notify(self, clusters: Tensor) -> None:
        if self.watch:
            self.watch(self.state.step, self.parts.subsample.rows, clusters.numpy())

    def _finish(self, network: Network, prediction: Prediction, outcome: Outcome) -> TrainResult:
        """Predict all texts, number the clusters by size, the largest first, and break ties."""
        parts, progress, n_clusters = self.parts, self.progress, network.cluster_head.n_clusters
        parts.texts.release_cache()
        sample = parts.reliability.draw_sample(prediction.E, parts.label_updater) if parts.reliability else None
        parts.label_updater.release_features()
        E, clusters = prediction.E, prediction.clusters
        if parts.subsample.is_proper:
            E = parts.texts.embed_all(self.state.step)
            with progress.stage("predict"):
                clusters = network.predict_embeddings(E).clusters
        sizes = self.processes.all_reduce(clusters.bincount(minlength=n_clusters))
        order = torch.arange(n_clusters)
        if parts.warm_start_labels is None:
            order = sizes.argsort(descending=True, stable=True)
        network.cluster_head.reorder(order)
        with progress.stage("predict"):
            final = network.break_ties(parts.texts.all_texts.tokens, network.predict_embeddings(E))
        reliability = None
        if parts.reliability and sample:
            with progress.stage("confidence"):
                reliability = parts.reliability.estimate(sample, final, n_clusters, parts.label_updater)
        b = outcome.b[order.numpy()]
        if parts.subsample.is_proper:  # rare texts are over-represented in it
            b = (sizes[order].double() / sizes.sum()).numpy()
        return TrainResult(
            network.eval(),
            final,
            b,
            self.state.history,
            self.state.losses,
            self.state.step,
            parts.subsample.n_texts,
            outcome.converged,
            parts.cluster_count,
            order.numpy(),
            reliability,
            parts.label_updater.start,
        )
