"""How many clusters a user asks for: a number, a range, or what the texts suggest."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from rstc.errors import InputError

AUTO = "auto"

Within = tuple[int, int | None]  # the fewest and the most clusters; None: as many as the texts can tell of


def asked_clusters(n_clusters: Any, distinct: int) -> int | Within:
    """Return the number of clusters that was asked for, or the fewest and the most, of so many distinct texts.

    >>> asked_clusters("auto", 2), asked_clusters("2-3", 3)
    ((2, None), (2, 3))
    """
    if n_clusters == AUTO:
        _check_number(2, distinct)
        return 2, None
    if isinstance(n_clusters, str) and (between := re.fullmatch(r"\s*(\d+)\s*-\s*(\d+)\s*", n_clusters)):
        n_clusters = tuple(int(number) for number in between.groups())
    if not isinstance(n_clusters, (tuple, list)):
        return _check_number(n_clusters, distinct)
    if len(n_clusters) != 2:
        raise InputError(f"n_clusters={n_clusters!r} must name the fewest and the most clusters")
    fewest, most = (_check_number(number, distinct) for number in n_clusters)
    if fewest > most:
        raise InputError(f"n_clusters={fewest}-{most} names more clusters first than last")
    return fewest if fewest == most else (fewest, most)


def _check_number(n_clusters: Any, distinct: int) -> int:
    if isinstance(n_clusters, bool) or not isinstance(n_clusters, (int, np.integer)) or n_clusters < 2:
        raise InputError(f"n_clusters={n_clusters!r} must be a whole number of at least 2, a range as 10-60, or 'auto'")
    if n_clusters > distinct:
        raise InputError(f"n_clusters={n_clusters} needs at least {n_clusters} distinct texts, got {distinct}")
    return int(n_clusters)
