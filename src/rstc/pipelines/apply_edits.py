"""Apply a run's corrections: write the corrected clusters, and change the model so that it predicts them."""

from __future__ import annotations

import os
import shutil
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rstc.errors import InputError, UncorrectedModelWarning
from rstc.io.atomic import check_writable, replace_folder
from rstc.io.columns import add_cluster_columns
from rstc.io.predictions import NO_CLUSTER
from rstc.persistence.confidence_file import CONFIDENCE, read_confidence
from rstc.persistence.model_description import ModelDescription, read_description
from rstc.persistence.model_files import check_files
from rstc.report.html.render import write_page
from rstc.results.corrected_run import CorrectedRun
from rstc.results.edits import Edit
from rstc.results.run_files import MODEL, ORIGINAL_MODEL
from rstc.results.run_folder import hold_run_lock, read_rows, write_clusters
from rstc.results.run_models import find_original_model
from rstc.runtime.memory import check_memory_for_products
from rstc.runtime.optional import is_torch_installed
from rstc.runtime.progress import Listener, Progress

if TYPE_CHECKING:
    from torch import Tensor

    from rstc.persistence.fitted_model import FittedModel


@hold_run_lock
def apply_edits(folder: Path, listener: Listener | None = None) -> CorrectedRun:
    """Write a run's corrected clusters, and change its model so that it predicts them; all of it or nothing.

    A corrected text keeps its cluster, even if the model predicts another one. The log of corrections and the original
    model are kept, so that applied corrections can still be undone and applied again. Without torch the model cannot be
    changed: the run is then without one until corrections are applied with torch.

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


@hold_run_lock
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


@hold_run_lock
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
    from rstc.results.merges import find_merges  # imports scikit-learn

    for edit in find_merges(files.run, files.unit_embeddings, n_clusters):
        files.run.correct(edit)
    files.write()
    return files.run


@hold_run_lock
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
    description: ModelDescription
    rows: pd.DataFrame
    progress: Progress

    @classmethod
    def read(cls, folder: Path, progress: Progress) -> _RunFiles:
        run = CorrectedRun.read(folder)
        run.check_complete()
        check_writable(folder)
        model_folder = find_original_model(folder)
        description = read_description(model_folder)  # raises if it holds no model
        rows = read_rows(folder, run.summary.input, run.points)
        return cls(folder, run, model_folder, description, rows, progress)

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

    @property
    def unit_embeddings(self) -> NDArray[np.float32]:
        """The embeddings of the texts at unit length, (N, D): those of the run, else, for early runs, the model's."""
        if self.run.embeddings is not None:
            return self.run.embeddings.astype(np.float32)
        from sklearn.preprocessing import normalize

        return np.asarray(normalize(self.embeddings.numpy()), dtype=np.float32)

    def write(self) -> None:
        """Write clusters, model, page and log with the corrections in them, all of it or nothing.

        Without torch, the model is left out; `find_model` says so to whoever asks for it.
        """
        run, folder = self.run, self.folder
        corrected = self._correct() if is_torch_installed() else None
        confidence = corrected.confidence if corrected else self._assess_without_torch()
        with self.progress.stage("write"), replace_folder(folder) as new:
            shutil.copytree(folder, new, copy_function=_link_or_copy, dirs_exist_ok=True)
            if self.model_folder == folder / MODEL:
                shutil.copytree(self.model_folder, new / ORIGINAL_MODEL, copy_function=_link_or_copy)
            run.save(new)
            if corrected:
                from rstc.persistence.model_folder import save_model

                save_model(new / MODEL, corrected.model)
            elif (new / MODEL).exists():
                shutil.rmtree(new / MODEL)
            rows = _add_corrected_clusters(self.rows, run, confidence)
            write_clusters(new, [rows], run.summary.input.format, run.summary.input.guard_formulas)
            write_page(new, run)
        if not corrected:
            warnings.warn(UncorrectedModelWarning(str(folder)), stacklevel=3)

    def _correct(self) -> _Corrected:
        """Return a model that predicts the corrected clusters, and the confidence of all texts in theirs."""
        run, model, confidence = self.run, self.model, self.run.points.confidence
        if not run.changed.any():  # renames at most: there is nothing to learn
            numbers, sentences = range(model.n_clusters), run.state.descriptions
            renamed = replace(
                model,
                names=[run.state.names.get(cluster) for cluster in numbers],
                descriptions=[sentences.get(cluster) for cluster in numbers] if sentences else model.descriptions,
            )
            return _Corrected(renamed, confidence)
        from rstc.pipelines.correct_model import correct_model
        from rstc.pseudo_labels.confidence_model import assess_confidence

        E = self.embeddings
        check_memory_for_products()
        with self.progress.stage("fit head"):
            model = correct_model(model, E, run)
            P = model.network.predict_embeddings(E).log_p.exp().numpy()
            changed = np.flatnonzero(run.changed)  # the other texts keep the confidence in their cluster
            texts = [run.points.texts[row] for row in changed]
            confidence = confidence.copy()
            confidence[changed] = assess_confidence(
                model.confidence_model, P[changed], E.numpy()[changed], texts, run.clusters[changed]
            )
        return _Corrected(model, confidence)

    def _assess_without_torch(self) -> NDArray[np.float32]:
        """Return the confidence of all texts in their corrected clusters, by the stored embeddings."""
        run, confidence = self.run, self.run.points.confidence
        if not run.changed.any():
            return confidence
        if run.embeddings is None or CONFIDENCE not in self.description.files:
            return self._correct().confidence  # only the model can tell, and opening it says what is missing
        check_files(self.model_folder, self.description)
        U = self.unit_embeddings
        model = read_confidence(self.model_folder, U.shape[1], self.description.n_clusters)
        clustered, changed = run.clusters != NO_CLUSTER, np.flatnonzero(run.changed)
        model = model.refit_clusters(U[clustered], run.clusters[clustered])
        texts = [run.points.texts[row] for row in changed]
        confidence = confidence.copy()
        confidence[changed] = model.assess(U[changed], texts, run.clusters[changed])
        return confidence


@dataclass(frozen=True, eq=False)
class _Corrected:
    """A model that predicts the corrected clusters, and the confidence (N,) of the run's texts in them."""

    model: FittedModel
    confidence: NDArray[np.float32]


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
