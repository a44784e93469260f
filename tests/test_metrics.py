"""Scores against values computed by hand."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from rstc.errors import InputError
from rstc.metrics import evaluate


def test_names_do_not_matter() -> None:
    scores = evaluate(["a", "a", "b", "b"], [7, 7, 3, 3])
    assert (scores.acc, scores.nmi, scores.ari) == pytest.approx((1, 1, 1))


def test_accuracy_is_the_best_one_to_one_matching() -> None:
    # Greedy matching (a with 0, which shares most) would leave b with nothing: 3 of 7 right. The best has 4.
    truth = ["a", "a", "a", "a", "a", "b", "b"]
    clusters = [0, 0, 0, 1, 1, 0, 0]
    assert evaluate(truth, clusters).acc == pytest.approx(4 / 7)


def test_nmi_divides_by_the_geometric_mean() -> None:
    truth, clusters = [0, 0, 1, 1], [0, 1, 2, 2]
    information, entropy_clusters = math.log(2), 1.5 * math.log(2)
    expected = information / math.sqrt(math.log(2) * entropy_clusters)
    assert evaluate(truth, clusters).nmi == pytest.approx(expected)


def test_class_table_shows_what_was_matched_and_what_was_not() -> None:
    classes = evaluate(["a"] * 4 + ["b"] * 2 + ["c"], [0, 0, 0, 1, 1, 1, 1]).classes.set_index("class")
    assert list(classes.index) == ["a", "b", "c"]
    assert (classes.loc["a", "cluster"], classes.loc["a", "recall"], classes.loc["a", "precision"]) == (
        0,
        0.75,
        1,
    )
    assert (classes.loc["b", "recall"], classes.loc["b", "precision"]) == (1, 0.5)
    assert classes.loc["c", "cluster"] is None or np.isnan(classes.loc["c", "cluster"])
    assert classes.loc["c", "recall"] == 0


def test_a_match_that_shares_no_text_is_no_match() -> None:
    # a is best matched with 0; the matching then pairs b with 1, though all of b is in 0.
    classes = evaluate(["a"] * 5 + ["b"] * 2, [0, 0, 0, 0, 1, 0, 0]).classes.set_index("class")
    assert classes.loc["a", "cluster"] == 0
    assert pd.isna(classes.loc["b", "cluster"])
    assert classes.loc["b", "recall"] == 0


def test_different_lengths_and_nothing_at_all_are_refused() -> None:
    with pytest.raises(InputError, match="2 true labels but 1"):
        evaluate([1, 2], [1])
    with pytest.raises(InputError, match="nothing to evaluate"):
        evaluate([], [])
