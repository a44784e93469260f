"""Which texts train: all, or of many a random sample."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import numpy as np

from rstc.errors import InputError
from rstc.ranks import Ranks

logger = logging.getLogger("rstc")


def choose_learners(
    texts: Sequence[str], n_clusters: int, most: int, rng: np.random.Generator, ranks: Ranks
) -> Sequence[int]:
    """Return which of this process's texts train: all, or those among a random sample of `most` of all processes'."""
    counts = ranks.every(len(texts))
    total, start = sum(counts), sum(counts[: ranks.rank])
    if most == 0 or total <= most:
        return range(len(texts))
    sample = np.sort(rng.choice(total, size=most, replace=False)) - start
    rows: list[int] = sample[(sample >= 0) & (sample < len(texts))].tolist()
    distinct = int(ranks.total(len({texts[i] for i in rows})))
    if distinct < n_clusters:
        raise InputError(
            f"max_texts={most} leaves {distinct} distinct texts to find {n_clusters} clusters in; raise it"
        )
    logger.info("training on a random sample of %d of %d texts", most, total)
    return rows
