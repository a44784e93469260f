"""How well clusters match true classes: ACC, NMI and ARI. The only place that reads true labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from rstc.errors import InputError

NO_MATCH = -1


@dataclass(frozen=True)
class Scores:
    """The scores of a clustering.

    Attributes:
        acc: share of texts in the cluster that the best one-to-one matching gives to their class (Hungarian).
        nmi: mutual information over the geometric mean of the two entropies, as the paper defines it.
        ari: adjusted Rand index.
        n_texts, n_classes, n_clusters: how many there are.
        classes: a row for each true class: its size, the cluster matched to it, and how well the two agree.
    """

    acc: float
    nmi: float
    ari: float
    n_texts: int
    n_classes: int
    n_clusters: int
    classes: pd.DataFrame


def evaluate(truth: Sequence[Any], clusters: Sequence[Any]) -> Scores:
    """Score clusters against true classes; any values serve as names on either side.

    >>> scores = evaluate(["a", "a", "a", "b"], [1, 1, 0, 0])
    >>> scores.acc, round(scores.ari, 3)
    (0.75, 0.0)
    """
    if len(truth) != len(clusters):
        raise InputError(f"there are {len(truth)} true labels but {len(clusters)} clusters")
    if not len(truth):
        raise InputError("there is nothing to evaluate: no row has both a true label and a cluster")
    counts, rows, columns = _matched(truth, clusters)
    return Scores(
        acc=float(counts.to_numpy()[rows, columns].sum() / len(truth)),
        nmi=float(normalized_mutual_info_score(truth, clusters, average_method="geometric")),
        ari=float(adjusted_rand_score(truth, clusters)),
        n_texts=len(truth),
        n_classes=counts.shape[0],
        n_clusters=counts.shape[1],
        classes=_class_table(counts, dict(zip(rows.tolist(), columns.tolist(), strict=True))),
    )


def confusion(truth: Sequence[Any], clusters: Sequence[Any]) -> pd.DataFrame:
    """Return how many texts of each class (rows) each cluster (columns) holds, matches on the diagonal, large first.

    >>> confusion(["a", "b", "b", "b"], [7, 5, 5, 7]).to_dict("split")["data"]
    [[2, 1], [0, 1]]
    """
    counts, rows, columns = _matched(truth, clusters)
    order = np.argsort(-counts.to_numpy().sum(1)[rows], kind="stable")
    rows, columns = rows[order], columns[order]
    unmatched = [
        [i for i in range(size) if i not in set(taken)]
        for size, taken in zip(counts.shape, (rows, columns), strict=True)
    ]
    return counts.iloc[[*rows, *unmatched[0]], [*columns, *unmatched[1]]]


def _matched(
    truth: Sequence[Any], clusters: Sequence[Any]
) -> tuple[pd.DataFrame, NDArray[np.int64], NDArray[np.int64]]:
    """Return how many texts of each class each cluster holds, and the rows and columns of the best matching."""
    counts = pd.crosstab(pd.Series(list(truth), name="class"), pd.Series(list(clusters), name="cluster"))
    rows, columns = linear_sum_assignment(counts.to_numpy(), maximize=True)
    return counts, rows, columns


def _class_table(counts: pd.DataFrame, match: dict[int, int]) -> pd.DataFrame:
    """Return one row a true class, the largest first; a class without a matched cluster has none."""
    values, table = counts.to_numpy(), []
    for row, name in enumerate(counts.index):
        column = match.get(row, NO_MATCH)
        shared = 0 if column == NO_MATCH else int(values[row, column])
        # The matching may pair a class with a cluster that has none of its texts; that is no match to show.
        entry = {
            "class": name,
            "size": int(values[row].sum()),
            "cluster": None,
            "recall": 0.0,
            "precision": np.nan,
        }
        if shared:
            entry["cluster"] = counts.columns.tolist()[column]
            entry["recall"] = shared / values[row].sum()
            entry["precision"] = shared / values[:, column].sum()
        table.append(entry)
    return pd.DataFrame(table).sort_values("size", ascending=False, kind="stable", ignore_index=True)
