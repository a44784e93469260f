"""Levels of detail: nested groups, their names, and what corrections make of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rstc.results.edits import ClusterState, replay_edits
from rstc.results.levels import Level, ShownLevel, build_levels, find_level_edits, relate_levels

TEXTS = [
    *("late parcel courier", "late parcel driver", "late parcel van", "lost parcel depot", "lost parcel shelf"),
    *("password code phone", "password code mail", "refund money bank", "refund money card", ""),
]
LABELS = {
    "coarse": np.array([0, 0, 0, 0, 0, 1, 1, 1, 1, -1]),
    "medium": np.array([0, 0, 0, 0, 0, 1, 1, 2, 2, -1]),
    "fine": np.array([0, 0, 0, 1, 1, 2, 2, 3, 3, -1]),
}
SHOWN = np.arange(len(TEXTS))
NAMES = {0: "parcel", 1: "password", 2: "refund"}


def build(chosen: str = "medium") -> tuple[list[Level], np.ndarray | None]:
    names = NAMES if chosen == "medium" else {0: "parcel", 1: "account"}
    return build_levels(LABELS, chosen, TEXTS, SHOWN, names)


def relate(edits: list[dict[str, object]], chosen: str = "medium") -> tuple[list[ShownLevel], ClusterState]:
    levels, parts = build(chosen)
    names = NAMES if chosen == "medium" else {0: "parcel", 1: "account"}
    state = replay_edits(ClusterState(LABELS[chosen], names, len(names)), edits)
    return relate_levels(levels, LABELS[chosen], parts, state.clusters, state.names), state


def test_groups_list_the_clusters_that_they_consist_of_or_are_a_part_of() -> None:
    levels, parts = build()
    assert [(level.name, level.is_chosen) for level in levels] == [("coarse", 0), ("medium", 1), ("fine", 0)]
    assert [group.clusters for group in levels[0].groups] == [[0], [1, 2]]
    assert [(group.clusters, group.parts) for group in levels[2].groups] == [
        ([0], [0]),
        ([0], [1]),
        ([1], [2]),
        ([2], [3]),
    ]
    assert [group.size for group in levels[2].groups] == [3, 2, 2, 2]
    assert parts is not None
    assert parts.tolist() == LABELS["fine"].tolist()


def test_groups_with_the_texts_of_a_cluster_have_its_name_and_others_are_named_by_keywords() -> None:
    levels, _ = build()
    assert [group.name for group in levels[1].groups] == ["parcel", "password", "refund"]
    assert levels[0].groups[0].name == "parcel"
    assert "late" in levels[2].groups[0].name
    assert "lost" in levels[2].groups[1].name
    assert levels[2].groups[2].name == "password"


def test_a_level_with_the_groups_of_another_one_is_left_out() -> None:
    levels, parts = build_levels({**LABELS, "fine": LABELS["medium"]}, "medium", TEXTS, SHOWN, NAMES)
    assert [level.name for level in levels] == ["coarse", "medium"]
    assert parts is None
    assert build_levels(dict.fromkeys(LABELS, LABELS["medium"]), "medium", TEXTS, SHOWN, NAMES) == ([], None)
    coarse_run, _ = build_levels({**LABELS, "fine": LABELS["medium"]}, "coarse", TEXTS, SHOWN, {0: "a", 1: "b"})
    assert [level.name for level in coarse_run] == ["coarse", "medium"]


def test_levels_are_read_back_as_they_were_written() -> None:
    levels, _ = build()
    assert [Level.from_json(level.to_json()) for level in levels] == levels
    assert "parts" not in levels[0].to_json()["groups"][0]


@pytest.mark.parametrize("detail", ["coarse", "fine"])
def test_the_corrections_of_a_switch_make_the_groups_of_the_level_the_clusters(detail: str) -> None:
    shown, state = relate([])
    level = next(level for level in shown if level.name == detail)
    after = replay_edits(state, find_level_edits(level, state.clusters, state.next_cluster, set()))
    assert np.array_equal(pair_up(after.clusters), pair_up(LABELS[detail]))
    assert sorted(after.names.values()) == sorted(group.name for group in level.groups)
    now = relate_levels(build()[0], LABELS["medium"], build()[1], after.clusters, after.names)
    assert [level.name for level in now if level.is_chosen] == [detail]
    assert {level.name: len(level.groups) for level in now} == {"coarse": 2, "medium": 3, "fine": 4}


def test_a_run_of_the_coarse_level_shows_the_finer_ones_as_parts_of_its_clusters() -> None:
    shown, _ = relate([], chosen="coarse")
    assert [(level.name, len(level.groups)) for level in shown] == [("coarse", 2), ("medium", 3), ("fine", 4)]
    groups = [(group.clusters, group.rows.tolist()) for group in shown[1].groups if group.rows is not None]
    assert groups == [([0], [0, 1, 2, 3, 4]), ([1], [5, 6]), ([1], [7, 8])]


def test_a_cluster_that_texts_were_moved_to_is_not_divided_any_more() -> None:
    shown, _ = relate([{"do": "move", "rows": [3], "into": 1}])
    assert [level.name for level in shown] == ["coarse", "medium"]  # no cluster consists of whole fine groups


def test_a_name_that_a_user_gave_is_kept_and_names_stay_different() -> None:
    shown, state = relate([{"do": "rename", "cluster": 1, "name": "parcel"}])
    assert [group.name for group in shown[1].groups] == ["parcel", "parcel (2)", "refund"]
    edits = find_level_edits(shown[0], state.clusters, state.next_cluster, keep_names={1})
    assert [edit["do"] for edit in edits] == ["merge"]


def pair_up(labels: np.ndarray) -> np.ndarray:
    """Return whether each two texts are in the same group."""
    return labels[:, None] == labels


ROWS = st.lists(st.integers(0, 9), min_size=1, max_size=4, unique=True)


@settings(deadline=None)  # the first example imports scikit-learn
@given(ROWS, st.integers(0, 2), st.booleans())
def test_levels_are_nested_and_names_unique_after_any_correction(rows: list[int], into: int, merges: bool) -> None:
    edits: list[dict[str, object]] = [{"do": "move", "rows": rows, "into": into}]
    if merges:
        edits.append({"do": "merge", "cluster": 2, "into": 0})
    shown, state = relate(edits)
    previous = None
    for level in shown:
        assert len({group.name for group in level.groups}) == len(level.groups)
        labels = np.full(len(TEXTS), -1)
        for number, group in enumerate(level.groups):
            labels[np.isin(state.clusters, group.clusters) if group.rows is None else group.rows] = number
        assert np.array_equal(labels >= 0, state.clusters >= 0)
        if previous is not None:
            pairs = {(int(fine), int(coarse)) for fine, coarse in zip(labels, previous, strict=True)}
            assert len(pairs) == len(set(labels.tolist()))
        previous = labels
