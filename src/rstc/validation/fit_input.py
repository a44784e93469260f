"""Validation of what a model is fitted on or updated with: texts, partial labels and the number of clusters.

None of it needs the model, so that `rstc.pipelines` refuses an input before torch is imported.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rstc.errors import InputError
from rstc.runtime.distributed import ProcessGroup
from rstc.validation.labels import PartialLabels, reconcile_n_clusters, validate_partial_labels
from rstc.validation.n_clusters import ClusterRange, validate_n_clusters
from rstc.validation.texts import NonEmptyTexts


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
    X: Any, y: Any, n_clusters: Any, *, class_contrast: bool, noise: float, processes: ProcessGroup
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
