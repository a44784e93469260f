"""The levels of detail of a run: groups of its clusters, parts of its clusters, and how corrections change them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rstc.io.predictions import NO_CLUSTER
from rstc.pseudo_labels.cluster_count import MEDIUM
from rstc.results.edits import Edit
from rstc.results.naming import name_clusters
from rstc.results.records import Record, stored_if_set

if TYPE_CHECKING:
    from typing_extensions import Self

Ints = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class LevelGroup(Record):
    """A group of texts of a level.

    Attributes
    ----------
    name : str
        Its name, which no other group of the level has.
    size : int
        Number of texts.
    clusters : list of int
        The clusters of the run that it consists of, or the one that it is a part of.
    parts : list of int or None
        Of a level that is finer than the clusters: the values of the column `fine` of points.parquet that it holds.
    """

    name: str
    size: int
    clusters: list[int]
    parts: list[int] | None = field(default=None, metadata=stored_if_set())


@dataclass(frozen=True, kw_only=True)
class Level(Record):
    """A level of detail.

    Attributes
    ----------
    name : {"coarse", "medium", "fine"}
        Its name.
    is_chosen : bool
        Whether its groups are the clusters of the run.
    groups : list of LevelGroup
        Its groups, by number.
    """

    name: str
    is_chosen: bool
    groups: list[LevelGroup]

    def to_json(self) -> dict[str, Any]:
        """Return the level as a JSON object."""
        return {**super().to_json(), "groups": [group.to_json() for group in self.groups]}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """Read a level from a JSON object."""
        return super().from_json({**values, "groups": [LevelGroup.from_json(group) for group in values["groups"]]})


@dataclass(frozen=True)
class ShownGroup:
    """A group of a level of a run after its corrections: whole clusters, or a part of one.

    Attributes
    ----------
    name : str
        Its name.
    clusters : list of int
        The clusters that it consists of, or the one that it is a part of.
    rows : array of int or None
        Its texts, if the level is finer than the clusters.
    """

    name: str
    clusters: list[int]
    rows: Ints | None = None


@dataclass(frozen=True)
class ShownLevel:
    """A level of a run after its corrections.

    Attributes
    ----------
    name : {"coarse", "medium", "fine"}
        Its name.
    is_chosen : bool
        Whether its groups are the clusters.
    groups : list of ShownGroup
        Its groups.
    """

    name: str
    is_chosen: bool
    groups: list[ShownGroup]


def build_levels(
    labels: Mapping[str, Ints], chosen: str, texts: Sequence[str], shown: Ints, names: Mapping[int, str]
) -> tuple[list[Level], Ints | None]:
    """Build the levels of a run.

    Parameters
    ----------
    labels : mapping
        The group of each of N texts (negative for none) by level, from coarse to fine, each nested in the one before.
    chosen : str
        The level whose groups are the clusters of the run.
    texts : sequence of str
        The n texts that are shown, by which groups are named.
    shown : array of int, shape (n,)
        Which of the N texts these are.
    names : mapping
        Name of each cluster.

    Returns
    -------
    levels : list of Level
        From coarse to fine. A level with the groups of another one is left out; empty if only one is left.
    parts : array of int, shape (n,), or None
        Group of each shown text in the finest level, if that is finer than the clusters.
    """
    kept: dict[int, str] = {}  # by the number of groups: of nested levels with as many groups, one is enough
    for name in sorted(labels, key=lambda name: (name != chosen, name != MEDIUM)):
        kept.setdefault(len(np.unique(labels[name])), name)
    order = [name for name in labels if name in kept.values()]
    if len(order) < 2:
        return [], None
    clusters, finest = labels[chosen], labels[order[-1]]
    levels = []
    for name in order:
        is_finer = order.index(name) > order.index(chosen)
        members = _list_members(labels[name], clusters)
        group_names = name_groups(labels[name], clusters, names, texts, shown)
        sizes = np.bincount(labels[name][labels[name] >= 0])
        parts = _list_members(labels[name], finest) if is_finer else {}
        groups = [
            LevelGroup(name=group_names[group], size=int(sizes[group]), clusters=members[group], parts=parts.get(group))
            for group in members
        ]
        levels.append(Level(name=name, is_chosen=name == chosen, groups=groups))
    return levels, finest[shown] if order[-1] != chosen else None


def name_groups(
    groups: Ints, clusters: Ints, names: Mapping[int, str], texts: Sequence[str], shown: Ints
) -> dict[int, str]:
    """Name the groups of a level: as the cluster that has the same texts, or by keywords; each name is used once.

    Parameters
    ----------
    groups, clusters : array of int, shape (N,)
        The group and the cluster of each text, negative for none.
    names : mapping
        Name of each cluster.
    texts : sequence of str
        The n texts that are shown.
    shown : array of int, shape (n,)
        Which of the N texts these are.

    Returns
    -------
    dict
        From group to name.
    """
    members, parts = _list_members(groups, clusters), _list_members(clusters, groups)
    same = {group: own[0] for group, own in members.items() if len(own) == 1 and len(parts[own[0]]) == 1}
    if len(same) == len(members):
        return _make_unique({group: names[cluster] for group, cluster in same.items()})
    from rstc.results.describe import ClusterDescription  # imports scikit-learn
    from rstc.results.keywords import find_keywords
    from rstc.results.phrases import PhraseCounts

    keywords, sizes = find_keywords(PhraseCounts.from_texts(texts), groups[shown]), np.bincount(groups[groups >= 0])
    first_rows = {group: np.flatnonzero(groups[shown] == group)[:1].tolist() for group in members}
    descriptions = [
        ClusterDescription(group, int(sizes[group]), None, keywords.get(group, []), first_rows[group], [], [])
        for group in members
    ]
    given: list[str | None] = [None] * len(sizes)
    for group, cluster in same.items():
        given[group] = names[cluster]
    return _make_unique(dict(zip(members, name_clusters(descriptions, texts, given), strict=True)))


def _list_members(groups: Ints, clusters: Ints) -> dict[int, list[int]]:
    """Return the clusters of the texts of each group, in order; texts without a group are left out."""
    rows = groups >= 0
    width = int(clusters.max(initial=0)) + 1
    members: dict[int, list[int]] = {}
    for pair in np.unique(groups[rows] * width + clusters[rows]).tolist():
        members.setdefault(pair // width, []).append(pair % width)
    return members


def _make_unique(names: Mapping[int, str]) -> dict[int, str]:
    """Return names with a number appended to those that an earlier group has."""
    unique: dict[int, str] = {}
    for group, name in names.items():
        candidates = (name if i == 1 else f"{name} ({i})" for i in count(1))
        taken = set(unique.values())
        unique[group] = next(candidate for candidate in candidates if candidate not in taken)
    return unique


def relate_levels(
    levels: Sequence[Level], original: Ints, parts: Ints | None, clusters: Ints, names: Mapping[int, str]
) -> list[ShownLevel]:
    """Relate the levels of a run to its clusters after corrections.

    The level with about as many groups as there are clusters now becomes the clusters themselves. On coarser levels a
    corrected cluster belongs to the group that holds most of its texts; on finer levels it is divided if it still
    consists of whole groups.

    Parameters
    ----------
    levels : sequence of Level
        The levels that the run found.
    original, clusters : array of int, shape (N,)
        The cluster of each text in the run and after corrections, negative for none.
    parts : array of int, shape (N,), or None
        The column `fine` of points.parquet.
    names : mapping
        Name of each cluster after corrections.

    Returns
    -------
    list of ShownLevel
        From coarse to fine, each nested in the one before; empty if only one is left.
    """
    present = np.unique(clusters[clusters >= 0]).tolist()
    if not levels or not present:
        return []
    own = next(i for i, level in enumerate(levels) if level.is_chosen)
    if not np.array_equal(original, clusters):
        distance = [abs(np.log(len(level.groups) / len(present))) for level in levels]
        own = min(range(len(levels)), key=lambda i: (round(distance[i], 9), i != own))
    shown = [_name_uniquely([ShownGroup(names[cluster], [cluster]) for cluster in present])]
    chosen, kept = shown[0], [levels[own].name]
    units = {cluster: [cluster] for cluster in present}  # groups of the level below, as lists of clusters
    for level in reversed(levels[:own]):
        groups = _label_texts(level, original, parts)
        joined: dict[int, list[int]] = {}
        for unit in units.values():
            inside = groups[np.isin(clusters, unit)]
            inside = inside[inside >= 0]
            # A cluster of outliers alone is its own group.
            group = int(np.bincount(inside).argmax()) if len(inside) else -1 - unit[0]
            joined.setdefault(group, []).extend(unit)
        if len(joined) < len(units):
            units = dict(sorted(joined.items(), key=lambda item: (item[0] < 0, item[0])))
            found = [
                ShownGroup(
                    names[members[0]] if len(members) == 1 or group < 0 else level.groups[group].name, sorted(members)
                )
                for group, members in units.items()
            ]
            shown.insert(0, _name_uniquely(found))
            kept.insert(0, level.name)
    for level in levels[own + 1 :]:
        found = _divide(level, _label_texts(level, original, parts), clusters, present, names)
        if len(found) > len(shown[-1]):
            shown.append(_name_uniquely(found))
            kept.append(level.name)
    if len(shown) < 2:
        return []
    return [ShownLevel(name, groups is chosen, groups) for name, groups in zip(kept, shown, strict=True)]


def _label_texts(level: Level, original: Ints, parts: Ints | None) -> Ints:
    """Return the index of each text's group in a level, NO_CLUSTER for texts without one."""
    is_finer = level.groups[0].parts is not None and parts is not None
    source = parts if is_finer and parts is not None else original
    table = np.full(int(source.max(initial=0)) + 1, NO_CLUSTER)
    for index, group in enumerate(level.groups):
        table[(group.parts if is_finer else group.clusters) or []] = index
    return np.where(source >= 0, table[np.maximum(source, 0)], NO_CLUSTER)


def _divide(
    level: Level, groups: Ints, clusters: Ints, present: Sequence[int], names: Mapping[int, str]
) -> list[ShownGroup]:
    """Return the groups of a finer level: whole groups of it where a cluster consists of them, else the cluster."""
    sizes = np.bincount(groups[groups >= 0], minlength=len(level.groups))
    found = []
    for cluster in present:
        rows = np.flatnonzero(clusters == cluster)
        inside, counts = np.unique(groups[rows], return_counts=True)
        is_whole = inside[0] >= 0 and np.array_equal(counts, sizes[inside])
        if not is_whole or len(inside) == 1:
            found.append(ShownGroup(names[cluster], [cluster], rows))
            continue
        for index in inside.tolist():
            found.append(ShownGroup(level.groups[index].name, [cluster], rows[groups[rows] == index]))
    return found


def _name_uniquely(groups: list[ShownGroup]) -> list[ShownGroup]:
    """Return groups whose names differ."""
    names = _make_unique(dict(enumerate(group.name for group in groups)))
    return [replace(group, name=names[i]) for i, group in enumerate(groups)]


def find_level_edits(level: ShownLevel, clusters: Ints, next_cluster: int, keep_names: set[int]) -> list[Edit]:
    """Return the corrections that make the groups of a level the clusters.

    Parameters
    ----------
    level : ShownLevel
        The level.
    clusters : array of int, shape (N,)
        The cluster of each text.
    next_cluster : int
        The number of the first new cluster.
    keep_names : set of int
        Clusters whose names are kept, because a user gave them.

    Returns
    -------
    list of dict
        Merges into the largest cluster of each group; splits of all parts of a cluster but the largest; names. Each
        edit has the name of the level under the key "level".
    """
    edits: list[Edit] = []
    largest: dict[int, ShownGroup] = {}  # part of each cluster that keeps its number
    for group in level.groups:
        if group.rows is None:
            sizes = {cluster: -int((clusters == cluster).sum()) for cluster in group.clusters}
            into, *others = sorted(group.clusters, key=lambda cluster: (sizes[cluster], cluster))
            edits += [{"do": "merge", "cluster": cluster, "into": into} for cluster in others]
            if others and into not in keep_names:
                edits.append({"do": "rename", "cluster": into, "name": group.name})
        else:
            cluster = group.clusters[0]
            kept = largest.get(cluster)
            largest[cluster] = group if kept is None or len(group.rows) > len(kept.rows) else kept  # type: ignore[arg-type]
    for group in level.groups:
        if group.rows is None:
            continue
        cluster = group.clusters[0]
        if group is not largest[cluster]:
            edits.append(
                {
                    "do": "split",
                    "cluster": cluster,
                    "rows": group.rows.tolist(),
                    "new": next_cluster,
                    "name": group.name,
                }
            )
            next_cluster += 1
    split = {edit["cluster"] for edit in edits if edit["do"] == "split"}
    edits += [
        {"do": "rename", "cluster": cluster, "name": group.name}
        for cluster, group in largest.items()
        if cluster in split and cluster not in keep_names
    ]
    return [{**edit, "level": level.name} for edit in edits]
