"""Apply a run's corrections: write the corrected clusters, and change the model so that it predicts them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rstc.errors import InputError
from rstc.io.atomic import check_writable, replace_folder
from rstc.io.columns import add_cluster_columns
from rstc.io.predictions import NO_CLUSTER
from rstc.persistence.model_description import read_description
from rstc.report.html.render import write_page
from rstc.results.corrected_run import CorrectedRun
from rstc.results.edits import Edit
from rstc.results.run_folder import MODEL, ORIGINAL_MODEL, read_rows, write_clusters
from rstc.runtime.progress import Listener, Progress

if TYPE_CHECKING:
    from torch import Tensor

    from rstc.persistence.fitted_model import FittedModel


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
    if files.run.log.edits and not (files.run.clusters != NO_CLUSTER).any():
        raise InputError("no cluster is left: all texts are marked as noise")
    files.write()
    return files.run


def apply_corrections(folder: Path, edits: Iterable[Edit], listener: Listener | None = None) -> CorrectedRun:
    """Make corrections, and apply them with those that the run has; all of it or nothing.

    Parameters
    ----------
    folder : Path
        A run folder.
    edits : iterable of dict
        The corrections.
    listener : callable, optional
        Called with (stage, done, total).
    """
    files = _RunFiles.read(folder, Progress(listener))
    for edit in edits:
        files.run.correct(edit)
    files.write()
    return files.run


def merge_to(folder: Path, n_clusters: int, listener: Listener | None = None) -> CorrectedRun:
    """Merge the most similar clusters of a run, corrections included, until `n_clusters` are left, and apply it.

    Merges are logged as corrections and can be undone. Numbers do not change: a merged cluster keeps the number of its
    largest part, and those of its other parts are not used any more. It keeps the name of that part if a user gave it;
    otherwise it is named by its keywords.

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
    n_found = len(np.unique(files.run.clusters[files.run.clusters != NO_CLUSTER]))
    if not 1 <= n_clusters < n_found:
        raise InputError(
            f"n_clusters={n_clusters} must be between 1 and {n_found - 1}, as there are {n_found} clusters"
        )
    embeddings = files.embeddings
    from rstc.pipelines.correct_model import find_merges  # torch, not before the request is known to be valid

    for edit in find_merges(files.run, embeddings, n_clusters):
        files.run.correct(edit)
    files.write()
    return files.run


def switch_level(folder: Path, detail: str, listener: Listener | None = None) -> CorrectedRun:
    """Make a level of detail of a run its clusters, corrections included, and apply it.

    The merges and splits are logged as corrections and can be undone. An earlier switch is undone first, if nothing was
    corrected since.

    Parameters
    ----------
    folder : Path
        A run folder.
    detail : str
        "coarse", "medium" or "fine".
    listener : callable, optional
        Called with (stage, done, total).
    """
    run = CorrectedRun.read(folder)
    shown = {level.name: level for level in run.levels()}
    if detail not in shown:
        found = f"the levels {', '.join(shown)}" if shown else "one level only"
        raise InputError(f"detail={detail!r} is not a level of {folder}, which has {found}")
    if shown[detail].is_chosen:
        raise InputError(f"{folder} already has the level {detail!r}")
    files = _RunFiles.read(folder, Progress(listener))
    files.run.switch_level(detail)
    files.write()
    return files.run


@dataclass
class _RunFiles:
    """A run with the folder of its original model and the rows of its input; the model is loaded when it is needed."""

    folder: Path
    run: CorrectedRun
    model_folder: Path
    rows: pd.DataFrame
    progress: Progress

    @classmethod
    def read(cls, folder: Path, progress: Progress) -> _RunFiles:
        run = CorrectedRun.read(folder)
        run.check_complete()
        check_writable(folder)
        model_folder = folder / ORIGINAL_MODEL if (folder / ORIGINAL_MODEL).is_dir() else folder / MODEL
        read_description(model_folder)  # raises if it holds no model
        return cls(folder, run, model_folder, read_rows(folder, run.summary.input, run.points), progress)

    @cached_property
    def model(self) -> FittedModel:
        """The model as the run trained it."""
        with self.progress.stage("load"):
            self.progress.advance(0, 0)
            from rstc.persistence.model_folder import load_model  # imports torch

            return load_model(self.model_folder)

    @cached_property
    def embeddings(self) -> Tensor:
        """The embeddings of the texts, (N, D)."""
        with self.progress.stage("encode"):
            encoder = self.model.network.encoder
            return encoder.embed(encoder.tokenize(self.run.points.texts), self.progress.advance)

    def write(self) -> None:
        """Write clusters, model, page and log with the corrections in them, all of it or nothing."""
        from rstc.persistence.model_folder import save_model

        run, folder, model, confidence = self.run, self.folder, self.model, self.run.points.confidence
        if not run.changed.any():  # renames at most: there is nothing to learn
            numbers, sentences = range(model.n_clusters), run.state.descriptions
            model = replace(
                model,
                names=[run.state.names.get(cluster) for cluster in numbers],
                descriptions=[sentences.get(cluster) for cluster in numbers] if sentences else model.descriptions,
            )
        else:
            from rstc.pipelines.correct_model import correct_model
            from rstc.pseudo_labels.confidence_model import assess_confidence

            E = self.embeddings
            with self.progress.stage("fit head"):
                model = correct_model(model, E, run)
                P = model.network.predict_embeddings(E).log_p.exp().numpy()
                changed = np.flatnonzero(run.changed)  # the other texts keep the confidence in their cluster
                texts = [run.points.texts[row] for row in changed]
                confidence = confidence.copy()
                confidence[changed] = assess_confidence(
                    model.confidence_model, P[changed], E.numpy()[changed], texts, run.clusters[changed]
                )
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
    return add_cluster_columns(table, clusters, shares, run.state.names)


def _link_or_copy(source: str, target: str) -> None:
    """Hard-link a file where the disk allows it, else copy it; files of a run are replaced, never changed in place."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
