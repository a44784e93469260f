"""The choice of a level of detail: the clusters of a fitted model are merged along their tree, or divided."""

from __future__ import annotations

import warnings
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from rstc.errors import InputError, LevelWarning
from rstc.io.predictions import NO_CLUSTER, confidence_of
from rstc.numerics.hierarchy import Tree, cut_tree
from rstc.pseudo_labels.cluster_count import COARSE, FINE, MEDIUM, ClusterCount
from rstc.runtime.progress import Progress
from rstc.training.levels import Division, Levels, find_levels

if TYPE_CHECKING:
    from typing_extensions import Self

Ints = NDArray[np.int64]


class LevelChoiceMixin:
    """Merges and divides the clusters of a fitted model."""

    n_clusters: Any
    n_clusters_: int
    n_clusters_search_: ClusterCount | None
    classes_: list[Any] | None
    class_distribution_: NDArray[np.float64]
    hierarchy_: Tree
    labels_: Ints
    probabilities_: NDArray[np.float32]
    confidence_: NDArray[np.float32]
    embedding_: NDArray[np.float32]
    reliability_: Any
    network_: Any
    _fitted_model: Any
    _is_shared: bool
    _levels: Levels | None

    def merge_to(self, n_clusters: int) -> Self:
        """Return a coarser model without training: the most similar clusters are merged along `hierarchy_`.

        All texts of a cluster stay together. The clusters of the coarser model are numbered by size again, the largest
        is 0; `rstc merge`, which corrects a run, keeps the numbers. A merged cluster keeps its class (`classes_`) if
        all its labelled parts have the same one. This model does not change.

        Parameters
        ----------
        n_clusters : int
            The number of clusters to merge to, from 1 to `n_clusters_`.
        """
        check_is_fitted(self, "hierarchy_")
        if isinstance(n_clusters, bool) or not isinstance(n_clusters, (int, np.integer)):
            raise InputError(f"n_clusters={n_clusters!r} must be a whole number")
        if not 1 <= n_clusters <= self.n_clusters_:
            raise InputError(f"n_clusters={n_clusters} must be between 1 and {self.n_clusters_}, the model's clusters")
        k = int(n_clusters)
        groups = cut_tree(self.hierarchy_, k)
        sizes = np.bincount(groups, weights=self._cluster_sizes())
        groups = np.argsort(np.argsort(-sizes, kind="stable"))[groups].astype(np.int64)  # the largest is 0
        coarse = copy(self)
        coarse.n_clusters = k
        coarse._merge_clusters(groups)
        return coarse

    def _merge_clusters(self, groups: Ints) -> None:
        """Merge the clusters of this model to groups (C,) of them."""
        k = int(groups.max()) + 1
        self._set_fitted_model(self._fitted_model.merge_clusters(groups))  # type: ignore[attr-defined]
        if not hasattr(self, "probabilities_"):
            return
        before, P = self.probabilities_, self.probabilities_
        P = np.stack([before[:, groups == group].max(1) for group in range(k)], axis=1)
        self.probabilities_ = P / np.maximum(P.sum(1, keepdims=True), 1e-30)
        self.labels_ = np.where(self.labels_ == NO_CLUSTER, NO_CLUSTER, groups[self.labels_])
        self.confidence_ = confidence_of(self.probabilities_, self.labels_)
        if self.reliability_ is not None:
            data = self._fitted_data()  # type: ignore[attr-defined]
            # The clusters of outliers, too.
            clusters, E = groups[before[data.rows].argmax(1)], self.embedding_[data.rows]
            self.reliability_ = self.reliability_.merge_clusters(groups, E, data.texts, clusters)
            self.confidence_ = data.expand(self.reliability_.confidence, 0)

    def _divide_clusters(self, division: Division, labels: Ints) -> None:
        """Divide the clusters of this model to those of the fine level, with the labels (N,) of the fitted texts."""
        data = self._fitted_data()  # type: ignore[attr-defined]
        E, fine = self.embedding_[data.rows], labels[data.rows]
        self._set_fitted_model(self._fitted_model.divide_clusters(division.parents, fine, E))  # type: ignore[attr-defined]
        P = self.network_.predict_embeddings(torch.from_numpy(E)).log_p.exp().numpy()
        self.labels_, self.probabilities_ = labels, data.expand(P, 0)
        self.confidence_ = confidence_of(self.probabilities_, self.labels_)
        if self.reliability_ is not None:
            self.reliability_ = division.divide_reliability(self.reliability_, E, data.texts, fine)
            self.confidence_ = data.expand(self.reliability_.confidence, 0)

    def _choose_level(self, detail: str, timing: Progress) -> None:
        """Make a level of detail the clusters of this model, which are those of the medium level."""
        if detail == "auto":
            detail = COARSE if self._find_coarser_number() else MEDIUM
        if detail == MEDIUM:
            return
        with timing.stage("levels"):
            levels = self._find_levels()
            n_coarse, division = int(levels.groups.max()) + 1, levels.division
            if detail == COARSE and n_coarse < self.n_clusters_:
                self._merge_clusters(levels.groups)
            elif detail == FINE and division and len(division.parents) > self.n_clusters_:
                self._divide_clusters(division, levels.labels[FINE])
            else:
                warnings.warn(LevelWarning(detail, self.n_clusters_), stacklevel=3)
                return
        self._levels = replace(levels, chosen=detail)

    def _find_coarser_number(self) -> int | None:
        """Return the number of clusters that a weak estimate of it takes; given classes are not merged."""
        search = self.n_clusters_search_
        if search is None or search.n_clusters != self.n_clusters_ or self.classes_ is not None:
            return None
        return search.coarser

    def _find_levels(self) -> Levels:
        """Find the levels of the clusters of the fitted texts, rows without a text included."""
        data = self._fitted_data()  # type: ignore[attr-defined]
        levels = find_levels(
            self.labels_[data.rows],
            self.embedding_[data.rows],
            self.hierarchy_,
            self.class_distribution_ if self._is_shared else self._cluster_sizes(),  # the same in all processes
            self.reliability_,
            self._find_coarser_number(),
            self.classes_,
            divides=not self._is_shared,
        )
        labels = {name: data.expand(groups, NO_CLUSTER) for name, groups in levels.labels.items()}
        return replace(levels, labels=labels)

    def _cluster_sizes(self) -> NDArray[np.float64]:
        """Return the number of texts in each cluster, (C,), or its share if the model was loaded."""
        if not hasattr(self, "labels_"):
            return self.class_distribution_
        return np.bincount(self.labels_[self.labels_ != NO_CLUSTER], minlength=self.n_clusters_).astype(np.float64)
