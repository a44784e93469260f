"""ACC, NMI, ARI and the calibration of confidence against values computed by hand."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from rstc.errors import InputError
from rstc.metrics import evaluate, evaluate_confidence


def test_scores_do_not_depend_on_the_names_of_the_clusters() -> None:
    scores = evaluate(["a", "a", "b", "b"], [7, 7, 3, 3])
    assert (scores.acc, scores.nmi, scores.ari) == pytest.approx((1, 1, 1))


def test_accuracy_uses_the_best_one_to_one_matching() -> None:
    # Greedy matching (a with 0, which shares most) would leave b with nothing: 3 of 7 right. The best has 4.
    labels_true = ["a", "a", "a", "a", "a", "b", "b"]
    labels_pred = [0, 0, 0, 1, 1, 0, 0]
    assert evaluate(labels_true, labels_pred).acc == pytest.approx(4 / 7)


def test_nmi_is_normalised_by_the_geometric_mean_of_the_entropies() -> None:
    labels_true, labels_pred = [0, 0, 1, 1], [0, 1, 2, 2]
    information, entropy_pred = math.log(2), 1.5 * math.log(2)
    expected = information / math.sqrt(math.log(2) * entropy_pred)
    assert evaluate(labels_true, labels_pred).nmi == pytest.approx(expected)


def test_class_table_holds_recall_and_precision_of_matched_classes() -> None:
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


def test_a_matched_pair_without_a_shared_text_is_left_out() -> None:
    # a is best matched with 0; the matching then pairs b with 1, though all of b is in 0.
    classes = evaluate(["a"] * 5 + ["b"] * 2, [0, 0, 0, 0, 1, 0, 0]).classes.set_index("class")
    assert classes.loc["a", "cluster"] == 0
    assert pd.isna(classes.loc["b", "cluster"])
    assert classes.loc["b", "recall"] == 0


def test_labels_of_different_lengths_or_none_raise() -> None:
    with pytest.raises(InputError, match="2 true labels but 1"):
        evaluate([1, 2], [1])
    with pytest.raises(InputError, match="nothing to evaluate"):
        evaluate([], [])


def test_calibration_error_is_the_mean_gap_of_confidence_and_accuracy() -> None:
    labels_true, labels_pred = ["a", "a", "a", "b", "b"], [0, 0, 1, 1, 1]
    scores = evaluate_confidence(labels_true, labels_pred, [0.95, 0.95, 0.55, 0.55, 0.55])
    # Right, right, wrong, right, right: gaps of 0.05 for two texts, and of 2/3 - 0.55 for three.
    assert scores.ece == pytest.approx(2 / 5 * 0.05 + 3 / 5 * (2 / 3 - 0.55))
    assert scores.bins["texts"].tolist() == [3, 2]
    assert scores.bins["low"].tolist() == [0.5, 0.9]


def test_risk_is_the_error_of_the_surest_texts() -> None:
    scores = evaluate_confidence(["a", "a", "b", "a"], [0, 0, 1, 1], [0.9, 0.8, 0.7, 0.1])
    assert scores.aurc == pytest.approx((0 + 0 + 0 + 1 / 4) / 4)
    assert scores.risk_at_half == 0
    assert (scores.coverage[-1], scores.risk[-1]) == (1, 1 / 4)


def test_equal_confidences_do_not_depend_on_the_order_of_the_texts() -> None:
    labels_true, labels_pred = ["a", "a", "b", "b", "a"], [0, 0, 1, 1, 1]
    forward = evaluate_confidence(labels_true, labels_pred, [0.5] * 5)
    backward = evaluate_confidence(labels_true[::-1], labels_pred[::-1], [0.5] * 5)
    assert forward.aurc == pytest.approx(backward.aurc) == pytest.approx(1 / 5)


def test_confidence_of_a_single_text_is_scored() -> None:
    scores = evaluate_confidence(["a"], [3], [1.0])
    assert (scores.ece, scores.aurc, scores.risk_at_half) == (0, 0, 0)
