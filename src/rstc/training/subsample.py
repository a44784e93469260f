"""The subsample that a large data set is trained on: half spread evenly over the space, half drawn at random.

A random subsample may miss a small cluster, which is then never found. So twice as many texts as needed are drawn and
divided into many small groups. Half of the subsample is spread evenly over the groups, and the other half
is drawn at random from the remaining texts.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.cluster import MiniBatchKMeans
from torch import Tensor

from rstc.errors import InputError
from rstc.pseudo_labels.constraints import UNLABELLED
from rstc.runtime.distributed import ProcessGroup, local_rows, local_slice
from rstc.runtime.progress import Progress
from rstc.training.inputs import TrainingInputs
from rstc.training.training_texts import EncodedTexts

logger = logging.getLogger("rstc")

POOL_FACTOR = 2  # candidates for each text of the subsample
GROUP_SIZE = 50  # texts in a group, on average
MAX_GROUPS = 2000
MAX_FIT_ROWS = 20_000  # texts that the centres of the groups are fitted on
BLOCK_ROWS = 8192

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Subsample:
    """The training texts of a run.

    Attributes
    ----------
    rows : ndarray of shape (n,)
        Rows of the training texts among the texts of this process, in ascending order.
    ends : ndarray of shape (n_processes,)
        End of each process's training texts among the training texts of all processes.
    local_rows : slice
        Rows of this process's training texts among the training texts of all processes.
    first_row : int
        Row of this process's first text among all texts of all processes.
    is_proper : bool
        Whether some texts are left out.
    """

    rows: Ints
    ends: Ints
    local_rows: slice
    first_row: int
    is_proper: bool

    @property
    def n_texts(self) -> int:
        """The number of training texts of all processes."""
        return int(self.ends[-1])

    @classmethod
    def from_rows(cls, rows: Sequence[int] | Ints, n_texts: int, processes: ProcessGroup) -> Subsample:
        """Create a subsample from some rows of this process's texts.

        Parameters
        ----------
        rows : sequence of int
            Rows of the training texts, in ascending order.
        n_texts : int
            The number of this process's texts.
        processes : ProcessGroup
            The processes that share the texts.
        """
        counts, totals = processes.gather_objects(len(rows)), processes.gather_objects(n_texts)
        if min(counts) == 0:
            raise InputError(f"a process has no training texts; start fewer than {processes.size} processes")
        own, first_row = local_slice(len(rows), processes), sum(totals[: processes.rank])
        return cls(np.asarray(rows, dtype=np.int64), np.cumsum(counts), own, first_row, sum(counts) < sum(totals))

    def gather_rows(self, processes: ProcessGroup) -> Ints | None:
        """Return the training rows among the texts of all processes; None if all texts are training texts.

        In a distributed run, only the first process gets them.
        """
        if not self.is_proper:
            return None
        rows = processes.gather_rows(torch.from_numpy(self.rows + self.first_row))
        return None if rows is None else rows.numpy()


def choose_training_texts(
    inputs: TrainingInputs,
    encoded: EncodedTexts,
    max_texts: int,
    rng: np.random.Generator,
    processes: ProcessGroup,
    progress: Progress,
    previous_rows: Ints | None = None,
) -> Subsample:
    """Choose the training texts: all, or a subsample if there are more than `max_texts`.

    Parameters
    ----------
    inputs : TrainingInputs
        The inputs of the run. Texts with a partial label are always chosen.
    encoded : EncodedTexts
        The tokenised texts, which are embedded if a subsample is drawn.
    max_texts : int
        Size of the subsample; 0 for no limit.
    rng : numpy.random.Generator
        The same in all processes.
    processes : ProcessGroup
        The processes that share the texts.
    progress : Progress
        Times the stage "sample".
    previous_rows : ndarray, optional
        Training rows of a run that is resumed, among the texts of all processes.

    Returns
    -------
    Subsample
    """
    texts = inputs.texts
    if not max_texts or processes.total(len(texts)) <= max_texts:
        return Subsample.from_rows(range(len(texts)), len(texts), processes)
    sampling_rng = rng.spawn(1)[0]  # separate, because a resumed run draws nothing here
    if previous_rows is not None:
        return Subsample.from_rows(local_rows(previous_rows, len(texts), processes), len(texts), processes)
    E = encoded.embed_untrained()
    with progress.stage("sample"):
        rows = draw_subsample(texts, E, inputs.min_clusters, max_texts, sampling_rng, processes)
        encoded.release_pages()
    if inputs.partial_labels is not None:
        rows = np.union1d(rows, np.flatnonzero(inputs.partial_labels != UNLABELLED))
    return Subsample.from_rows(rows, len(texts), processes)


def draw_subsample(
    texts: Sequence[str],
    E: Tensor,
    n_clusters: int,
    max_texts: int,
    rng: np.random.Generator,
    processes: ProcessGroup,
) -> Ints:
    """Draw a subsample of the texts of all processes.

    Parameters
    ----------
    texts : sequence of str
        This process's texts.
    E : Tensor of shape (n, D)
        Their embeddings.
    n_clusters : int
        The smallest number of clusters, of which the subsample must have as many distinct texts.
    max_texts : int
        Size of the subsample over all processes.
    rng : numpy.random.Generator
        The same in all processes.
    processes : ProcessGroup
        The processes that share the texts.

    Returns
    -------
    ndarray
        Rows of this process's texts, in ascending order.
    """
    total = sum(processes.gather_objects(len(texts)))
    pool = np.sort(rng.choice(total, size=min(POOL_FACTOR * max_texts, total), replace=False))
    local_pool = local_rows(pool, len(texts), processes)
    points = E[local_pool]
    points /= points.norm(dim=1, keepdim=True).clamp(min=1e-12)  # in place, because the pool is large
    local_groups = _assign_groups(points, len(pool), rng, processes)
    groups = processes.gather_rows(torch.from_numpy(local_groups))
    chosen = pool[processes.run_on_first(lambda: spread_over_groups(groups.numpy(), max_texts, rng))]  # type: ignore[union-attr]
    processes.sync_generator(rng)
    rows = local_rows(chosen, len(texts), processes)
    n_distinct = int(processes.total(len({texts[i] for i in rows})))
    if n_distinct < n_clusters:
        raise InputError(
            f"max_fit_texts={max_texts} leaves {n_distinct} distinct texts for {n_clusters} clusters; raise it"
        )
    logger.info("training on %d of %d texts", max_texts, total)
    return rows


def spread_over_groups(groups: Ints, size: int, rng: np.random.Generator) -> Ints:
    """Choose members of groups, half of them spread evenly over the groups and the rest at random.

    Parameters
    ----------
    groups : ndarray of shape (n,)
        The group of each member.
    size : int
        Number of members to choose.
    rng : numpy.random.Generator
        Draws the members.

    Returns
    -------
    ndarray of shape (size,)
        Indices of the chosen members, in ascending order.

    Examples
    --------
    >>> groups = np.repeat([0, 1, 2], [90, 8, 2])
    >>> np.bincount(groups[spread_over_groups(groups, 20, np.random.default_rng(0))])
    array([13,  5,  2])
    """
    shuffled = rng.permutation(len(groups))
    order = shuffled[np.argsort(groups[shuffled], kind="stable")]
    sizes = np.bincount(groups)
    rank_in_group = np.arange(len(groups)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    round_robin = np.argsort(rank_in_group, kind="stable")  # the first of each group, then the second of each...
    spread = order[round_robin[: size // 2]]
    rest = np.setdiff1d(np.arange(len(groups)), spread, assume_unique=True)
    return np.sort(np.concatenate([spread, rng.choice(rest, size - len(spread), replace=False)]))


def _assign_groups(points: Tensor, n_all: int, rng: np.random.Generator, processes: ProcessGroup) -> Ints:
    """Assign unit-length points (n, D) to small groups, (n,); `n_all` is the number of points of all processes."""
    share = min(1.0, MAX_FIT_ROWS / n_all)
    fit_points = processes.gather_rows(points[:: max(round(1 / share), 1)])
    seed = int(rng.integers(2**31))

    def fit_centres() -> Tensor:
        assert fit_points is not None
        k = min(max(n_all // GROUP_SIZE, 1), MAX_GROUPS, len(fit_points))
        kmeans = MiniBatchKMeans(k, init="random", random_state=seed, batch_size=4096, n_init=1, max_iter=10)
        kmeans.fit(fit_points.numpy())
        return torch.from_numpy(np.asarray(kmeans.cluster_centers_, dtype=np.float32))

    centres = processes.run_on_first(fit_centres)
    # Of points x, argmin |x - c|^2 = argmax <x, c> - |c|^2 / 2.
    half_norms = (centres**2).sum(1) / 2
    nearest = [(block @ centres.T - half_norms).argmax(1) for block in points.split(BLOCK_ROWS)]
    return torch.cat(nearest).numpy() if nearest else np.zeros(0, dtype=np.int64)
