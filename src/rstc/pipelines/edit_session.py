"""An editing session of `rstc explore`: the page of a run, its state, and corrections that are saved one by one."""

from __future__ import annotations

import logging
import secrets
import threading
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rstc.errors import InputError
from rstc.io.formats import SUFFIXES
from rstc.pipelines.proposals import decline_proposals, make_edit
from rstc.report.html.content import build_cluster_content, build_proposal_content, build_tree_content
from rstc.report.html.render import render_page, write_page
from rstc.results.comparisons import repeat_comparisons
from rstc.results.corrected_run import CorrectedRun
from rstc.results.edits import Edit, read_log
from rstc.results.points import identify_texts
from rstc.results.proposals import read_proposals, select_proposals
from rstc.results.run_files import CLUSTERS, ORIGINAL_MODEL
from rstc.results.run_folder import SECONDS_TO_WAIT, lock_run
from rstc.results.run_models import find_model, lacks_corrected_model

if TYPE_CHECKING:
    from rstc.estimator import RSTC

logger = logging.getLogger("rstc")

SPLIT_STARTS = 5  # runs of k-means when a cluster is split, of which the best is kept


@dataclass(frozen=True)
class ApplyProgress:
    """How far the corrections of a session are applied to the clusters and the model.

    Attributes
    ----------
    status : str
        "idle" before the first time, then "running", and "done" or "failed" at the end.
    stage : str
        The current stage, as `apply_edits` names it.
    done, total : int
        Progress of the stage; `total` is 0 where it is not known.
    message : str
        The result or the problem, in one sentence.
    """

    status: str = "idle"
    stage: str = "load"
    done: int = 0
    total: int = 0
    message: str = ""


class EditSession:
    """A run that is being corrected, by one request at a time.

    Parameters
    ----------
    folder : Path
        A run folder.

    Attributes
    ----------
    run : CorrectedRun
        The run with all corrections that are saved.
    token : str
        A random token, which the page sends with each request.
    apply_progress : ApplyProgress
        How far the corrections are applied.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.run, self.token = folder, CorrectedRun.read(folder), secrets.token_urlsafe(24)
        self.apply_progress = ApplyProgress()
        self._original = CorrectedRun(
            self.run.summary, self.run.points, folder=folder, proposals=read_proposals(folder)
        )
        self._version = identify_texts(folder)
        self._lock = threading.Lock()
        self._model: RSTC | None = None
        self._applying: threading.Thread | None = None

    def page(self) -> str:
        """Return the page of the run without corrections; the page requests the state when it is opened."""
        with self._lock:
            if identify_texts(self.folder) != self._version:
                self._reload()
            comparisons = repeat_comparisons(self.folder, self.run)
        return render_page(self._original, {"token": self.token}, comparisons)

    def state(self) -> dict[str, Any]:
        """Return the corrected state: the texts that changed their cluster, all clusters, and the number of edits."""
        with self._lock:
            self._check_same_texts()
            log, proposals = read_log(self.folder), read_proposals(self.folder)
            if not self.is_applying and log != self.run.log:  # by another process, such as `rstc names`
                self.run = CorrectedRun(self.run.summary, self.run.points, log, self.folder)
            self.run = self.run.with_proposals(proposals)
            return self._state()

    def correct(self, edit: Edit) -> dict[str, Any]:
        """Make a correction, undo the last one, or accept or decline a proposal; save it and return the state."""
        with self._lock:
            if self.is_applying:
                raise InputError("the corrections are being applied; correct further when that is done")
            self._check_same_texts()
            run = self.run.copy()
            with lock_run(self.folder, wait=SECONDS_TO_WAIT):
                if edit.get("do") == "decline":
                    decline_proposals(self.folder, [edit.get("proposal", 0)])
                    run = run.with_proposals(read_proposals(self.folder))
                elif edit.get("do") == "undo":
                    run.undo()
                elif edit.get("do") == "accept":
                    (proposal,) = select_proposals(run.proposals, [edit.get("proposal", 0)])
                    run.correct(make_edit(proposal))
                else:
                    run.correct(self._complete_split(edit))
                run.save(self.folder)
            self.run = run  # only after it is saved, so that the page never shows an unsaved correction
            return self._state()

    def preview(self, edit: Edit) -> tuple[Edit, CorrectedRun]:
        """Return a correction in full, with the texts of a split, and the run as it would be; nothing is saved."""
        with self._lock:
            self._check_same_texts()
            run = self.run.copy()
            if edit.get("do") == "undo":
                run.undo()
                return edit, run
            if edit.get("do") == "accept":
                (proposal,) = select_proposals(run.proposals, [edit.get("proposal", 0)])
                edit = make_edit(proposal)
            edit = self._complete_split(edit)
            run.correct(edit)
            return edit, run

    def load(self) -> threading.Thread:
        """Load in the background what the first split would wait for; return the thread."""
        thread = threading.Thread(target=self._load, daemon=True)
        thread.start()
        return thread

    def apply(self) -> ApplyProgress:
        """Begin to apply the corrections in the background, as `rstc apply` does; return the progress."""
        with self._lock:
            if self.is_applying:
                raise InputError("the corrections are already being applied")
            if not self._can_apply():
                raise InputError("there is no correction to apply")
            _ = self.run.embeddings  # read before the folder is replaced
            self.apply_progress = ApplyProgress("running")
            self._applying = threading.Thread(target=self._apply, daemon=True)
            self._applying.start()
            return self.apply_progress

    def wait(self) -> None:
        """Wait until corrections that are being applied are written."""
        if self._applying is not None:
            self._applying.join()

    def close(self) -> None:
        """Write the page with the corrections, for readers who open the file itself."""
        self.wait()
        with self._lock, lock_run(self.folder, wait=SECONDS_TO_WAIT):
            if identify_texts(self.folder) == self._version:
                write_page(self.folder, self.run)

    def _reload(self) -> None:
        """Read the run again, after another process has written it."""
        self.run = CorrectedRun.read(self.folder)
        self._original = CorrectedRun(
            self.run.summary, self.run.points, folder=self.folder, proposals=read_proposals(self.folder)
        )
        self._version, self._model = identify_texts(self.folder), None

    def _check_same_texts(self) -> None:
        """Raise InputError if another process has replaced the texts, to which corrections refer by number."""
        if not self.is_applying and identify_texts(self.folder) != self._version:
            raise InputError("the run was changed by another process, such as `rstc update`; reload the page")

    def _state(self) -> dict[str, Any]:
        changed = np.flatnonzero(self.run.changed)
        clusters = [None if cluster < 0 else cluster for cluster in self.run.clusters[changed].tolist()]
        return {
            "rows": list(zip(changed.tolist(), clusters, strict=True)),
            "clusters": build_cluster_content(self.run),
            "tree": build_tree_content(self.run),
            "edits": len(self.run.log.edits),
            "can_apply": self._can_apply(),
            "proposals": build_proposal_content(self.run),
        }

    def _can_apply(self) -> bool:
        """Return whether applying changes anything: there are corrections, or applied ones that were undone."""
        return bool(self.run.log.edits) or (self.folder / ORIGINAL_MODEL).is_dir()

    @property
    def is_applying(self) -> bool:
        """Whether corrections are being applied."""
        return self.apply_progress.status == "running"

    def _apply(self) -> None:
        def listen(stage: str, done: int, total: int) -> None:
            self.apply_progress = ApplyProgress("running", stage, done, total)

        try:
            from rstc.pipelines.apply_edits import apply_edits

            run = apply_edits(self.folder, listen)
        except InputError as problem:
            self.apply_progress = replace(self.apply_progress, status="failed", message=str(problem))
        except Exception as problem:  # the page must not wait forever
            logger.exception("the corrections could not be applied")
            message = f"the corrections could not be applied: {type(problem).__name__}: {problem}"
            self.apply_progress = replace(self.apply_progress, status="failed", message=message)
        else:
            self._model = None  # it was replaced
            n_edits, n_clusters = len(run.log.edits), len(np.unique(run.clusters[run.clusters >= 0]))
            file = CLUSTERS + SUFFIXES[run.summary.input.format]
            edits = f"{n_edits} correction{'' if n_edits == 1 else 's'} applied"
            if lacks_corrected_model(self.folder):
                written = f"{file} and report.html, but not the model, which needs torch,"
            else:
                written = f"{file}, the model and report.html"
            message = f"{edits}: {written} have {n_clusters} clusters"
            self.apply_progress = ApplyProgress("done", message=message)

    def _load(self) -> None:
        try:
            import sklearn.cluster  # noqa: F401 (for the first split)

            self.run.load_for_corrections()
            if self.run.embeddings is None:
                self._load_model()
        except InputError as problem:  # a run without a model can be corrected, but not split
            logger.info("%s", problem)

    def _complete_split(self, edit: Edit) -> Edit:
        """Add to a split the texts that leave the cluster: the smaller of two halves by k-means."""
        if edit.get("do") != "split" or "rows" in edit:
            return edit
        cluster = edit.get("cluster")
        if not isinstance(cluster, int) or cluster not in self.run.state.names:
            raise InputError(f"there is no cluster {cluster!r}")
        rows = np.flatnonzero(self.run.clusters == cluster)
        if len(rows) < 2:
            raise InputError(f"cluster {cluster} has a single text and cannot be split")
        U = self._embed(rows)
        if not np.ptp(U, axis=0).any():
            raise InputError(f"cluster {cluster} cannot be split: its texts all have the same embedding")
        from sklearn.cluster import KMeans  # not the k-means of training, which needs torch
        from threadpoolctl import threadpool_limits

        with threadpool_limits(1):  # threads of so small products mostly wait for each other
            halves = KMeans(2, n_init=SPLIT_STARTS, random_state=0).fit_predict(U)
        leaving = rows[halves == np.bincount(halves, minlength=2).argmin()]
        return {**edit, "rows": leaving.tolist(), "name": self.run.suggest_name(leaving)}

    def _embed(self, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the embeddings of some texts at unit length, (len(rows), D)."""
        if self.run.embeddings is not None:
            return self.run.embeddings[rows].astype(np.float32)
        from sklearn.preprocessing import normalize

        E = self._load_model().transform([self.run.points.texts[row] for row in rows])
        return np.asarray(normalize(E), dtype=np.float32)

    def _load_model(self) -> RSTC:
        """Return the model, for runs of earlier versions, which keep no embeddings."""
        from rstc.estimator import RSTC

        if self._model is None:
            self._model = RSTC.load(find_model(self.folder))
        return self._model
