"""Input validation that all baselines share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rstc.errors import InputError


def validate_texts(texts: Sequence[Any], n_clusters: Any) -> list[str]:
    """Check that texts are strings and that enough of them differ.

    Parameters
    ----------
    texts : sequence of str
        The texts to cluster.
    n_clusters : int
        The number of clusters, at least 2.

    Returns
    -------
    list of str
        The texts.

    Raises
    ------
    InputError
        If an item is not a string, `n_clusters` is not an integer above 1, or fewer than `n_clusters` texts differ.

    Examples
    --------
    >>> validate_texts(("late again", "where is it"), 2)
    ['late again', 'where is it']
    """
    if isinstance(texts, (str, bytes)):
        raise InputError("texts must be a list of strings, got a single string")
    texts = list(texts)
    for i, text in enumerate(texts):
        if not isinstance(text, str):
            raise InputError(f"texts must be strings, but text {i} is {text!r}")
    if isinstance(n_clusters, bool) or not isinstance(n_clusters, (int, np.integer)) or n_clusters < 2:
        raise InputError(f"n_clusters={n_clusters!r} must be a whole number of at least 2")
    if (n_distinct := len(set(texts))) < n_clusters:
        raise InputError(f"n_clusters={n_clusters} needs at least {n_clusters} distinct texts, got {n_distinct}")
    return texts
