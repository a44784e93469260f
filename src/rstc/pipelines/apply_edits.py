"""Corrections made to last: clusters are written as corrected, and the model learns to predict them."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from sklearn.preprocessing import normalize
from torch import Tensor

from rstc.errors import InputError
from rstc.estimator import RSTC
from rstc.io.atomic import replaced_folder
from rstc.runtime.device import seeded
from rstc.numerics.hierarchy import groups_of, tree_over
from rstc.runtime.progress import Listener, Progress
from rstc.representation.heads import NEVER, ClusteringNetwork, merged
from rstc.representation.network import Network
from rstc.representation.head_training import teach_by_heart
from rstc.results.edits import NOISE, Edit
from rstc.results.corrected_run import RunNow
from rstc.report.html.render import write_page
from rstc.results.run_folder import FOUND_MODEL, MODEL, read_rows, write_clusters
from rstc.io.columns import with_clusters


def apply_edits(folder: Path, listener: Listener | None = None) -> RunNow:
    """Write a run's clusters as corrected, and teach its model to predict them; all of it or nothing.

    A text that was corrected has the cluster it was given, whatever the model says. The log stays, and so does the
    model as the run left it: what was applied can still be undone, and applied again.
    """
    opened = _Opened.of(folder, Progress(listener))
    opened.write()
    return opened.run


def merge_to(folder: Path, n_clusters: int, listener: Listener | None = None) -> RunNow:
    """Merge the most similar clusters of a run, as they are now, until so many are left, and make it last.

    Merges are corrections like those made by hand: they can be undone. A merged cluster keeps the number of its
    largest part, and its name if somebody gave it one; else it is named anew by its words.
    """
    opened = _Opened.of(folder, Progress(listener))
    for edit in merges(opened.run, opened.embeddings, n_clusters):
        opened.run.correct(edit)
    opened.write()
    return opened.run


def merges(run: RunNow, E: Tensor, n_clusters: int) -> list[Edit]:
    """Return the corrections that merge a run's clusters, by embeddings (N, D) of its texts, until so many are left."""
    rows = np.flatnonzero(run.clusters != NOISE)
    there, labels, sizes = np.unique(run.clusters[rows], return_inverse=True, return_counts=True)
    if not 1 <= n_clusters < len(there):
        raise InputError(f"there are {len(there)} clusters; they can be merged to 1 up to {len(there) - 1}")
    points = np.asarray(normalize(E.numpy()[rows]), dtype=np.float32)
    groups = groups_of(tree_over(points, labels, len(there)), n_clusters)
    found = {one["cluster"]: one["name"] for one in run.summary["clusters"]}
    edits: list[Edit] = []
    for group in range(n_clusters):
        parts = np.flatnonzero(groups == group)
        parts = parts[np.argsort(-sizes[parts], kind="stable")]
        into, *others = (int(number) for number in there[parts])
        edits += [{"do": "merge", "cluster": number, "into": into} for number in others]
        given = run.now.names[into] != found.get(into)
        name = run.name_for(rows[np.isin(labels, parts)]) if others and not given else None
        if name:
            edits.append({"do": "rename", "cluster": into, "name": name})
    return edits


@dataclass
class _Opened:
    """A run with the model that it was left with, its rows and its texts' embeddings."""

    folder: Path
    run: RunNow
    original: Path
    model: RSTC
    rows: pd.DataFrame
    progress: Progress

    @classmethod
    def of(cls, folder: Path, progress: Progress) -> _Opened:
        run = RunNow.read(folder)
        run.check_complete()
        original = folder / FOUND_MODEL if (folder / FOUND_MODEL).is_dir() else folder / MODEL
        with progress.stage("load"):
            model = RSTC.load(original)
        return cls(folder, run, original, model, read_rows(folder, run.summary["input"], run.points), progress)

    @cached_property
    def embeddings(self) -> Tensor:
        """The embeddings of the texts, (N, D)."""
        with self.progress.stage("encode"):
            encoder = self.model.network_.encoder
            return encoder.embed(encoder.tokenize(self.run.points.texts), self.progress.advance)

    def write(self) -> None:
        """Write clusters, model, page and log with the corrections in them, all of it or nothing."""
        run, model, folder, shares = self.run, self.model, self.folder, self.run.points.confidence
        if run.log.edits:
            with self.progress.stage("teach"):
                network = corrected_network(model.network_, self.embeddings, run, model.config_.dropout)
                there = np.maximum(run.clusters, 0)[:, None]
                shares = np.take_along_axis(network.judge(self.embeddings).log_p.exp().numpy(), there, axis=1)[:, 0]
            counts = np.bincount(run.clusters[run.clusters != NOISE], minlength=run.now.next_cluster)
            model.network_, model.n_clusters_, model.class_distribution_ = network, len(counts), counts / counts.sum()
            labels = np.where(run.clusters == NOISE, run.now.next_cluster, run.clusters)
            points = np.asarray(normalize(self.embeddings.numpy()), dtype=np.float32)
            model.hierarchy_ = tree_over(points[labels < len(counts)], labels[labels < len(counts)], len(counts))
        with self.progress.stage("write"), replaced_folder(folder) as new:
            shutil.copytree(folder, new, copy_function=_linked, dirs_exist_ok=True)
            if self.original == folder / MODEL:
                shutil.copytree(self.original, new / FOUND_MODEL, copy_function=_linked)
            run.save(new)
            model.save(new / MODEL)
            source = run.summary["input"]
            rows = _corrected_rows(self.rows, run, shares)
            write_clusters(new, [rows], source["format"], harmless=source.get("guard_formulas", False))
            write_page(new, run)


def _corrected_rows(table: pd.DataFrame, run: RunNow, shares: NDArray[np.float32]) -> pd.DataFrame:
    """Return the rows of the input with their clusters as they are now; noise has no confidence."""
    clusters: list[int | None] = [None] * len(table)
    confidence: list[float | None] = [None] * len(table)
    for row, cluster, share in zip(run.points.rows.tolist(), run.clusters.tolist(), shares.tolist(), strict=True):
        clusters[row], confidence[row] = cluster, None if cluster == NOISE else share
    return with_clusters(table, clusters, confidence)


def _linked(source: str, target: str) -> None:
    """Have the same file in two places where the disk can, else copy it. Files here are replaced, never changed."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def corrected_network(network: Network, E: Tensor, run: RunNow, dropout: float) -> Network:
    """Return a network that predicts a run's clusters as they are now: merged where that is all, else taught."""
    groups = np.full(network.cluster_head.n_clusters, -1, dtype=np.int64)
    at_home = run.points.clusters != NOISE
    found, now = run.points.clusters[at_home], run.clusters[at_home]
    groups[found] = now
    moved_in = (run.clusters[~at_home] != NOISE).any()
    if moved_in or (groups[found] != now).any() or (groups < 0).any():
        return taught(network, E, run.clusters, run.now.next_cluster, dropout)
    head = merged(network.cluster_head, torch.from_numpy(groups).to(network.encoder.device), run.now.next_cluster)
    return Network(network.encoder, head, network.projector).eval()


def taught(network: Network, E: Tensor, clusters: NDArray[np.int64], n_clusters: int, dropout: float) -> Network:
    """Return a network with a new clustering network that predicts these clusters (N,) of embeddings (N, D).

    Noise teaches nothing. Of the n_clusters numbers, those that hold no text are never predicted.
    """
    rows = np.flatnonzero(clusters != NOISE)
    there = np.unique(clusters[rows])
    if len(there) < 1:
        raise InputError("no cluster is left")
    with seeded(network.encoder.device, 0):
        head = ClusteringNetwork(E.shape[1], n_clusters, dropout).to(network.encoder.device)
        labels = torch.from_numpy(clusters[rows])
        teach_by_heart(head, E[torch.from_numpy(rows)], labels, np.random.default_rng(0))
    last, gone = head[-1], np.setdiff1d(np.arange(n_clusters), there)
    assert isinstance(last, torch.nn.Linear)
    with torch.no_grad():
        last.weight[gone], last.bias[gone] = 0.0, NEVER
    return Network(network.encoder, head, network.projector).eval()
