"""Corrections made to last: clusters are written as corrected, and the model learns to predict them."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from rstc.errors import InputError
from rstc.estimator import RSTC
from rstc.files import replaced_file, replaced_folder
from rstc.hardware import seeded
from rstc.progress import Listener, Progress
from rstc.representation.heads import ClusteringNetwork
from rstc.representation.network import Network
from rstc.representation.teaching import teach_by_heart
from rstc.results.edits import LONGEST_NAME, NOISE
from rstc.results.now import Entry, RunNow
from rstc.results.page.render import page
from rstc.results.run_folder import FOUND_MODEL, MODEL, REPORT, read_rows, write_clusters
from rstc.texts import with_clusters

NEVER = -1e4  # the logit of a cluster that no longer is
NAMING_SECONDS = 300

Namer = Callable[[Entry], str]


def write_page(folder: Path, run: RunNow | None = None) -> Path:
    """Write a run's page again, with the corrections that there are; return where it is."""
    run = run or RunNow.read(folder)
    with replaced_file(folder / REPORT) as new:
        new.write_text(page(run), encoding="utf-8")
    return folder / REPORT


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
        model.network_, model.n_clusters, model.class_distribution_ = network, len(counts), counts / counts.sum()
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


def rename_clusters(folder: Path, namer: Namer, listener: Listener | None = None, again: bool = False) -> RunNow:
    """Ask for a name for each cluster, and keep the names as corrections, all of them or none.

    A cluster that somebody named already keeps its name, unless they are to be named `again`.

    Args:
        folder: a run's folder.
        namer: gets a cluster as a summary has it (keywords, typical texts and so on) and returns its name.
        listener: is told how far it is.
    """
    run = RunNow.read(folder)
    named = {edit["cluster"] for edit in run.log.edits if edit["do"] == "rename"}
    entries = [one for one in run.entries() if again or one["cluster"] not in named]
    for done, one in enumerate(entries, start=1):
        said = namer(one)
        name = " ".join(said.split()).strip("\"'`*")[:LONGEST_NAME].strip() if isinstance(said, str) else ""
        if not name:
            raise InputError(f"there came no name for cluster {one['cluster']}, but {said!r}")
        if name != one["name"]:
            run.correct({"do": "rename", "cluster": one["cluster"], "name": name})
        if listener:
            listener("name", done, len(entries))
    run.save(folder)
    write_page(folder, run)
    return run


def command_namer(command: str) -> Namer:
    """Return a namer that runs a command for each cluster: a question on its standard input, a name on its output."""
    try:
        words = shlex.split(command)
    except ValueError as problem:
        raise InputError(f"the command {command!r} cannot be read: {problem}") from None
    if not words:
        raise InputError("the command is empty")

    def name(one: Entry) -> str:
        try:
            asked = question(one).encode()
            ran = subprocess.run(words, input=asked, capture_output=True, timeout=NAMING_SECONDS, check=False)
        except (OSError, subprocess.TimeoutExpired) as problem:
            raise InputError(f"the command {words[0]} did not run: {problem}") from problem
        if ran.returncode:
            said = ran.stderr.decode(errors="replace").strip().splitlines()
            raise InputError(f"the command ended with code {ran.returncode}{': ' + said[-1] if said else ''}")
        lines = [line for line in ran.stdout.decode(errors="replace").splitlines() if line.strip()]
        return lines[0] if lines else ""

    return name


def question(one: dict[str, Any]) -> str:
    """Return a question for the name of a cluster, for a language model or for a person.

    >>> print(question({"keywords": ["refund", "money"], "typical": ["still no refund"]}))
    These texts form a group. Answer with a name for it, of at most five words, and nothing else.
    <BLANKLINE>
    Keywords: refund, money
    Texts:
    - still no refund
    <BLANKLINE>
    """
    texts = "".join(f"- {' '.join(text.split())}\n" for text in one["typical"])
    return (
        "These texts form a group. Answer with a name for it, of at most five words, and nothing else.\n\n"
        f"Keywords: {', '.join(one['keywords'])}\nTexts:\n{texts}"
    )
