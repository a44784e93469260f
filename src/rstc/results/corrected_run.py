"""The clusters of a run as they are now: as the run found them, with the corrections that somebody made since."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rstc.errors import InputError
from rstc.results.describe import WordCounts
from rstc.results.edits import EDITS, Corrected, Edit, Log, corrected, read_log, replayed, write_log
from rstc.results.naming import WORDS_A_NAME
from rstc.results.run_folder import Points, read_points, read_summary

Entry = dict[str, Any]
LONGEST_QUOTE = 500  # characters of a text that a summary quotes


def quotes(texts: Sequence[str], **rows: list[int]) -> dict[str, list[Any]]:
    """Return quotes for an entry of a summary, the texts and where they stand.

    >>> quotes(["late again", "where is it"], typical=[1])
    {'typical': ['where is it'], 'typical_at': [1]}
    """
    said = {name: [texts[row][:LONGEST_QUOTE] for row in some] for name, some in rows.items()}
    return said | {f"{name}_at": some for name, some in rows.items()}


class RunNow:
    """A run with its texts and corrections.

    Attributes:
        summary: as the run wrote it.
        points: its texts.
        log: the corrections.
        now: the clusters and names after them.
    """

    def __init__(self, summary: dict[str, Any], points: Points, log: Log | None = None) -> None:
        self.summary, self.points = summary, points
        self.log = self._saved = log or Log()
        found = {one["cluster"]: one["name"] for one in summary["clusters"]}
        # A number that was asked for and stayed empty is taken too: the model may still give it.
        self._found = Corrected(points.clusters, found, len(summary["class_distribution"]))
        self.now = replayed(self._found, self.log.edits)

    @classmethod
    def read(cls, folder: Path) -> RunNow:
        """Read a run's folder."""
        summary, points = read_summary(folder), read_points(folder)
        if len(points.texts) != summary["input"].get("shown", summary["input"]["texts"]):
            raise InputError(f"the texts in {folder} are not those of its summary")
        return cls(summary, points, read_log(folder))

    def check_complete(self) -> None:
        """Refuse to correct a run of which only some texts are at hand."""
        if len(self.points.texts) < self.summary["input"]["texts"]:
            raise InputError(
                "this run shows a sample of its texts, as several processes made it; it cannot be corrected"
            )

    def correct(self, edit: Edit) -> None:
        """Make one more correction; a new cluster gets a number that none ever had."""
        self.check_complete()
        if isinstance(edit, dict) and edit.get("do") == "split":
            edit = {**edit, "new": max(self.now.next_cluster, self.log.next_cluster)}
        self.now = corrected(self.now, edit)
        self.log = Log((*self.log.edits, edit), max(self.now.next_cluster, self.log.next_cluster))

    def undo(self) -> None:
        """Take the last correction back."""
        if not self.log.edits:
            raise InputError("there is nothing to undo")
        self.log = replace(self.log, edits=self.log.edits[:-1])
        self.now = replayed(self._found, self.log.edits)

    def save(self, folder: Path) -> None:
        """Write the log, unless somebody else has written another since this one was read."""
        if read_log(folder) != self._saved:
            raise InputError(f"{folder / EDITS} was changed by somebody else meanwhile; begin again from there")
        if self.log != self._saved:
            write_log(folder, self.log)
            self._saved = self.log

    def copy(self) -> RunNow:
        """Return the same run, to try a correction on."""
        return copy(self)

    @property
    def clusters(self) -> NDArray[np.int64]:
        """The cluster of each text, (N,); NOISE: none."""
        return self.now.clusters

    @property
    def changed(self) -> NDArray[np.bool_]:
        """Whether each text is in another cluster than the run found, (N,)."""
        return np.asarray(self.now.clusters != self.points.clusters)

    def entries(self) -> list[Entry]:
        """Return the clusters as they are now, in the form that a summary has them.

        What corrections changed is found again where the texts tell it (size, keywords), taken from the clusters that
        the texts come from (quotes, nearest clusters), or None where only the model could tell (share, confidence).
        """
        found = {one["cluster"]: one for one in self.summary["clusters"]}
        names = self.now.names
        changed = self.changed
        if not changed.any():
            return [one | {"name": names[number]} for number, one in found.items() if number in names]
        keywords = self._words.keywords(self.clusters)
        home = {number: self.where_most_are(number) for number in found}
        entries = []
        for cluster, name in names.items():
            members = np.flatnonzero(self.clusters == cluster)
            if not len(members):
                continue
            before = self.points.clusters[members]
            parts = np.unique(before[before >= 0]).tolist()
            whole = (before >= 0).all() and len(members) == sum(found[part]["size"] for part in parts)
            sure = self.points.confidence[members[~changed[members]]]
            near = [home.get(other) for part in parts for other in found[part]["near"]]
            quoted = {name: self._quoted(name, cluster) for name in ("typical", "doubtful")}
            entries.append(
                {
                    "cluster": cluster,
                    "name": name,
                    "size": len(members),
                    "confidence": float(sure.mean()) if len(sure) else None,
                    "keywords": keywords[cluster],
                    "near": [n for n in dict.fromkeys(near) if n not in (cluster, None)],
                    "share": len(members) / len(self.points.texts),
                    "estimated_share": sum(found[part]["estimated_share"] for part in parts) if whole else None,
                    **quotes(self.points.texts, **quoted),
                }
            )
        return entries

    def name_for(self, rows: NDArray[np.int64]) -> str | None:
        """Return a name for texts that become a cluster of their own, by their keywords; None if they have none."""
        labels = self.clusters.copy()
        labels[rows] = self.now.next_cluster
        words = self._words.keywords(labels)[self.now.next_cluster]
        return ", ".join(words[:WORDS_A_NAME]) or None

    def _quoted(self, name: str, cluster: int) -> list[int]:
        """Return which of the texts that the run quoted are in this cluster now."""
        rows = (row for one in self.summary["clusters"] for row in one[f"{name}_at"])
        return [row for row in rows if self.clusters[row] == cluster]

    def where_most_are(self, cluster: int) -> int | None:
        """Return the cluster in which most texts of a cluster that the run found are now; None: they are noise."""
        now = self.clusters[self.points.clusters == cluster]
        numbers, counts = np.unique(now[now >= 0], return_counts=True)
        return int(numbers[counts.argmax()]) if len(numbers) else None

    @cached_property
    def _words(self) -> WordCounts:
        return WordCounts(self.points.texts)
