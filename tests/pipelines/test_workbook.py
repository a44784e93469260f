"""A workbook with its texts in two columns, from the first run to corrections, updates and predictions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import openpyxl
import pandas as pd
import pytest

from rstc import RSTC, SavedModel
from rstc.errors import InputError
from rstc.io.formats import read_table
from rstc.pipelines.apply_edits import apply_edits, merge_to
from rstc.pipelines.cluster import cluster_file
from rstc.pipelines.predict import predict_file, predict_files
from rstc.pipelines.request import RunRequest
from rstc.pipelines.score import score_run
from rstc.pipelines.update import update_run
from rstc.results.corrected_run import CorrectedRun
from rstc.results.run_folder import read_summary

COLUMNS = ["title", "body"]


@pytest.fixture(scope="module")
def workbook(texts_and_topics: tuple[list[str], list[str]], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a workbook whose second sheet holds texts in two columns."""
    path = tmp_path_factory.mktemp("workbook") / "tickets.xlsx"
    book = openpyxl.Workbook()
    book.active.append(["a cover sheet"])
    sheet = book.create_sheet("Tickets")
    sheet.append(["id", *COLUMNS, "topic"])
    for number, (text, topic) in enumerate(zip(*texts_and_topics, strict=True)):
        words = text.split()
        sheet.append([number, " ".join(words[:2]), " ".join(words[2:]) or None, topic])
    book.save(path)
    return path


@pytest.fixture(scope="module")
def run(workbook: Path, tiny_encoder: str) -> Path:
    settings: dict[str, Any] = {"encoder": tiny_encoder}
    folder = workbook.parent / "run"
    cluster_file(RunRequest(str(workbook), folder, 4, text_column=COLUMNS, sheet="Tickets", settings=settings))
    return folder


def test_sheet_and_columns_are_recorded_and_rows_are_written_as_a_workbook(run: Path, workbook: Path) -> None:
    recorded = json.loads((run / "summary.json").read_text())["input"]
    assert (recorded["format"], recorded["sheet"], recorded["text_column"]) == ("xlsx", "Tickets", COLUMNS)
    rows, given = read_table(str(run / "clusters.xlsx"), "xlsx"), read_table(str(workbook), "xlsx", sheet="Tickets")
    assert rows[given.columns].equals(given)
    assert set(rows["cluster"]) == {0, 1, 2, 3}
    assert "columns “title” and “body”" in (run / "report.html").read_text()
    assert "\n" in CorrectedRun.read(run).points.texts[0]


def test_model_reads_the_same_columns(run: Path, workbook: Path, tmp_path: Path) -> None:
    fitted = read_table(str(run / "clusters.xlsx"), "xlsx")
    predict_file(run, str(workbook), tmp_path / "new.csv", sheet="2")
    assert pd.read_csv(tmp_path / "new.csv")["cluster"].tolist() == fitted["cluster"].tolist()
    table = fitted[["id", *COLUMNS]]
    assert RSTC.load(run / "model").text_column_ == SavedModel(run).text_column == COLUMNS
    predicted = SavedModel(run).predict_batch(table)
    assert predicted["cluster"].tolist() == fitted["cluster"].tolist()
    (tmp_path / "in").mkdir()
    table.to_excel(tmp_path / "in" / "a.xlsx", index=False)
    table.to_json(tmp_path / "in" / "b.json", orient="records")
    table.to_csv(tmp_path / "in" / "c.csv.gz", index=False)
    predict_files(run, str(tmp_path / "in"), str(tmp_path / "out"), text_column=COLUMNS)
    for name, format in (("a.xlsx", "xlsx"), ("b.json", "json"), ("c.csv.gz", "csv.gz")):
        rows = read_table(str(tmp_path / "out" / name), format)
        assert [int(cluster) for cluster in rows["cluster"]] == fitted["cluster"].tolist()


def test_corrections_scores_and_updates_use_the_same_columns(run: Path, tmp_path: Path) -> None:
    import shutil

    own = tmp_path / "run"
    shutil.copytree(run, own)
    score_run(own, "topic")
    assert read_summary(own).truth is not None
    new = pd.DataFrame({"title": ["where is", "", ""], "body": ["my late parcel", "parcel is late", ""]})
    new.to_csv(tmp_path / "new.csv", index=False)
    (tmp_path / "other.csv").write_text("title\nwhere is my parcel\n")
    with pytest.raises(InputError, match="no column 'body'"):
        update_run(own, str(tmp_path / "other.csv"))
    update_run(own, str(tmp_path / "new.csv"))
    recorded = read_summary(own).input
    assert (recorded.n_rows, recorded.n_texts, recorded.text_column) == (123, 122, COLUMNS)
    merge_to(own, 3)
    rows = read_table(str(own / "clusters.xlsx"), "xlsx")
    names = {entry.cluster: entry.name for entry in CorrectedRun.read(own).entries()}
    assert len(names) == 3
    pairs = rows.loc[rows["cluster"].notna(), ["cluster", "cluster_name"]].itertuples(index=False)
    assert all(names[int(cluster)] == name for cluster, name in pairs)
    assert apply_edits(own).summary.input.text_column == COLUMNS
