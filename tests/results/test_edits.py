"""Corrections: each does what it says, says what is wrong, and replays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rstc import InputError
from rstc.results.edits import EDITS, NOISE, Corrected, Log, corrected, read_log, replayed, write_log

FOUND = Corrected(np.array([0, 0, 1, 1, 2]), {0: "parcels", 1: "refunds", 2: "recipes"}, 3)


def clusters_after(*edits: dict[str, Any]) -> list[int]:
    return replayed(FOUND, edits).clusters.tolist()


def test_each_correction_does_what_it_says() -> None:
    assert clusters_after({"do": "merge", "cluster": 0, "into": 2}) == [2, 2, 1, 1, 2]
    assert clusters_after({"do": "split", "cluster": 1, "rows": [3]}) == [0, 0, 1, 3, 2]
    assert clusters_after({"do": "move", "rows": [0, 4], "into": 1}) == [1, 0, 1, 1, 1]
    assert clusters_after({"do": "noise", "rows": [4]}) == [0, 0, 1, 1, NOISE]
    renamed = replayed(FOUND, [{"do": "rename", "cluster": 1, "name": "  money  back "}])
    assert renamed.names == {0: "parcels", 1: "money back", 2: "recipes"}


def test_a_number_is_never_used_again() -> None:
    split, merge = {"do": "split", "cluster": 1, "rows": [3]}, {"do": "merge", "cluster": 3, "into": 1}
    assert clusters_after(split, merge, split) == [0, 0, 1, 4, 2]


def test_new_clusters_have_names_that_none_has() -> None:
    edits = [{"do": "split", "cluster": 0, "rows": [1]}, {"do": "move", "rows": [1], "into": 0}]
    now = replayed(FOUND, [*edits, {"do": "split", "cluster": 0, "rows": [0]}])
    assert len(set(now.names.values())) == len(now.names) == 5


def test_a_name_that_no_file_could_hold_is_mended() -> None:
    assert corrected(FOUND, {"do": "rename", "cluster": 0, "name": "a\ud83d"}).names[0] == "a?"


def test_what_was_there_is_not_changed() -> None:
    before = FOUND.clusters.copy()
    clusters_after({"do": "noise", "rows": [0, 1, 2]}, {"do": "merge", "cluster": 1, "into": 2})
    assert (FOUND.clusters == before).all()


@pytest.mark.parametrize(
    ("edit", "said"),
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
        ({"do": "split", "cluster": 0, "rows": [0, 1]}, "some texts on either side"),
        ({"do": "move", "rows": [5], "into": 0}, "names their rows"),
        ({"do": "move", "rows": [-1], "into": 0}, "names their rows"),
        ({"do": "noise", "rows": []}, "names their rows"),
        ({"do": "noise"}, "names their rows"),
    ],
)
def test_a_correction_that_cannot_be_says_why(edit: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        corrected(FOUND, edit)


rows = st.lists(st.integers(0, 4), min_size=1, max_size=3)
cluster = st.integers(0, 5)
edits = st.one_of(
    st.fixed_dictionaries({"do": st.just("merge"), "cluster": cluster, "into": cluster}),
    st.fixed_dictionaries({"do": st.just("split"), "cluster": cluster, "rows": rows}),
    st.fixed_dictionaries({"do": st.just("move"), "rows": rows, "into": cluster}),
    st.fixed_dictionaries({"do": st.just("noise"), "rows": rows}),
)


@given(st.lists(edits, max_size=8))
def test_any_log_that_could_be_made_replays_to_the_same(tried: list[dict[str, Any]]) -> None:
    now, log = FOUND, []
    for edit in tried:
        try:
            now = corrected(now, edit)
        except InputError:
            continue
        log.append(edit)
    again = replayed(FOUND, log)
    assert (again.clusters == now.clusters).all()
    assert again.names == now.names
    assert set(now.clusters.tolist()) <= {NOISE, *now.names}


def test_a_log_is_kept_in_a_file(tmp_path: Path) -> None:
    assert read_log(tmp_path) == Log()
    log = Log(({"do": "rename", "cluster": 0, "name": "ünï 🎉"},), 7)
    write_log(tmp_path, log)
    assert read_log(tmp_path) == log


@pytest.mark.parametrize(
    "content", ["", "[]", '{"format_version": 2, "edits": []}', '{"format_version": 1, "edits": 3}']
)
def test_a_file_that_is_no_log_is_told(content: str, tmp_path: Path) -> None:
    (tmp_path / EDITS).write_text(content)
    with pytest.raises(InputError, match="not a log of corrections"):
        read_log(tmp_path)
