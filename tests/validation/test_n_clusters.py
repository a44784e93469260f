"""The numbers and ranges of clusters that are accepted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rstc.errors import InputError
from rstc.validation.n_clusters import ClusterRange, validate_n_clusters


@pytest.mark.parametrize(
    ("n_clusters", "expected"),
    [
        (3, 3),
        (np.int64(3), 3),
        ("auto", (2, None)),
        ("2-5", (2, 5)),
        (" 2 - 5 ", (2, 5)),
        ((2, 5), (2, 5)),
        ([4, 4], 4),
    ],
)
def test_number_range_or_auto_is_accepted(n_clusters: Any, expected: int | ClusterRange) -> None:
    assert validate_n_clusters(n_clusters, 7) == expected


@pytest.mark.parametrize(
    ("n_clusters", "message"),
    [
        (20, "n_clusters=20 needs at least 20 distinct texts, got 7"),
        ("2-8", "n_clusters=8 needs at least 8 distinct texts, got 7"),
        (1, "n_clusters=1 must be a whole number of at least 2"),
        (True, "n_clusters=True must be a whole number"),
        (2.5, "n_clusters=2.5 must be a whole number"),
        ("many", "n_clusters='many' must be a whole number"),
        ((2, 3, 4), "must name the smallest and the largest number of clusters"),
        ("5-2", "n_clusters=5-2 must name the smaller number first"),
    ],
)
def test_error_names_the_value(n_clusters: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        validate_n_clusters(n_clusters, 7)


def test_auto_needs_two_distinct_texts() -> None:
    with pytest.raises(InputError, match="needs at least 2 distinct texts, got 1"):
        validate_n_clusters("auto", 1)
