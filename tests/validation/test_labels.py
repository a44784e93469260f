"""Partial labels: which values are labels, duplicates, and the number of clusters that they imply."""

from __future__ import annotations

import numpy as np
import pytest

from rstc.errors import InputError
from rstc.runtime.distributed import SINGLE_PROCESS, ProcessGroup
from rstc.validation.labels import (
    PartialLabels,
    propagate_to_duplicates,
    reconcile_n_clusters,
    validate_partial_labels,
)

THREE = PartialLabels(["a", "b", "c"], np.array([0, 1, 2, -1]))


def test_labels_of_rows_without_a_text_are_ignored() -> None:
    labels = validate_partial_labels(["x", "only here", "y", None], [0, 2, 3], 4)
    assert labels is not None
    assert labels.classes == ["x", "y"]
    assert labels.codes.tolist() == [0, 1, -1]


def test_number_of_labels_must_be_that_of_rows() -> None:
    with pytest.raises(InputError, match="there are 2 labels, but 3 texts"):
        validate_partial_labels(["x", "y"], [0, 1, 2], 3)


def test_duplicates_with_different_labels_stay_as_they_are() -> None:
    codes = propagate_to_duplicates(["a", "a", "a", "b", "b"], np.array([0, 1, -1, 2, -1]))
    assert codes.tolist() == [0, 1, -1, 2, 2]


def test_range_of_clusters_has_room_for_every_class() -> None:
    assert reconcile_n_clusters((2, None), THREE, True, SINGLE_PROCESS) == (3, None)
    assert reconcile_n_clusters((5, 9), THREE, True, SINGLE_PROCESS) == (5, 9)
    assert reconcile_n_clusters(3, THREE, True, SINGLE_PROCESS) == 3


def test_partial_labels_that_a_run_cannot_use_are_refused() -> None:
    with pytest.raises(InputError, match="n_clusters=2 is less than the 3 classes"):
        reconcile_n_clusters(2, THREE, True, SINGLE_PROCESS)
    with pytest.raises(InputError, match="class_contrast=False learns from no labels"):
        reconcile_n_clusters(3, THREE, False, SINGLE_PROCESS)
    with pytest.raises(InputError, match="got 2 processes"):
        reconcile_n_clusters(3, THREE, True, ProcessGroup(0, 2))
