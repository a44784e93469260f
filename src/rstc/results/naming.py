"""Names for clusters, out of the box: their keywords."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rstc.results.describe import ClusterDescription

WORDS_A_NAME = 3


def keyword_names(clusters: Sequence[ClusterDescription], given: Sequence[Any] | None = None) -> list[str]:
    """Return a name for each cluster: its first keywords, more of them where another cluster has the same.

    Names that are given, one a cluster number or None, go first.

    >>> one = ClusterDescription(0, 9, 0.9, ["refund", "money", "bank", "paid"], [], [], [])
    >>> other = ClusterDescription(1, 5, 0.9, ["refund", "money", "bank", "late"], [], [], [])
    >>> keyword_names([one, other, ClusterDescription(2, 1, 0.9, [], [0], [], [])])
    ['refund, money, bank', 'refund, money, bank, late', 'cluster 2']
    """
    names: list[str] = []
    for one in clusters:
        if given is not None and given[one.cluster] is not None:
            names.append(str(given[one.cluster]))
            continue
        for words in range(WORDS_A_NAME, len(one.keywords) + 1):
            name = ", ".join(one.keywords[:words])
            if name not in names:
                break
        else:
            name = ", ".join(one.keywords) or f"cluster {one.cluster}"
        names.append(name if name not in names else f"{name} ({one.cluster})")
    return names
