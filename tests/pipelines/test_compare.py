"""Comparisons of real runs over time and between groups, through corrections, updates and the page."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from rstc.errors import InputError
from rstc.pipelines.apply_edits import merge_to
from rstc.pipelines.cluster import add_map_and_page, cluster_file
from rstc.pipelines.compare import compare_run
from rstc.pipelines.request import RunRequest
from rstc.pipelines.update import update_run
from rstc.report.html.render import write_page
from rstc.results.comparisons import ComparisonRequest, read_request
from rstc.results.corrected_run import CorrectedRun
from rstc.results.edits import EditLog, write_log
from rstc.runtime.progress import Progress

REQUEST = ComparisonRequest("posted", "month", ["airline"])


def make_rows(texts: list[str], topics: list[str], seed: int = 0) -> pd.DataFrame:
    """Return texts with dates of ten months, of which parcels are the first half, and most of one airline."""
    rng = np.random.default_rng(seed)
    is_parcel = np.array(topics) == "parcel"
    months = np.where(is_parcel, rng.integers(0, 5, len(texts)), rng.integers(0, 10, len(texts)))
    posted = [
        f"{1 + day:02}.{1 + month:02}.2015" for month, day in zip(months, rng.integers(0, 28, len(texts)), strict=True)
    ]
    airline = np.where(is_parcel & (rng.random(len(texts)) < 0.8), "Delta", rng.choice(["United", "Delta"], len(texts)))
    return pd.DataFrame({"text": texts, "posted": posted, "airline": airline, "topic": topics})


@pytest.fixture(scope="module")
def compared_run(
    tiny_encoder: str, texts_and_topics: tuple[list[str], list[str]], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """Cluster texts with dates and airlines, compared as `REQUEST` asks; the folder is not to be changed."""
    folder = tmp_path_factory.mktemp("compared")
    make_rows(*texts_and_topics).to_csv(folder / "tweets.csv", index=False)
    settings: dict[str, Any] = {"encoder": tiny_encoder, "training": "always", "max_steps": 12, "batch_size": 32}
    cluster_file(RunRequest(str(folder / "tweets.csv"), folder / "run", 4, settings=settings, comparisons=REQUEST))
    return folder / "run"


@pytest.fixture
def own_run(compared_run: Path, tmp_path: Path) -> Path:
    shutil.copytree(compared_run, tmp_path / "run")
    return tmp_path / "run"


def read_content(folder: Path) -> dict[str, Any]:
    """Return the JSON content of a run's page."""
    page = (folder / "report.html").read_text(encoding="utf-8")
    found = re.search(r'<script[^>]*id="content"[^>]*>(.*?)</script>', page, re.DOTALL)
    assert found
    content: dict[str, Any] = json.loads(found[1])
    return content


def test_a_run_shows_what_it_was_asked(compared_run: Path) -> None:
    content = read_content(compared_run)
    clusters = [entry["id"] for entry in content["clusters"]]
    assert content["over_time"]["periods"][:2] == ["2015-01-01", "2015-02-01"]
    assert sum(content["over_time"]["totals"]) == 120
    assert [entry["id"] for entry in content["over_time"]["clusters"]] == sorted(clusters)
    (groups,) = content["groups"]
    assert (groups["column"], sorted(groups["values"])) == ("airline", ["Delta", "United"])
    assert len(groups["cells"]) == len(clusters)
    assert read_request(compared_run) == REQUEST


def test_numbers_are_those_of_the_rows(compared_run: Path) -> None:
    rows = pd.read_csv(compared_run / "clusters.csv")
    month = rows["posted"].str[3:5].astype(int) - 1
    expected = pd.crosstab(rows["cluster"], month)
    content = read_content(compared_run)
    counts = np.array([entry["counts"] for entry in content["over_time"]["clusters"]])
    np.testing.assert_array_equal(counts, expected.to_numpy())
    (groups,) = content["groups"]
    by_airline = pd.crosstab(rows["cluster"], rows["airline"])[groups["values"]]
    np.testing.assert_array_equal([[cell["count"] for cell in row] for row in groups["cells"]], by_airline)


def test_what_ends_is_said(compared_run: Path) -> None:
    rows = pd.read_csv(compared_run / "clusters.csv")
    shares = rows.groupby("cluster")["topic"].apply(lambda topic: (topic == "parcel").mean())
    content = read_content(compared_run)
    gone = {entry["id"] for entry in content["over_time"]["clusters"] if entry["trend"] in ("gone", "fading")}
    assert gone <= set(shares[shares > 0.5].index)
    assert gone


def test_corrections_count(own_run: Path) -> None:
    merged = merge_to(own_run, 2)
    content = read_content(own_run)
    ids = sorted(set(merged.clusters.tolist()))
    assert [entry["id"] for entry in content["over_time"]["clusters"]] == ids
    assert content["groups"][0]["clusters"] == ids
    stored = json.loads((own_run / "comparisons.json").read_text(encoding="utf-8"))
    assert stored["over_time"] == content["over_time"]


def test_texts_without_a_cluster_count_in_the_totals_only(own_run: Path) -> None:
    write_log(own_run, EditLog(({"do": "noise", "rows": list(range(20))},)))
    result = compare_run(own_run).groups[0]
    assert result.totals.sum() == 120
    assert result.counts.sum() == 100


def test_another_comparison_takes_the_place_of_the_last(own_run: Path, tmp_path: Path) -> None:
    comparisons = compare_run(own_run, by=["topic", "topic"], out=tmp_path / "shares.csv")
    assert [shares.column for shares in comparisons.groups] == ["topic"]
    assert read_content(own_run)["over_time"] is None
    table = pd.read_csv(tmp_path / "shares.csv")
    assert list(table.columns[:5]) == ["column", "cluster", "cluster_name", "value", "count"]
    assert table["count"].sum() == 120
    assert compare_run(own_run).request == ComparisonRequest(None, None, ["topic"])


def test_table_in_long_form_holds_periods_and_groups(own_run: Path, tmp_path: Path) -> None:
    compare_run(own_run, out=tmp_path / "shares.parquet")
    table = pd.read_parquet(tmp_path / "shares.parquet")
    assert table.groupby("column")["count"].sum().to_dict() == {"airline": 120, "posted": 120}
    assert {"trend", "q_value", "ratio", "sign"} <= set(table.columns)


def test_an_update_compares_again_with_the_new_rows(
    own_run: Path, tmp_path: Path, texts_and_topics: tuple[list[str], list[str]], few_head_steps: None
) -> None:
    texts, topics = texts_and_topics
    make_rows(texts[:30], topics[:30], seed=1).to_csv(tmp_path / "new.csv", index=False)
    update_run(own_run, str(tmp_path / "new.csv"))
    assert sum(read_content(own_run)["over_time"]["totals"]) == 150
    assert read_request(own_run) == REQUEST


def test_a_run_without_kept_columns_reads_its_rows(own_run: Path) -> None:
    from dataclasses import replace

    from rstc.results.points import read_points, write_points
    from rstc.results.run_folder import read_summary, write_summary

    kept = read_content(own_run)["groups"]
    write_points(own_run, replace(read_points(own_run), columns=pd.DataFrame()))
    write_summary(own_run, read_summary(own_run))  # with their checksum
    compare_run(own_run)
    assert read_content(own_run)["groups"] == kept
    rows = pd.read_csv(own_run / "clusters.csv")
    rows[::-1].to_csv(own_run / "clusters.csv", index=False)
    write_page(own_run)  # the page is written, though the rows cannot be told apart any more
    assert read_content(own_run)["groups"] == []
    with pytest.raises(InputError, match="in their order"):
        compare_run(own_run)


def test_an_interrupted_run_is_compared_when_it_is_completed(
    tiny_encoder: str,
    texts_and_topics: tuple[list[str], list[str]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    make_rows(*texts_and_topics).to_csv(tmp_path / "tweets.csv", index=False)

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    settings = {"encoder": tiny_encoder, "training": "always", "max_steps": 4, "batch_size": 32}
    monkeypatch.setattr("rstc.pipelines.cluster.add_map_and_page", stop)
    with pytest.raises(KeyboardInterrupt):
        cluster_file(
            RunRequest(str(tmp_path / "tweets.csv"), tmp_path / "run", 4, settings=settings, comparisons=REQUEST)
        )
    add_map_and_page(tmp_path / "run", Progress(None))
    assert read_content(tmp_path / "run")["groups"][0]["column"] == "airline"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"time": "airline"}, r"column 'airline' does not hold dates: 100 % of its values are none, such as '"),
        ({"time": "when"}, "no column 'when'; the columns beside the texts are 'posted', 'airline', 'topic'"),
        ({"by": ["text"]}, "no column 'text'"),
        ({"time": "posted", "every": "hour"}, "every='hour' is not one of day"),
        ({"every": "week"}, "every='week' needs a column of dates"),
    ],
)
def test_wrong_columns_are_refused(own_run: Path, options: dict[str, Any], message: str) -> None:
    before = (own_run / "comparisons.json").read_bytes()
    with pytest.raises(InputError, match=message):
        compare_run(own_run, **options)
    assert (own_run / "comparisons.json").read_bytes() == before


def test_a_run_that_was_not_compared_needs_a_column(run_folder: Path) -> None:
    with pytest.raises(InputError, match="--time or a column of groups with --by"):
        compare_run(run_folder)
    assert read_content(run_folder)["groups"] == []


@pytest.mark.parametrize("stored", ["[]", "{", '{"by": "airline"}', '{"time": 3}'])
def test_a_damaged_file_of_comparisons_is_named(own_run: Path, stored: str) -> None:
    (own_run / "comparisons.json").write_text(stored)
    with pytest.raises(InputError, match=r"comparisons\.json"):
        compare_run(own_run)


def test_rows_that_make_a_column_useless_leave_it_out(own_run: Path, caplog: pytest.LogCaptureFixture) -> None:
    from dataclasses import replace

    from rstc.results.points import read_points, write_points
    from rstc.results.run_folder import read_summary, write_summary

    points = read_points(own_run)
    write_points(own_run, replace(points, columns=points.columns.assign(airline="Delta")))
    write_summary(own_run, read_summary(own_run))  # with their checksum
    write_page(own_run)
    assert read_content(own_run)["groups"] == []
    assert read_content(own_run)["over_time"]
    assert "holds only the value 'Delta'" in caplog.text
    assert CorrectedRun.read(own_run).points.columns["airline"].nunique() == 1


def test_served_page_holds_the_comparisons(own_run: Path) -> None:
    from rstc.pipelines.edit_session import EditSession

    make: Callable[[], str] = EditSession(own_run).page
    assert '"trend"' in make()
