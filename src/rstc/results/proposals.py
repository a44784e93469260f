"""Proposals of new clusters: groups of new texts that fit no cluster, to be accepted or declined by the user."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rstc.errors import InputError
from rstc.io.atomic import read_json, replace_file
from rstc.results.edits import MAX_LOG_BYTES, EditLog
from rstc.results.records import Record

PROPOSALS = "proposals.json"
FORMAT_VERSION = 1
OPEN, ACCEPTED, DECLINED = "open", "accepted", "declined"
MIN_LIKENESS = 0.8  # of a group to a declined one, by which it is the same
MAX_NAMED = 8  # numbers that an error lists

Ints = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class Proposal(Record):
    """A group of new texts that may become a cluster.

    Attributes
    ----------
    id : int
        Number of the proposal, from 1.
    name : str
        Name of the cluster that it would become.
    size : int
        Number of texts.
    stability : float or None
        Share of the resamples of the texts that found the group again.
    keywords : list of str
        Words that are frequent in the group and rare elsewhere, best first.
    typical : list of int
        Rows of typical texts.
    rows : list of int
        Rows of all its texts.
    near : int or None
        The cluster with the nearest mean.
    status : str
        "open", "accepted" or "declined".
    """

    id: int
    name: str
    size: int
    stability: float | None
    keywords: list[str]
    typical: list[int]
    rows: list[int]
    near: int | None
    status: str = OPEN


def find_proposals(
    texts: Sequence[str],
    E: NDArray[np.float32],
    clusters: Ints,
    is_new: NDArray[np.bool_],
    names: Sequence[Any],
    rng: np.random.Generator,
    earlier: Sequence[Proposal] = (),
) -> list[Proposal]:
    """Find groups of new texts that fit no cluster, and describe them.

    Parameters
    ----------
    texts : sequence of str
        N texts, earlier and new ones.
    E : array of float, shape (N, D)
        Their embeddings.
    clusters : array of int, shape (N,)
        Their clusters, negative for outliers.
    is_new : array of bool, shape (N,)
        Whether each text is new.
    names : sequence of length C
        The name or None of each cluster.
    rng : numpy.random.Generator
        Draws the resamples.
    earlier : sequence of Proposal
        Earlier proposals, by indices of the texts. Texts of open ones count as new, and texts like those of declined
        ones are not proposed again.

    Returns
    -------
    list of Proposal
        The largest first; `rows` and `typical` are indices of the texts.
    """
    from sklearn.preprocessing import normalize

    from rstc.pseudo_labels.novelty import find_novel_groups
    from rstc.results.describe import describe
    from rstc.results.naming import name_clusters

    U = np.asarray(normalize(E), dtype=np.float32)
    is_new = is_new.copy()
    is_new[[row for proposal in earlier if proposal.status == OPEN for row in proposal.rows]] = True
    old_rows, new_rows = np.flatnonzero(~is_new), np.flatnonzero(is_new)
    row_of_text: dict[str, int] = {}
    for row in new_rows.tolist():
        row_of_text.setdefault(texts[row], row)
    distinct = np.array(list(row_of_text.values()), dtype=np.int64)
    groups = find_novel_groups(U[old_rows], clusters[old_rows], U[distinct], rng)
    declined = [U[proposal.rows] for proposal in earlier if proposal.status == DECLINED and proposal.rows]
    groups = [group for group in groups if not any(_are_alike(U[distinct[group.rows]], other) for other in declined)]
    if not groups:
        return []
    n_clusters, labels = len(names), clusters.copy()
    first_id = max((proposal.id for proposal in earlier), default=0) + 1
    group_of_text = {texts[distinct[row]]: i for i, group in enumerate(groups) for row in group.rows}
    for row in new_rows.tolist():
        if texts[row] in group_of_text:
            labels[row] = n_clusters + group_of_text[texts[row]]
    descriptions = describe(texts, labels, np.zeros(len(texts)), E)
    given = [*(name or f"cluster {cluster}" for cluster, name in enumerate(names)), *[None] * len(groups)]
    proposed = dict(zip((d.cluster for d in descriptions), name_clusters(descriptions, texts, given), strict=True))
    proposals = []
    for description in descriptions:
        i = description.cluster - n_clusters
        if i >= 0:
            rows = np.flatnonzero(labels == description.cluster).tolist()
            proposals.append(
                Proposal(
                    id=first_id + i,
                    name=proposed[description.cluster],
                    size=len(rows),
                    stability=round(groups[i].stability, 4),
                    keywords=[keyword.text for keyword in description.keywords],
                    typical=description.typical,
                    rows=rows,
                    near=groups[i].near,
                )
            )
    return proposals


def _are_alike(U: NDArray[np.float32], others: NDArray[np.float32]) -> bool:
    """Return whether texts (n, D) are nearly as similar to other texts (m, D) as these are to each other."""
    mean = others.mean(0)
    return bool(U.mean(0) @ mean >= MIN_LIKENESS * (mean @ mean))


def keep_unmatched(earlier: Iterable[Proposal], found: Iterable[Proposal]) -> list[Proposal]:
    """Return the earlier proposals that no found one shares a text with, and the found ones."""
    found = list(found)
    present = {row for proposal in found for row in proposal.rows}
    return [proposal for proposal in earlier if not present & set(proposal.rows)] + found


def move_rows(proposals: Iterable[Proposal], new_rows: Mapping[int, int]) -> list[Proposal]:
    """Return proposals whose rows have other numbers; rows without one are left out."""
    return [
        replace(
            proposal,
            rows=[new_rows[row] for row in proposal.rows if row in new_rows],
            typical=[new_rows[row] for row in proposal.typical if row in new_rows],
        )
        for proposal in proposals
    ]


def mark_accepted(proposals: Iterable[Proposal], log: EditLog) -> list[Proposal]:
    """Return proposals with the status that follows from the corrections: undoing an acceptance opens a proposal."""
    accepted = {edit.get("proposal") for edit in log.edits if edit.get("do") == "create"}
    return [replace(p, status=ACCEPTED) if p.id in accepted else p for p in proposals]


def select_proposals(proposals: Iterable[Proposal], ids: Iterable[int] | str) -> list[Proposal]:
    """Return the proposals of some numbers that are not accepted yet, or all open ones.

    Examples
    --------
    >>> first = Proposal(
    ...     id=1, name="gifts", size=5, stability=0.9, keywords=[], typical=[], rows=[4], near=0, status="declined"
    ... )
    >>> second = replace(first, id=2, status="open")
    >>> [proposal.id for proposal in select_proposals([first, second], "all")]
    [2]
    """
    by_id = {proposal.id: proposal for proposal in proposals}
    if ids == "all":
        return [proposal for proposal in by_id.values() if proposal.status == OPEN]
    chosen: list[Any] = list(dict.fromkeys(ids))
    for number in chosen:
        if isinstance(number, bool) or number not in by_id:
            known = ", ".join(map(str, list(by_id)[:MAX_NAMED])) or "none"
            raise InputError(f"there is no proposal {number!r}; the proposals are {known}")
        if by_id[number].status == ACCEPTED:
            raise InputError(f"proposal {number} is accepted already")
    return [by_id[number] for number in chosen]


def read_proposals(folder: Path) -> list[Proposal]:
    """Read the proposals of a run folder; none if there is no file."""
    path = folder / PROPOSALS
    if not path.exists():
        return []
    try:
        content = read_json(path, MAX_LOG_BYTES)
        if content["format_version"] != FORMAT_VERSION:
            raise ValueError
        proposals = [Proposal.from_json(values) for values in content["proposals"]]
        if any(
            p.status not in (OPEN, ACCEPTED, DECLINED) or min((*p.typical, *p.rows), default=0) < 0 for p in proposals
        ):
            raise ValueError
        return proposals
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise InputError(f"{path} does not hold proposals of new clusters") from None


def write_proposals(folder: Path, proposals: Iterable[Proposal]) -> None:
    """Write the proposals of a run folder, atomically."""
    content = {"format_version": FORMAT_VERSION, "proposals": [proposal.to_json() for proposal in proposals]}
    with replace_file(folder / PROPOSALS) as temporary:
        temporary.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")
