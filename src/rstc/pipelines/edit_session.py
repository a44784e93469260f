"""An editing session of `rstc explore`: the page of a run, its state, and corrections that are saved one by one."""

from __future__ import annotations

import secrets
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rstc.errors import InputError
from rstc.pipelines.proposals import decline_proposals, make_edit
from rstc.report.html.content import build_cluster_content, build_proposal_content
from rstc.report.html.render import render_page, write_page
from rstc.results.corrected_run import CorrectedRun
from rstc.results.edits import Edit, read_log
from rstc.results.proposals import read_proposals, select_proposals
from rstc.results.run_folder import MODEL

if TYPE_CHECKING:
    from rstc.estimator import RSTC

SPLIT_STARTS = 5  # runs of k-means when a cluster is split, of which the best is kept


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
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.run, self.token = folder, CorrectedRun.read(folder), secrets.token_urlsafe(24)
        self._original = CorrectedRun(self.run.summary, self.run.points, proposals=read_proposals(folder))
        self._lock = threading.Lock()
        self._model: RSTC | None = None

    def page(self) -> str:
        """Return the page of the run without corrections; the page requests the state when it is opened."""
        return render_page(self._original, {"token": self.token})

    def state(self) -> dict[str, Any]:
        """Return the corrected state: the texts that changed their cluster, all clusters, and the number of edits."""
        with self._lock:
            log, proposals = read_log(self.folder), read_proposals(self.folder)
            if log != self.run.log:  # corrected by another process, such as `rstc names`
                self.run = CorrectedRun(self.run.summary, self.run.points, log)
            self.run = self.run.with_proposals(proposals)
            return self._state()

    def correct(self, edit: Edit) -> dict[str, Any]:
        """Make a correction, undo the last one, or accept or decline a proposal; save it and return the state."""
        with self._lock:
            run = self.run.copy()
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

    def close(self) -> None:
        """Write the page with the corrections, for readers who open the file itself."""
        with self._lock:
            write_page(self.folder, self.run)

    def _state(self) -> dict[str, Any]:
        changed = np.flatnonzero(self.run.changed)
        clusters = [None if cluster < 0 else cluster for cluster in self.run.clusters[changed].tolist()]
        return {
            "rows": list(zip(changed.tolist(), clusters, strict=True)),
            "clusters": build_cluster_content(self.run),
            "edits": len(self.run.log.edits),
            "proposals": build_proposal_content(self.run),
        }

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
        from rstc.pseudo_labels.kmeans import fit_kmeans_with_swaps  # torch, which the page is served without

        halves = fit_kmeans_with_swaps(self._embed(rows), 2, np.random.default_rng(0), starts=SPLIT_STARTS).labels
        if len(np.unique(halves)) < 2:
            raise InputError(f"cluster {cluster} cannot be split: its texts all have the same embedding")
        leaving = rows[halves == np.bincount(halves).argmin()]
        return {**edit, "rows": leaving.tolist(), "name": self.run.suggest_name(leaving)}

    def _embed(self, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the embeddings of some texts at unit length, (len(rows), D)."""
        from sklearn.preprocessing import normalize

        from rstc.estimator import RSTC

        if self._model is None:
            self._model = RSTC.load(self.folder / MODEL)
        E = self._model.transform([self.run.points.texts[row] for row in rows])
        return np.asarray(normalize(E), dtype=np.float32)
