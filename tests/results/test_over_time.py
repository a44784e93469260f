"""Clusters over time: what is put in is found and said."""

from __future__ import annotations

import json

import numpy as np
import pytest
from numpy.typing import NDArray

from rstc.results.find_trends import compute_over_time, count_pairs
from rstc.results.over_time import OverTime

NAMES = {0: "steady", 1: "rising", 2: "begun", 4: "ended", 5: "burst", 6: "small"}
MONTHS = np.arange("2014-01", "2015-01", dtype="datetime64[M]")


def compute(counts: dict[int, list[int]], every: str | None = "month") -> tuple[OverTime, NDArray[np.int64]]:
    """Return the result for counts of clusters in successive months, and the clusters; every tenth text has no date."""
    rng = np.random.default_rng(0)
    dates, clusters = [], []
    for cluster, row in counts.items():
        for month, count in zip(MONTHS, row, strict=True):
            days = month.astype("datetime64[D]") + (np.arange(count) * 28 // max(count, 1)).astype("timedelta64[D]")
            dates.extend(days.astype("datetime64[s]"))
            clusters.extend([cluster] * count)
    # Days on which nothing is in a cluster, so that all months are complete.
    dates.extend(np.arange("2014-01-01", "2015-01-01", dtype="datetime64[D]").astype("datetime64[s]"))
    clusters.extend([-1] * 365)
    dates.extend([np.datetime64("NaT", "s")] * 7)
    clusters.extend([0] * 7)
    found = np.array(clusters)
    confidence = rng.random(len(found)).astype(np.float32)
    return compute_over_time(np.array(dates), found, confidence, NAMES, "when", every), found


@pytest.fixture(scope="module")
def result() -> OverTime:
    wobble = [1, -2, 0, 2, -1, 1, -1, 0, 2, -2, 1, -1]
    counts = {
        0: [60 + 3 * w for w in wobble],
        1: [20 + 4 * month + w for month, w in enumerate(wobble)],
        2: [0] * 5 + [30 + w for w in wobble[5:]],
        4: [30 + w for w in wobble[:7]] + [0] * 5,
        5: [10 + w for w in wobble[:6]] + [60] + [10 + w for w in wobble[7:]],
        6: [1, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0],
    }
    return compute(counts)[0]


def test_counts_and_totals_are_those_of_the_texts(result: OverTime) -> None:
    assert result.periods.astype(str).tolist()[:2] == ["2014-01-01", "2014-02-01"]
    assert result.clusters[5].counts.tolist() == [1, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0]
    outliers = result.totals - sum(entry.counts for entry in result.clusters)
    assert outliers.tolist() == [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
    assert result.n_missing == 7
    assert result.is_complete.all()


def test_each_trend_is_named(result: OverTime) -> None:
    assert [entry.trend for entry in result.clusters] == ["steady", "growing", "new", "gone", "steady", "steady"]
    new, gone = result.clusters[2], result.clusters[3]
    assert (new.begins, new.ends, gone.begins, gone.ends) == (5, None, None, 6)
    assert result.clusters[1].change_low < 60 / 20 < result.clusters[1].change_high
    assert result.clusters[5].q_value == 1


def test_the_peak_is_found_with_its_texts(result: OverTime) -> None:
    peaks = [entry.cluster for entry in result.clusters if entry.peak]
    assert peaks == [5]
    peak = result.clusters[4].peak
    assert peak is not None
    assert peak.period == 6
    assert len(peak.rows) == 10
    entry = result.clusters[4]
    share = (entry.counts.sum() - 60) / (result.totals.sum() - result.totals[6])
    assert peak.expected == pytest.approx(share * result.totals[6], rel=0.1)


def test_rows_of_a_peak_are_the_most_confident_of_its_cluster_and_period() -> None:
    result, clusters = compute({0: [50] * 12, 5: [10] * 6 + [60] + [10] * 5})
    entry = next(entry for entry in result.clusters if entry.cluster == 5)
    assert entry.peak is not None
    confidence = np.random.default_rng(0).random(len(clusters)).astype(np.float32)
    candidates = np.flatnonzero(clusters == 5)[60:120]
    assert entry.peak.rows == candidates[np.argsort(-confidence[candidates])][:10].tolist()


def test_sentences_say_what_was_found(result: OverTime) -> None:
    findings = result.list_findings()
    assert len(findings) == 4
    assert findings[0] in (
        "'begun' is new since Jun 2014: 210 texts, none before.",
        "'ended' is gone after Jul 2014: 210 texts, none after.",
    )
    assert any(
        sentence.startswith("'rising' grows from ") and "times, 95 % interval" in sentence for sentence in findings
    )
    assert "It peaks in Jul 2014: 60 texts where" in findings[-1]
    assert result.describe(result.clusters[5]) == "'small' has too few texts for a trend."
    assert result.describe(result.clusters[0]).startswith("'steady' is steady: ")


def test_few_periods_are_counted_and_not_tested() -> None:
    dates = np.repeat(np.array(["2014-01-05", "2014-02-05"], dtype="datetime64[s]"), 50)
    clusters = np.repeat([0, 1], 50)
    result = compute_over_time(dates, clusters, np.ones(100, dtype=np.float32), {0: "a", 1: "b"}, every="month")
    assert not result.is_tested
    assert [entry.trend for entry in result.clusters] == ["steady", "steady"]
    assert result.describe(result.clusters[0]) == "'a' has too few periods for a trend."
    assert result.list_findings() == []


def test_frame_and_json_hold_the_same_numbers(result: OverTime) -> None:
    frame, content = result.to_frame(), json.loads(json.dumps(result.to_json()))
    assert len(frame) == 6 * 12
    assert frame.loc[frame["cluster"] == 5, "count"].tolist() == content["clusters"][4]["counts"]
    assert frame.loc[frame["is_peak"], ["cluster", "period"]].astype(str).to_numpy().tolist() == [["5", "2014-07-01"]]
    assert content["clusters"][4]["peak"]["period"] == 6
    assert set(content) == {"column", "every", "periods", "totals", "incomplete", "n_missing", "clusters"}


def test_a_period_without_texts_has_no_share() -> None:
    dates = np.array(["2014-01-05"] * 3 + ["2014-03-05"] * 3, dtype="datetime64[s]")
    result = compute_over_time(
        dates, np.zeros(6, dtype=np.int64), np.ones(6, dtype=np.float32), {0: "a"}, every="month"
    )
    assert np.isnan(result.clusters[0].shares[1])
    assert result.to_json()["clusters"][0]["shares"] == [1, None, 1]


def test_pairs_are_counted_by_the_order_of_the_clusters() -> None:
    counts = count_pairs(np.array([7, 2, 7, -1, 3]), np.array([0, 1, -1, 1, 1]), [7, 2], 2)
    assert counts.tolist() == [[1, 0], [0, 1]]
