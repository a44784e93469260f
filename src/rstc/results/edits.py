"""Corrections to a clustering: a log of what was done, which replays to the clusters as corrected.

An entry tells all that its replay needs, so that it needs no model: a split holds the texts that went to the new
cluster. Texts go by their place among the texts of the run. Numbers of clusters stay what they were; a new one gets a
number that none had, and one that was merged away is not used again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import chain, count
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rstc.errors import InputError
from rstc.io.atomic import replaced_file
from rstc.io.columns import clean

EDITS = "edits.json"
FORMAT_VERSION = 1
NOISE = -1
LONGEST_NAME = 200
LARGEST_NUMBER = 1_000_000  # of a cluster

Edit = dict[str, Any]


@dataclass(frozen=True)
class Log:
    """Corrections in their order, and the first number that no cluster ever had, undone ones included."""

    edits: tuple[Edit, ...] = ()
    next_cluster: int = 0


@dataclass(frozen=True, eq=False)
class Corrected:
    """Clusters after some corrections.

    Attributes:
        clusters: the cluster of each text, (N,); NOISE: none.
        names: of the clusters that there are, by number.
        next_cluster: the number that a new cluster gets.
    """

    clusters: NDArray[np.int64]
    names: Mapping[int, str]
    next_cluster: int


def replayed(found: Corrected, edits: Sequence[Edit]) -> Corrected:
    """Return what comes of clusters by a log of corrections.

    >>> found = Corrected(np.array([0, 0, 1, 2]), {0: "a", 1: "b", 2: "c"}, 3)
    >>> now = replayed(found, [{"do": "merge", "cluster": 1, "into": 0}])
    >>> now.clusters.tolist(), dict(now.names)
    ([0, 0, 0, 2], {0: 'a', 2: 'c'})
    """
    return reduce(corrected, edits, found)


def corrected(now: Corrected, edit: Edit) -> Corrected:
    """Return what one correction makes of clusters, or say what is wrong with it."""
    does = edit.get("do") if isinstance(edit, dict) else None
    if not isinstance(does, str) or does not in _DOES:
        raise InputError(f"a correction is one of {', '.join(_DOES)}, got {does!r}")
    return _DOES[does](now, edit)


def checked_name(name: Any) -> str:
    """Return a name on one line, or say what is wrong with it.

    >>> checked_name("  money \\n back ")
    'money back'
    """
    signs = (clean(name) or "") if isinstance(name, str) else ""
    line = " ".join("".join(sign if sign.isprintable() else " " for sign in signs).split())
    if not line or len(line) > LONGEST_NAME:
        raise InputError(f"a name has 1 to {LONGEST_NAME} characters")
    return line


def _renamed(now: Corrected, edit: Edit) -> Corrected:
    cluster = _cluster(now, edit, "cluster")
    return Corrected(now.clusters, {**now.names, cluster: checked_name(edit.get("name"))}, now.next_cluster)


def _merged(now: Corrected, edit: Edit) -> Corrected:
    cluster, into = _cluster(now, edit, "cluster"), _cluster(now, edit, "into")
    if cluster == into:
        raise InputError("a cluster cannot be merged with itself")
    names = {number: name for number, name in now.names.items() if number != cluster}
    return Corrected(np.where(now.clusters == cluster, into, now.clusters), names, now.next_cluster)


def _split(now: Corrected, edit: Edit) -> Corrected:
    cluster, rows = _cluster(now, edit, "cluster"), _rows(now, edit)
    if (now.clusters[rows] != cluster).any():
        raise InputError(f"rows of other clusters cannot be split off cluster {cluster}")
    if len(rows) == (now.clusters == cluster).sum():
        raise InputError("a split leaves some texts on either side")
    new = edit.get("new", now.next_cluster)
    if isinstance(new, bool) or not isinstance(new, int) or not now.next_cluster <= new <= LARGEST_NUMBER:
        raise InputError(f"a new cluster cannot have the number {new!r}")
    clusters = now.clusters.copy()
    clusters[rows] = new
    name = checked_name(edit["name"]) if edit.get("name") else now.names[cluster]
    return Corrected(clusters, {**now.names, new: _free_name(now, name)}, new + 1)


def _free_name(now: Corrected, name: str) -> str:
    """Return a name, with a number behind it if another cluster has it."""
    names = chain([name], (f"{name} ({i})" for i in count(2)))
    return next(new for new in names if new not in now.names.values())


def _moved(now: Corrected, edit: Edit) -> Corrected:
    clusters = now.clusters.copy()
    clusters[_rows(now, edit)] = _cluster(now, edit, "into")
    return Corrected(clusters, now.names, now.next_cluster)


def _put_aside(now: Corrected, edit: Edit) -> Corrected:
    clusters = now.clusters.copy()
    clusters[_rows(now, edit)] = NOISE
    return Corrected(clusters, now.names, now.next_cluster)


_DOES = {"rename": _renamed, "merge": _merged, "split": _split, "move": _moved, "noise": _put_aside}


def _cluster(now: Corrected, edit: Edit, name: str) -> int:
    cluster = edit.get(name)
    if isinstance(cluster, bool) or not isinstance(cluster, int) or cluster not in now.names:
        raise InputError(f"there is no cluster {cluster!r}")
    return cluster


def _rows(now: Corrected, edit: Edit) -> NDArray[np.int64]:
    rows = edit.get("rows")
    if (
        not isinstance(rows, list)
        or not rows
        or not all(type(row) is int and 0 <= row < len(now.clusters) for row in rows)
    ):
        raise InputError("a correction of texts names their rows")
    return np.unique(np.array(rows, dtype=np.int64))


def read_log(folder: Path) -> Log:
    """Return the log of a run's folder; empty if there is none."""
    path = folder / EDITS
    try:
        log = json.loads(path.read_text(encoding="utf-8"))
        if log["format_version"] != FORMAT_VERSION or not isinstance(log["edits"], list):
            raise ValueError
        return Log(tuple(log["edits"]), int(log["next_cluster"]))
    except FileNotFoundError:
        return Log()
    except (OSError, ValueError, KeyError, TypeError):
        raise InputError(f"{path} is not a log of corrections") from None


def write_log(folder: Path, log: Log) -> None:
    """Write the log; a stop in the middle leaves the one before."""
    content = {"format_version": FORMAT_VERSION, "next_cluster": log.next_cluster, "edits": log.edits}
    with replaced_file(folder / EDITS) as new:
        new.write_text(json.dumps(content), encoding="utf-8")
