"""Corrections to a clustering: a log of edits that replays to the corrected clusters without a model.

Edits refer to texts by their index among the texts of the run, and a split lists the texts that go to the new cluster.
Cluster numbers are stable: a new cluster gets a number that no cluster had before, and the number of a cluster that was
merged into another is not used again.

    {"do": "rename", "cluster": 3, "name": "late parcels", "description": "Parcels that arrive after their date."}
    {"do": "merge", "cluster": 3, "into": 1, "name": "parcels"}
    {"do": "split", "cluster": 3, "rows": [5, 8], "new": 12, "name": "lost parcels"}
    {"do": "move", "rows": [5, 8], "into": 1}
    {"do": "noise", "rows": [5, 8]}
    {"do": "create", "rows": [5, 8], "new": 13, "name": "gift cards", "proposal": 1}

The description of a rename and the name of a merge or a split are optional. A merged cluster without a name in the edit
keeps the one it had. A created cluster takes its texts from wherever they are; `proposal` is the number of the proposal
that was accepted.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import chain, count
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rstc.errors import InputError
from rstc.io.atomic import read_json, replace_file
from rstc.io.columns import clean_text
from rstc.io.predictions import NO_CLUSTER
from rstc.results.naming import MAX_NAME_LENGTH
from rstc.results.records import fits

EDITS = "edits.json"
FORMAT_VERSION = 1
MAX_DESCRIPTION_LENGTH = 500  # characters
MAX_LOG_BYTES = 2**28
MAX_CLUSTER = 1_000_000  # the largest cluster number that a log may use

Edit = dict[str, Any]


@dataclass(frozen=True)
class EditLog:
    """The edits of a run.

    Attributes
    ----------
    edits : tuple of dict
        The edits in the order in which they were made.
    next_cluster : int
        The first number that no cluster ever had, clusters of undone edits included.
    """

    edits: tuple[Edit, ...] = ()
    next_cluster: int = 0


@dataclass(frozen=True, eq=False)
class ClusterState:
    """The clusters after some edits.

    Attributes
    ----------
    clusters : array of int, shape (N,)
        The cluster of each text, `NO_CLUSTER` if it has none.
    names : mapping
        From the number of each cluster to its name.
    next_cluster : int
        The number that the next new cluster gets.
    merged : mapping
        From the number of each cluster that others were merged into to all its parts, itself included.
    descriptions : mapping
        From the number of a cluster to a sentence on what its texts are about; most clusters have none.
    named : frozenset of int
        The clusters whose present name was given by a rename.
    """

    clusters: NDArray[np.int64]
    names: Mapping[int, str]
    next_cluster: int
    merged: Mapping[int, frozenset[int]] = field(default_factory=dict)
    descriptions: Mapping[int, str] = field(default_factory=dict)
    named: frozenset[int] = frozenset()

    def parts(self, cluster: int) -> frozenset[int]:
        """Return the clusters that were merged into a cluster, itself included."""
        return self.merged.get(cluster, frozenset({cluster}))


def common_label(labels: Iterable[Any]) -> Any:
    """Return the label of a cluster that is merged from clusters with these labels.

    A merged cluster keeps a label if all its parts that have a label have the same one, else it has none.

    Parameters
    ----------
    labels : iterable
        The given class of each part, None for a part without one.

    Returns
    -------
    object
        The common label or None.

    Examples
    --------
    >>> common_label(["late", None, "late"]), common_label(["late", "lost"]), common_label([None])
    ('late', None, None)
    """
    distinct = {label for label in labels if label is not None}
    return distinct.pop() if len(distinct) == 1 else None


def replay_edits(initial: ClusterState, edits: Sequence[Edit]) -> ClusterState:
    """Apply edits one after the other.

    Parameters
    ----------
    initial : ClusterState
        The clusters as the run found them.
    edits : sequence of dict
        The edits.

    Returns
    -------
    ClusterState

    Examples
    --------
    >>> initial = ClusterState(np.array([0, 0, 1, 2]), {0: "a", 1: "b", 2: "c"}, 3)
    >>> state = replay_edits(initial, [{"do": "merge", "cluster": 1, "into": 0}])
    >>> state.clusters.tolist(), dict(state.names)
    ([0, 0, 0, 2], {0: 'a', 2: 'c'})
    """
    return reduce(apply_edit, edits, initial)


def apply_edit(state: ClusterState, edit: Edit) -> ClusterState:
    """Return the clusters after one edit.

    Parameters
    ----------
    state : ClusterState
        The clusters before.
    edit : dict
        The edit; its action is under the key "do".

    Returns
    -------
    ClusterState

    Raises
    ------
    InputError
        If the edit is malformed or does not fit the clusters.
    """
    action = edit.get("do") if isinstance(edit, dict) else None
    if not isinstance(action, str) or action not in _ACTIONS:
        raise InputError(f"a correction is one of {', '.join(_ACTIONS)}, got {action!r}")
    return _ACTIONS[action](state, edit)


def validate_name(name: Any) -> str:
    """Return a cluster's name on one line, without control characters.

    Parameters
    ----------
    name : str
        The name as it was typed.

    Returns
    -------
    str

    Raises
    ------
    InputError
        If the name is empty, or if it is longer than `MAX_NAME_LENGTH`.

    Examples
    --------
    >>> validate_name("  money \\n back ")
    'money back'
    """
    return _validate_line(name, "a name", MAX_NAME_LENGTH)


def validate_description(description: Any) -> str:
    """Return a cluster's description on one line; raise InputError unless it has 1 to 500 characters."""
    return _validate_line(description, "a description", MAX_DESCRIPTION_LENGTH)


def _validate_line(value: Any, what: str, max_length: int) -> str:
    characters = (clean_text(value) or "") if isinstance(value, str) else ""
    line = " ".join("".join(character if character.isprintable() else " " for character in characters).split())
    if not line or len(line) > max_length:
        raise InputError(f"{what} has 1 to {max_length} characters, got {len(line)}")
    return line


def _rename(state: ClusterState, edit: Edit) -> ClusterState:
    cluster = _get_cluster(state, edit, "cluster")
    descriptions = state.descriptions
    if edit.get("description") is not None:
        descriptions = {**descriptions, cluster: validate_description(edit["description"])}
    names = {**state.names, cluster: validate_name(edit.get("name"))}
    return replace(state, names=names, descriptions=descriptions, named=state.named | {cluster})


def _merge(state: ClusterState, edit: Edit) -> ClusterState:
    cluster, into = _get_cluster(state, edit, "cluster"), _get_cluster(state, edit, "into")
    if cluster == into:
        raise InputError(f"cluster {cluster} cannot be merged with itself")
    names = {number: name for number, name in state.names.items() if number != cluster}
    descriptions = {number: text for number, text in state.descriptions.items() if number != cluster}
    named = state.named - {cluster}
    if edit.get("name"):
        others = {number: name for number, name in names.items() if number != into}
        names[into] = _make_unique(others, validate_name(edit["name"]))
        descriptions.pop(into, None)  # it was of one part only
        named -= {into}
    merged = {**state.merged, into: state.parts(into) | state.parts(cluster)}
    clusters = np.where(state.clusters == cluster, into, state.clusters)
    return ClusterState(clusters, names, state.next_cluster, merged, descriptions, named)


def _split(state: ClusterState, edit: Edit) -> ClusterState:
    cluster, rows = _get_cluster(state, edit, "cluster"), _get_rows(state, edit)
    if (state.clusters[rows] != cluster).any():
        raise InputError(f"rows of other clusters cannot be split off cluster {cluster}")
    if len(rows) == (state.clusters == cluster).sum():
        raise InputError(f"a split of cluster {cluster} must leave at least one text in it")
    name = validate_name(edit["name"]) if edit.get("name") else state.names[cluster]
    return _add_cluster(state, edit, rows, name)


def _create(state: ClusterState, edit: Edit) -> ClusterState:
    rows, new = _get_rows(state, edit), _get_new_number(state, edit)
    return _add_cluster(state, edit, rows, validate_name(edit["name"]) if edit.get("name") else f"cluster {new}")


def _add_cluster(state: ClusterState, edit: Edit, rows: NDArray[np.int64], name: str) -> ClusterState:
    """Return the clusters with a new one that holds some rows."""
    new = _get_new_number(state, edit)
    clusters = state.clusters.copy()
    clusters[rows] = new
    names = {**state.names, new: _make_unique(state.names, name)}
    return replace(state, clusters=clusters, names=names, next_cluster=new + 1)


def _get_new_number(state: ClusterState, edit: Edit) -> int:
    """Return the number of the cluster that an edit adds."""
    new = edit.get("new", state.next_cluster)
    if isinstance(new, bool) or not isinstance(new, int) or not state.next_cluster <= new <= MAX_CLUSTER:
        raise InputError(f"a new cluster cannot have the number {new!r}")
    return new


def _make_unique(names: Mapping[int, str], name: str) -> str:
    """Return a name, with a number appended if another cluster has it."""
    candidates = chain([name], (f"{name} ({i})" for i in count(2)))
    return next(candidate for candidate in candidates if candidate not in names.values())


def _move(state: ClusterState, edit: Edit) -> ClusterState:
    clusters = state.clusters.copy()
    clusters[_get_rows(state, edit)] = _get_cluster(state, edit, "into")
    return replace(state, clusters=clusters)


def _remove_from_clusters(state: ClusterState, edit: Edit) -> ClusterState:
    clusters = state.clusters.copy()
    clusters[_get_rows(state, edit)] = NO_CLUSTER
    return replace(state, clusters=clusters)


_ACTIONS = {
    "rename": _rename,
    "merge": _merge,
    "split": _split,
    "move": _move,
    "noise": _remove_from_clusters,
    "create": _create,
}
ADDING_ACTIONS = ("split", "create")  # that add a cluster


def _get_cluster(state: ClusterState, edit: Edit, key: str) -> int:
    """Return an existing cluster that an edit names."""
    cluster = edit.get(key)
    if isinstance(cluster, bool) or not isinstance(cluster, int) or cluster not in state.names:
        raise InputError(f"there is no cluster {cluster!r}")
    return cluster


def _get_rows(state: ClusterState, edit: Edit) -> NDArray[np.int64]:
    """Return the distinct rows that an edit names, in order."""
    rows = edit.get("rows")
    n_texts = len(state.clusters)
    if not isinstance(rows, list) or not rows or not all(type(row) is int and 0 <= row < n_texts for row in rows):
        raise InputError(f"rows must be a list of integers from 0 to {n_texts - 1}")
    return np.unique(np.array(rows, dtype=np.int64))


def read_log(folder: Path) -> EditLog:
    """Read the log of a run folder; it is empty if there is no file."""
    path = folder / EDITS
    if not path.exists():
        return EditLog()
    try:
        log = read_json(path, MAX_LOG_BYTES)
        if log["format_version"] != FORMAT_VERSION or not fits(log["edits"], list[dict[str, Any]]):
            raise ValueError
        next_cluster = log["next_cluster"]
        if not fits(next_cluster, int) or not 0 <= next_cluster <= MAX_CLUSTER:
            raise ValueError
        return EditLog(tuple(log["edits"]), next_cluster)
    except (OSError, ValueError, KeyError, TypeError):
        raise InputError(f"{path} is not a log of corrections") from None


def write_log(folder: Path, log: EditLog) -> None:
    """Write the log of a run folder, atomically."""
    content = {"format_version": FORMAT_VERSION, "next_cluster": log.next_cluster, "edits": log.edits}
    with replace_file(folder / EDITS) as temporary:
        temporary.write_text(json.dumps(content), encoding="utf-8")
