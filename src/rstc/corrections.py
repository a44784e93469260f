"""Corrections made to last: clusters are written as corrected, and the model learns to predict them."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from rstc.errors import InputError
from rstc.estimator import RSTC
from rstc.files import replaced_folder
from rstc.hardware import seeded
from rstc.progress import Listener, Progress
from rstc.representation.heads import ClusteringNetwork
from rstc.representation.network import Network
from rstc.representation.teaching import teach_by_heart
from rstc.results.edits import NOISE
from rstc.results.now import RunNow
from rstc.results.page.render import write_page
from rstc.results.run_folder import FOUND_MODEL, MODEL, read_rows, write_clusters
from rstc.texts import with_clusters

NEVER = -1e4  # the logit of a cluster that no longer is


def apply_edits(folder: Path, listener: Listener | None = None) -> RunNow:
    """Write a run's clusters as corrected, and teach its model to predict them; all of it or nothing.

    A text that was corrected has the cluster it was given, whatever the model says. The log stays, and so does the
    model as the run left it: what was applied can still be undone, and applied again.
    """
    run = RunNow.read(folder)
    progress = Progress(listener)
    original = folder / FOUND_MODEL if (folder / FOUND_MODEL).is_dir() else folder / MODEL
    with progress.stage("load"):
        model = RSTC.load(original)
    source, shares = run.summary["input"], run.points.confidence
    rows = read_rows(folder, source, run.points)
    if run.log.edits:
        with progress.stage("encode"):
            encoder = model.network_.encoder
            E = encoder.embed(encoder.tokenize(run.points.texts), progress.advance)
        with progress.stage("teach"):
            network = taught(model.network_, E, run.clusters, run.now.next_cluster, model.config_.dropout)
            there = np.maximum(run.clusters, 0)[:, None]
            shares = np.take_along_axis(network.judge(E).log_p.exp().numpy(), there, axis=1)[:, 0]
        counts = np.bincount(run.clusters[run.clusters != NOISE], minlength=run.now.next_cluster)
        model.network_, model.n_clusters_, model.class_distribution_ = network, len(counts), counts / counts.sum()
    with progress.stage("write"), replaced_folder(folder) as new:
        shutil.copytree(folder, new, copy_function=_linked, dirs_exist_ok=True)
        if original == folder / MODEL:
            shutil.copytree(original, new / FOUND_MODEL, copy_function=_linked)
        model.save(new / MODEL)
        write_clusters(new, _corrected_rows(rows, run, shares), source["format"])
        write_page(new, run)
    return run


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
