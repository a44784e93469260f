"""Corrections applied to a run, and cluster names from functions and commands."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from rstc import RSTC, InputError
from rstc.io.formats import open_table_writer, read_table
from rstc.pipelines.apply_edits import apply_edits, merge_to
from rstc.pipelines.cluster import cluster_file
from rstc.pipelines.predict import predict_file
from rstc.pipelines.request import RunRequest
from rstc.results.corrected_run import CorrectedRun
from rstc.results.edits import EditLog, read_log, write_log


def test_corrections_are_applied_to_the_table_and_the_model(run_folder: Path, tmp_path: Path) -> None:
    found = CorrectedRun.read(run_folder).points
    small = np.flatnonzero(found.clusters == 3).tolist()
    edits = [
        {"do": "merge", "cluster": 1, "into": 0},
        {"do": "split", "cluster": 2, "rows": np.flatnonzero(found.clusters == 2)[:8].tolist()},
        {"do": "noise", "rows": small[:2]},
        {"do": "rename", "cluster": 0, "name": "parcels and passwords"},
    ]
    write_log(run_folder, EditLog(tuple(edits)))
    run = apply_edits(run_folder)

    rows = pd.read_csv(run_folder / "clusters.csv")
    assert rows["text"].tolist() == found.texts
    assert rows["cluster"].tolist() == run.clusters.tolist()
    assert set(rows["cluster"]) == {-1, 0, 2, 3, 4}
    assert rows["confidence"].isna().tolist() == (run.clusters == -1).tolist()
    names = [run.state.names.get(cluster, "outlier") for cluster in run.clusters.tolist()]
    assert rows["cluster_name"].tolist() == names
    assert "parcels and passwords" in names
    assert "topic" in rows.columns
    assert "parcels and passwords" in (run_folder / "report.html").read_text(encoding="utf-8")

    model = RSTC.load(run_folder / "model")
    predicted = model.predict(found.texts)
    kept = run.clusters >= 0
    assert (predicted == run.clusters)[kept].mean() > 0.97
    assert model.predict_proba(found.texts)[:, 1].max() < 1e-6, "a merged cluster is never predicted"
    pd.DataFrame({"text": found.texts[:10]}).to_csv(tmp_path / "new.csv", index=False)
    predict_file(run_folder, str(tmp_path / "new.csv"), tmp_path / "out.csv")
    written = pd.read_csv(tmp_path / "out.csv")
    assert written["cluster"].tolist() == predicted[:10].tolist()
    assert written["cluster_name"].tolist() == [run.state.names[cluster] for cluster in predicted[:10].tolist()]


def test_renamed_clusters_are_written_without_a_change_of_the_model(run_folder: Path, tmp_path: Path) -> None:
    texts = CorrectedRun.read(run_folder).points.texts
    before = RSTC.load(run_folder / "model").predict_proba(texts)
    write_log(run_folder, EditLog(({"do": "rename", "cluster": 2, "name": "cooking"},)))
    apply_edits(run_folder)
    rows = pd.read_csv(run_folder / "clusters.csv")
    assert set(rows.loc[rows["cluster"] == 2, "cluster_name"]) == {"cooking"}
    model = RSTC.load(run_folder / "model")
    assert model.cluster_names_[2] == "cooking"
    assert np.array_equal(model.predict_proba(texts), before)


@pytest.fixture(scope="module")
def labelled_run(
    tiny_encoder: str, texts_and_topics: tuple[list[str], list[str]], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """Cluster texts of which every third parcel, password and refund is labelled; return the run folder."""
    texts, topics = texts_and_topics
    folder = tmp_path_factory.mktemp("labelled")
    labels = [topic if i % 3 == 0 and topic != "recipe" else "" for i, topic in enumerate(topics)]
    pd.DataFrame({"text": texts, "label": labels}).to_csv(folder / "in.csv", index=False)
    settings = {"encoder": tiny_encoder, "training": "always", "max_steps": 4, "batch_size": 32, "kmeans_starts": 1}
    cluster_file(
        RunRequest(
            str(folder / "in.csv"), folder / "run", 4, text_column="text", label_column="label", settings=settings
        )
    )
    return folder / "run"


def test_classes_follow_corrections(labelled_run: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(labelled_run, folder)
    classes = RSTC.load(folder / "model").classes_
    assert classes is not None
    assert sorted(map(str, classes)) == ["None", "parcel", "password", "refund"]
    parcel, password, refund, new = (classes.index(name) for name in ("parcel", "password", "refund", None))
    run = CorrectedRun.read(folder)
    corrections = [
        ({"do": "rename", "cluster": parcel, "name": "deliveries"}, {}),
        ({"do": "split", "cluster": parcel, "rows": np.flatnonzero(run.clusters == parcel)[:5].tolist()}, {}),
        ({"do": "merge", "cluster": new, "into": password}, {}),  # all labelled parts are passwords
        ({"do": "merge", "cluster": 4, "into": refund}, {}),  # what was split off has no class
        ({"do": "merge", "cluster": password, "into": parcel}, {parcel: None, password: None}),
        ({"do": "noise", "rows": []}, {refund: None}),  # an empty cluster has no class
    ]
    expected = {cluster: name for cluster, name in enumerate(classes) if name is not None}
    for edit, changes in corrections:
        run = CorrectedRun.read(folder)
        if edit["do"] == "noise":
            edit["rows"] = np.flatnonzero(run.clusters == refund).tolist()
        run.correct(edit)
        run.save(folder)
        apply_edits(folder)
        expected |= changes
        model = RSTC.load(folder / "model")
        assert model.classes_ == [expected.get(cluster) for cluster in range(model.n_clusters_)], edit["do"]
        assert model.n_clusters_ == len(model.class_distribution_) == run.state.next_cluster


def test_merged_run_can_be_undone(run_folder: Path) -> None:
    before = (run_folder / "clusters.csv").read_bytes()
    found = CorrectedRun.read(run_folder).points
    run = merge_to(run_folder, 2)
    rows = pd.read_csv(run_folder / "clusters.csv")
    assert rows["cluster"].nunique() == len(run.entries()) == 2
    assert {edit["do"] for edit in read_log(run_folder).edits} <= {"merge", "rename"}
    pairs = set(zip(found.clusters.tolist(), rows["cluster"].tolist(), strict=True))
    assert len(pairs) == 4, "the texts of a cluster stay together"
    sizes = np.bincount(found.clusters)
    for kept, parts in pd.Series(range(4)).groupby([dict(pairs)[cluster] for cluster in range(4)]):
        assert kept == max(parts, key=lambda cluster: sizes[cluster]), "numbers do not change"
    names = {entry.cluster: entry.name for entry in run.entries()}
    assert rows["cluster_name"].tolist() == [names[cluster] for cluster in rows["cluster"]]
    model = RSTC.load(run_folder / "model")
    assert model.predict(found.texts).tolist() == rows["cluster"].tolist()
    assert model.hierarchy_.shape == (3, 4)
    write_log(run_folder, EditLog())
    apply_edits(run_folder)
    assert (run_folder / "clusters.csv").read_bytes() == before


def test_merging_starts_from_corrections_and_keeps_given_names(run_folder: Path) -> None:
    found = CorrectedRun.read(run_folder).points
    rows = np.flatnonzero(found.clusters == 0)[:20].tolist()
    edits = [{"do": "split", "cluster": 0, "rows": rows}, {"do": "noise", "rows": [rows[0]]}]
    edits += [{"do": "rename", "cluster": number, "name": f"mine {number}"} for number in range(5)]
    write_log(run_folder, EditLog(tuple(edits), 5))
    run = merge_to(run_folder, 3)
    assert len(run.entries()) == 3
    assert all(entry.name.startswith("mine") for entry in run.entries())
    assert run.clusters[rows[0]] == -1
    with pytest.raises(InputError, match="there are 3 clusters"):
        merge_to(run_folder, 3)


def test_undone_corrections_restore_the_table_and_the_model(run_folder: Path) -> None:
    before = (run_folder / "clusters.csv").read_bytes(), (run_folder / "model" / "heads.safetensors").read_bytes()
    write_log(run_folder, EditLog(({"do": "merge", "cluster": 1, "into": 0},)))
    apply_edits(run_folder)
    assert (run_folder / "clusters.csv").read_bytes() != before[0]
    write_log(run_folder, EditLog())
    apply_edits(run_folder)
    after = (run_folder / "clusters.csv").read_bytes(), (run_folder / "model" / "heads.safetensors").read_bytes()
    assert after == before


def test_reordered_rows_are_refused(run_folder: Path) -> None:
    write_log(run_folder, EditLog(({"do": "merge", "cluster": 1, "into": 0},)))
    pd.read_csv(run_folder / "clusters.csv").sort_values("cluster").to_csv(run_folder / "clusters.csv", index=False)
    with pytest.raises(InputError, match="in their order"):
        apply_edits(run_folder)


def test_a_run_without_any_cluster_left_is_refused(run_folder: Path) -> None:
    write_log(run_folder, EditLog(({"do": "noise", "rows": list(range(120))},)))
    with pytest.raises(InputError, match="no cluster is left"):
        apply_edits(run_folder)


def test_rows_without_text_stay_in_place(
    tiny_encoder: str, texts_and_topics: tuple[list[str], list[str]], tmp_path: Path
) -> None:
    lines = [*texts_and_topics[0][:40], "", *texts_and_topics[0][40:80]]
    with open_table_writer(tmp_path / "in.txt", "txt") as write:
        write(pd.DataFrame({"text": lines}))
    settings = {"encoder": tiny_encoder, "training": "always", "max_steps": 4, "batch_size": 32}
    with pytest.warns(match="1 of 81"):
        cluster_file(RunRequest(str(tmp_path / "in.txt"), tmp_path / "run", 3, settings=settings))
    before = read_table(str(tmp_path / "run" / "clusters.txt"), "txt")["text"].tolist()
    write_log(tmp_path / "run", EditLog(({"do": "noise", "rows": [40]},)))
    apply_edits(tmp_path / "run")
    after = read_table(str(tmp_path / "run" / "clusters.txt"), "txt")["text"].tolist()
    assert len(before) == len(after)
    assert before[40] == after[40] == "\t\t\t\t"
    changed = [line for line in after if line.split("\t")[0] == "-1"]
    assert [line.split("\t")[4] for line in changed] == [lines[41]]


def test_run_with_corrections_is_not_overwritten(run_folder: Path, tiny_encoder: str, tmp_path: Path) -> None:
    write_log(run_folder, EditLog(({"do": "merge", "cluster": 1, "into": 0},)))
    with pytest.raises(InputError, match="with corrections"):
        cluster_file(RunRequest(str(run_folder / "clusters.csv"), run_folder, 4, overwrite=True))
