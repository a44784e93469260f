"""Validation of what a model is fitted on or updated with: texts, partial labels and the number of clusters.

None of it needs the model, so that `rstc.pipelines` refuses an input before torch is imported.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rstc.errors import InputError
from rstc.runtime.distributed import ProcessGroup
from rstc.validation.labels import PartialLabels, reconcile_n_clusters, validate_partial_labels
from rstc.validation.n_clusters import ClusterRange, validate_n_clusters
from rstc.validation.texts import NonEmptyTexts

NOT_FIXED = -2  # in place of the cluster of a text that an update may move


@dataclass(frozen=True)
class FitInput:
    """The validated input of a fit.

    Attributes
    ----------
    data : NonEmptyTexts
        The rows of this process that hold a text.
    partial_labels : PartialLabels or None
        The given classes of these texts; None if none has one.
    n_clusters : int or tuple
        The number of clusters, or the smallest and the largest number; it has room for each given class.
    """

    data: NonEmptyTexts
    partial_labels: PartialLabels | None
    n_clusters: int | ClusterRange


def validate_fit_input(
    X: Any,
    y: Any,
    n_clusters: Any,
    *,
    class_contrast: bool,
    noise: float,
    processes: ProcessGroup,
    orders_rows: bool = False,
) -> FitInput:
    """Validate the texts, the partial labels and the number of clusters of a fit.

    Parameters
    ----------
    X : list, array, column or table
        The texts of this process, as `RSTC.fit` takes them.
    y : sequence or None
        Their labels, as `RSTC.fit` takes them.
    n_clusters : int, tuple of two int, str
        The requested number of clusters, as `RSTC` takes it.
    class_contrast : bool
        The setting `class_contrast`.
    noise : float
        The setting `noise`.
    processes : ProcessGroup
        The processes that share the fit.
    orders_rows : bool
        Whether the texts are ordered by hash.

    Returns
    -------
    FitInput

    Raises
    ------
    InputError
        If no model can be fitted on them.

    Examples
    --------
    >>> from rstc.runtime.distributed import SINGLE_PROCESS
    >>> texts = ["late", None, "lost", "late"]
    >>> fit_input = validate_fit_input(texts, None, 2, class_contrast=True, noise=0, processes=SINGLE_PROCESS)
    >>> fit_input.data.rows, fit_input.n_clusters
    ([0, 2, 3], 2)
    """
    data = NonEmptyTexts.from_input(X)
    if orders_rows:
        data = data.order_by_hash()
    partial_labels = validate_partial_labels(y, data.rows, len(data.all_texts))
    requested = validate_n_clusters(n_clusters, int(processes.total(len(set(data.texts)))))
    if partial_labels is not None:
        requested = reconcile_n_clusters(requested, partial_labels, class_contrast, processes)
    if noise and not processes.is_single:
        raise InputError(f"noise={noise} needs all texts in one process; leave it out")
    return FitInput(data, partial_labels, requested)


def validate_new_texts(texts: Sequence[str | None], class_contrast: bool) -> None:
    """Raise InputError if a model cannot be updated with these cleaned texts.

    Parameters
    ----------
    texts : sequence of str or None
        The new texts, None for rows without text.
    class_contrast : bool
        The setting `class_contrast` of the model.
    """
    if not any(text is not None for text in texts):
        raise InputError("update needs at least one new text, got none")
    if not class_contrast:
        raise InputError("class_contrast=False finds clusters by k-means after training; fit a new model instead")


def validate_fixed_clusters(fixed: Mapping[int, int], n_texts: int, n_clusters: int) -> NDArray[np.int64]:
    """Return the cluster that each of N texts keeps, `NOT_FIXED` where it may move.

    Parameters
    ----------
    fixed : mapping
        From positions of texts to their clusters, -1 for outliers.
    n_texts : int
        N.
    n_clusters : int
        C.

    Returns
    -------
    ndarray of shape (N,)

    Examples
    --------
    >>> validate_fixed_clusters({1: 0, 2: -1}, 3, 2).tolist()
    [-2, 0, -1]
    """
    clusters = np.full(n_texts, NOT_FIXED, dtype=np.int64)
    for row, cluster in fixed.items():
        if not 0 <= row < n_texts:
            raise InputError(f"fixed names the text {row!r}, but there are {n_texts} old texts")
        if not -1 <= cluster < n_clusters:
            raise InputError(f"fixed[{row}]={cluster!r} is no cluster of the model, which has {n_clusters}")
        clusters[row] = cluster
    return clusters
