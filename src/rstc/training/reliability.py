"""Reliability of a run: the confidence of its texts, the stability of its clusters, and whether the texts have any.

Clusters are searched again in parts of the training texts, or of a sample of them if there are many. Texts outside of
the sample get the confidence of new texts. In a distributed run, the first process searches in a gathered sample.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray

from rstc.pseudo_labels.confidence import estimate_confidence, fit_confidence_model
from rstc.pseudo_labels.confidence_model import ConfidenceModel
from rstc.pseudo_labels.constraints import UNLABELLED
from rstc.pseudo_labels.features import Mix, TextFeatures
from rstc.pseudo_labels.initialization_settings import InitializationSettings
from rstc.pseudo_labels.n_clusters import suggest_other_n_clusters
from rstc.pseudo_labels.repeats import Repeats, repeat_search
from rstc.pseudo_labels.stability import ClusterStability, measure_stability
from rstc.pseudo_labels.structure import Structure, measure_agreement_of_repeats, measure_word_dependence
from rstc.representation.network import Prediction
from rstc.runtime.threads import limit_library_threads
from rstc.training.label_updater import LabelUpdater
from rstc.training.subsample import Subsample

MIN_SAMPLE_SIZE, MAX_SAMPLE_SIZE = 8_000, 20_000
SAMPLE_TEXTS_PER_CLUSTER = 50
MAX_CLUSTERS = 2_000  # with more, a search takes as long as the first one, and much memory
CHECKED_AGREEMENT = 0.7  # of searches, below which a given number of clusters is compared with others

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Reliability:
    """How far the clusters of a run can be trusted.

    Attributes
    ----------
    confidence : ndarray of shape (N,)
        Confidence of each text of this process.
    confidence_model : ConfidenceModel
        Estimates the confidence of new texts.
    repeats : Repeats
        The repeated searches, in a sample of n texts of all processes.
    sample_rows : ndarray of shape (m,)
        Which texts of this process are in the sample, as positions in the order in which texts are processed.
    sample_start : int
        Position of the first of them in the sample.
    structure : Structure
        Whether the texts have clusters.
    n_clusters : int
        C.
    """

    confidence: Floats
    confidence_model: ConfidenceModel
    repeats: Repeats
    sample_rows: Ints
    sample_start: int
    structure: Structure
    n_clusters: int

    def measure_stability(self) -> dict[int, ClusterStability]:
        """Measure the stability of each cluster that holds a text of the sample, by its number."""
        return measure_stability(self.repeats, self.n_clusters)

    def merge_clusters(self, groups: Ints, E: Floats, texts: Sequence[str], labels: Ints) -> Reliability:
        """Return the reliability of groups of the clusters, without searching again.

        Parameters
        ----------
        groups : ndarray of shape (C,)
            The new cluster of each cluster, numbered from 0 without gaps.
        E : ndarray of shape (N, D)
            Embeddings of the texts of this process.
        texts : sequence of str
            The texts.
        labels : ndarray of shape (N,)
            Their new clusters.

        Returns
        -------
        Reliability
        """
        model, before = self.confidence_model.merge_clusters(groups), self.repeats
        repeats = replace(before, run_labels=groups[before.run_labels], labels=groups[before.labels])
        # A text is in the same group again if it is in its cluster, or in another one of the group.
        moved = before.labels != before.run_labels
        within_group = (moved & (repeats.labels == repeats.run_labels)).sum(0) / np.maximum(moved.sum(0), 1)
        own = slice(self.sample_start, self.sample_start + len(self.sample_rows))
        confidence = model.assess(E, texts, labels)
        in_cluster = self.confidence[self.sample_rows]
        confidence[self.sample_rows] = in_cluster + (1 - in_cluster) * within_group[own]
        n_clusters = int(groups.max()) + 1
        return replace(self, confidence=confidence, confidence_model=model, repeats=repeats, n_clusters=n_clusters)


@dataclass(frozen=True)
class ReliabilitySample:
    """What clusters are searched in again.

    Attributes
    ----------
    features : TextFeatures or None
        The feature sets of the sample; None in all processes but the first.
    local_rows : ndarray of shape (m,)
        The training texts of this process that are in the sample.
    mix : mapping
        Weight of each feature set beside the embedding.
    start : str
        How the first labels of the run were found.
    settings : InitializationSettings
        How labels were found.
    partial_labels : ndarray or None
        Given classes of the sample.
    """

    features: TextFeatures | None
    local_rows: Ints
    mix: Mix
    start: str
    settings: InitializationSettings
    partial_labels: Ints | None


@dataclass(frozen=True)
class ReliabilityEstimator:
    """Estimates the reliability of a run.

    Attributes
    ----------
    texts : sequence of str
        The texts of this process.
    subsample : Subsample
        Rows of the training texts among them.
    n_repeats : int
        Number of searches.
    embed_words : callable or None
        Embeds texts by their words, to test these for randomness; None: they are not tested.
    n_clusters_given : bool
        Whether the number of clusters was given, and is compared with others.
    """

    texts: Sequence[str]
    subsample: Subsample
    n_repeats: int
    embed_words: Callable[[list[str]], Floats] | None
    n_clusters_given: bool

    def draw_sample(self, E: torch.Tensor, label_updater: LabelUpdater) -> ReliabilitySample:
        """Draw the sample, by the final embeddings (n, D) of the training texts and the features of labelling."""
        features, mix = label_updater.join_features(E)
        n_wanted = np.clip(SAMPLE_TEXTS_PER_CLUSTER * label_updater.n_clusters, MIN_SAMPLE_SIZE, MAX_SAMPLE_SIZE)
        rows, partial_labels = features.draw_sample(int(n_wanted), label_updater.rng), label_updater.partial_labels
        if rows is not None and partial_labels is not None:  # given labels are given in every analysis
            rows = np.union1d(rows, np.flatnonzero(partial_labels != UNLABELLED))
            partial_labels = partial_labels[rows]
        local_rows = np.arange(len(E)) if rows is None else features.rows.to_local(rows)
        return ReliabilitySample(
            features.gather(rows), local_rows, mix, label_updater.start, label_updater.settings, partial_labels
        )

    def estimate(
        self, sample: ReliabilitySample, final: Prediction, n_clusters: int, label_updater: LabelUpdater
    ) -> Reliability | None:
        """Estimate the reliability of the final clusters.

        Parameters
        ----------
        sample : ReliabilitySample
            The sample, by `draw_sample`.
        final : Prediction
            The final predictions of all texts of this process.
        n_clusters : int
            C.
        label_updater : LabelUpdater
            Its generator draws the parts; its processes share the run.

        Returns
        -------
        Reliability or None
            None if there are too few texts for the number of clusters, too many clusters, or no text without a given
            label.
        """
        processes, rng = label_updater.processes, label_updater.rng
        sample_rows = self.subsample.rows[sample.local_rows]
        labels = final.clusters.numpy()
        all_labels = processes.gather_rows(torch.from_numpy(labels[sample_rows]))
        all_texts = processes.gather_lists([self.texts[row] for row in sample_rows])

        def search() -> tuple[Repeats, ConfidenceModel, Structure] | None:
            assert sample.features is not None
            assert all_labels is not None
            assert all_texts is not None
            return self._search(sample, sample.features, all_labels.numpy(), all_texts, n_clusters, rng)

        found = processes.run_on_first(search)
        processes.sync_generator(rng)
        if found is None:
            return None
        repeats, model, structure = found
        confidence = self._assess(model, final, labels, sample_rows)
        start = sum(processes.gather_objects(len(sample_rows))[: processes.rank])
        confidence[sample_rows] = estimate_confidence(repeats)[start : start + len(sample_rows)]
        return Reliability(confidence, model, repeats, sample_rows, start, structure, n_clusters)

    def _assess(self, model: ConfidenceModel, final: Prediction, labels: Ints, sample_rows: Ints) -> Floats:
        """Return the confidence of the texts that are not in the sample; zeros for the others."""
        confidence = np.zeros(len(labels), dtype=np.float32)
        others = np.setdiff1d(np.arange(len(labels)), sample_rows)
        for rows in np.array_split(others, max(1, -(-len(others) // MIN_SAMPLE_SIZE))):
            texts = [self.texts[row] for row in rows]
            confidence[rows] = model.assess(final.E[torch.from_numpy(rows)].numpy(), texts, labels[rows])
        return confidence

    @limit_library_threads("blas")
    def _search(
        self,
        sample: ReliabilitySample,
        features: TextFeatures,
        labels: Ints,
        texts: list[str],
        n_clusters: int,
        rng: np.random.Generator,
    ) -> tuple[Repeats, ConfidenceModel, Structure] | None:
        """Search clusters again in parts of the sample, and measure what follows."""
        if n_clusters > MAX_CLUSTERS:
            return None
        repeats = repeat_search(
            features,
            labels,
            n_clusters,
            sample.mix,
            sample.start,
            self.n_repeats,
            sample.settings,
            rng,
            sample.partial_labels,
        )
        if repeats is None:
            return None
        agreement, other_n_clusters = measure_agreement_of_repeats(repeats), None
        if agreement is None:
            return None
        dependence = measure_word_dependence(texts, self.embed_words, rng) if self.embed_words else None
        if self.n_clusters_given and sample.partial_labels is None and agreement < CHECKED_AGREEMENT:
            other_n_clusters = suggest_other_n_clusters(features, sample.settings.fixed_mix, n_clusters, rng)
        structure = Structure(agreement, dependence, other_n_clusters)
        return repeats, fit_confidence_model(repeats, features.embedding, texts), structure
