"""The processes that share a run, as torchrun starts them: which of them this one is, and what they tell each other.

Alone, every call gives back what it was given: the same code runs in one process and in many.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, TypeVar

import numpy as np
import torch
import torch.distributed as dist
from numpy.typing import NDArray
from torch import Tensor

from rstc.errors import InputError

Thing = TypeVar("Thing")

PATIENCE = timedelta(hours=2)  # the first process may look for labels for long while the others wait


class Ranks:
    """So many processes, and which of them this one is, from 0.

    Attributes:
        rank, size: this process, of so many.
        bytes_sent: what this process has given to sums and gathers so far.
    """

    def __init__(self, rank: int = 0, size: int = 1) -> None:
        self.rank, self.size = rank, size
        self.bytes_sent = 0

    @property
    def alone(self) -> bool:
        """Whether there is one process only."""
        return self.size == 1

    @property
    def is_first(self) -> bool:
        """Whether this is the process that writes and speaks."""
        return self.rank == 0

    def sum(self, values: Tensor) -> Tensor:
        """Return the sum over all processes, in place of the values."""
        if not self.alone:
            self.bytes_sent += values.numel() * values.element_size()
            dist.all_reduce(values)
        return values

    def total(self, number: float) -> float:
        """Return the sum of a number over all processes."""
        return float(self.sum(torch.tensor([number], dtype=torch.float64)).item()) if not self.alone else number

    def mean(self, values: Tensor) -> float:
        """Return the mean of values over the texts of all processes, (n,) of each."""
        if self.alone:
            return values.float().mean().item()
        return self.total(float(values.double().sum())) / self.total(len(values))

    def largest(self, number: float) -> float:
        """Return the largest of a number over all processes."""
        return max(self.every(number))

    def any(self, *flags: bool) -> list[bool]:
        """Return of each flag whether some process has it up."""
        if self.alone:
            return list(flags)
        return [count > 0 for count in self.sum(torch.tensor(flags, dtype=torch.float64)).tolist()]

    def wait(self) -> None:
        """Wait until all processes have come here."""
        self.total(0)

    def every(self, thing: Thing) -> list[Thing]:
        """Return what each process has, in their order."""
        if self.alone:
            return [thing]
        things: list[Any] = [None] * self.size
        dist.all_gather_object(things, thing)
        return things

    def rows(self, local: Tensor, counts: Sequence[int] | None = None) -> Tensor:
        """Return the rows (n, ...) of all processes, in their order; each may have another number of them."""
        if self.alone:
            return local
        counts = self.every(len(local)) if counts is None else counts
        padded = local.new_zeros(max(counts), *local.shape[1:])
        padded[: len(local)] = local.detach()
        self.bytes_sent += padded.numel() * padded.element_size()
        parts = [torch.empty_like(padded) for _ in counts]
        dist.all_gather(parts, padded)
        return torch.cat([part[:count] for part, count in zip(parts, counts, strict=True)])

    def with_own(self, local: Tensor, counts: Sequence[int]) -> Tensor:
        """Return the rows of all processes; gradients flow to this one's, as to each other's in its own process."""
        if self.alone:
            return local
        start = sum(counts[: self.rank])
        found = self.rows(local, counts)
        return torch.cat([found[:start], local, found[start + len(local) :]])

    def rows_at_first(self, local: Tensor) -> Tensor | None:
        """Return the rows of all processes in the first one; None in the others."""
        if self.alone:
            return local
        counts = self.every(len(local))
        if not self.is_first:
            self.bytes_sent += local.numel() * local.element_size()
            dist.send(local.contiguous(), 0)
            return None
        parts = [local]
        for rank, count in enumerate(counts[1:], start=1):
            parts.append(local.new_empty(count, *local.shape[1:]))
            dist.recv(parts[-1], rank)
        return torch.cat(parts)

    def things_at_first(self, things: list[Thing]) -> list[Thing] | None:
        """Return the lists of all processes, put together, in the first one; None in the others."""
        if self.alone:
            return things
        lists: list[Any] | None = [None] * self.size if self.is_first else None
        dist.gather_object(things, lists)
        return None if lists is None else [thing for one in lists for thing in one]

    def at_first(self, make: Callable[[], Thing]) -> Thing:
        """Let the first process make something, and return it in all; what goes wrong there is raised in all."""
        if self.alone:
            return make()
        told: list[Any] = [None, None]
        if self.is_first:
            try:
                told[0] = make()
            except Exception as problem:
                told[1] = problem
        dist.broadcast_object_list(told, src=0)
        if told[1] is not None:
            raise told[1]
        return told[0]  # type: ignore[no-any-return]

    def together(self, make: Callable[[], Thing]) -> Thing:
        """Let each process make something; what goes wrong in one of them is raised in all."""
        if self.alone:
            return make()
        made, problem = None, None
        try:
            made = make()
        except InputError as mistake:
            problem = mistake
        for one in self.every(problem):
            if one is not None:
                raise one
        return made  # type: ignore[return-value]

    def as_first(self, values: Tensor) -> Tensor:
        """Return the first process's values, in place of these."""
        if not self.alone:
            dist.broadcast(values, src=0)
        return values

    def same_draws(self, rng: np.random.Generator) -> None:
        """Let a generator go on from where the first process's is."""
        if not self.alone:
            rng.bit_generator.state = self.at_first(lambda: rng.bit_generator.state)


ALONE = Ranks()


def current_ranks() -> Ranks:
    """Return the processes that share this run: those of torch's process group, where there is one."""
    if dist.is_available() and dist.is_initialized():
        return Ranks(dist.get_rank(), dist.get_world_size())
    return ALONE


def join_ranks() -> Ranks:
    """Join the process group that torchrun has prepared, where this process was started by it."""
    if "TORCHELASTIC_RUN_ID" not in os.environ or not dist.is_available():
        return ALONE
    if not dist.is_initialized():
        if torch.cuda.is_available():
            torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", 0)) % torch.cuda.device_count())
        backend = "cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo"
        dist.init_process_group(backend, timeout=PATIENCE)
    return current_ranks()


@contextmanager
def told_when_one_ends() -> Iterator[Ranks]:
    """Join the processes that share a run; when one of them ends before its time, the others say so and end, too."""
    ranks = join_ranks()
    if ranks.alone:
        yield ranks
        return
    signal.signal(signal.SIGTERM, _ended)  # as torchrun sends it to the others
    try:
        yield ranks
    except (RuntimeError, ConnectionError) as problem:
        if any(sign in str(problem) for sign in _SIGNS_OF_AN_END):
            _ended()
        raise
    dist.destroy_process_group()


_SIGNS_OF_AN_END = ("Connection closed", "Connection reset", "Broken pipe", "gloo", "NCCL")


def _ended(*_: object) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # once is enough
    raise InputError(
        "a process that shares this run ended before its time; the same command, with any number of processes, goes on "
        "from where it was kept last"
    ) from None


def share_of(n: int, ranks: Ranks) -> range:
    """Return which of n rows are this process's: as many for each, one after the other.

    >>> [share_of(7, Ranks(rank, 3)) for rank in range(3)]
    [range(0, 3), range(3, 5), range(5, 7)]
    """
    each, more = divmod(n, ranks.size)
    start = ranks.rank * each + min(ranks.rank, more)
    return range(start, start + each + (ranks.rank < more))


def own_slice(n_own: int, ranks: Ranks) -> slice:
    """Return where this process's n_own rows are among those of all."""
    start = sum(ranks.every(n_own)[: ranks.rank])
    return slice(start, start + n_own)


def own_rows(rows: NDArray[np.int64], n_own: int, ranks: Ranks) -> NDArray[np.int64]:
    """Return those of all processes' rows that are among this one's n_own, counted from its first.

    >>> own_rows(np.array([0, 3, 4]), 5, ALONE).tolist()
    [0, 3, 4]
    """
    own = own_slice(n_own, ranks)
    return np.asarray(rows[(rows >= own.start) & (rows < own.stop)] - own.start)
