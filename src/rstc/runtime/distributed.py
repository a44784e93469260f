"""Collective operations of the processes that share a run, as torchrun starts them.

In a single process, every operation returns its argument, so the same code runs in one process and in many. Rows are
split among the processes in the order of their ranks (`row_range`). Torch, which takes seconds to import, is imported
by the operations of several processes only: a single process reads and validates its input before.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from rstc.errors import InputError, first_line

if TYPE_CHECKING:
    from torch import Tensor

Item = TypeVar("Item")
Number = TypeVar("Number", bound=np.generic)
Result = TypeVar("Result")

TIMEOUT = timedelta(hours=2)  # the other processes wait while the first one searches a sample or writes files
_CONNECTION_ERRORS = ("Connection closed", "Connection reset", "Broken pipe", "gloo", "NCCL")


class ProcessGroup:
    """The processes that share a run.

    Parameters
    ----------
    rank : int, default=0
        Rank of this process.
    size : int, default=1
        Number of processes.

    Attributes
    ----------
    bytes_sent : int
        Bytes of tensors that this process has passed to collective operations.
    """

    def __init__(self, rank: int = 0, size: int = 1) -> None:
        self.rank, self.size = rank, size
        self.bytes_sent = 0

    @property
    def is_single(self) -> bool:
        """Whether there is only one process."""
        return self.size == 1

    @property
    def is_first(self) -> bool:
        """Whether this is the process of rank 0, which writes files and prints."""
        return self.rank == 0

    def all_reduce(self, values: Tensor) -> Tensor:
        """Sum a tensor over all processes, in place, and return it."""
        if not self.is_single:
            from torch import distributed as dist

            self.bytes_sent += values.numel() * values.element_size()
            dist.all_reduce(values)
        return values

    def all_reduce_array(self, values: NDArray[Number]) -> NDArray[Number]:
        """Return the sum of an array over all processes; the array itself may be overwritten."""
        if self.is_single:
            return values
        import torch

        values = np.ascontiguousarray(values)
        self.all_reduce(torch.from_numpy(values))
        return values

    def total(self, number: float) -> float:
        """Return the sum of a number over all processes."""
        if self.is_single:
            return number
        import torch

        return float(self.all_reduce(torch.tensor([number], dtype=torch.float64)).item())

    def mean(self, values: Tensor) -> float:
        """Return the mean over the values (n,) of all processes."""
        if self.is_single:
            return values.float().mean().item()
        return self.total(float(values.double().sum())) / self.total(len(values))

    def max(self, number: float) -> float:
        """Return the largest value of a number over all processes."""
        return max(self.gather_objects(number))

    def any(self, *flags: bool) -> list[bool]:
        """Return for each flag whether it is set in any process."""
        if self.is_single:
            return list(flags)
        import torch

        return [count > 0 for count in self.all_reduce(torch.tensor(flags, dtype=torch.float64)).tolist()]

    def barrier(self) -> None:
        """Wait until all processes have reached this call."""
        self.total(0)

    def gather_objects(self, item: Item) -> list[Item]:
        """Return the item of each process, by rank, in all processes."""
        if self.is_single:
            return [item]
        from torch import distributed as dist

        items: list[Any] = [None] * self.size
        dist.all_gather_object(items, item)
        return items

    def all_gather_rows(self, local: Tensor, counts: Sequence[int] | None = None) -> Tensor:
        """Return the rows of all processes, by rank, in all processes.

        Parameters
        ----------
        local : Tensor, (n, ...)
            Rows of this process; n may differ between processes.
        counts : sequence of int, optional
            Number of rows of each process, gathered by default.
        """
        if self.is_single:
            return local
        import torch
        from torch import distributed as dist

        counts = self.gather_objects(len(local)) if counts is None else counts
        padded = local.new_zeros(max(counts), *local.shape[1:])
        padded[: len(local)] = local.detach()
        self.bytes_sent += padded.numel() * padded.element_size()
        parts = [torch.empty_like(padded) for _ in counts]
        dist.all_gather(parts, padded)
        return torch.cat([part[:count] for part, count in zip(parts, counts, strict=True)])

    def gather_rows_with_grad(self, local: Tensor, counts: Sequence[int]) -> Tensor:
        """Return the rows of all processes, as `all_gather_rows`, with gradients for the rows of this process."""
        if self.is_single:
            return local
        import torch

        start = sum(counts[: self.rank])
        gathered = self.all_gather_rows(local, counts)
        return torch.cat([gathered[:start], local, gathered[start + len(local) :]])

    def gather_rows(self, local: Tensor) -> Tensor | None:
        """Return the rows (n, ...) of all processes, by rank, in the first process; None in the others."""
        if self.is_single:
            return local
        import torch
        from torch import distributed as dist

        counts = self.gather_objects(len(local))
        if not self.is_first:
            self.bytes_sent += local.numel() * local.element_size()
            dist.send(local.contiguous(), 0)
            return None
        parts = [local]
        for rank, count in enumerate(counts[1:], start=1):
            parts.append(local.new_empty(count, *local.shape[1:]))
            dist.recv(parts[-1], rank)
        return torch.cat(parts)

    def exchange_rows(self, rows: Tensor, counts: Sequence[int]) -> tuple[Tensor, list[int]]:
        """Send rows to all processes, and receive theirs.

        Parameters
        ----------
        rows : Tensor, (n, ...)
            Rows for each process, by rank.
        counts : sequence of int
            Number of rows for each process.

        Returns
        -------
        received : Tensor, (m, ...)
            Rows from each process, by rank.
        received_counts : list of int
            Number of rows from each process.
        """
        if self.is_single:
            return rows, list(counts)
        import torch
        from torch import distributed as dist

        received_counts = torch.empty(self.size, dtype=torch.int64)
        dist.all_to_all_single(received_counts, torch.tensor(counts, dtype=torch.int64))
        received = rows.new_empty(int(received_counts.sum()), *rows.shape[1:])
        row_bytes = rows[:1].numel() * rows.element_size()
        self.bytes_sent += (len(rows) - counts[self.rank]) * row_bytes
        dist.all_to_all_single(received, rows.contiguous(), received_counts.tolist(), list(counts))
        return received, received_counts.tolist()

    def gather_lists(self, items: list[Item]) -> list[Item] | None:
        """Return the concatenated lists of all processes, by rank, in the first process; None in the others."""
        if self.is_single:
            return items
        from torch import distributed as dist

        lists: list[Any] | None = [None] * self.size if self.is_first else None
        dist.gather_object(items, lists)
        return None if lists is None else [item for part in lists for item in part]

    def run_on_first(self, function: Callable[[], Result]) -> Result:
        """Run a function in the first process; return its result, or raise its exception, in all processes."""
        if self.is_single:
            return function()
        from torch import distributed as dist

        outcome: list[Any] = [None, None]  # the result and the exception
        if self.is_first:
            try:
                outcome[0] = function()
            except Exception as error:
                outcome[1] = error
        dist.broadcast_object_list(outcome, src=0)
        if outcome[1] is not None:
            raise outcome[1]
        return outcome[0]  # type: ignore[no-any-return]

    def run_on_all(self, function: Callable[[], Result]) -> Result:
        """Run a function in each process; an InputError in one of them is raised in all."""
        if self.is_single:
            return function()
        result, local_error = None, None
        try:
            result = function()
        except InputError as error:
            local_error = error
        for gathered_error in self.gather_objects(local_error):
            if gathered_error is not None:
                raise gathered_error
        return result  # type: ignore[return-value]

    def broadcast(self, values: Tensor, source: int = 0) -> Tensor:
        """Overwrite a tensor by that of the process of rank `source`, and return it."""
        if not self.is_single:
            from torch import distributed as dist

            if self.rank == source:
                self.bytes_sent += values.numel() * values.element_size()
            dist.broadcast(values, src=source)
        return values

    def broadcast_array(self, values: NDArray[Number]) -> NDArray[Number]:
        """Return the array of the first process; that of another one, which has the same shape, may be overwritten."""
        if self.is_single:
            return values
        import torch

        values = np.ascontiguousarray(values)
        self.broadcast(torch.from_numpy(values))
        return values

    def sync_generator(self, rng: np.random.Generator) -> None:
        """Set the state of a generator to that of the first process."""
        if not self.is_single:
            rng.bit_generator.state = self.run_on_first(lambda: rng.bit_generator.state)


SINGLE_PROCESS = ProcessGroup()


def current_process_group() -> ProcessGroup:
    """Return the processes of torch's process group, or a single process if it is not initialized."""
    if "torch" not in sys.modules:  # then nobody can have initialized it
        return SINGLE_PROCESS
    from torch import distributed as dist

    if dist.is_available() and dist.is_initialized():
        return ProcessGroup(dist.get_rank(), dist.get_world_size())
    return SINGLE_PROCESS


def join_process_group() -> ProcessGroup:
    """Initialize torch's process group if torchrun started this process, and return its processes."""
    if "TORCHELASTIC_RUN_ID" not in os.environ:
        return SINGLE_PROCESS
    _check_environment()
    import torch
    from torch import distributed as dist

    if not dist.is_available():
        return SINGLE_PROCESS
    if not dist.is_initialized():
        if torch.cuda.is_available():
            torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", 0)) % torch.cuda.device_count())
        backend = "cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo"
        try:
            dist.init_process_group(backend, timeout=TIMEOUT)
        except (ValueError, RuntimeError) as error:
            raise InputError(
                f"the processes that torchrun started cannot reach each other: {first_line(error)}"
            ) from error
    return current_process_group()


def _check_environment() -> None:
    """Raise an error if the variables that torchrun sets are missing or are no numbers."""
    for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_PORT"):
        value = os.environ.get(name)
        if value is None or not (value.isascii() and value.isdecimal()):
            said = "is missing" if value is None else f"is {value!r}, not a number"
            raise InputError(
                f"the environment variable {name} {said}, though TORCHELASTIC_RUN_ID says that torchrun started this "
                "process; start it by torchrun, or unset TORCHELASTIC_RUN_ID"
            )


@contextmanager
def process_group_session() -> Iterator[ProcessGroup]:
    """Join the process group for a block, and leave it at the end.

    When another process dies, which shows as a SIGTERM from torchrun or as a connection error, an InputError is raised.

    Yields
    ------
    ProcessGroup
    """
    processes = join_process_group()
    if processes.is_single:
        yield processes
        return
    from torch import distributed as dist

    signal.signal(signal.SIGTERM, _raise_process_lost)
    try:
        yield processes
    except (RuntimeError, ConnectionError) as error:
        if any(message in str(error) for message in _CONNECTION_ERRORS):
            _raise_process_lost()
        raise
    # Gloo's threads release what was sent last, for which they need the interpreter: a process that ends at that moment
    # is aborted. So all wait for the first one, which has most to do at the end.
    dist.barrier()
    dist.destroy_process_group()


def _raise_process_lost(*_: object) -> None:
    """Raise an InputError because another process of the run has died; also used as a signal handler."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # a second signal must not interrupt the report of the first
    raise InputError(
        "another process of this run has died; the same command, with any number of processes, resumes from the last "
        "checkpoint"
    ) from None


def row_range(n_rows: int, processes: ProcessGroup) -> range:
    """Return the rows of this process: contiguous shares by rank, whose sizes differ by at most one.

    >>> [row_range(7, ProcessGroup(rank, 3)) for rank in range(3)]
    [range(0, 3), range(3, 5), range(5, 7)]
    """
    share, remainder = divmod(n_rows, processes.size)
    start = processes.rank * share + min(processes.rank, remainder)
    return range(start, start + share + (processes.rank < remainder))


def local_slice(n_local: int, processes: ProcessGroup) -> slice:
    """Return the position of this process's n_local rows among the rows of all processes."""
    start = sum(processes.gather_objects(n_local)[: processes.rank])
    return slice(start, start + n_local)


def local_rows(rows: NDArray[np.int64], n_local: int, processes: ProcessGroup) -> NDArray[np.int64]:
    """Select the rows that belong to this process, and count them from its first row.

    Parameters
    ----------
    rows : ndarray of int64
        Rows, counted over all processes.
    n_local : int
        Number of rows of this process.
    processes : ProcessGroup
        The processes.

    Returns
    -------
    ndarray of int64
        The rows of this process, counted from its first.

    Examples
    --------
    >>> local_rows(np.array([0, 3, 4]), 5, SINGLE_PROCESS).tolist()
    [0, 3, 4]
    """
    own = local_slice(n_local, processes)
    return np.asarray(rows[(rows >= own.start) & (rows < own.stop)] - own.start)
