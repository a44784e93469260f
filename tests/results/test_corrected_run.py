"""A run with corrections: its entries, its labels, its log."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rstc import InputError
from rstc.report.html.content import build_page_content
from rstc.results.corrected_run import CorrectedRun
from rstc.results.summary import ClusterEntry


@pytest.fixture
def run(finished_run: Path) -> CorrectedRun:
    return CorrectedRun.read(finished_run)


def entry_of(run: CorrectedRun, cluster: int) -> ClusterEntry:
    return next(entry for entry in run.entries() if entry.cluster == cluster)


def test_entries_without_corrections_are_those_of_the_summary(run: CorrectedRun) -> None:
    assert run.entries() == run.summary.clusters
    assert all(set(entry.name.split(", ")) <= set(entry.keywords) for entry in run.entries())


def test_merged_cluster_has_texts_keywords_and_share_of_its_parts(run: CorrectedRun) -> None:
    before = {entry.cluster: entry for entry in run.entries()}
    run.correct({"do": "merge", "cluster": 1, "into": 0})
    after = entry_of(run, 0)
    assert [entry.cluster for entry in run.entries()] == [0, 2, 3]
    assert after.size == before[0].size + before[1].size
    assert after.estimated_share == pytest.approx(before[0].estimated_share + before[1].estimated_share)
    assert len({run.points.texts[row] for row in after.typical_rows}) == len(after.typical_rows) == 5
    assert set(run.clusters[after.typical_rows]) == {0}
    assert {*after.keywords} & {*before[0].keywords}
    assert 1 not in after.near
    assert 0 not in after.near


def test_merged_cluster_is_named_by_its_new_keywords_and_undone_with_its_merge(run: CorrectedRun) -> None:
    before = entry_of(run, 3).name
    run.correct({"do": "merge", "cluster": 0, "into": 3})
    merged = entry_of(run, 3)
    assert merged.name != before, "most of its texts come from the larger cluster"
    assert set(merged.name.split(", ")) <= set(merged.keywords)
    assert CorrectedRun(run.summary, run.points, run.log).state.names == run.state.names, "the log holds the name"
    run.undo()
    assert entry_of(run, 3).name == before


def test_merged_cluster_keeps_a_given_name_and_description(run: CorrectedRun) -> None:
    run.correct({"do": "rename", "cluster": 0, "name": "mine", "description": "My texts."})
    run.correct({"do": "merge", "cluster": 1, "into": 0})
    assert (entry_of(run, 0).name, entry_of(run, 0).description) == ("mine", "My texts.")
    run.correct({"do": "merge", "cluster": 0, "into": 2})
    assert entry_of(run, 2).name != "mine"
    assert entry_of(run, 2).description is None


def test_merged_cluster_keeps_the_name_of_its_class(run: CorrectedRun) -> None:
    clusters = [
        replace(entry, name="late", label="late") if entry.cluster == 0 else entry for entry in run.summary.clusters
    ]
    labelled = CorrectedRun(replace(run.summary, clusters=clusters), run.points)
    labelled.correct({"do": "merge", "cluster": 1, "into": 0})
    assert entry_of(labelled, 0).name == "late"


def test_clusters_that_corrections_do_not_touch_keep_their_keywords(run: CorrectedRun) -> None:
    before = {entry.cluster: entry.keywords for entry in run.entries()}
    run.correct({"do": "merge", "cluster": 1, "into": 0})
    assert {cluster: entry_of(run, cluster).keywords for cluster in (2, 3)} == {2: before[2], 3: before[3]}


def test_merged_cluster_of_a_run_without_embeddings_has_the_typical_texts_of_its_parts(run: CorrectedRun) -> None:
    run = CorrectedRun(run.summary, run.points)  # no folder to read them from
    before = {entry.cluster: entry for entry in run.entries()}
    run.correct({"do": "merge", "cluster": 1, "into": 0})
    typical = set(entry_of(run, 0).typical_rows)
    assert typical <= {*before[0].typical_rows, *before[1].typical_rows}
    assert typical & set(before[0].typical_rows)
    assert typical & set(before[1].typical_rows)


def test_clusters_that_corrections_do_not_touch_keep_their_typical_texts(run: CorrectedRun) -> None:
    before = entry_of(run, 2).typical_rows
    run.correct({"do": "merge", "cluster": 1, "into": 0})
    assert entry_of(run, 2).typical_rows == before


def test_clusters_that_corrections_do_not_touch_keep_their_reliability(run: CorrectedRun) -> None:
    before = {entry.cluster: entry.reliability for entry in run.entries()}
    assert before[2] is not None
    run.correct({"do": "merge", "cluster": 1, "into": 0})
    assert entry_of(run, 0).reliability is None
    after = entry_of(run, 2).reliability
    assert after is not None
    assert (after.n_found, after.separation) == (before[2].n_found, before[2].separation)
    assert after.confused_with != 1
    content = build_page_content(run)
    assert content["reliability"]["sentence"].startswith("Before corrections: ")


def test_new_cluster_has_keywords_and_no_estimated_share(run: CorrectedRun) -> None:
    rows = np.flatnonzero(run.clusters == 0)[:5].tolist()
    run.correct({"do": "split", "cluster": 0, "rows": rows})
    new = entry_of(run, 4)
    assert (new.size, new.estimated_share) == (5, None)
    assert new.keywords


def with_labels(run: CorrectedRun, *labels: str | None) -> CorrectedRun:
    clusters = [replace(entry, label=label) for entry, label in zip(run.summary.clusters, labels, strict=True)]
    return CorrectedRun(replace(run.summary, clusters=clusters), run.points)


def labels_of(run: CorrectedRun) -> dict[int, str | None]:
    return {entry.cluster: entry.label for entry in run.entries()}


def test_untouched_and_renamed_clusters_keep_their_labels(run: CorrectedRun) -> None:
    run = with_labels(run, "parcel", "password", "refund", None)
    run.correct({"do": "rename", "cluster": 1, "name": "login"})
    assert labels_of(run) == {0: "parcel", 1: "password", 2: "refund", 3: None}
    row = int(np.flatnonzero(run.clusters == 0)[0])
    run.correct({"do": "move", "rows": [row], "into": 2})
    run.correct({"do": "noise", "rows": [int(np.flatnonzero(run.clusters == 1)[0])]})
    assert labels_of(run) == {0: "parcel", 1: "password", 2: "refund", 3: None}


def test_merged_cluster_keeps_a_label_that_all_labelled_parts_share(run: CorrectedRun) -> None:
    merge = {"do": "merge", "cluster": 1, "into": 0}
    run_with = {
        "other": with_labels(run, "parcel", "password", None, None),
        "same": with_labels(run, "parcel", "parcel", None, None),
        "none": with_labels(run, None, "password", None, None),
    }
    for corrected in run_with.values():
        corrected.correct(merge)
    assert {case: labels_of(corrected)[0] for case, corrected in run_with.items()} == {
        "other": None,
        "same": "parcel",
        "none": "password",
    }


def test_labels_that_differ_are_not_restored_by_one_more_merge(run: CorrectedRun) -> None:
    run = with_labels(run, "parcel", "password", "parcel", None)
    run.correct({"do": "merge", "cluster": 1, "into": 0})
    run.correct({"do": "merge", "cluster": 0, "into": 2})
    assert labels_of(run) == {2: None, 3: None}
    run.undo()
    run.undo()
    assert labels_of(run) == {0: "parcel", 1: "password", 2: "parcel", 3: None}


def test_cluster_that_is_split_off_has_no_label(run: CorrectedRun) -> None:
    run = with_labels(run, "parcel", None, None, None)
    run.correct({"do": "split", "cluster": 0, "rows": np.flatnonzero(run.clusters == 0)[:5].tolist()})
    assert labels_of(run) == {0: "parcel", 1: None, 2: None, 3: None, 4: None}


def test_number_of_an_undone_cluster_is_not_used_again(run: CorrectedRun) -> None:
    rows = np.flatnonzero(run.clusters == 0)[:5].tolist()
    run.correct({"do": "split", "cluster": 0, "rows": rows})
    run.undo()
    run.correct({"do": "split", "cluster": 0, "rows": rows})
    assert set(run.state.names) == {0, 1, 2, 3, 5}
    assert (CorrectedRun(run.summary, run.points, run.log).clusters == run.clusters).all()


def test_moved_texts_leave_estimated_share_and_confidence_unknown(run: CorrectedRun) -> None:
    rows = np.flatnonzero(run.clusters == 0).tolist()
    run.correct({"do": "move", "rows": rows[:1], "into": 1})
    assert entry_of(run, 0).estimated_share is None
    assert entry_of(run, 1).estimated_share is None
    assert entry_of(run, 2).estimated_share is not None
    run.correct({"do": "split", "cluster": 0, "rows": rows[1:3]})
    assert entry_of(run, 4).confidence is None


def test_empty_cluster_has_no_entry(run: CorrectedRun) -> None:
    run.correct({"do": "move", "rows": np.flatnonzero(run.clusters == 3).tolist(), "into": 0})
    assert [entry.cluster for entry in run.entries()] == [0, 1, 2]


def test_log_that_changed_on_disk_is_not_overwritten(run_folder: Path) -> None:
    mine, theirs = CorrectedRun.read(run_folder), CorrectedRun.read(run_folder)
    theirs.correct({"do": "rename", "cluster": 0, "name": "theirs"})
    theirs.save(run_folder)
    mine.correct({"do": "rename", "cluster": 0, "name": "mine"})
    with pytest.raises(InputError, match="by another process"):
        mine.save(run_folder)
    assert CorrectedRun.read(run_folder).state.names[0] == "theirs"


def test_undo_reverts_the_last_edit(run: CorrectedRun) -> None:
    run.correct({"do": "merge", "cluster": 1, "into": 0})
    run.correct({"do": "rename", "cluster": 0, "name": "both"})
    run.undo()
    assert run.state.names[0] != "both"
    run.undo()
    assert run.entries() == run.summary.clusters
    with pytest.raises(InputError, match="nothing to undo"):
        run.undo()


def test_folder_without_a_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no run"):
        CorrectedRun.read(tmp_path)
