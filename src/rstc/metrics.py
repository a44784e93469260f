"""ACC (by Hungarian matching), NMI, ARI and AMI of clusters against true classes, and the calibration of confidence.

Only this module reads true labels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import adjusted_mutual_info_score, adjusted_rand_score, normalized_mutual_info_score

from rstc.errors import InputError

N_CALIBRATION_BINS = 10
N_CURVE_POINTS = 101


@dataclass(frozen=True)
class Scores:
    """The scores of a clustering.

    Attributes
    ----------
    acc : float
        Clustering accuracy: the share of texts whose cluster is the one matched to their class. The matching is the
        one-to-one matching of classes and clusters with the most shared texts (Hungarian algorithm).
    nmi : float
        Normalised mutual information, the geometric mean of the two entropies as normaliser, as in the paper.
    ari : float
        Adjusted Rand index.
    ami : float
        Adjusted mutual information: like NMI, but 0 for a random clustering, however many clusters it has.
    n_texts, n_classes, n_clusters : int
        Number of scored texts, of their true classes and of their clusters.
    classes : DataFrame
        One row per true class, the largest first, with the columns `class`, `size`, `cluster` (the matched one, or
        None), `recall` and `precision`.
    """

    acc: float
    nmi: float
    ari: float
    ami: float
    n_texts: int
    n_classes: int
    n_clusters: int
    classes: pd.DataFrame


def evaluate(labels_true: Sequence[Any], labels_pred: Sequence[Any]) -> Scores:
    """Score clusters against true classes.

    Parameters
    ----------
    labels_true : sequence of length N
        The true class of each text. Classes may be named by any values.
    labels_pred : sequence of length N
        The cluster of each text. Clusters may be named by any values.

    Returns
    -------
    Scores

    Raises
    ------
    InputError
        If the two differ in length, or are empty.

    Examples
    --------
    >>> scores = evaluate(["a", "a", "a", "b"], [1, 1, 0, 0])
    >>> scores.acc, round(scores.ari, 3)
    (0.75, 0.0)
    """
    if len(labels_true) != len(labels_pred):
        raise InputError(f"there are {len(labels_true)} true labels but {len(labels_pred)} clusters")
    if not len(labels_true):
        raise InputError("there is nothing to evaluate: no row has both a true label and a cluster")
    counts = _count_texts(labels_true, labels_pred)
    rows, columns = _match_clusters(counts)
    return Scores(
        acc=float(counts.to_numpy()[rows, columns].sum() / len(labels_true)),
        nmi=float(normalized_mutual_info_score(labels_true, labels_pred, average_method="geometric")),
        ari=float(adjusted_rand_score(labels_true, labels_pred)),
        ami=float(adjusted_mutual_info_score(labels_true, labels_pred)),
        n_texts=len(labels_true),
        n_classes=counts.shape[0],
        n_clusters=counts.shape[1],
        classes=_score_classes(counts, dict(zip(rows.tolist(), columns.tolist(), strict=True))),
    )


@dataclass(frozen=True)
class ConfidenceScores:
    """How well the confidence of texts predicts whether they are in the right cluster.

    A text is in the right cluster if its cluster is the one matched to its class, as in `Scores.acc`.

    Attributes
    ----------
    ece : float
        Expected calibration error: mean distance of confidence and accuracy over bins of equal width, weighted by their
        number of texts.
    aurc : float
        Area under the risk-coverage curve: mean error of the most confident k texts over k = 1, ..., N; lower is
        better.
    risk_at_half : float
        Error of the more confident half of the texts.
    bins : DataFrame
        The reliability diagram: a row for each bin that holds a text, with the columns `low`, `high`, `texts`,
        `confidence` (mean) and `accuracy`.
    coverage, risk : list of float
        The risk-coverage curve: error of the most confident texts, for shares of the texts up to 1.
    """

    ece: float
    aurc: float
    risk_at_half: float
    bins: pd.DataFrame
    coverage: list[float]
    risk: list[float]


def evaluate_confidence(
    labels_true: Sequence[Any], labels_pred: Sequence[Any], confidence: Sequence[float]
) -> ConfidenceScores:
    """Score the confidence of texts against true classes.

    Parameters
    ----------
    labels_true, labels_pred : sequences of length N
        The true class and the cluster of each text, named by any values.
    confidence : sequence of float, length N
        The confidence of each text, from 0 to 1.

    Returns
    -------
    ConfidenceScores

    Examples
    --------
    >>> scores = evaluate_confidence(["a", "a", "b", "b"], [0, 0, 1, 0], [0.9, 0.9, 0.9, 0.2])
    >>> round(scores.ece, 3), round(scores.aurc, 4), scores.risk_at_half
    (0.125, 0.0625, 0.0)
    """
    counts = _count_texts(labels_true, labels_pred)
    rows, columns = _match_clusters(counts)
    matches = dict(zip(counts.index[rows], counts.columns[columns], strict=True))
    is_right = np.array([matches.get(y) == k for y, k in zip(labels_true, labels_pred, strict=True)])
    p = np.asarray(confidence, dtype=np.float64)
    # Equal confidences are ordered as by chance: each of them counts as their mean error.
    frame = pd.DataFrame({"confidence": p, "error": ~is_right})
    errors = frame.groupby("confidence")["error"].transform("mean").to_numpy()[np.argsort(-p, kind="stable")]
    risk = np.cumsum(errors) / np.arange(1, len(p) + 1)
    bin_of_text = np.minimum((p * N_CALIBRATION_BINS).astype(np.int64), N_CALIBRATION_BINS - 1)
    bins = [
        {
            "low": number / N_CALIBRATION_BINS,
            "high": (number + 1) / N_CALIBRATION_BINS,
            "texts": int(members.sum()),
            "confidence": float(p[members].mean()),
            "accuracy": float(is_right[members].mean()),
        }
        for number in range(N_CALIBRATION_BINS)
        if (members := bin_of_text == number).any()
    ]
    table = pd.DataFrame(bins)
    gaps = (table["confidence"] - table["accuracy"]).abs()
    shown = np.unique(np.linspace(0, len(p) - 1, N_CURVE_POINTS).round().astype(np.int64))
    return ConfidenceScores(
        ece=float((gaps * table["texts"]).sum() / len(p)),
        aurc=float(risk.mean()),
        risk_at_half=float(risk[max(len(p) // 2, 1) - 1]),
        bins=table,
        coverage=((shown + 1) / len(p)).tolist(),
        risk=risk[shown].tolist(),
    )


def confusion_matrix(labels_true: Sequence[Any], labels_pred: Sequence[Any]) -> pd.DataFrame:
    """Compute the confusion matrix of classes and clusters, with matched pairs on the diagonal.

    Parameters
    ----------
    labels_true, labels_pred : sequences of length N
        The true class and the cluster of each text, named by any values.

    Returns
    -------
    DataFrame
        The number of texts of each class (rows) in each cluster (columns). Matched classes come first, by size.

    Examples
    --------
    >>> confusion_matrix(["a", "b", "b", "b"], [7, 5, 5, 7]).to_dict("split")["data"]
    [[2, 1], [0, 1]]
    """
    counts = _count_texts(labels_true, labels_pred)
    rows, columns = _match_clusters(counts)
    order = np.argsort(-counts.to_numpy().sum(1)[rows], kind="stable")
    rows, columns = rows[order], columns[order]
    unmatched_rows = np.setdiff1d(np.arange(counts.shape[0]), rows)
    unmatched_columns = np.setdiff1d(np.arange(counts.shape[1]), columns)
    return counts.iloc[[*rows, *unmatched_rows], [*columns, *unmatched_columns]]


def _count_texts(labels_true: Sequence[Any], labels_pred: Sequence[Any]) -> pd.DataFrame:
    """Count the texts of each class (rows) in each cluster (columns)."""
    return pd.crosstab(pd.Series(list(labels_true), name="class"), pd.Series(list(labels_pred), name="cluster"))


def _match_clusters(counts: pd.DataFrame) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Find the one-to-one matching of rows and columns with the most texts, by the Hungarian algorithm."""
    rows, columns = linear_sum_assignment(counts.to_numpy(), maximize=True)
    return rows, columns


def _score_classes(counts: pd.DataFrame, matches: dict[int, int]) -> pd.DataFrame:
    """Make a table of the true classes, the largest first, with recall and precision of the matched cluster."""
    values, entries = counts.to_numpy(), []
    for row, name in enumerate(counts.index):
        entry = {"class": name, "size": int(values[row].sum()), "cluster": None, "recall": 0.0, "precision": np.nan}
        column = matches.get(row)
        # The matching may pair a class with a cluster that holds none of its texts: such a pair is not shown.
        if column is not None and (shared := int(values[row, column])):
            entry["cluster"] = counts.columns.tolist()[column]
            entry["recall"] = shared / values[row].sum()
            entry["precision"] = shared / values[:, column].sum()
        entries.append(entry)
    return pd.DataFrame(entries).sort_values("size", ascending=False, kind="stable", ignore_index=True)
