"""Name clusters by their keywords."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rstc.results.describe import ClusterDescription

WORDS_PER_NAME = 3
MAX_NAME_LENGTH = 200  # characters


def fill_names(names: Sequence[str | None] | None, n_clusters: int) -> list[str]:
    """Return a name for each cluster, its number where it has none.

    >>> fill_names(["late parcels", None], 2), fill_names(None, 1)
    (['late parcels', 'cluster 1'], ['cluster 0'])
    """
    return [name or f"cluster {cluster}" for cluster, name in enumerate(names or [None] * n_clusters)]


def are_names(names: Any, n_clusters: int) -> bool:
    """Return whether a value that was read from a file holds a name or None for each cluster."""
    return (
        isinstance(names, list)
        and len(names) == n_clusters
        and all(name is None or (isinstance(name, str) and len(name) <= MAX_NAME_LENGTH) for name in names)
    )


def name_by_keywords(descriptions: Sequence[ClusterDescription], given_names: Sequence[Any] | None = None) -> list[str]:
    """Name each cluster by its first keywords, by more of them where another cluster has the same name.

    Parameters
    ----------
    descriptions : sequence of ClusterDescription
        The clusters.
    given_names : sequence, optional
        A name or None for each cluster number; names that are not None are used as they are.

    Returns
    -------
    list of str
        A name for each description.

    Examples
    --------
    >>> from rstc.results.describe import ClusterDescription
    >>> first = ClusterDescription(0, 9, 0.9, ["refund", "money", "bank", "paid"], [], [], [])
    >>> second = ClusterDescription(1, 5, 0.9, ["refund", "money", "bank", "late"], [], [], [])
    >>> name_by_keywords([first, second, ClusterDescription(2, 1, 0.9, [], [0], [], [])])
    ['refund, money, bank', 'refund, money, bank, late', 'cluster 2']
    """
    names: list[str] = []
    for description in descriptions:
        cluster, keywords = description.cluster, description.keywords
        if given_names is not None and given_names[cluster] is not None:
            names.append(str(given_names[cluster]))
            continue
        for n_words in range(WORDS_PER_NAME, len(keywords) + 1):
            name = ", ".join(keywords[:n_words])
            if name not in names:
                break
        else:
            name = ", ".join(keywords) or f"cluster {cluster}"
        names.append(name if name not in names else f"{name} ({cluster})")
    return names
