"""The pseudo-labels of a run: how the first are found, and how they are updated as the network learns.

With a transport (as in the paper), labels are computed from the predictions of the network. With crossfit, they are
found in the learned space by models that have not seen them, and the cluster head is fitted to them.

In a distributed run, each process has the labels of its own texts. Plain k-means and transports run on all processes.
All other labels are found by the first process, which gathers the embeddings of all training texts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from torch import Tensor
from torch.nn import functional as F

from rstc.config import Config
from rstc.pseudo_labels.constraints import UNLABELLED
from rstc.pseudo_labels.features import EMBEDDING, TextFeatures, WordFeatures
from rstc.pseudo_labels.initialization import InitialLabels, find_initial_labels, improve_labels
from rstc.pseudo_labels.initialization_settings import InitializationSettings
from rstc.pseudo_labels.kmeans import Clustering, fit_kmeans
from rstc.pseudo_labels.label_sources import TransportLabelSource
from rstc.representation.head_training import fit_head, warm_up_head
from rstc.representation.heads import ClusterHead
from rstc.representation.network import Network, Prediction
from rstc.runtime.distributed import ProcessGroup

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class SideFeatures:
    """The feature sets beside the embedding, of the training texts of all processes.

    Attributes
    ----------
    dense : dict of (N, D) arrays
        Static word vectors and the user's own features, by name.
    words : WordFeatures or None
        TF-IDF and LSA.
    """

    dense: dict[str, NDArray[np.float32]]
    words: WordFeatures | None

    def join(self, E: NDArray[np.float32]) -> TextFeatures:
        """Return all feature sets, with the embeddings (N, D)."""
        return TextFeatures({EMBEDDING: E, **self.dense}, self.words)


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
    side_features : SideFeatures or None
        The feature sets beside the embedding; None in all processes but the first.
    partial_labels : ndarray of shape (N,) or None
        Class of each training text of all processes, -1 for texts without a label.
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
        side_features: SideFeatures | None,
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
        self._fixed_labels: InitialLabels | None = None  # of an encoder that is not trained
        names = [field.name for field in fields(InitializationSettings)]
        self._settings = InitializationSettings(**{name: getattr(config, name) for name in names})
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
        """Find the first labels of texts from their embeddings (n, D), and warm up the cluster head on them."""
        config, is_plain_kmeans = self.config, self._settings.is_plain_kmeans and self.partial_labels is None
        all_E = None if is_plain_kmeans and not config.head_start else self.processes.gather_rows(E)
        initial = self._find_by_plain_kmeans(E) if is_plain_kmeans else self._find_labels(all_E)
        labels = torch.from_numpy(initial.labels)
        if not is_plain_kmeans:
            labels = labels[self.local_rows]
        self.eps2 = initial.eps2
        if config.head_start:
            all_labels = self.processes.gather_rows(labels)
            accuracy, batch_size, lr = config.head_start, config.batch_size, config.head_lr
            self._train_head(
                lambda head: warm_up_head(
                    head, _assert_gathered(all_E), _assert_gathered(all_labels), accuracy, batch_size, lr, self.rng
                )
            )
        return LabelUpdate(self.network.predict_embeddings(E), labels, labels, initial.b, _describe(initial))

    def continue_from(self, labels: Tensor, E: Tensor) -> LabelUpdate:
        """Update the labels (n,) that an earlier model predicts for embeddings (n, D); clusters keep their numbers."""
        self.eps2 = self._settings.choose_eps2(labels.bincount(minlength=self.n_clusters).numpy())
        self._train_head(lambda head: fit_head(head, E, labels, self.rng))  # the head of a merged model is a new one
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

    def state_dict(self) -> dict[str, Any]:
        """Return the state that later label updates depend on."""
        return {
            "eps2": self.eps2,
            "mix": self._mix,
            "fixed_labels": asdict(self._fixed_labels) if self._fixed_labels else None,
            "source": self._source.state_dict() if self._source else None,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore a state."""
        self.eps2, self._mix = state["eps2"], state["mix"]
        self._fixed_labels = InitialLabels(**state["fixed_labels"]) if state["fixed_labels"] else None
        if self._source:
            self._source.load_state_dict(state["source"])

    def _find_by_plain_kmeans(self, E: Tensor) -> InitialLabels:
        """Find the first labels as the paper does, for the texts of this process."""
        labels = self.cluster_by_kmeans(E).labels
        sizes = self.processes.all_reduce(torch.from_numpy(np.bincount(labels, minlength=self.n_clusters))).numpy()
        eps2 = self._settings.choose_eps2(sizes)
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
        gather = self.processes.gather_rows
        all_E, all_labels, all_clusters = gather(prediction.E), gather(labels), gather(prediction.clusters)
        crossfit = self._find_labels(all_E, all_labels)
        n_classes = 0 if self.partial_labels is None else int(self.partial_labels.max()) + 1
        cluster_of_label = self.processes.run_on_first(
            lambda: match_labels(crossfit.labels, _assert_gathered(all_clusters).numpy(), self.n_clusters, n_classes)
        )
        new_labels, b = torch.from_numpy(cluster_of_label[crossfit.labels]), np.empty_like(crossfit.b)
        b[cluster_of_label] = crossfit.b
        self._train_head(lambda head: fit_head(head, _assert_gathered(all_E), new_labels, self.rng))
        fitted = self.network.predict_embeddings(prediction.E)
        return LabelUpdate(fitted, fitted.clusters, new_labels[self.local_rows], b, _describe(crossfit))

    def _find_labels(self, E: Tensor | None, previous: Tensor | None = None) -> InitialLabels:
        """Find labels of the training texts of all processes by their embeddings and words, in the first process.

        Previous labels, if given, are one of the starts.
        """
        if self._fixed_labels is not None:
            return self._fixed_labels
        initial = self.processes.run_on_first(lambda: self._find_in_first_process(E, previous))
        self._mix = initial.mix
        self.processes.sync_generator(self.rng)
        if not self.network.encoder.is_trainable:
            self._fixed_labels = replace(initial, candidates=())
        return initial

    def _find_in_first_process(self, E: Tensor | None, previous: Tensor | None) -> InitialLabels:
        assert self._side_features is not None
        features, C = self._side_features.join(_assert_gathered(E).numpy()), self.n_clusters
        if previous is None:
            return find_initial_labels(features, C, self._settings, self.rng, self.partial_labels)
        return improve_labels(features, previous.numpy(), C, self._mix, self._settings, self.rng, self.partial_labels)

    def _train_head(self, train: Callable[[ClusterHead], None]) -> None:
        """Train the cluster head in the first process, and copy it to all."""
        head = self.network.cluster_head
        self.processes.run_on_first(lambda: train(head))
        for parameter in head.parameters():
            self.processes.broadcast(parameter.data)
        self.processes.sync_generator(self.rng)


def match_labels(labels: Ints, clusters: Ints, n_clusters: int, n_classes: int = 0) -> Ints:
    """Match labels one to one with clusters, so that as many texts as possible keep their cluster.

    Parameters
    ----------
    labels, clusters : ndarray of shape (N,)
        The label and the cluster of each text.
    n_clusters : int
        C.
    n_classes : int
        Number of given classes; labels below it keep their numbers.

    Returns
    -------
    ndarray of shape (C,)
        The cluster of each label.

    Examples
    --------
    >>> match_labels(np.array([0, 0, 1, 1]), np.array([1, 1, 0, 1]), 2)
    array([1, 0])
    """
    overlap = np.bincount(labels * n_clusters + clusters, minlength=n_clusters**2).reshape(n_clusters, n_clusters)
    cluster_of_label = np.arange(n_clusters)
    cluster_of_label[n_classes:] = n_classes + linear_sum_assignment(-overlap[n_classes:, n_classes:])[1]
    return cluster_of_label


def _assert_gathered(rows: Tensor | None) -> Tensor:
    """Assert that rows were gathered in this process, which must be the first."""
    assert rows is not None
    return rows


def _describe(labels: InitialLabels) -> dict[str, Any]:
    """Describe how labels were found, for the history."""
    description = {"start": labels.start, "eps2": labels.eps2, "agreement": labels.agreement, "mix": labels.mix}
    if labels.candidates:
        description["candidates"] = [asdict(candidate) for candidate in labels.candidates]
    return description
