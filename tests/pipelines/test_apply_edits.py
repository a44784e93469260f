"""Corrections that last, and names that somebody else gives."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from rstc import RSTC, InputError
from rstc.pipelines.apply_edits import apply_edits, merge_to
from rstc.pipelines.name_clusters import command_namer, rename_clusters
from rstc.pipelines.predict import predict_file
from rstc.results.edits import Log, read_log, write_log
from rstc.results.corrected_run import RunNow
from rstc.pipelines.cluster import cluster_file
from rstc.io.readers import read_table, table_writer


def test_applied_corrections_are_in_the_file_and_in_the_model(run_folder: Path, tmp_path: Path) -> None:
    found = RunNow.read(run_folder).points
    small = np.flatnonzero(found.clusters == 3).tolist()
    edits = [
        {"do": "merge", "cluster": 1, "into": 0},
        {"do": "split", "cluster": 2, "rows": np.flatnonzero(found.clusters == 2)[:8].tolist()},
        {"do": "noise", "rows": small[:2]},
        {"do": "rename", "cluster": 0, "name": "parcels and passwords"},
    ]
    write_log(run_folder, Log(tuple(edits)))
    run = apply_edits(run_folder)

    rows = pd.read_csv(run_folder / "clusters.csv")
    assert rows["text"].tolist() == found.texts
    assert rows["cluster"].tolist() == run.clusters.tolist()
    assert set(rows["cluster"]) == {-1, 0, 2, 3, 4}
    assert rows["confidence"].isna().tolist() == (run.clusters == -1).tolist()
    assert "topic" in rows.columns
    assert "parcels and passwords" in (run_folder / "report.html").read_text(encoding="utf-8")

    model = RSTC.load(run_folder / "model")
    predicted = model.predict(found.texts)
    kept = run.clusters >= 0
    assert (predicted == run.clusters)[kept].mean() > 0.97
    assert model.predict_proba(found.texts)[:, 1].max() < 1e-6, "the cluster that was merged away is never predicted"
    pd.DataFrame({"text": found.texts[:10]}).to_csv(tmp_path / "new.csv", index=False)
    predict_file(run_folder, str(tmp_path / "new.csv"), tmp_path / "out.csv")
    assert pd.read_csv(tmp_path / "out.csv")["cluster"].tolist() == predicted[:10].tolist()


def test_merging_a_run_is_a_correction_that_lasts_and_can_be_undone(run_folder: Path) -> None:
    before = (run_folder / "clusters.csv").read_bytes()
    found = RunNow.read(run_folder).points
    run = merge_to(run_folder, 2)
    rows = pd.read_csv(run_folder / "clusters.csv")
    assert rows["cluster"].nunique() == len(run.entries()) == 2
    assert {edit["do"] for edit in read_log(run_folder).edits} <= {"merge", "rename"}
    pairs = set(zip(found.clusters.tolist(), rows["cluster"].tolist(), strict=True))
    assert len(pairs) == 4, "each cluster went one way"
    model = RSTC.load(run_folder / "model")
    assert model.predict(found.texts).tolist() == rows["cluster"].tolist()
    assert model.hierarchy_.shape == (3, 4)
    write_log(run_folder, Log())
    apply_edits(run_folder)
    assert (run_folder / "clusters.csv").read_bytes() == before


def test_merging_goes_on_from_corrections_and_keeps_names_that_were_given(run_folder: Path) -> None:
    found = RunNow.read(run_folder).points
    rows = np.flatnonzero(found.clusters == 0)[:20].tolist()
    edits = [{"do": "split", "cluster": 0, "rows": rows}, {"do": "noise", "rows": [rows[0]]}]
    edits += [{"do": "rename", "cluster": number, "name": f"mine {number}"} for number in range(5)]
    write_log(run_folder, Log(tuple(edits), 5))
    run = merge_to(run_folder, 3)
    assert len(run.entries()) == 3
    assert all(one["name"].startswith("mine") for one in run.entries())
    assert run.clusters[rows[0]] == -1
    with pytest.raises(InputError, match="there are 3 clusters"):
        merge_to(run_folder, 3)


def test_what_was_applied_can_be_undone_and_leaves_all_as_it_was(run_folder: Path) -> None:
    before = (run_folder / "clusters.csv").read_bytes(), (run_folder / "model" / "heads.safetensors").read_bytes()
    write_log(run_folder, Log(({"do": "merge", "cluster": 1, "into": 0},)))
    apply_edits(run_folder)
    assert (run_folder / "clusters.csv").read_bytes() != before[0]
    write_log(run_folder, Log())
    apply_edits(run_folder)
    after = (run_folder / "clusters.csv").read_bytes(), (run_folder / "model" / "heads.safetensors").read_bytes()
    assert after == before


def test_rows_that_were_sorted_meanwhile_are_refused(run_folder: Path) -> None:
    write_log(run_folder, Log(({"do": "merge", "cluster": 1, "into": 0},)))
    pd.read_csv(run_folder / "clusters.csv").sort_values("cluster").to_csv(run_folder / "clusters.csv", index=False)
    with pytest.raises(InputError, match="in their order"):
        apply_edits(run_folder)


def test_all_texts_cannot_be_noise(run_folder: Path) -> None:
    write_log(run_folder, Log(({"do": "noise", "rows": list(range(120))},)))
    with pytest.raises(InputError, match="no cluster is left"):
        apply_edits(run_folder)


def test_rows_without_a_text_and_plain_text_come_back_in_place(
    tiny_encoder: str, texts_and_topics: tuple[list[str], list[str]], tmp_path: Path
) -> None:
    lines = [*texts_and_topics[0][:40], "", *texts_and_topics[0][40:80]]
    with table_writer(tmp_path / "in.txt", "txt") as write:
        write(pd.DataFrame({"text": lines}))
    settings = {"encoder": tiny_encoder, "max_steps": 4, "batch_size": 32}
    with pytest.warns(match="1 of 81"):
        cluster_file(str(tmp_path / "in.txt"), tmp_path / "run", 3, settings=settings)
    before = read_table(str(tmp_path / "run" / "clusters.txt"), "txt")["text"].tolist()
    write_log(tmp_path / "run", Log(({"do": "noise", "rows": [40]},)))
    apply_edits(tmp_path / "run")
    after = read_table(str(tmp_path / "run" / "clusters.txt"), "txt")["text"].tolist()
    assert len(before) == len(after)
    assert before[40] == after[40] == "\t\t"
    changed = [line for line in after if line.split("\t")[0] == "-1"]
    assert [line.split("\t")[2] for line in changed] == [lines[41]]


def test_a_function_names_the_clusters(run_folder: Path) -> None:
    run = rename_clusters(run_folder, lambda one: f"about {one['keywords'][0]}")
    assert [edit["do"] for edit in read_log(run_folder).edits] == ["rename"] * 4
    assert all(one["name"] == f"about {one['keywords'][0]}" for one in run.entries())
    assert "about " in (run_folder / "report.html").read_text(encoding="utf-8")


def test_a_name_given_by_hand_stays_unless_all_are_to_be_named_again(run_folder: Path) -> None:
    run = RunNow.read(run_folder)
    run.correct({"do": "rename", "cluster": 0, "name": "mine"})
    run.save(run_folder)
    assert [one["name"] for one in rename_clusters(run_folder, lambda one: "theirs").entries()].count("mine") == 1
    assert {one["name"] for one in rename_clusters(run_folder, lambda one: "new", again=True).entries()} == {"new"}


def test_a_command_names_the_clusters(run_folder: Path) -> None:
    program = "import sys; said = sys.stdin.read(); print(said.split('Keywords: ')[1].split(',')[0].upper())"
    run = rename_clusters(run_folder, command_namer(f'{sys.executable} -c "{program}"'))
    assert [one["name"] for one in run.entries()] == [one["keywords"][0].upper() for one in run.entries()]


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("no-such-program", "did not run"),
        (f"{sys.executable} -c 'exit(3)'", "code 3"),
        ("true", "no name"),
        (" ", "empty"),
    ],
)
def test_a_command_that_fails_changes_nothing(command: str, said: str, run_folder: Path) -> None:
    with pytest.raises(InputError, match=said):
        rename_clusters(run_folder, command_namer(command))
    assert read_log(run_folder) == Log()


def test_a_run_with_corrections_is_not_overwritten(run_folder: Path, tiny_encoder: str, tmp_path: Path) -> None:
    write_log(run_folder, Log(({"do": "merge", "cluster": 1, "into": 0},)))
    with pytest.raises(InputError, match="with corrections"):
        cluster_file(str(run_folder / "clusters.csv"), run_folder, 4, overwrite=True)
