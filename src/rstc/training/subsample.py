"""Which texts train: all, or of many a sample that has room for what is rare.

A random sample of a lot of texts may miss a small cluster, and what did not train is never found. So the sample is
drawn from more texts than it takes: these are embedded and put into many small groups; one half of the sample is spread
evenly over the groups, and the other half follows their sizes.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.cluster import MiniBatchKMeans
from torch import Tensor
from torch.nn import functional as F

from rstc.errors import InputError
from rstc.runtime.progress import Progress
from rstc.pseudo_labels.constraints import UNKNOWN
from rstc.runtime.distributed import Ranks, own_rows, own_slice

logger = logging.getLogger("rstc")

POOL = 2  # times as many texts as the sample takes are looked at
TEXTS_A_GROUP = 50
MOST_GROUPS = 2000
MOST_FITTED = 50_000  # texts that the groups' centres come from
ROWS_A_PIECE = 8192

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Learners:
    """The texts that train.

    Attributes:
        rows: which of this process's texts they are, in order.
        ends: where each process's end among those of all, in the processes' order.
        own: where this process's are among those of all.
        first_row: where this process's texts begin among all texts, learners or not.
        sampled: whether there are texts that do not train.
    """

    rows: Ints
    ends: Ints
    own: slice
    first_row: int
    sampled: bool

    @property
    def n(self) -> int:
        """How many train, in all processes."""
        return int(self.ends[-1])

    @classmethod
    def of(cls, rows: Sequence[int] | Ints, n_texts: int, ranks: Ranks) -> Learners:
        """Count them over all processes, of which this one has so many texts."""
        counts, totals = ranks.every(len(rows)), ranks.every(n_texts)
        if min(counts) == 0:
            raise InputError(f"{ranks.size} processes are more than the texts need; start fewer")
        own, first_row = own_slice(len(rows), ranks), sum(totals[: ranks.rank])
        return cls(np.asarray(rows, dtype=np.int64), np.cumsum(counts), own, first_row, sum(counts) < sum(totals))


def who_learns(
    texts: Sequence[str],
    n_clusters: int,
    most: int,
    embed: Callable[[Sequence[str]], Tensor],
    rng: np.random.Generator,
    ranks: Ranks,
    before: Ints | None,
    known: Ints | None,
    progress: Progress,
) -> Learners:
    """Return who learns: all texts, or where all processes have more than `most` (0: no limit) a sample.

    Args:
        texts, n_clusters, embed, ranks: as in `choose_learners`.
        most: how many texts train.
        rng: the same in all processes.
        before: who learned among all processes' texts in a run that goes on.
        known: the classes of this process's texts, -1 where they are not known; those that are known all train.
        progress: is told of the sample.
    """
    if not most or ranks.total(len(texts)) <= most:
        return Learners.of(range(len(texts)), len(texts), ranks)
    drawing = rng.spawn(1)[0]  # of its own: a run that goes on draws nothing here
    if before is not None:
        return Learners.of(own_rows(before, len(texts), ranks), len(texts), ranks)
    with progress.stage("sample"):
        chosen = choose_learners(texts, n_clusters, most, embed, drawing, ranks)
    if known is not None:
        chosen = np.union1d(chosen, np.flatnonzero(known != UNKNOWN))
    return Learners.of(chosen, len(texts), ranks)


def choose_learners(
    texts: Sequence[str],
    n_clusters: int,
    most: int,
    embed: Callable[[Sequence[str]], Tensor],
    rng: np.random.Generator,
    ranks: Ranks,
) -> Ints:
    """Return which of this process's texts train, of at most so many of all processes'.

    Args:
        texts: of this process.
        n_clusters: that are to be found in them, at the least.
        most: how many texts train.
        embed: gives the embeddings (n, D) of texts.
        rng: the same in all processes.
        ranks: the processes.
    """
    total = sum(ranks.every(len(texts)))
    pool = np.sort(rng.choice(total, size=min(POOL * most, total), replace=False))
    own = own_rows(pool, len(texts), ranks)
    groups = _groups(F.normalize(embed([texts[i] for i in own]), dim=1), len(pool), rng, ranks)
    everyone = ranks.rows_at_first(torch.from_numpy(groups))
    chosen = pool[ranks.at_first(lambda: spread_over_groups(everyone.numpy(), most, rng))]  # type: ignore[union-attr]
    ranks.same_draws(rng)
    rows = own_rows(chosen, len(texts), ranks)
    distinct = int(ranks.total(len({texts[i] for i in rows})))
    if distinct < n_clusters:
        raise InputError(
            f"max_fit_texts={most} leaves {distinct} distinct texts to find {n_clusters} clusters in; raise it"
        )
    logger.info("training on %d of %d texts", most, total)
    return rows


def spread_over_groups(groups: Ints, size: int, rng: np.random.Generator) -> Ints:
    """Return so many of the members of groups (n,), in order: half of them evenly, the rest as they come.

    >>> groups = np.repeat([0, 1, 2], [90, 8, 2])
    >>> np.bincount(groups[spread_over_groups(groups, 20, np.random.default_rng(0))])
    array([13,  5,  2])
    """
    shuffled = rng.permutation(len(groups))
    order = shuffled[np.argsort(groups[shuffled], kind="stable")]
    sizes = np.bincount(groups)
    place = np.arange(len(groups)) - np.repeat(np.cumsum(sizes) - sizes, sizes)  # of each among its group's
    turn = np.argsort(place, kind="stable")  # the first of each group, then the second of each...
    evenly = order[turn[: size // 2]]
    rest = np.setdiff1d(np.arange(len(groups)), evenly, assume_unique=True)
    return np.sort(np.concatenate([evenly, rng.choice(rest, size - len(evenly), replace=False)]))


def _groups(points: Tensor, n_all: int, rng: np.random.Generator, ranks: Ranks) -> Ints:
    """Put points (n, D) of length one, n_all of all processes, into small groups; return which, (n,)."""
    share = min(1.0, MOST_FITTED / n_all)
    some = ranks.rows_at_first(points[:: max(round(1 / share), 1)])
    seed = int(rng.integers(2**31))

    def centres() -> Tensor:
        assert some is not None
        k = min(max(n_all // TEXTS_A_GROUP, 1), MOST_GROUPS, len(some))
        fitted = MiniBatchKMeans(k, random_state=seed, batch_size=4096, n_init=1, max_iter=10).fit(some.numpy())
        return torch.from_numpy(np.asarray(fitted.cluster_centers_, dtype=np.float32))

    C = ranks.at_first(centres)
    heights = (C**2).sum(1) / 2
    nearest = [(piece @ C.T - heights).argmax(1) for piece in points.split(ROWS_A_PIECE)]
    return torch.cat(nearest).numpy() if nearest else np.zeros(0, dtype=np.int64)
