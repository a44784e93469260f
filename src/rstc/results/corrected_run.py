"""A run with its corrections: the clusters as the run found them, and as edits changed them since."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property
from itertools import chain, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rstc.errors import InputError
from rstc.results.edits import (
    ADDING_ACTIONS,
    EDITS,
    ClusterState,
    Edit,
    EditLog,
    apply_edit,
    common_label,
    read_log,
    replay_edits,
    write_log,
)
from rstc.results.levels import ShownLevel, find_level_edits, relate_levels
from rstc.results.naming import is_found_name, name_clusters
from rstc.results.points import Points, read_embeddings, read_points
from rstc.results.proposals import Proposal, mark_accepted, read_proposals
from rstc.results.run_checks import check_file, check_points, check_proposals
from rstc.results.run_files import POINTS, TEXT_EMBEDDINGS
from rstc.results.run_folder import read_summary
from rstc.results.summary import ClusterEntry, Summary, build_cluster_entry

if TYPE_CHECKING:
    from rstc.results.keywords import Keyword
    from rstc.results.phrases import PhraseCounts
    from rstc.results.reliability import ClusterReliability


class CorrectedRun:
    """A run with its texts and its corrections.

    Parameters
    ----------
    summary : Summary
        What the run found.
    points : Points
        The texts of the run.
    log : EditLog, optional
        The corrections.
    folder : Path, optional
        The run folder, from which the embeddings of the texts are read if they are needed.
    proposals : sequence of Proposal
        The new clusters that an update proposed, with the status that is stored.

    Attributes
    ----------
    summary, points, log
        As given; `correct` and `undo` change `log`.
    state : ClusterState
        The clusters and their names after the corrections.
    """

    def __init__(
        self,
        summary: Summary,
        points: Points,
        log: EditLog | None = None,
        folder: Path | None = None,
        proposals: Sequence[Proposal] = (),
    ) -> None:
        self.summary, self.points, self._folder, self._stored_proposals = summary, points, folder, proposals
        self.log = self._saved_log = log or EditLog()
        names = {entry.cluster: entry.name for entry in summary.clusters}
        # The number of an empty cluster is in use as well: the model may still predict it.
        self._initial = ClusterState(
            points.clusters,
            names,
            len(summary.class_distribution),
            descriptions={entry.cluster: entry.description for entry in summary.clusters if entry.description},
        )
        self.state = replay_edits(self._initial, self.log.edits)

    @classmethod
    def read(cls, folder: Path) -> CorrectedRun:
        """Read a run folder."""
        summary = read_summary(folder)
        check_file(folder, POINTS, summary)
        check_file(folder, TEXT_EMBEDDINGS, summary)
        points = read_points(folder)
        if len(points.texts) != summary.input.n_shown:
            raise InputError(
                f"the texts in {folder} are not those of its summary: "
                f"there are {len(points.texts)}, the summary has {summary.input.n_shown}"
            )
        proposals = read_proposals(folder)
        try:
            check_points(points, summary)
            check_proposals(proposals, summary)
        except ValueError as problem:
            raise InputError(f"the texts in {folder} are not those of its summary ({problem})") from problem
        return cls(summary, points, read_log(folder), folder, proposals)

    def check_complete(self) -> None:
        """Raise InputError if the folder holds only a sample of the texts, which cannot be corrected."""
        if len(self.points.texts) < self.summary.input.n_texts:
            raise InputError(
                f"this run cannot be corrected: its folder holds a sample of {len(self.points.texts):,} of its "
                f"{self.summary.input.n_texts:,} texts, which is what the page shows"
            )

    def correct(self, edit: Edit) -> None:
        """Apply one more edit.

        A new cluster gets a number that no cluster ever had. A cluster that others are merged into gets a name from its
        new keywords, unless the edit names it or its name was given.
        """
        self.check_complete()
        if isinstance(edit, dict) and edit.get("do") in ADDING_ACTIONS:
            edit = {**edit, "new": max(self.state.next_cluster, self.log.next_cluster)}
        if isinstance(edit, dict) and edit.get("do") == "merge" and "name" not in edit:
            merged = apply_edit(self.state, edit)  # also validates the edit
            if not self.has_given_name(edit["into"], merged):
                edit = {**edit, "name": self.suggest_names(merged.clusters, [edit["into"]])[0]}
        self.state = apply_edit(self.state, edit)
        self.log = EditLog((*self.log.edits, edit), max(self.state.next_cluster, self.log.next_cluster))

    def switch_level(self, detail: str) -> None:
        """Make a level of detail the clusters, after undoing an earlier switch that was the last correction."""
        while self.log.edits and "level" in self.log.edits[-1]:
            self.undo()
        level = next((level for level in self.levels() if level.name == detail), None)
        if level is None or level.is_chosen:
            return
        named = {entry.cluster for entry in self.summary.clusters if self.state.names.get(entry.cluster) != entry.name}
        first = max(self.state.next_cluster, self.log.next_cluster)
        for edit in find_level_edits(level, self.clusters, first, named):
            self.correct(edit)

    def undo(self) -> None:
        """Undo the last edit."""
        if not self.log.edits:
            raise InputError("there is nothing to undo")
        self.log = replace(self.log, edits=self.log.edits[:-1])
        self.state = replay_edits(self._initial, self.log.edits)

    def save(self, folder: Path) -> None:
        """Write the log, unless the log in the folder was changed since this run was read."""
        if read_log(folder) != self._saved_log:
            raise InputError(
                f"{folder / EDITS} was changed by another process in the meantime; reload the run and try again"
            )
        if self.log != self._saved_log:
            write_log(folder, self.log)
            self._saved_log = self.log

    def copy(self) -> CorrectedRun:
        """Return a copy whose corrections do not change this run."""
        return copy(self)

    @property
    def proposals(self) -> list[Proposal]:
        """The proposed clusters, accepted if a correction made a cluster of them."""
        return mark_accepted(self._stored_proposals, self.log)

    def with_proposals(self, proposals: Sequence[Proposal]) -> CorrectedRun:
        """Return this run with other proposals."""
        changed = self.copy()
        changed._stored_proposals = proposals
        return changed

    @property
    def _accepted(self) -> dict[int, Proposal]:
        """The accepted proposals by the numbers of their clusters."""
        by_id = {proposal.id: proposal for proposal in self._stored_proposals}
        edits = [edit for edit in self.log.edits if edit.get("do") == "create" and edit.get("proposal") in by_id]
        return {edit["new"]: by_id[edit["proposal"]] for edit in edits}

    @property
    def clusters(self) -> NDArray[np.int64]:
        """The cluster of each text after the corrections, (N,); `NO_CLUSTER` if it has none."""
        return self.state.clusters

    @property
    def changed(self) -> NDArray[np.bool_]:
        """Whether corrections changed the cluster of each text, (N,)."""
        return np.asarray(self.clusters != self.points.clusters)

    def levels(self) -> list[ShownLevel]:
        """Return the levels of detail after the corrections, coarse to fine; empty if there is but one."""
        return relate_levels(
            self.summary.levels, self.points.clusters, self.points.fine, self.clusters, self.state.names
        )

    def entries(self) -> list[ClusterEntry]:
        """Return the clusters after the corrections.

        Of a cluster that corrections changed, the size, the keywords and the typical texts are computed again; the
        doubtful texts and the nearest clusters are those of the clusters that its texts come from; the confidence is
        the mean of the texts that kept their cluster; the estimated share is None unless the cluster consists of whole
        clusters of the run.
        """
        if not self.changed.any():
            names, sentences = self.state.names, self.state.descriptions
            return [
                replace(entry, name=names[entry.cluster], description=sentences.get(entry.cluster))
                for entry in self.summary.clusters
            ]
        from rstc.results.keywords import find_keywords  # imports scikit-learn

        changed = set(np.unique([self.points.clusters[self.changed], self.clusters[self.changed]]).tolist())
        keywords = find_keywords(self._phrases, self.clusters, only=changed)
        successors = {cluster: self.find_successor(cluster) for cluster in self._original_entries}
        return [
            self._build_entry(cluster, name, members, keywords.get(cluster), successors)
            for cluster, name in self.state.names.items()
            if len(members := np.flatnonzero(self.clusters == cluster))
        ]

    def _build_entry(
        self,
        cluster: int,
        name: str,
        members: NDArray[np.int64],
        keywords: list[Keyword] | None,
        successors: dict[int, int | None],
    ) -> ClusterEntry:
        """Build the entry of one cluster after corrections, from the rows of its texts and its new keywords, if any."""
        from rstc.results.describe import ClusterDescription  # imports scikit-learn

        original = self.points.clusters[members]
        sources = [self._original_entries[source] for source in np.unique(original[original >= 0]).tolist()]
        is_union = (original >= 0).all() and len(members) == sum(entry.size for entry in sources)
        confidence = self.points.confidence[members[original == cluster]]
        doubtful = [row for entry in sources for row in entry.doubtful_rows]
        near = dict.fromkeys(successors.get(other) for entry in sources for other in entry.near)
        description = ClusterDescription(
            cluster=cluster,
            size=len(members),
            confidence=float(confidence.mean()) if len(confidence) else None,
            keywords=keywords or [],
            typical=self.choose_typical(members),
            doubtful=[row for row in doubtful if self.clusters[row] == cluster],
            near=[other for other in near if other is not None and other != cluster],
        )
        if proposal := self._accepted.get(cluster):  # its texts come from clusters that describe others
            description = replace(
                description,
                typical=[row for row in proposal.typical if self.clusters[row] == cluster],
                near=[near for near in (proposal.near,) if near is not None and near in self.state.names],
            )
        shares = [entry.estimated_share for entry in sources if entry.estimated_share is not None]
        entry = build_cluster_entry(
            description,
            self.points.texts,
            name=name,
            n_texts=len(self.points.texts),
            label=self._find_label(cluster),
            estimated_share=sum(shares) if is_union else None,
            reliability=self._keep_reliability(cluster, members, successors),
            sentence=self.state.descriptions.get(cluster),
        )
        return entry if keywords is not None else replace(entry, keywords=self._original_entries[cluster].keywords)

    def choose_typical(self, members: NDArray[np.int64], n_texts: int = 5) -> list[int]:
        """Return the typical texts of a group of texts, most typical first.

        They are those nearest to the group's centre if the run folder holds embeddings, and otherwise the typical texts
        of the clusters of the run that are in the group, then the most confident texts.
        """
        from rstc.results.describe import find_typical  # imports scikit-learn

        sources = np.unique(self.points.clusters[members]).tolist()
        if len(sources) == 1 and sources[0] in self._original_entries:
            original = self._original_entries[sources[0]]
            if original.size == len(members):  # unchanged
                return original.typical_rows[:n_texts]
        if self.embeddings is not None:
            return find_typical(self.points.texts, members, self.embeddings[members].astype(np.float32), n_texts)
        typical = [self._original_entries[source].typical_rows for source in sources if source >= 0]
        by_rank = [row for rows in zip_longest(*typical) for row in rows if row is not None]  # each source in turn
        in_group = np.isin(by_rank, members).tolist()
        first = [row for row, is_in in zip(by_rank, in_group, strict=True) if is_in]
        confident = members[np.argsort(-self.points.confidence[members], kind="stable")].tolist()
        rows: dict[str, int] = {}
        for row in chain(first, confident):
            rows.setdefault(self.points.texts[row], row)
            if len(rows) == n_texts:
                break
        return list(rows.values())[:n_texts]

    @cached_property
    def embeddings(self) -> NDArray[np.float16] | None:
        """The embeddings of the texts at unit length, (N, D); None for a run that keeps none."""
        return read_embeddings(self._folder, len(self.points.texts)) if self._folder else None

    def load_for_corrections(self) -> None:
        """Load what corrections need besides the texts, so that the first of them does not wait for it."""
        _ = self._phrases, self.embeddings

    def _keep_reliability(
        self, cluster: int, members: NDArray[np.int64], successors: dict[int, int | None]
    ) -> ClusterReliability | None:
        """Return the reliability of a cluster whose texts are those that the run found; None for others."""
        original = self._original_entries.get(cluster)
        rating = original and original.reliability
        if not rating or not np.array_equal(members, np.flatnonzero(self.points.clusters == cluster)):
            return None
        rival = None if rating.confused_with is None else successors.get(rating.confused_with)
        return replace(rating, confused_with=rival)

    def _find_label(self, cluster: int, state: ClusterState | None = None) -> Any:
        """Return the given class of a cluster after corrections, or in another state.

        Renaming a cluster or moving texts keeps its label, a merge keeps a label that all labelled parts share
        (`common_label`), and a cluster that was split off has none.
        """
        original = self._original_entries
        return common_label(original[part].label for part in (state or self.state).parts(cluster) if part in original)

    def has_given_name(self, cluster: int, state: ClusterState | None = None) -> bool:
        """Return whether a cluster's name was given: by a correction, as a class, or before the run.

        Parameters
        ----------
        cluster : int
            The cluster.
        state : ClusterState, optional
            The clusters, if not the present ones; a merge can take the class that named a cluster.
        """
        state = state or self.state
        original = self._original_entries.get(cluster)
        if cluster in state.named:
            return True
        if original is None or state.names[cluster] != original.name:
            return False
        if original.label is not None and original.name == str(original.label):
            return self._find_label(cluster, state) is not None
        return not is_found_name(original.name, original.keywords)

    def suggest_name(self, rows: NDArray[np.int64]) -> str:
        """Name texts that become a cluster of their own."""
        clusters = self.clusters.copy()
        clusters[rows] = self.state.next_cluster
        return self.suggest_names(clusters, [self.state.next_cluster])[0]

    def suggest_names(self, clusters: NDArray[np.int64], numbers: Sequence[int]) -> list[str]:
        """Name some clusters by their keywords, differently from each other and from the others.

        Parameters
        ----------
        clusters : array of int, shape (N,)
            The cluster of each text.
        numbers : sequence of int
            The clusters to name.

        Returns
        -------
        list of str
        """
        from rstc.results.describe import ClusterDescription  # imports scikit-learn
        from rstc.results.keywords import find_keywords

        keywords = find_keywords(self._phrases, clusters, only=numbers)
        descriptions = [
            ClusterDescription(cluster, len(members), None, keywords[cluster], self.choose_typical(members), [], [])
            for cluster in numbers
            if len(members := np.flatnonzero(clusters == cluster))
        ]
        present = set(np.unique(clusters).tolist()) - set(numbers)
        taken = [name for cluster, name in self.state.names.items() if cluster in present]
        return name_clusters(descriptions, self.points.texts, taken=taken)

    def find_successor(self, cluster: int) -> int | None:
        """Return the cluster that holds most texts of a cluster of the run after the corrections; None if none does."""
        clusters = self.clusters[self.points.clusters == cluster]
        numbers, counts = np.unique(clusters[clusters >= 0], return_counts=True)
        return int(numbers[counts.argmax()]) if len(numbers) else None

    @cached_property
    def _original_entries(self) -> dict[int, ClusterEntry]:
        return {entry.cluster: entry for entry in self.summary.clusters}

    @cached_property
    def _phrases(self) -> PhraseCounts:
        # Imports scikit-learn, which a run without corrections is read and shown without.
        from rstc.results.phrases import PhraseCounts

        return PhraseCounts.from_texts(self.points.texts)
