"""Validation of `n_clusters`: a number, a range, or "auto"."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from rstc.errors import InputError

AUTO = "auto"

ClusterRange = tuple[int, int | None]  # the smallest and the largest number of clusters; None: no upper limit


def validate_n_clusters(n_clusters: Any, n_distinct: int) -> int | ClusterRange:
    """Check the requested number of clusters.

    Parameters
    ----------
    n_clusters : int, tuple of two int, str
        A number, a range as (10, 60) or "10-60", or "auto" to estimate the number from the texts.
    n_distinct : int
        Number of distinct texts, which no number of clusters may exceed.

    Returns
    -------
    int or tuple
        The number, or the smallest and the largest number; for "auto", (2, None).

    Examples
    --------
    >>> validate_n_clusters("auto", 2), validate_n_clusters("2-3", 3)
    ((2, None), (2, 3))
    """
    if n_clusters == AUTO:
        _check_number(2, n_distinct)
        return 2, None
    if isinstance(n_clusters, str) and (match := re.fullmatch(r"\s*(\d+)\s*-\s*(\d+)\s*", n_clusters)):
        n_clusters = tuple(int(number) for number in match.groups())
    if not isinstance(n_clusters, (tuple, list)):
        return _check_number(n_clusters, n_distinct)
    if len(n_clusters) != 2:
        raise InputError(f"n_clusters={n_clusters!r} must name the smallest and the largest number of clusters")
    low, high = (_check_number(number, n_distinct) for number in n_clusters)
    if low > high:
        raise InputError(f"n_clusters={low}-{high} must name the smaller number first")
    return low if low == high else (low, high)


def _check_number(n_clusters: Any, n_distinct: int) -> int:
    """Check one number of clusters."""
    if isinstance(n_clusters, bool) or not isinstance(n_clusters, (int, np.integer)) or n_clusters < 2:
        raise InputError(f"n_clusters={n_clusters!r} must be a whole number of at least 2, a range as 10-60, or 'auto'")
    if n_clusters > n_distinct:
        raise InputError(f"n_clusters={n_clusters} needs at least {n_clusters} distinct texts, got {n_distinct}")
    return int(n_clusters)
