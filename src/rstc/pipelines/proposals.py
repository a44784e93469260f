"""Accept or decline the new clusters that an update of a run proposes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from rstc.pipelines.apply_edits import apply_corrections
from rstc.results.corrected_run import CorrectedRun
from rstc.results.edits import Edit
from rstc.results.proposals import DECLINED, Proposal, read_proposals, select_proposals, write_proposals
from rstc.runtime.progress import Listener


def accept_proposals(folder: Path, ids: Iterable[int] | str, listener: Listener | None = None) -> list[Proposal]:
    """Make clusters of proposals, and write them to the clusters, the model and the page of a run.

    They are logged as corrections and can be undone.

    Parameters
    ----------
    folder : Path
        A run folder.
    ids : iterable of int or "all"
        Numbers of the proposals.
    listener : callable, optional
        Called with (stage, done, total).

    Returns
    -------
    list of Proposal
        The accepted ones.
    """
    chosen = select_proposals(CorrectedRun.read(folder).proposals, ids)
    if chosen:
        apply_corrections(folder, [make_edit(proposal) for proposal in chosen], listener)
    return chosen


def decline_proposals(folder: Path, ids: Iterable[int] | str) -> list[Proposal]:
    """Decline proposals: their texts stay where they are, and are not proposed again.

    Parameters
    ----------
    folder : Path
        A run folder.
    ids : iterable of int or "all"
        Numbers of the proposals.

    Returns
    -------
    list of Proposal
        The declined ones.
    """
    declined = select_proposals(CorrectedRun.read(folder).proposals, ids)
    numbers = {proposal.id for proposal in declined}
    stored = read_proposals(folder)
    write_proposals(folder, [replace(p, status=DECLINED) if p.id in numbers else p for p in stored])
    return declined


def make_edit(proposal: Proposal) -> Edit:
    """Return the correction that makes a cluster of a proposal."""
    return {"do": "create", "rows": proposal.rows, "name": proposal.name, "proposal": proposal.id}
