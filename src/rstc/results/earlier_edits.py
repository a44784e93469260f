"""The corrections that earlier updates of a run took over: what they were, and which texts they fixed.

An update begins an empty log of corrections. The texts that a user split off, moved, marked as noise or made a cluster
of keep their cluster in this and all later updates, and so do all texts of clusters that were split or merged.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rstc.errors import InputError
from rstc.io.atomic import read_json, replace_file
from rstc.results.edits import MAX_LOG_BYTES, Edit
from rstc.results.records import fits

EARLIER_EDITS = "edits-earlier.json"
FORMAT_VERSION = 1


@dataclass(frozen=True)
class EarlierEdits:
    """Corrections that are part of a run.

    Attributes
    ----------
    edits : tuple of dict
        The corrections, oldest first.
    rows : tuple of int
        The texts that they fixed, in order.
    """

    edits: tuple[Edit, ...] = ()
    rows: tuple[int, ...] = ()

    def add(self, edits: Iterable[Edit], clusters: NDArray[np.int64]) -> EarlierEdits:
        """Return these corrections followed by others, which led to the clusters (N,).

        >>> edits = [{"do": "noise", "rows": [4, 3]}, {"do": "merge", "cluster": 0, "into": 1}]
        >>> EarlierEdits().add(edits, np.array([2, 1, 1, -1, -1])).rows
        (1, 2, 3, 4)
        """
        added = tuple(edits)
        rows = {row for edit in added for row in edit.get("rows", ())}
        changed = [
            edit[key]
            for edit in added
            if edit["do"] in ("split", "merge")
            for key in ("cluster", "into")
            if key in edit
        ]
        rows.update(np.flatnonzero(np.isin(clusters, changed)).tolist())
        return EarlierEdits((*self.edits, *added), tuple(sorted(rows.union(self.rows))))


def read_earlier_edits(folder: Path) -> EarlierEdits:
    """Read the earlier corrections of a run folder; there are none without a file."""
    path = folder / EARLIER_EDITS
    if not path.exists():
        return EarlierEdits()
    try:
        content = read_json(path, MAX_LOG_BYTES)
        if content["format_version"] != FORMAT_VERSION:
            raise ValueError
        edits, rows = content["edits"], content["rows"]
        if not fits(edits, list[dict[str, Any]]) or not fits(rows, list[int]) or min(rows, default=0) < 0:
            raise TypeError
        return EarlierEdits(tuple(edits), tuple(rows))
    except (OSError, ValueError, KeyError, TypeError):
        raise InputError(f"{path} is not a log of corrections") from None


def write_earlier_edits(folder: Path, earlier: EarlierEdits) -> None:
    """Write the earlier corrections of a run folder, atomically."""
    content = {"format_version": FORMAT_VERSION, "rows": earlier.rows, "edits": earlier.edits}
    with replace_file(folder / EARLIER_EDITS) as temporary:
        temporary.write_text(json.dumps(content), encoding="utf-8")
