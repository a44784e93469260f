"""Whole runs on unusual texts, numbers of clusters, views and output paths: a result, or an error of one sentence."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rstc import RSTC, InputError
from rstc.io.formats import open_table_writer, read_table
from rstc.pipelines.apply_edits import apply_edits
from rstc.pipelines.cluster import cluster_file
from rstc.pipelines.predict import predict_file
from rstc.pipelines.request import RunRequest
from rstc.results.corrected_run import CorrectedRun

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)

Quick = dict[str, Any]


def cluster(texts: list[str], n_clusters: int, quick: Quick, folder: Path) -> pd.DataFrame:
    """Cluster the texts of a CSV file; return the table of their clusters."""
    with open_table_writer(folder / "file.csv", "csv") as write:
        write(pd.DataFrame({"text": texts}, dtype=object))
    cluster_file(RunRequest(str(folder / "file.csv"), folder / "run", n_clusters, settings=quick))
    return read_table(str(folder / "run" / "clusters.csv"), "csv")


@pytest.mark.usefixtures("few_head_steps")
def test_texts_with_nul_bytes_and_lone_surrogates_are_clustered(quick: Quick, tmp_path: Path) -> None:
    texts = ["late\0parcel", "no parcel", "lost password \ud83d", "reset my password"]
    path = tmp_path / "file.jsonl"
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    cluster_file(RunRequest(str(path), tmp_path / "run", 2, settings=quick))
    rows = [json.loads(line) for line in (tmp_path / "run/clusters.jsonl").read_text().splitlines()]
    assert [row["text"] for row in rows] == [*texts[:2], "lost password ?", texts[3]]
    assert all(isinstance(row["cluster"], int) for row in rows)


def test_text_of_ten_megabytes_is_clustered(
    quick: Quick, texts_and_topics: tuple[list[str], list[str]], tmp_path: Path
) -> None:
    long = "late parcel " * (10**7 // 12)
    table = cluster([*texts_and_topics[0][:30], long], 4, quick, tmp_path)
    assert table["text"].iloc[-1] == long
    assert table["cluster"].iloc[-1] != ""
    assert (tmp_path / "run/report.html").stat().st_size < 2 * 10**6, "the page shows the beginning of it"


def test_there_may_be_as_many_clusters_as_texts(
    quick: Quick, texts_and_topics: tuple[list[str], list[str]], tmp_path: Path
) -> None:
    texts = sorted(set(texts_and_topics[0]))[:12]
    table = cluster(texts, 12, quick | {"head_start": 0.9}, tmp_path)
    assert len(set(table["cluster"])) >= 10


@pytest.mark.parametrize(
    ("texts", "k", "message"),
    [
        ([" ", "\t", ""], 2, "needs at least 2 distinct texts, got 0"),
        (["same"] * 50, 2, "needs at least 2 distinct texts, got 1"),
        (["a text", "another text"], 3, "needs at least 3 distinct texts, got 2"),
    ],
)
def test_fewer_distinct_texts_than_clusters_are_refused(
    texts: list[str], k: int, message: str, quick: Quick, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=message):
        cluster(texts, k, quick, tmp_path)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("missing", [None, float("nan"), np.nan, pd.NA, " "])
def test_missing_view_is_replaced_by_the_text(
    missing: Any, quick: Quick, texts_and_topics: tuple[list[str], list[str]]
) -> None:
    texts = texts_and_topics[0][:40]
    model = RSTC(3, random_state=0, **quick).fit(texts, views=([missing] * 40, texts))
    assert np.isfinite(model.probabilities_).all()


@pytest.mark.parametrize("views", [(["a"] * 39, ["b"] * 40), (["a"] * 40, []), (["a"] * 40,)])
def test_views_of_another_length_are_refused(
    views: Any, quick: Quick, texts_and_topics: tuple[list[str], list[str]]
) -> None:
    with pytest.raises(InputError, match="view"):
        RSTC(3, **quick).fit(texts_and_topics[0][:40], views=views)


def drop_root_permissions() -> list[str]:
    """Return the command that runs another without root's permission to write anywhere."""
    if os.geteuid() != 0:
        return []
    if not shutil.which("setpriv"):
        pytest.skip("root may write anywhere, and setpriv, which drops that permission, is missing")
    capabilities = "-dac_override,-dac_read_search"
    return ["setpriv", f"--bounding-set={capabilities}", f"--inh-caps={capabilities}"]


RUN_COMMANDS = """
import json, sys
from rstc.cli import main
for command in json.loads(sys.argv[1]):
    sys.argv = ["rstc", *command]
    try:
        main()
    except SystemExit as end:
        print(end.code)
"""


def test_folder_without_write_permission_is_refused_before_the_work(
    tickets: Path, finished_run: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "read-only"
    folder.mkdir(mode=0o555)
    commands = [["cluster", str(tickets), "-k", "4"], ["predict", str(finished_run), str(tickets)]]
    commands = [[*command, "--text-column", "text", "--out", str(folder / "x.csv")] for command in commands]
    completed = subprocess.run(
        [*drop_root_permissions(), sys.executable, "-c", RUN_COMMANDS, json.dumps(commands)],
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert completed.stdout.split() == ["2", "2"], completed.stderr
    assert completed.stderr.count(f"cannot be written: {folder} is not a folder that can be written to") == 2
    assert "Traceback" not in completed.stderr
    assert list(folder.iterdir()) == []


def test_symbolic_links_as_output_are_followed(tickets: Path, quick: Quick, finished_run: Path, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    cluster_file(RunRequest(str(tickets), tmp_path / "link", 4, settings=quick))
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real" / "clusters.csv").is_file()
    (tmp_path / "file.csv").symlink_to(tmp_path / "real.csv")
    predict_file(finished_run, str(tickets), tmp_path / "file.csv", text_column="text")
    assert (tmp_path / "file.csv").is_symlink()
    assert (tmp_path / "real.csv").is_file()
    (tmp_path / "in.csv").symlink_to(tickets)
    with pytest.raises(InputError, match="the same file"):
        predict_file(finished_run, str(tickets), tmp_path / "in.csv", text_column="text")
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith(".")) == []


def test_runs_with_escaped_formulas_can_be_corrected(tickets: Path, quick: Quick, tmp_path: Path) -> None:
    table = pd.read_csv(tickets)
    table.loc[0, "text"] = "=HYPERLINK(parcel late)"
    table.to_csv(tickets, index=False)
    cluster_file(RunRequest(str(tickets), tmp_path / "run", 4, text_column="text", settings=quick, guard_formulas=True))
    assert pd.read_csv(tmp_path / "run/clusters.csv")["text"][0] == "'=HYPERLINK(parcel late)"
    run = CorrectedRun.read(tmp_path / "run")
    run.correct({"do": "rename", "cluster": 0, "name": "mine"})
    run.save(tmp_path / "run")
    apply_edits(tmp_path / "run")
    assert pd.read_csv(tmp_path / "run/clusters.csv")["text"][0] == "'=HYPERLINK(parcel late)"


@pytest.mark.usefixtures("few_head_steps")
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    texts=st.lists(st.one_of(st.none(), TEXTS, st.sampled_from(["late parcel", "reset password"])), max_size=25),
    k=st.integers(-1, 8),
)
def test_any_texts_and_any_n_clusters_give_clusters_or_an_input_error(
    texts: list[str | None], k: int, quick: Quick
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model = RSTC(k, random_state=0, **(quick | {"max_steps": 2})).fit(texts)
        except InputError:
            return
    has_text = np.array([text is not None and bool(text.strip()) for text in texts])
    assert (model.labels_[has_text] >= 0).all()
    assert (model.labels_[has_text] < k).all()
    assert (model.labels_[~has_text] == -1).all()
    assert np.isfinite(model.probabilities_).all()
    assert np.allclose(model.probabilities_[has_text].sum(1), 1, atol=1e-4)
    assert np.array_equal(model.predict(texts), model.labels_)
