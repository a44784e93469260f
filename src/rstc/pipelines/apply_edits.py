"""Apply a run's corrections: write the corrected clusters, and change the model so that it predicts them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from sklearn.preprocessing import normalize
from torch import Tensor

from rstc.errors import InputError
from rstc.io.atomic import replace_folder
from rstc.io.columns import add_cluster_columns
from rstc.io.predictions import NO_CLUSTER, confidence_of
from rstc.numerics.hierarchy import build_tree, cut_tree
from rstc.persistence.fitted_model import FittedModel, merge_network_clusters
from rstc.persistence.model_folder import load_model, save_model
from rstc.report.html.render import write_page
from rstc.representation.head_training import fit_head
from rstc.representation.heads import NEVER_PREDICTED_LOGIT, ClusteringNetwork
from rstc.representation.network import Network
from rstc.results.corrected_run import CorrectedRun
from rstc.results.edits import ClusterState, Edit, common_label
from rstc.results.run_folder import MODEL, ORIGINAL_MODEL, read_rows, write_clusters
from rstc.runtime.device import fork_rng
from rstc.runtime.progress import Listener, Progress


def apply_edits(folder: Path, listener: Listener | None = None) -> CorrectedRun:
    """Write a run's corrected clusters, and change its model so that it predicts them; all of it or nothing.

    A corrected text keeps its cluster, even if the model predicts another one. The log of corrections and the original
    model are kept, so that applied corrections can still be undone and applied again.

    Parameters
    ----------
    folder : Path
        A run folder.
    listener : callable, optional
        Called with (stage, done, total).
    """
    files = _RunFiles.read(folder, Progress(listener))
    files.write()
    return files.run


def merge_to(folder: Path, n_clusters: int, listener: Listener | None = None) -> CorrectedRun:
    """Merge the most similar clusters of a run, corrections included, until `n_clusters` are left, and apply it.

    Merges are logged as corrections and can be undone. A merged cluster keeps the number of its largest part, and the
    name of that part if a user gave it; otherwise it is named by its keywords.

    Parameters
    ----------
    folder : Path
        A run folder.
    n_clusters : int
        The number of clusters to merge to.
    listener : callable, optional
        Called with (stage, done, total).
    """
    files = _RunFiles.read(folder, Progress(listener))
    for edit in find_merges(files.run, files.embeddings, n_clusters):
        files.run.correct(edit)
    files.write()
    return files.run


def find_merges(run: CorrectedRun, E: Tensor, n_clusters: int) -> list[Edit]:
    """Return the corrections that merge a run to `n_clusters` clusters, by the embeddings (N, D) of its texts."""
    rows = np.flatnonzero(run.clusters != NO_CLUSTER)
    clusters, labels, sizes = np.unique(run.clusters[rows], return_inverse=True, return_counts=True)
    if not 1 <= n_clusters < len(clusters):
        raise InputError(
            f"n_clusters={n_clusters} must be between 1 and {len(clusters) - 1}, as there are {len(clusters)} clusters"
        )
    U = np.asarray(normalize(E.numpy()[rows]), dtype=np.float32)
    groups = cut_tree(build_tree(U, labels, len(clusters)), n_clusters)
    original_names = {entry.cluster: entry.name for entry in run.summary.clusters}
    edits: list[Edit] = []
    for group in range(n_clusters):
        parts = np.flatnonzero(groups == group)
        parts = parts[np.argsort(-sizes[parts], kind="stable")]
        into, *others = (int(cluster) for cluster in clusters[parts])
        edits += [{"do": "merge", "cluster": cluster, "into": into} for cluster in others]
        named_by_user = run.state.names[into] != original_names.get(into)
        name = run.suggest_name(rows[np.isin(labels, parts)]) if others and not named_by_user else None
        if name:
            edits.append({"do": "rename", "cluster": into, "name": name})
    return edits


def correct_model(model: FittedModel, E: Tensor, run: CorrectedRun) -> FittedModel:
    """Return a model that predicts a run's corrected clusters, by the embeddings (N, D) of the run's texts.

    Clusters that hold no text any more keep their number and are never predicted.
    """
    n_clusters, clustered = run.state.next_cluster, run.clusters != NO_CLUSTER
    labels = run.clusters[clustered]
    if not len(labels):
        raise InputError("no cluster is left: all texts are marked as noise")
    counts = np.bincount(labels, minlength=n_clusters)
    U = np.asarray(normalize(E.numpy()), dtype=np.float32)
    classes = None if model.classes is None else correct_classes(model.classes, run.state)
    return model.with_clusters(
        _correct_network(model.network, E, run, model.config.dropout),
        counts / counts.sum(),
        build_tree(U[clustered], labels, n_clusters),
        classes,
    )


def correct_classes(classes: Sequence[Any], state: ClusterState) -> list[Any]:
    """Return the class of each corrected cluster, by the classes of the original clusters (`common_label`).

    >>> state = ClusterState(np.array([0, 0, 2]), {0: "a", 2: "c"}, 4, {0: frozenset({0, 1})})
    >>> correct_classes(["late", None, "lost"], state)
    ['late', None, 'lost', None]
    """
    original = dict(enumerate(classes))
    present = set(state.clusters.tolist())
    return [
        common_label(original.get(part) for part in state.parts(cluster)) if cluster in present else None
        for cluster in range(state.next_cluster)
    ]


def _correct_network(network: Network, E: Tensor, run: CorrectedRun, dropout: float) -> Network:
    """Return a network that predicts the corrected clusters: merged if all corrections are merges, else refitted."""
    groups = np.full(network.cluster_head.n_clusters, -1, dtype=np.int64)
    was_clustered = run.points.clusters != NO_CLUSTER
    original, corrected = run.points.clusters[was_clustered], run.clusters[was_clustered]
    groups[original] = corrected
    outliers_moved = (run.clusters[~was_clustered] != NO_CLUSTER).any()
    if outliers_moved or (groups[original] != corrected).any() or (groups < 0).any():
        return _refit_head(network, E, run.clusters, run.state.next_cluster, dropout)
    return merge_network_clusters(network, groups, run.state.next_cluster)


def _refit_head(network: Network, E: Tensor, clusters: NDArray[np.int64], n_clusters: int, dropout: float) -> Network:
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


@dataclass
class _RunFiles:
    """A run with its original model and the rows of its input."""

    folder: Path
    run: CorrectedRun
    model_folder: Path
    model: FittedModel
    rows: pd.DataFrame
    progress: Progress

    @classmethod
    def read(cls, folder: Path, progress: Progress) -> _RunFiles:
        run = CorrectedRun.read(folder)
        run.check_complete()
        model_folder = folder / ORIGINAL_MODEL if (folder / ORIGINAL_MODEL).is_dir() else folder / MODEL
        with progress.stage("load"):
            model = load_model(model_folder)
        return cls(folder, run, model_folder, model, read_rows(folder, run.summary.input, run.points), progress)

    @cached_property
    def embeddings(self) -> Tensor:
        """The embeddings of the texts, (N, D)."""
        with self.progress.stage("encode"):
            encoder = self.model.network.encoder
            return encoder.embed(encoder.tokenize(self.run.points.texts), self.progress.advance)

    def write(self) -> None:
        """Write clusters, model, page and log with the corrections in them, all of it or nothing."""
        run, folder, model, confidence = self.run, self.folder, self.model, self.run.points.confidence
        if run.log.edits:
            E = self.embeddings
            with self.progress.stage("fit head"):
                model = correct_model(model, E, run)
                P = model.network.predict_embeddings(E).log_p.exp().numpy()
                confidence = confidence_of(P, run.clusters)
        with self.progress.stage("write"), replace_folder(folder) as new:
            shutil.copytree(folder, new, copy_function=_link_or_copy, dirs_exist_ok=True)
            if self.model_folder == folder / MODEL:
                shutil.copytree(self.model_folder, new / ORIGINAL_MODEL, copy_function=_link_or_copy)
            run.save(new)
            save_model(new / MODEL, model)
            rows = _add_corrected_clusters(self.rows, run, confidence)
            write_clusters(new, [rows], run.summary.input.format, run.summary.input.guard_formulas)
            write_page(new, run)


def _add_corrected_clusters(table: pd.DataFrame, run: CorrectedRun, confidence: NDArray[np.float32]) -> pd.DataFrame:
    """Return the rows of the input with their corrected clusters; noise has no confidence."""
    clusters: list[int | None] = [None] * len(table)
    shares: list[float | None] = [None] * len(table)
    for row, cluster, share in zip(run.points.rows.tolist(), run.clusters.tolist(), confidence.tolist(), strict=True):
        clusters[row], shares[row] = cluster, None if cluster == NO_CLUSTER else share
    return add_cluster_columns(table, clusters, shares)


def _link_or_copy(source: str, target: str) -> None:
    """Hard-link a file where the disk allows it, else copy it; files of a run are replaced, never changed in place."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
