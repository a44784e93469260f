"""Edits: what each does, which are refused, and that a log replays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rstc import InputError
from rstc.io.predictions import NO_CLUSTER
from rstc.results.edits import EDITS, ClusterState, EditLog, apply_edit, read_log, replay_edits, write_log

INITIAL = ClusterState(np.array([0, 0, 1, 1, 2]), {0: "parcels", 1: "refunds", 2: "recipes"}, 3)


def clusters_after(*edits: dict[str, Any]) -> list[int]:
    return replay_edits(INITIAL, edits).clusters.tolist()


def test_each_edit_does_what_it_says() -> None:
    assert clusters_after({"do": "merge", "cluster": 0, "into": 2}) == [2, 2, 1, 1, 2]
    assert clusters_after({"do": "split", "cluster": 1, "rows": [3]}) == [0, 0, 1, 3, 2]
    assert clusters_after({"do": "move", "rows": [0, 4], "into": 1}) == [1, 0, 1, 1, 1]
    assert clusters_after({"do": "noise", "rows": [4]}) == [0, 0, 1, 1, NO_CLUSTER]
    renamed = replay_edits(INITIAL, [{"do": "rename", "cluster": 1, "name": "  money  back "}])
    assert renamed.names == {0: "parcels", 1: "money back", 2: "recipes"}


def test_cluster_number_is_never_used_again() -> None:
    split, merge = {"do": "split", "cluster": 1, "rows": [3]}, {"do": "merge", "cluster": 3, "into": 1}
    assert clusters_after(split, merge, split) == [0, 0, 1, 4, 2]


def test_new_clusters_have_unique_names() -> None:
    edits = [{"do": "split", "cluster": 0, "rows": [1]}, {"do": "move", "rows": [1], "into": 0}]
    state = replay_edits(INITIAL, [*edits, {"do": "split", "cluster": 0, "rows": [0]}])
    assert len(set(state.names.values())) == len(state.names) == 5


def test_name_that_utf_8_cannot_hold_is_repaired() -> None:
    assert apply_edit(INITIAL, {"do": "rename", "cluster": 0, "name": "a\ud83d"}).names[0] == "a?"


def test_edits_leave_the_initial_state_unchanged() -> None:
    before = INITIAL.clusters.copy()
    clusters_after({"do": "noise", "rows": [0, 1, 2]}, {"do": "merge", "cluster": 1, "into": 2})
    assert (INITIAL.clusters == before).all()


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        ({"do": []}, "one of rename"),
        ({"do": "rename", "cluster": 0, "name": "\x00" * 9}, "1 to 200 characters"),
        ({"do": "rename", "cluster": 0, "name": None}, "1 to 200 characters"),
        ({"do": "split", "cluster": 0, "rows": [0], "new": 1}, "cannot have the number 1"),
        ({"do": "split", "cluster": 0, "rows": [0], "new": 10**12}, "cannot have the number"),
        ({"do": "explode"}, "one of rename, merge, split, move, noise"),
        ({"do": "merge", "cluster": 0, "into": 0}, "with itself"),
        ({"do": "merge", "cluster": 7, "into": 0}, "no cluster 7"),
        ({"do": "merge", "cluster": True, "into": 0}, "no cluster True"),
        ({"do": "rename", "cluster": 0, "name": " "}, "1 to 200 characters"),
        ({"do": "rename", "cluster": 0, "name": "x" * 201}, "1 to 200 characters"),
        ({"do": "split", "cluster": 0, "rows": [2]}, "rows of other clusters"),
        ({"do": "split", "cluster": 0, "rows": [0, 1]}, "at least one text in it"),
        ({"do": "move", "rows": [5], "into": 0}, "rows must be a list"),
        ({"do": "move", "rows": [-1], "into": 0}, "rows must be a list"),
        ({"do": "noise", "rows": []}, "rows must be a list"),
        ({"do": "noise"}, "rows must be a list"),
    ],
)
def test_invalid_edit_is_refused(edit: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        apply_edit(INITIAL, edit)


rows = st.lists(st.integers(0, 4), min_size=1, max_size=3)
cluster = st.integers(0, 5)
edits = st.one_of(
    st.fixed_dictionaries({"do": st.just("merge"), "cluster": cluster, "into": cluster}),
    st.fixed_dictionaries({"do": st.just("split"), "cluster": cluster, "rows": rows}),
    st.fixed_dictionaries({"do": st.just("move"), "rows": rows, "into": cluster}),
    st.fixed_dictionaries({"do": st.just("noise"), "rows": rows}),
)


@settings(deadline=None)  # what a test may take is limited elsewhere
@given(st.lists(edits, max_size=8))
def test_any_log_replays_to_the_same_state(candidates: list[dict[str, Any]]) -> None:
    state, log = INITIAL, []
    for edit in candidates:
        try:
            state = apply_edit(state, edit)
        except InputError:
            continue
        log.append(edit)
    replayed = replay_edits(INITIAL, log)
    assert (replayed.clusters == state.clusters).all()
    assert replayed.names == state.names
    assert replayed.merged == state.merged
    assert set(state.clusters.tolist()) <= {NO_CLUSTER, *state.names}


def test_log_survives_a_round_trip(tmp_path: Path) -> None:
    assert read_log(tmp_path) == EditLog()
    log = EditLog(({"do": "rename", "cluster": 0, "name": "ünï 🎉"},), 7)
    write_log(tmp_path, log)
    assert read_log(tmp_path) == log


@pytest.mark.parametrize(
    "content", ["", "[]", '{"format_version": 2, "edits": []}', '{"format_version": 1, "edits": 3}']
)
def test_file_that_is_no_log_is_refused(content: str, tmp_path: Path) -> None:
    (tmp_path / EDITS).write_text(content)
    with pytest.raises(InputError, match="not a log of corrections"):
        read_log(tmp_path)


def test_a_rename_may_carry_a_description_which_later_renames_keep() -> None:
    described = {"do": "rename", "cluster": 1, "name": "money", "description": " Money\nback. "}
    state = replay_edits(INITIAL, [described, {"do": "rename", "cluster": 1, "name": "refunds"}])
    assert (state.names[1], state.descriptions, state.named) == ("refunds", {1: "Money back."}, {1})
    with pytest.raises(InputError, match="a description has 1 to 500 characters, got 501"):
        apply_edit(INITIAL, {**described, "description": "x" * 501})


def test_a_merge_may_name_the_merged_cluster_whose_description_goes() -> None:
    described = {"do": "rename", "cluster": 1, "name": "money", "description": "Money back."}
    merge = {"do": "merge", "cluster": 0, "into": 1}
    kept = replay_edits(INITIAL, [described, merge])
    assert (kept.names[1], kept.descriptions) == ("money", {1: "Money back."})
    named = replay_edits(INITIAL, [described, {**merge, "name": INITIAL.names[2]}])
    assert (named.names[1], named.descriptions, named.named) == (f"{INITIAL.names[2]} (2)", {}, frozenset())


def test_created_cluster_takes_its_texts_from_anywhere_and_can_be_undone() -> None:
    initial = ClusterState(np.array([0, 0, 1, -1]), {0: "a", 1: "b"}, 2)
    create = {"do": "create", "rows": [1, 3], "name": "b", "proposal": 1}
    state = apply_edit(initial, create)
    assert state.clusters.tolist() == [0, 2, 1, 2]
    assert dict(state.names) == {0: "a", 1: "b", 2: "b (2)"}
    assert state.next_cluster == 3
    assert replay_edits(initial, []).clusters.tolist() == [0, 0, 1, -1]
    with pytest.raises(InputError, match="cannot have the number 1"):
        apply_edit(initial, {**create, "new": 1})
