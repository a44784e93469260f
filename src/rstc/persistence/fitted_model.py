"""The state of a fitted model: everything that its folder holds, and how merges and corrections change it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.preprocessing import normalize

from rstc.config import Config
from rstc.io.columns import TextColumn, to_text_column
from rstc.io.predictions import NO_CLUSTER, Assignment
from rstc.language.names import are_language_codes
from rstc.numerics.fixed_blocks import map_blocks
from rstc.numerics.hierarchy import Tree, build_tree, collapse_tree
from rstc.pseudo_labels.cluster_count import ClusterCount, cluster_count_from_dict
from rstc.pseudo_labels.confidence_model import ConfidenceModel, assess_confidence
from rstc.pseudo_labels.outliers import OutlierDetector
from rstc.representation.head_training import fit_head
from rstc.representation.heads import NEVER_PREDICTED_LOGIT, ClusteringNetwork, merge_head
from rstc.representation.network import Network
from rstc.results.edits import MAX_DESCRIPTION_LENGTH, common_label
from rstc.results.naming import are_names, fill_names
from rstc.runtime.device import fork_rng


@dataclass(frozen=True, eq=False)
class FittedModel:
    """A trained network with its clusters and the record of its training.

    Attributes
    ----------
    network : Network
        The encoder and its heads.
    config : Config
        The settings of the run.
    class_distribution : ndarray of shape (C,)
        b, the estimated share of each cluster.
    hierarchy : ndarray of shape (C - 1, 4) or None
        The tree over the clusters, in the format of `scipy.cluster.hierarchy.linkage`; None in folders without one.
    classes : list of length C or None
        The known class of each cluster, None for new clusters; None if no labels were given.
    names : list of length C or None
        The name of each cluster, None where it has none; None if the clusters were not named.
    descriptions : list of length C or None
        A sentence on what the texts of each cluster are about, None where there is none.
    outlier_detector : OutlierDetector or None
        Detects outliers; None unless `noise` is set.
    confidence_model : ConfidenceModel or None
        Estimates the confidence of new texts; None if it was not fitted, and the confidence is the head's probability.
    n_clusters_search : ClusterCount or None
        How the number of clusters was estimated; None if it was given.
    history : list of dict
        One entry for each update of the pseudo-labels.
    start : str
        How the first labels were found.
    n_iter : int
        Training steps taken.
    converged : bool
        Whether the stop test ended the training, rather than the step limit.
    n_texts : int
        Number of texts that the model was fitted on.
    n_trained : int
        Number of texts that the network was trained on.
    text_column : str, list of str or None
        The column of the input table that held the texts, or several; None if they came as a list.
    preset : str
        The preset that unset parameters were taken from.
    random_state : int or None
        The seed; None if it was not an integer.
    encoder_reason : str or None
        Why the encoder was taken; None if it was named.
    languages : list of str or None
        The ISO 639 codes of the main languages of the fitted texts; None in folders that do not say.
    """

    network: Network
    config: Config
    class_distribution: NDArray[np.float64]
    hierarchy: Tree | None
    classes: list[Any] | None
    outlier_detector: OutlierDetector | None
    confidence_model: ConfidenceModel | None
    n_clusters_search: ClusterCount | None
    history: list[dict[str, Any]]
    start: str
    n_iter: int
    converged: bool
    n_texts: int
    n_trained: int
    text_column: TextColumn | None
    preset: str
    random_state: int | None
    names: list[str | None] | None = None
    descriptions: list[str | None] | None = None
    encoder_reason: str | None = None
    languages: list[str] | None = None

    @property
    def n_clusters(self) -> int:
        """The number of clusters, C."""
        return self.network.cluster_head.n_clusters

    def list_names(self) -> list[str]:
        """Return the name of each cluster, "cluster 3" for one without."""
        return fill_names(self.names, self.n_clusters)

    def assign(self, texts: list[str]) -> Assignment:
        """Return clusters, probabilities and embeddings of texts, none of them empty, in one pass over them.

        On a CPU, all bits of a text's result depend on the text alone, whatever the other texts are.
        """
        tokens = self.network.encoder.tokenize(texts)
        if not tokens:
            P, E = (np.zeros((0, size), dtype=np.float32) for size in (self.n_clusters, self.network.encoder.dim))
            return Assignment(np.zeros(0, dtype=np.int64), P, E, np.zeros(0, dtype=np.float32))
        prediction = self.network.break_ties(tokens, self.network.predict(tokens, by_length=True))
        P, E = prediction.log_p.exp().numpy(), prediction.E.numpy()
        clusters = prediction.clusters.numpy()
        return Assignment(
            self.mark_outliers(clusters, E, texts),
            P,
            E,
            assess_confidence(self.confidence_model, P, E, texts, clusters),
        )

    def mark_outliers(self, clusters: NDArray[np.int64], E: NDArray[np.float32], texts: list[str]) -> NDArray[np.int64]:
        """Return clusters (N,) with NO_CLUSTER for outliers, by embeddings (N, D) and texts."""
        if self.outlier_detector is None:
            return clusters
        detector = self.outlier_detector
        if not len(texts):
            return clusters
        is_outlier = map_blocks(lambda rows: detector.is_outlier(E[rows], [texts[row] for row in rows]), len(texts))
        return np.where(is_outlier, NO_CLUSTER, clusters)

    def merge_clusters(self, groups: NDArray[np.int64]) -> FittedModel:
        """Return a model whose clusters are groups of this model's clusters.

        Parameters
        ----------
        groups : ndarray of shape (C,)
            The new cluster of each cluster, numbered from 0 without gaps. It has the name of its largest part.
        """
        k = int(groups.max()) + 1
        parts = [np.flatnonzero(groups == group) for group in range(k)]
        classes = names = descriptions = None
        if self.classes is not None:
            classes = [common_label(self.classes[part] for part in members) for members in parts]
        if self.names is not None:
            names = [self.names[members[self.class_distribution[members].argmax()]] for members in parts]
        if self.descriptions is not None:  # a description of one part says too little about several
            descriptions = [self.descriptions[members[0]] if len(members) == 1 else None for members in parts]
        return self.with_clusters(
            merge_network_clusters(self.network, groups, k),
            self.class_distribution @ np.eye(k)[groups],
            None if self.hierarchy is None else collapse_tree(self.hierarchy, groups),
            classes,
            names,
            self.confidence_model and self.confidence_model.merge_clusters(groups),
            descriptions,
        )

    def divide_clusters(
        self, parents: NDArray[np.int64], labels: NDArray[np.int64], E: NDArray[np.float32]
    ) -> FittedModel:
        """Return a model whose clusters are parts of this model's clusters.

        Parameters
        ----------
        parents : ndarray of shape (F,)
            The cluster of this model that each new cluster is a part of.
        labels : ndarray of shape (N,)
            The new cluster of each text, NO_CLUSTER for outliers.
        E : ndarray of shape (N, D)
            Embeddings of the texts, to which a new head is fitted.
        """
        F, clustered = len(parents), labels != NO_CLUSTER
        counts = np.bincount(labels[clustered], minlength=F).astype(np.float64)
        totals = np.bincount(parents, weights=counts)[parents]
        shares = np.where(totals > 0, counts / np.maximum(totals, 1), 1.0)  # an empty cluster is not divided
        U = np.asarray(normalize(E[clustered]), dtype=np.float32)
        return self.with_clusters(
            refit_network(self.network, torch.from_numpy(E), labels, F, self.config.dropout),
            self.class_distribution[parents] * shares,
            build_tree(U, labels[clustered], F),
            None if self.classes is None else [self.classes[parent] for parent in parents],
            None,
            self.confidence_model and self.confidence_model.refit_clusters(U, labels[clustered]),
        )

    def with_clusters(
        self,
        network: Network,
        class_distribution: NDArray[np.float64],
        hierarchy: Tree | None,
        classes: list[Any] | None,
        names: list[str | None] | None,
        confidence_model: ConfidenceModel | None,
        descriptions: list[str | None] | None = None,
    ) -> FittedModel:
        """Return this model with other clusters: everything that is stored per cluster changes together."""
        n_clusters = network.cluster_head.n_clusters
        lists = [class_distribution, *(values for values in (classes, names, descriptions) if values is not None)]
        if any(len(values) != n_clusters for values in lists):
            raise ValueError(f"a network of {n_clusters} clusters needs a share, a class and a name for each of them")
        return replace(
            self,
            network=network,
            class_distribution=class_distribution,
            hierarchy=hierarchy,
            classes=classes,
            names=names,
            confidence_model=confidence_model,
            descriptions=descriptions,
        )

    def to_facts(self) -> dict[str, Any]:
        """Return the entry `facts` of model.json: all but network, settings, outlier detector and confidence."""
        return {
            "class_distribution": self.class_distribution.tolist(),
            "history": self.history,
            "start": self.start,
            "n_iter": self.n_iter,
            "settled": self.converged,
            "preset": self.preset,
            "random_state": self.random_state,
            "hierarchy": None if self.hierarchy is None else self.hierarchy.tolist(),
            "n_texts": self.n_texts,
            "count": self.n_clusters_search.to_dict() if self.n_clusters_search else None,
            "n_trained": self.n_trained,
            "text_column": self.text_column,
            "classes": self.classes,
            "names": self.names,
            **({"descriptions": self.descriptions} if self.descriptions else {}),
            **({"encoder_reason": self.encoder_reason} if self.encoder_reason else {}),
            **({"languages": self.languages} if self.languages else {}),
        }

    @classmethod
    def from_facts(
        cls,
        facts: Mapping[str, Any],
        network: Network,
        config: Config,
        outlier_detector: OutlierDetector | None,
        confidence_model: ConfidenceModel | None,
    ) -> FittedModel:
        """Return the model that `to_facts` described.

        Malformed facts raise ValueError, TypeError, KeyError or AttributeError.
        """
        n_clusters = network.cluster_head.n_clusters
        hierarchy, classes = facts.get("hierarchy"), facts.get("classes")
        if hierarchy is not None:
            hierarchy = np.asarray(hierarchy, dtype=np.float64).reshape(n_clusters - 1, 4)
        if classes is not None:
            if not isinstance(classes, list) or not all(isinstance(c, (str, int, float, type(None))) for c in classes):
                raise ValueError("classes are names or numbers")
            # Version 0.1.0 stored no classes for clusters that corrections had added.
            classes = [*classes, *[None] * n_clusters][:n_clusters]
        names = facts.get("names")
        if names is not None and not are_names(names, n_clusters):
            raise ValueError("names are a string for each cluster")
        descriptions = facts.get("descriptions")
        if descriptions is not None and not are_names(descriptions, n_clusters, MAX_DESCRIPTION_LENGTH):
            raise ValueError("descriptions are a string for each cluster")
        reason = facts.get("encoder_reason")
        if reason is not None and not isinstance(reason, str):
            raise ValueError("encoder_reason is a sentence")
        languages = facts.get("languages")
        if languages is not None and not are_language_codes(languages):
            raise ValueError("languages are codes of two or three letters")
        return cls(
            network=network,
            config=config,
            class_distribution=np.asarray(facts["class_distribution"]),
            hierarchy=hierarchy,
            classes=classes,
            outlier_detector=outlier_detector,
            confidence_model=confidence_model,
            n_clusters_search=cluster_count_from_dict(facts.get("count")),
            history=facts["history"],
            start=str(facts.get("start") or "kmeans"),  # version 0.1.0 did not store it
            n_iter=facts["n_iter"],
            converged=facts["settled"],
            n_texts=facts["n_texts"],
            n_trained=facts.get("n_trained", facts["n_texts"]),
            text_column=to_text_column(facts.get("text_column")),
            preset=facts["preset"],
            random_state=facts["random_state"],
            names=names,
            descriptions=descriptions,
            encoder_reason=reason,
            languages=languages,
        )


def merge_network_clusters(network: Network, groups: NDArray[np.int64], n_clusters: int) -> Network:
    """Return a network that predicts groups (C,) of the clusters of another, in evaluation mode."""
    head = merge_head(network.cluster_head, torch.from_numpy(groups).to(network.encoder.device), n_clusters)
    return Network(network.encoder, head, network.projector).eval()


def refit_network(
    network: Network, E: torch.Tensor, clusters: NDArray[np.int64], n_clusters: int, dropout: float
) -> Network:
    """Return a network with a new clustering head, fitted to clusters (N,) of embeddings (N, D) other than noise."""
    rows = np.flatnonzero(clusters != NO_CLUSTER)
    with fork_rng(network.encoder.device, 0):
        head = ClusteringNetwork(E.shape[1], n_clusters, dropout).to(network.encoder.device)
        labels = torch.from_numpy(clusters[rows])
        fit_head(head, E[torch.from_numpy(rows)], labels, np.random.default_rng(0))
    last, empty = head[-1], np.setdiff1d(np.arange(n_clusters), clusters[rows])
    assert isinstance(last, torch.nn.Linear)
    with torch.no_grad():
        last.weight[empty], last.bias[empty] = 0.0, NEVER_PREDICTED_LOGIT
    return Network(network.encoder, head, network.projector).eval()
