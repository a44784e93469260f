"""From a file to a run folder, and from a run folder to new labels."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import torch

from rstc import InputError, MissingTextWarning
from rstc.io.formats import open_table_writer, read_table
from rstc.pipelines.cluster import cluster_file
from rstc.pipelines.predict import predict_file
from rstc.pipelines.request import RunRequest
from rstc.pipelines.score import score_run
from rstc.results.points import read_points
from rstc.results.run_folder import read_summary
from rstc.runtime.device import choose_precision

Quick = dict[str, Any]


@pytest.fixture
def run(tickets: Path, quick: Quick, tmp_path: Path) -> Path:
    cluster_file(RunRequest(str(tickets), tmp_path / "run", 4, settings=quick))
    return tmp_path / "run"


def test_run_folder_holds_clusters_summary_page_and_model(run: Path, tickets: Path) -> None:
    assert sorted(path.name for path in run.iterdir()) == [
        "clusters.csv",
        "embeddings.npy",
        "model",
        "points.parquet",
        "report.html",
        "summary.json",
    ]
    rows, given = pd.read_csv(run / "clusters.csv", dtype=str), pd.read_csv(tickets, dtype=str)
    assert rows[given.columns].equals(given)
    assert set(rows["cluster"]) == {"0", "1", "2", "3"}
    assert rows["confidence"].astype(float).between(0, 1).all()


def test_other_columns_are_kept_with_the_texts(run: Path, tickets: Path) -> None:
    columns, given = read_points(run).columns, pd.read_csv(tickets, dtype=str)
    assert columns["topic"].tolist() == given["topic"].tolist()
    assert list(columns) == ["id", "topic"]


def test_other_columns_can_be_left_out(tickets: Path, quick: Quick, tmp_path: Path) -> None:
    cluster_file(RunRequest(str(tickets), tmp_path / "run", 4, settings=quick, keep_columns=False))
    assert list(read_points(tmp_path / "run").columns) == []
    assert read_summary(tmp_path / "run").input.keep_columns is False
    assert "topic" in pd.read_csv(tmp_path / "run" / "clusters.csv").columns


def test_summary_describes_input_clusters_and_run(run: Path) -> None:
    summary = json.loads((run / "summary.json").read_text())
    assert len(summary["input"].pop("digest")) == 64
    assert summary["input"] == {
        "file": "tickets.csv",
        "format": "csv",
        "text_column": "text",
        "view_columns": None,
        "rows": 120,
        "texts": 120,
        "missing": 0,
        "trained_on": 120,
        "shown": 120,
        "processes": 1,
        "guard_formulas": False,
    }
    assert sum(one["size"] for one in summary["clusters"]) == 120
    first = summary["clusters"][0]
    assert first["size"] >= summary["clusters"][1]["size"]
    assert first["keywords"]
    assert first["typical"]
    assert first["doubtful"]
    assert sum(summary["class_distribution"]) == pytest.approx(1)
    assert summary["settings"]["batch_size"] == 32
    assert summary["history"][-1]["step"] == summary["steps"]
    stages = {
        "read",
        "load",
        "encode",
        "features",
        "start",
        "keep",
        "views",
        "train",
        "renew",
        "predict",
        "confidence",
        "describe",
        "levels",
        "map",
        "write",
    }
    assert set(summary["seconds"]) == stages
    assert all(spent >= 0 for spent in summary["seconds"].values())
    precision = choose_precision("auto", torch.device("cpu"))  # by what the processor is good at
    assert (summary["device"], summary["precision"]) == ("cpu", str(precision).removeprefix("torch."))
    assert "torch" in summary["versions"]


@pytest.mark.parametrize("format", ["csv", "tsv", "jsonl", "json", "parquet", "xlsx", "txt", "csv.gz", "txt.gz"])
def test_clusters_are_written_in_the_format_of_the_input(
    format: str, quick: Quick, texts_and_topics: Any, tmp_path: Path
) -> None:
    texts = texts_and_topics[0]
    source = tmp_path / f"in.{format}"
    with open_table_writer(source, format) as write:
        write(pd.DataFrame({"text": texts}))
    cluster_file(RunRequest(str(source), tmp_path / "run", 4, settings=quick))
    rows = read_table(str(tmp_path / "run" / f"clusters.{format}"), format)
    if format.startswith("txt"):  # the columns of CLUSTER_COLUMNS and the text, with tabs between
        assert [line.split("\t")[4] for line in rows["text"]] == texts
    else:
        assert rows["text"].tolist() == texts
        assert {int(cluster) for cluster in rows["cluster"]} == {0, 1, 2, 3}


def test_rows_without_a_text_keep_their_position(quick: Quick, texts_and_topics: Any, tmp_path: Path) -> None:
    texts = ["", *texts_and_topics[0][:60], "  ", *texts_and_topics[0][60:]]
    pd.DataFrame({"text": texts}).to_csv(tmp_path / "in.csv", index=False)
    with pytest.warns(MissingTextWarning, match="2 of 122 rows"):
        cluster_file(RunRequest(str(tmp_path / "in.csv"), tmp_path / "run", 4, settings=quick))
    rows = pd.read_csv(tmp_path / "run" / "clusters.csv")
    assert rows.index[rows["cluster"].isna()].tolist() == [0, 61]
    assert rows.index[rows["confidence"].isna()].tolist() == [0, 61]


def test_predicting_the_same_file_gives_the_same_clusters(run: Path, tickets: Path, tmp_path: Path) -> None:
    assert predict_file(run, str(tickets), tmp_path / "new.csv") == (120, 120)
    fitted, new = (pd.read_csv(path) for path in (run / "clusters.csv", tmp_path / "new.csv"))
    columns = ["id", "text", "topic", "cluster"]
    assert new[columns].equals(fitted[columns])
    assert new.columns.tolist() == fitted.columns.tolist()
    assert new["confidence"].between(0, 1).all()
    assert predict_file(run / "model", str(tickets), tmp_path / "new.jsonl") == (120, 120)
    assert len((tmp_path / "new.jsonl").read_text().splitlines()) == 120


def test_prediction_holds_few_pieces_at_a_time(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import weakref

    import rstc.pipelines.predict as module

    stream, seen, most = module.iter_tables, [], 0

    def watched(*args: Any, **options: Any) -> Any:
        nonlocal most
        for table in stream(*args, **options, chunk_rows=100):
            seen.append(weakref.ref(table))
            most = max(most, sum(piece() is not None for piece in seen))
            yield table
            del table

    monkeypatch.setattr(module, "iter_tables", watched)
    (tmp_path / "in.txt").write_text("\n".join(f"parcel {i} late" for i in range(1000)))
    assert predict_file(run, str(tmp_path / "in.txt"), tmp_path / "out.txt") == (1000, 1000)
    assert len((tmp_path / "out.txt").read_text().splitlines()) == 1000
    assert most <= 3


def test_prediction_reads_the_text_column_of_the_model(run: Path, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("title,text\nlate again,refund\nno money,code\n")
    assert predict_file(run, str(tmp_path / "in.csv"), tmp_path / "out.csv") == (2, 2)
    (tmp_path / "one.txt").write_text("refund\n")
    assert predict_file(run / "model", str(tmp_path / "one.txt"), tmp_path / "out.txt") == (1, 1)


def test_folder_with_other_files_is_refused(tickets: Path, quick: Quick, tmp_path: Path) -> None:
    other = tmp_path / "photos"
    other.mkdir()
    (other / "cat.jpg").write_bytes(b"meow")
    for summary in (None, "{}", '{"clusters_found": 3}'):
        if summary:
            (other / "summary.json").write_text(summary)
        with pytest.raises(InputError, match="not a run of rstc"):
            cluster_file(RunRequest(str(tickets), other, 4, settings=quick, overwrite=True))
        assert (other / "cat.jpg").read_bytes() == b"meow"


def test_earlier_run_is_replaced_only_with_overwrite(run: Path, tickets: Path, quick: Quick) -> None:
    before = (run / "summary.json").read_bytes()
    with pytest.raises(InputError, match="earlier run"):
        cluster_file(RunRequest(str(tickets), run, 4, settings=quick))
    assert (run / "summary.json").read_bytes() == before
    cluster_file(RunRequest(str(tickets), run, 3, settings=quick, overwrite=True))
    assert json.loads((run / "summary.json").read_text())["n_clusters"] == 3


def test_failed_write_leaves_only_checkpoints_and_is_resumed(
    tickets: Path, quick: Quick, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import rstc.persistence.model_folder as module

    def full_disk(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module, "save_file", full_disk)
    with pytest.raises(InputError, match="No space left on device"):
        cluster_file(RunRequest(str(tickets), tmp_path / "run", 4, settings=quick))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run", "tickets.csv"]
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["checkpoints"]
    monkeypatch.undo()
    summary = cluster_file(RunRequest(str(tickets), tmp_path / "run", 4, settings=quick))
    assert summary is not None
    assert summary.resumed_at == summary.n_iter, "nothing is computed twice"
    assert not (tmp_path / "run" / "checkpoints").exists()


def test_invalid_outputs_are_refused_before_the_work(run: Path, tickets: Path, tmp_path: Path, quick: Quick) -> None:
    with pytest.raises(InputError, match="the same file"):
        predict_file(run, str(tickets), tickets)
    with pytest.raises(InputError, match="there is no file"):
        predict_file(run, str(tmp_path / "none.csv"), tickets)
    with pytest.raises(InputError, match="plain text, which has no columns"):
        predict_file(run, str(tickets), tmp_path / "out.txt")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(InputError, match="is a folder"):
        predict_file(run, str(tickets), tmp_path / "folder.csv")
    with pytest.raises(InputError, match="is not a folder that can be written to"):
        cluster_file(RunRequest(str(tickets), tickets / "run", 4, settings=quick))


def test_reserved_column_is_refused_before_the_work(tmp_path: Path, quick: Quick) -> None:
    (tmp_path / "in.csv").write_text("text,cluster\nparcel late,1\nno refund,2\n")
    with pytest.raises(InputError, match="already has a column 'cluster'"):
        cluster_file(RunRequest(str(tmp_path / "in.csv"), tmp_path / "run", 2, settings=quick))


def test_max_fit_texts_trains_on_a_subsample_and_labels_all(tickets: Path, quick: Quick, tmp_path: Path) -> None:
    summary = cluster_file(RunRequest(str(tickets), tmp_path / "run", 4, settings={**quick, "max_fit_texts": 80}))
    assert summary is not None
    assert summary.input.n_trained == 80
    sizes = [entry.size for entry in summary.clusters]
    assert sum(sizes) == 120
    assert sizes == sorted(sizes, reverse=True)
    predict_file(tmp_path / "run", str(tickets), tmp_path / "again.csv")
    again, fitted = (pd.read_csv(path) for path in (tmp_path / "again.csv", tmp_path / "run" / "clusters.csv"))
    assert again["cluster"].equals(fitted["cluster"])
    # Texts that are not trained on are judged as new ones.
    assert (again["confidence"] == fitted["confidence"]).sum() >= 40


def test_scores_against_a_truth_column_are_in_summary_and_page(run: Path) -> None:
    assert read_summary(run).truth is None
    page = score_run(run, "topic")
    truth = read_summary(run).truth
    assert truth is not None
    assert (truth.column, truth.n_texts) == ("topic", 120)
    assert sum(map(sum, truth.matrix)) == 120
    assert '"acc"' in page.read_text(encoding="utf-8")
    with pytest.raises(InputError, match="no column"):
        score_run(run, "subject")
