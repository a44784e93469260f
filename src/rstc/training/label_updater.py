"""The pseudo-labels of a run: how the first are found, and how they are updated as the network learns.

With a transport (as in the paper), labels are computed from the predictions of the network. With crossfit, they are
found in the learned space by models that have not seen them, and the cluster head is fitted to them.

In a distributed run, each process has the embeddings and the labels of its own texts, and labels are found by sums over
the texts of all processes; only samples are gathered.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from rstc.config import Config
from rstc.pseudo_labels.constraints import UNLABELLED
from rstc.pseudo_labels.features import EMBEDDING, TextFeatures, WordFeatures
from rstc.pseudo_labels.initialization import (
    InitialLabels,
    fill_undecided_mix,
    find_initial_labels,
    improve_labels,
)
from rstc.pseudo_labels.initialization_settings import InitializationSettings
from rstc.pseudo_labels.kmeans import Clustering, fit_kmeans
from rstc.pseudo_labels.label_sources import TransportLabelSource
from rstc.pseudo_labels.matching import match_labels
from rstc.representation.head_training import fit_head, warm_up_head
from rstc.representation.network import Network, Prediction
from rstc.runtime.distributed import ProcessGroup

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class SideFeatures:
    """The feature sets beside the embedding, of the training texts of this process.

    Attributes
    ----------
    dense : dict of (n, D) arrays
        Static word vectors and the user's own features, by name.
    words : WordFeatures or None
        TF-IDF and LSA.
    processes : ProcessGroup
        The processes that share the texts.
    """

    dense: dict[str, NDArray[np.float32]]
    words: WordFeatures | None
    processes: ProcessGroup

    def join(self, E: Tensor) -> TextFeatures:
        """Return all feature sets, with the embeddings (n, D)."""
        return TextFeatures({EMBEDDING: E.numpy(), **self.dense}, self.words, self.processes)


@dataclass(frozen=True)
class LabelUpdate:
    """The result of a label update, for n texts of this process.

    Attributes
    ----------
    prediction : Prediction
        The predictions of the network; after crossfit, of the cluster head that was fitted to the new labels.
    clusters : Tensor of shape (n,)
        The current clusters: the predicted ones, or the first labels before the network is trained on them.
    labels : Tensor of shape (n,)
        The new pseudo-labels.
    b : ndarray of shape (C,)
        Their class distribution.
    diagnostics : dict
        How they were found: values for the history.
    """

    prediction: Prediction
    clusters: Tensor
    labels: Tensor
    b: NDArray[np.float64]
    diagnostics: dict[str, Any]


class LabelUpdater:
    """Finds and updates the labels of the training texts.

    Parameters
    ----------
    network : Network
        Network that is trained on the labels; its cluster head sets the number of clusters.
    config : Config
        The settings.
    side_features : SideFeatures
        The feature sets beside the embedding.
    partial_labels : ndarray of shape (N,) or None
        Class of each training text, -1 for texts without a label; None in a distributed run.
    local_rows : slice
        The rows of this process's training texts among those of all processes.
    rng : numpy.random.Generator
        The same in all processes.
    processes : ProcessGroup
        The processes that share the texts.
    """

    def __init__(
        self,
        network: Network,
        config: Config,
        side_features: SideFeatures,
        partial_labels: Ints | None,
        local_rows: slice,
        rng: np.random.Generator,
        processes: ProcessGroup,
    ) -> None:
        self.network, self.config, self._side_features = network, config, side_features
        self.partial_labels, self.local_rows, self.rng, self.processes = partial_labels, local_rows, rng, processes
        self.n_clusters = network.cluster_head.n_clusters
        self.eps2 = 0.0  # weight of the penalty on class sizes; set by the first labels
        self._mix: dict[str, float] | None = None  # weights of the feature sets; set by the first labels
        self.start = "kmeans"  # how the first labels were found
        self._fixed_labels: InitialLabels | None = None  # of an encoder that is not trained
        self.settings = InitializationSettings.from_config(config)
        self._source: TransportLabelSource | None = None
        if config.labels != "crossfit":
            self._source = TransportLabelSource(
                config.labels, self.n_clusters, config.eps1, config.transport_method, rng, processes
            )

    @property
    def uses_crossfit(self) -> bool:
        """Whether labels are found by crossfit, not computed from the predictions of the network."""
        return self._source is None

    def find_first(self, E: Tensor) -> LabelUpdate:
        """Find the first labels of texts from their embeddings (n, D), and warm up the cluster head on them.

        There is no warm-up if the first labels are the last, to which the head is then fitted.
        """
        config, is_plain_kmeans = self.config, self.settings.is_plain_kmeans and self.partial_labels is None
        initial = self._find_by_plain_kmeans(E) if is_plain_kmeans else self._find_labels(E)
        labels = torch.from_numpy(initial.labels)
        self.eps2 = initial.eps2
        if config.head_start and (self.network.encoder.is_trainable or not self.uses_crossfit):
            head, accuracy = self.network.cluster_head, config.head_start
            warm_up_head(head, E, labels, accuracy, config.batch_size, config.head_lr, self.rng, self.processes)
        return LabelUpdate(self.network.predict_embeddings(E), labels, labels, initial.b, _describe(initial))

    def continue_from(self, labels: Tensor, E: Tensor) -> LabelUpdate:
        """Update the labels (n,) that an earlier model predicts for embeddings (n, D); clusters keep their numbers."""
        sizes = self.processes.all_reduce(labels.bincount(minlength=self.n_clusters))
        self.eps2 = self.settings.choose_eps2(sizes.numpy())
        self._fit_head(E, labels)  # the head of a merged model is a new one
        return self.update(labels, self.network.predict_embeddings(E))

    def update(self, labels: Tensor, prediction: Prediction) -> LabelUpdate:
        """Update labels (n,) by a transport of the predictions, or by crossfit in the learned space."""
        return self._update_by_crossfit(labels, prediction) if self.uses_crossfit else self._transport(prediction)

    def cluster_by_kmeans(self, E: Tensor) -> Clustering:
        """Cluster the embeddings of all processes by k-means; each gets the labels of its own rows (n, D)."""
        points = F.normalize(E, dim=1) if self.config.unit_length else E
        clustering = fit_kmeans(points.numpy(), self.n_clusters, self.rng, self.config.kmeans_starts, self.processes)
        self.processes.sync_generator(self.rng)
        return clustering

    def join_features(self, E: Tensor) -> tuple[TextFeatures, dict[str, float]]:
        """Return all feature sets of the training texts, with embeddings (n, D) at length one, and their weights."""
        features = self._side_features.join(F.normalize(E, dim=1))
        return features, fill_undecided_mix(self._mix, features)

    def release_features(self) -> None:
        """Release the feature sets beside the embedding, after the last label update."""
        self._side_features = SideFeatures({}, None, self.processes)

    def state_dict(self) -> dict[str, Any]:
        """Return the state that later label updates depend on; in the first process, with the labels of all."""
        fixed_labels = None
        if self._fixed_labels:
            all_labels = self.processes.gather_rows(torch.from_numpy(self._fixed_labels.labels))
            fixed_labels = asdict(self._fixed_labels) | {"labels": None if all_labels is None else all_labels.numpy()}
        return {
            "eps2": self.eps2,
            "mix": self._mix,
            "start": self.start,
            "fixed_labels": fixed_labels,
            "source": self._source.state_dict() if self._source else None,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore a state, with the labels of this process."""
        self.eps2, self._mix, self.start = state["eps2"], state["mix"], state["start"]
        self._fixed_labels = None
        if state["fixed_labels"]:
            fixed_labels = InitialLabels(**state["fixed_labels"])
            self._fixed_labels = replace(fixed_labels, labels=fixed_labels.labels[self.local_rows].copy())
        if self._source:
            self._source.load_state_dict(state["source"])

    def _find_by_plain_kmeans(self, E: Tensor) -> InitialLabels:
        """Find the first labels as the paper does, for the texts of this process."""
        labels = self.cluster_by_kmeans(E).labels
        sizes = self.processes.all_reduce(torch.from_numpy(np.bincount(labels, minlength=self.n_clusters))).numpy()
        eps2 = self.settings.choose_eps2(sizes)
        return InitialLabels(labels, "kmeans", eps2, sizes / sizes.sum(), None)

    def _transport(self, prediction: Prediction) -> LabelUpdate:
        """Compute labels from the predictions of the network."""
        assert self._source is not None
        transport = self._source.solve(prediction.log_p, prediction.clusters.numpy(), self.eps2)
        diagnostics = {"transport_residual": transport.residual, "transport_steps": transport.iterations}
        labels = transport.labels
        if self.partial_labels is not None:
            labels = torch.from_numpy(np.where(self.partial_labels != UNLABELLED, self.partial_labels, labels.numpy()))
        return LabelUpdate(prediction, prediction.clusters, labels, transport.b.numpy(), diagnostics)

    def _update_by_crossfit(self, labels: Tensor, prediction: Prediction) -> LabelUpdate:
        """Find labels in the learned space, number them like the clusters, and fit the cluster head to them."""
        # In a fixed space the labels are the previous ones, and the head need not have been fitted to them before.
        clusters = (labels if self._fixed_labels else prediction.clusters).numpy()
        crossfit = self._find_labels(prediction.E, labels)
        n_classes = 0 if self.partial_labels is None else int(self.partial_labels.max()) + 1
        cluster_of_label = match_labels(crossfit.labels, clusters, self.n_clusters, n_classes, self.processes)
        new_labels, b = torch.from_numpy(cluster_of_label[crossfit.labels]), np.empty_like(crossfit.b)
        b[cluster_of_label] = crossfit.b
        self._fit_head(prediction.E, new_labels)
        fitted = self.network.predict_embeddings(prediction.E)
        return LabelUpdate(fitted, fitted.clusters, new_labels, b, _describe(crossfit))

    def _find_labels(self, E: Tensor, previous: Tensor | None = None) -> InitialLabels:
        """Find labels of texts by their embeddings (n, D) and words, or improve previous labels (n,)."""
        if self._fixed_labels is not None:
            return self._fixed_labels
        features, C, settings, rng = self._side_features.join(E), self.n_clusters, self.settings, self.rng
        if previous is None:
            initial = find_initial_labels(features, C, settings, rng, self.partial_labels)
            self.start = initial.start
        else:
            initial = improve_labels(features, previous.numpy(), C, self._mix, settings, rng, self.partial_labels)
        self._mix = initial.mix
        if not self.network.encoder.is_trainable:
            self._fixed_labels = replace(initial, candidates=())
        return initial

    def _fit_head(self, E: Tensor, labels: Tensor) -> None:
        """Fit the cluster head to labels (n,) of embeddings (n, D)."""
        fit_head(self.network.cluster_head, E, labels, self.rng, self.processes)


def _describe(labels: InitialLabels) -> dict[str, Any]:
    """Describe how labels were found, for the history."""
    description = {"start": labels.start, "eps2": labels.eps2, "agreement": labels.agreement, "mix": labels.mix}
    if labels.candidates:
        description["candidates"] = [asdict(candidate) for candidate in labels.candidates]
    return description
