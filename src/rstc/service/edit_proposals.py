"""Corrections by an agent in two steps: a proposal shows its effect and changes nothing; applying it is confirmed."""

from __future__ import annotations

import secrets
import threading
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rstc.errors import InputError
from rstc.pipelines.apply_edits import apply_corrections, apply_edits
from rstc.pipelines.edit_session import EditSession
from rstc.results.corrected_run import CorrectedRun
from rstc.results.edits import Edit, EditLog
from rstc.results.points import identify_texts
from rstc.runtime.progress import Listener
from rstc.service.run_tools import Result, RunTools, list_row

MAX_PENDING = 50  # proposals that are kept
MAX_MOVED = 10  # texts that a preview shows
MAX_SUGGESTED = 20
MIN_CONFUSION = 0.1  # of the texts of a cluster, from which a merge is suggested


@dataclass(frozen=True)
class PendingEdit:
    """A correction that was proposed.

    Attributes
    ----------
    folder : Path
        The run.
    edit : dict
        The correction in full.
    log : EditLog
        The corrections that the run had.
    version : tuple
        Identifies the texts that the run had.
    preview : dict
        Its effect.
    """

    folder: Path
    edit: Edit
    log: EditLog
    version: tuple[int, ...]
    preview: Result


class EditProposals:
    """The corrections that an agent has proposed and not yet applied.

    Parameters
    ----------
    tools : RunTools
        Where runs are looked up.
    """

    def __init__(self, tools: RunTools) -> None:
        self._tools, self._pending = tools, OrderedDict[str, PendingEdit]()
        self._lock = threading.Lock()

    def suggest(self, run: str) -> Result:
        """Return merges and splits that the run itself gives reason for, as corrections that can be proposed."""
        corrected = self._tools.read_run(run)
        names = corrected.state.names
        merges: dict[tuple[int, ...], Result] = {}
        for entry in corrected.entries():
            rating = entry.reliability
            if rating and rating.confused_with in names and rating.confusion >= MIN_CONFUSION:
                other = int(rating.confused_with or 0)
                reason = f"{rating.confusion:.0%} of its texts are in cluster {other} when the analysis is repeated"
                pair = tuple(sorted((entry.cluster, other)))
                merges.setdefault(pair, {"do": "merge", "cluster": entry.cluster, "into": other, "reason": reason})
        for overlap in corrected.summary.overlaps:
            if {overlap.cluster, overlap.other} <= set(names):
                pair = tuple(sorted((overlap.cluster, overlap.other)))
                edit = {"do": "merge", "cluster": overlap.cluster, "into": overlap.other}
                merges.setdefault(pair, {**edit, "reason": overlap.describe(names)})
        levels = {level.name: level for level in corrected.levels()}
        for group in levels["coarse"].groups if "coarse" in levels else ():
            into, *others = group.clusters if group.rows is None else [0]
            for cluster in others:
                reason = f"the coarse level has both in {group.name!r}"
                merges.setdefault(
                    tuple(sorted((cluster, into))), {"do": "merge", "cluster": cluster, "into": into, "reason": reason}
                )
        splits = []
        fine = levels["fine"].groups if "fine" in levels else []
        for cluster in sorted({group.clusters[0] for group in fine if group.rows is not None}):
            parts = [group.name for group in fine if group.clusters == [cluster]]
            if len(parts) > 1:
                splits.append({"do": "split", "cluster": cluster, "reason": f"the fine level divides it into {parts}"})
        new = [
            {"do": "accept", "proposal": proposal.id, "name": proposal.name, "size": proposal.size}
            for proposal in corrected.proposals
            if proposal.status == "open"
        ]
        return {
            "merges": list(merges.values())[:MAX_SUGGESTED],
            "splits": splits[:MAX_SUGGESTED],
            "new_clusters": new[:MAX_SUGGESTED],
        }

    def propose(self, run: str, edit: Edit) -> Result:
        """Return the effect of a correction and the number under which it can be applied; nothing is changed."""
        folder = self._tools.resolve(run)
        session = EditSession(folder)
        before, log, version = session.run, session.run.log, identify_texts(folder)
        complete, after = session.preview(edit)
        edit_id = secrets.token_hex(4)
        preview = {
            "edit_id": edit_id,
            "run": run,
            "edit": {name: value for name, value in complete.items() if name != "rows"},
            **_compare(before, after),
        }
        with self._lock:
            self._pending[edit_id] = PendingEdit(folder, complete, log, version, preview)
            while len(self._pending) > MAX_PENDING:
                self._pending.popitem(last=False)
        return preview

    def find(self, edit_id: str) -> PendingEdit:
        """Return a proposal that was not applied yet."""
        with self._lock:
            if edit_id not in self._pending:
                raise InputError(f"there is no proposed edit {edit_id[:20]!r}; propose it again")
            return self._pending[edit_id]

    def apply(self, edit_id: str, listener: Listener | None = None) -> Result:
        """Save a proposed correction, and write the clusters, the model and the page with it."""
        pending = self.find(edit_id)
        current = CorrectedRun.read(pending.folder)
        if current.log != pending.log or identify_texts(pending.folder) != pending.version:
            raise InputError("the run was changed since this edit was proposed; propose it again")
        with self._lock:
            self._pending.pop(edit_id, None)
        if pending.edit.get("do") == "undo":
            EditSession(pending.folder).correct(pending.edit)
            run = apply_edits(pending.folder, listener)
        else:
            run = apply_corrections(pending.folder, [pending.edit], listener)
        return {
            "applied": {name: value for name, value in pending.edit.items() if name != "rows"},
            "n_corrections": len(run.log.edits),
            "n_clusters": len(np.unique(run.clusters[run.clusters >= 0])),
        }


def _compare(before: CorrectedRun, after: CorrectedRun) -> dict[str, Any]:
    """Return what a correction changes: clusters with their names and sizes, and some of the texts that move."""
    sizes = [dict(zip(*np.unique(run.clusters, return_counts=True), strict=True)) for run in (before, after)]
    clusters = []
    for cluster in sorted({*before.state.names, *after.state.names}):
        old, new = (run.state.names.get(cluster) for run in (before, after))
        n_before, n_after = (int(counts.get(cluster, 0)) for counts in sizes)
        if (old, n_before) != (new, n_after):
            clusters.append(
                {"cluster": cluster, "name": old, "new_name": new, "n_texts": n_before, "new_n_texts": n_after}
            )
    moved = np.flatnonzero(before.clusters != after.clusters)
    return {
        "clusters": clusters,
        "n_moved": len(moved),
        "moved": [list_row(after, row) for row in moved[:MAX_MOVED].tolist()],
    }
