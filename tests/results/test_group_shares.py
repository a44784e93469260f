"""Groups of texts by a column, and the shares of clusters in them."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from rstc.errors import InputError
from rstc.results.group_shares import GroupShares, compute_group_shares
from rstc.results.groups import Groups, cut_groups

NAMES = {0: "late flight", 1: "lost bag", 2: "thanks", 3: "rare"}


def compute(clusters: np.ndarray, values: list[str], column: str = "airline") -> GroupShares:
    groups = cut_groups(pd.Series(values, name=column))
    return compute_group_shares(groups, clusters, NAMES, column, np.random.default_rng(0))


@pytest.fixture(scope="module")
def shares() -> GroupShares:
    """United has 36 late flights of 200 texts, the others 32 of 400."""
    clusters = np.repeat([0, 1, 2, -1, 0, 1, 2, 3], [36, 60, 94, 10, 32, 120, 245, 3])
    values = ["United"] * 200 + ["Delta", "American"] * 200
    return compute(np.append(clusters, 0), [*values, ""])


def test_shares_are_of_the_texts_of_a_group(shares: GroupShares) -> None:
    assert shares.values == ["American", "Delta", "United"]
    assert shares.totals.tolist() == [200, 200, 200]
    assert shares.counts[0].tolist() == [16, 16, 36]
    assert shares.shares[0].tolist() == [0.08, 0.08, 0.18]
    assert shares.n_missing == 1
    assert shares.ratios[0, 2] == pytest.approx(0.18 / 0.08)
    assert shares.ratio_low[0, 2] < 0.18 / 0.08 < shares.ratio_high[0, 2]


def test_the_cell_is_marked_and_described(shares: GroupShares) -> None:
    assert shares.signs[0].tolist() == [0, 0, 1]
    assert shares.list_findings()[0] == (
        "'late flight' is 2.2 times as frequent where airline is United (18 %, 95 % interval 13 to 24) as elsewhere "
        "(8 %)."
    )
    assert shares.describe_cell(0, 0).startswith(
        "'late flight' is only 0.62 times as frequent where airline is American"
    )
    assert shares.q_values[3].tolist() == [1, 1, 1]  # too small to be tested


def test_effect_counts_outliers_as_a_row(shares: GroupShares) -> None:
    table = np.vstack([shares.counts, shares.totals - shares.counts.sum(0)])
    assert 0 < shares.effect < stats.contingency.association(table)
    assert shares.p_value < 0.01


def test_random_groups_have_no_findings_in_19_of_20_cases() -> None:
    rng, n_found = np.random.default_rng(0), 0
    clusters = rng.choice(4, 600, p=[0.4, 0.3, 0.2, 0.1])
    values = [str(value) for value in rng.choice(["a", "b", "c", "d", "e"], 600, p=[0.5, 0.2, 0.1, 0.1, 0.1])]
    for _ in range(200):
        n_found += bool(compute(rng.permutation(clusters), values).list_findings())
    assert n_found <= 10


def test_of_two_groups_only_the_larger_share_is_told() -> None:
    shares = compute(np.repeat([0, 1, 0, 1], [80, 20, 20, 80]), ["yes"] * 100 + ["no"] * 100, "is_member")
    assert np.abs(shares.signs).sum() == 4
    assert len(shares.list_findings()) == 2
    assert all("4.0 times as frequent" in sentence for sentence in shares.list_findings())


def test_a_cluster_of_one_group_occurs_only_there() -> None:
    shares = compute(np.repeat([0, 1, 1], [40, 60, 100]), ["a"] * 100 + ["b"] * 100)
    assert "'late flight' occurs only where airline is a (40 %, 95 % interval 31 to 50)." in shares.list_findings()


def test_frame_and_json_hold_the_same_numbers(shares: GroupShares) -> None:
    frame, content = shares.to_frame(), json.loads(json.dumps(shares.to_json()))
    assert len(frame) == 12
    assert frame["count"].tolist() == [cell["count"] for row in content["cells"] for cell in row]
    assert content["cells"][0][2] == {
        "count": 36,
        "share": 0.18,
        "low": pytest.approx(shares.low[0, 2], rel=1e-4),
        "high": pytest.approx(shares.high[0, 2], rel=1e-4),
        "ratio": 2.25,
        "q_value": pytest.approx(shares.q_values[0, 2], rel=1e-4),
        "sign": 1,
    }


def test_ratings_are_groups_in_order() -> None:
    assert cut_groups(pd.Series(["10", "2", "", "1", "2"], name="stars")).values == ["1", "2", "10"]


def test_many_numbers_are_cut_at_the_quartiles() -> None:
    groups = cut_groups(pd.Series(np.arange(100.0), name="age"))
    assert groups.values == ["0 to 24", "25 to 49", "50 to 74", "75 to 99"]
    assert np.bincount(groups.codes).tolist() == [25, 25, 25, 25]


def test_numbers_with_one_frequent_value_have_fewer_bins() -> None:
    groups = cut_groups(pd.Series([0] * 90 + list(range(1, 21)), name="retweets"))
    assert groups.values[0] == "0"
    assert np.bincount(groups.codes)[0] == 90


def test_dates_are_cut_into_periods() -> None:
    days = pd.Series(pd.date_range("2015-01-01", "2016-12-31").astype(str), name="when")
    assert cut_groups(days).values[:2] == ["2015 Q1", "2015 Q2"]


def test_rare_categories_are_counted_together() -> None:
    values = [f"town {i:02}" for i in range(30) for _ in range(40 - i)]
    groups = cut_groups(pd.Series(values, name="town"))
    assert len(groups.values) == 21
    assert groups.values[0] == "town 00"
    assert groups.values[-1] == "other (10 values)"
    assert np.bincount(groups.codes)[-1] == sum(40 - i for i in range(20, 30))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([f"customer {i}" for i in range(50)], "column 'c' holds 50 different values in 50 rows, such as 'customer 0'"),
        (["a", "a", ""], "column 'c' holds only the value 'a'"),
        (["", "", ""], "column 'c' holds no values"),
    ],
)
def test_columns_without_groups_are_refused(values: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        cut_groups(pd.Series(values, name="c"))


def test_groups_of_a_typed_column() -> None:
    column = pd.Series([True, False, None], dtype="bool[pyarrow]", name="is_member")
    assert cut_groups(column) == Groups(["False", "True"], pytest.approx(np.array([1, 0, -1])))
