"""A run as it is now: what corrections make of its clusters."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rstc import InputError
from rstc.results.corrected_run import RunNow


@pytest.fixture
def run(finished_run: Path) -> RunNow:
    return RunNow.read(finished_run)


def entry(run: RunNow, cluster: int) -> dict[str, object]:
    return next(one for one in run.entries() if one["cluster"] == cluster)


def test_without_corrections_it_is_what_the_summary_says(run: RunNow) -> None:
    assert run.entries() == run.summary["clusters"]
    assert [one["name"] for one in run.entries()] == [", ".join(one["keywords"][:3]) for one in run.entries()]


def test_a_merged_cluster_has_the_texts_words_and_share_of_both(run: RunNow) -> None:
    before = {one["cluster"]: one for one in run.entries()}
    run.correct({"do": "merge", "cluster": 1, "into": 0})
    after = entry(run, 0)
    assert [one["cluster"] for one in run.entries()] == [0, 2, 3]
    assert after["size"] == before[0]["size"] + before[1]["size"]
    assert after["estimated_share"] == pytest.approx(before[0]["estimated_share"] + before[1]["estimated_share"])
    assert set(after["typical_at"]) == {*before[0]["typical_at"], *before[1]["typical_at"]}
    assert {*after["keywords"]} & {*before[0]["keywords"]}
    assert 1 not in after["near"]
    assert 0 not in after["near"]


def test_a_new_cluster_has_words_of_its_own_and_no_estimate(run: RunNow) -> None:
    rows = np.flatnonzero(run.clusters == 0)[:5].tolist()
    run.correct({"do": "split", "cluster": 0, "rows": rows})
    new = entry(run, 4)
    assert (new["size"], new["estimated_share"]) == (5, None)
    assert new["keywords"]


def test_the_number_of_an_undone_cluster_is_not_given_again(run: RunNow) -> None:
    rows = np.flatnonzero(run.clusters == 0)[:5].tolist()
    run.correct({"do": "split", "cluster": 0, "rows": rows})
    run.undo()
    run.correct({"do": "split", "cluster": 0, "rows": rows})
    assert set(run.now.names) == {0, 1, 2, 3, 5}
    assert (RunNow(run.summary, run.points, run.log).clusters == run.clusters).all()


def test_what_only_the_model_could_tell_is_left_out_where_texts_were_moved(run: RunNow) -> None:
    rows = np.flatnonzero(run.clusters == 0).tolist()
    run.correct({"do": "move", "rows": rows[:1], "into": 1})
    assert entry(run, 0)["estimated_share"] is None
    assert entry(run, 1)["estimated_share"] is None
    assert entry(run, 2)["estimated_share"] is not None
    run.correct({"do": "split", "cluster": 0, "rows": rows[1:3]})
    assert entry(run, 4)["confidence"] is None


def test_a_cluster_that_all_texts_left_is_not_shown(run: RunNow) -> None:
    run.correct({"do": "move", "rows": np.flatnonzero(run.clusters == 3).tolist(), "into": 0})
    assert [one["cluster"] for one in run.entries()] == [0, 1, 2]


def test_a_log_that_somebody_else_changed_is_not_overwritten(run_folder: Path) -> None:
    mine, theirs = RunNow.read(run_folder), RunNow.read(run_folder)
    theirs.correct({"do": "rename", "cluster": 0, "name": "theirs"})
    theirs.save(run_folder)
    mine.correct({"do": "rename", "cluster": 0, "name": "mine"})
    with pytest.raises(InputError, match="by somebody else"):
        mine.save(run_folder)
    assert RunNow.read(run_folder).now.names[0] == "theirs"


def test_undo_takes_back_the_last(run: RunNow) -> None:
    run.correct({"do": "merge", "cluster": 1, "into": 0})
    run.correct({"do": "rename", "cluster": 0, "name": "both"})
    run.undo()
    assert run.now.names[0] != "both"
    run.undo()
    assert run.entries() == run.summary["clusters"]
    with pytest.raises(InputError, match="nothing to undo"):
        run.undo()


def test_a_folder_without_a_run_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no run"):
        RunNow.read(tmp_path)
