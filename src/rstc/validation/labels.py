"""Validation of partial labels: the classes of some of the texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rstc.errors import InputError
from rstc.pseudo_labels.constraints import UNLABELLED
from rstc.runtime.distributed import ProcessGroup
from rstc.validation.n_clusters import ClusterRange


@dataclass(frozen=True)
class PartialLabels:
    """Classes of some of N texts.

    Attributes
    ----------
    classes : list
        The distinct labels, sorted.
    codes : ndarray of int64, (N,)
        The class of each text as an index of `classes`, `UNLABELLED` for texts without a label.
    """

    classes: list[Any]
    codes: NDArray[np.int64]


def validate_partial_labels(y: Any, rows: Sequence[int], n_rows: int) -> PartialLabels | None:
    """Validate the labels of the rows that hold a text.

    Parameters
    ----------
    y : sequence or None
        Label of each row, a string or a number; -1, None, NaN and empty strings stand for no label.
    rows : sequence of int
        The rows that hold a text.
    n_rows : int
        Number of rows, the required length of `y`.

    Returns
    -------
    PartialLabels or None
        None if no text has a label.

    Examples
    --------
    >>> validate_partial_labels(["late", None, "refund", "late", "", "lost"], range(5), 6)
    PartialLabels(classes=['late', 'refund'], codes=array([ 0, -1,  1,  0, -1]))
    """
    if y is None:
        return None
    labels: Sequence[Any] = [_clean_label(value) for value in (y.to_pandas() if hasattr(y, "to_pandas") else y)]
    if len(labels) != n_rows:
        raise InputError(f"there are {len(labels)} labels, but {n_rows} texts")
    labels = [labels[row] for row in rows]
    classes = sorted({label for label in labels if label is not None}, key=lambda label: (str(type(label)), label))
    if not classes:
        return None
    code_of = {label: code for code, label in enumerate(classes)}
    return PartialLabels(classes, np.array([UNLABELLED if label is None else code_of[label] for label in labels]))


def propagate_to_duplicates(texts: Sequence[str], codes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Copy the class of a text to its unlabelled duplicates, unless its labelled duplicates have different classes.

    Parameters
    ----------
    texts : sequence of str, (N,)
        The texts.
    codes : ndarray of int64, (N,)
        Their classes, `UNLABELLED` for texts without a label.

    Returns
    -------
    ndarray of int64, (N,)

    Examples
    --------
    >>> propagate_to_duplicates(["late", "lost", "late", "refund", "refund"], np.array([1, -1, -1, 0, 2])).tolist()
    [1, -1, 1, 0, 2]
    """
    codes_of: dict[str, set[int]] = {}
    for text, code in zip(texts, codes.tolist(), strict=True):
        if code != UNLABELLED:
            codes_of.setdefault(text, set()).add(code)
    unique_code = {text: next(iter(distinct)) for text, distinct in codes_of.items() if len(distinct) == 1}
    propagated = np.array([unique_code.get(text, UNLABELLED) for text in texts], dtype=np.int64)
    return np.where(codes == UNLABELLED, propagated, codes)


def reconcile_n_clusters(
    n_clusters: int | ClusterRange, partial_labels: PartialLabels, class_contrast: bool, processes: ProcessGroup
) -> int | ClusterRange:
    """Return a number or range of clusters with at least one cluster for each given class.

    Parameters
    ----------
    n_clusters : int or tuple
        The number or range that `validate_n_clusters` returned.
    partial_labels : PartialLabels
        The given classes.
    class_contrast : bool
        The setting `class_contrast`; without it labels have no effect.
    processes : ProcessGroup
        The processes of the run; more than one raises an error.

    Raises
    ------
    InputError
        If there are more classes than clusters, or partial labels cannot be used in this run.
    """
    if not processes.is_single:
        raise InputError(f"partial labels need all texts in one process, got {processes.size} processes")
    if not class_contrast:
        raise InputError("class_contrast=False learns from no labels, so partial labels have no effect")
    n_classes = len(partial_labels.classes)
    max_clusters = n_clusters if isinstance(n_clusters, int) else n_clusters[1]
    if max_clusters is not None and max_clusters < n_classes:
        raise InputError(f"n_clusters={max_clusters} is less than the {n_classes} classes of the partial labels")
    return n_clusters if isinstance(n_clusters, int) else (max(n_clusters[0], n_classes), n_clusters[1])


def _clean_label(value: Any) -> Any:
    """Return a label as a Python string or number, None if it stands for no label."""
    if value is None or value is pd.NA or (isinstance(value, float) and value != value):
        return None
    if isinstance(value, np.generic):
        return _clean_label(value.item())
    if isinstance(value, str):
        return value.strip() or None
    if not isinstance(value, (int, float, bool)):
        raise InputError(f"a label must be a string or a number, got {value!r}")
    return None if value == UNLABELLED else value
