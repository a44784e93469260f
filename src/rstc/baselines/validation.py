"""What every baseline asks of its input before it works on it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rstc.errors import InputError


def checked_texts(texts: Sequence[Any], n_clusters: Any) -> list[str]:
    """Return texts as a list, after a look at whether they are texts, and enough of them for the clusters asked for.

    >>> checked_texts(("late again", "where is it"), 2)
    ['late again', 'where is it']
    """
    if isinstance(texts, (str, bytes)):
        raise InputError("texts must be a list of strings, got a single string")
    given = list(texts)
    for i, text in enumerate(given):
        if not isinstance(text, str):
            raise InputError(f"texts must be strings, but text {i} is {text!r}")
    if isinstance(n_clusters, bool) or not isinstance(n_clusters, (int, np.integer)) or n_clusters < 2:
        raise InputError(f"n_clusters={n_clusters!r} must be a whole number of at least 2")
    if (distinct := len(set(given))) < n_clusters:
        raise InputError(f"n_clusters={n_clusters} needs at least {n_clusters} distinct texts, got {distinct}")
    return given
