"""Run benchmark jobs, each in a process of its own, and store each result as soon as it is complete."""

from __future__ import annotations

import itertools
import json
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, Literal

import torch
from threadpoolctl import threadpool_limits

from rstc.benchmark.datasets import dataset
from rstc.benchmark.measurement import measure
from rstc.benchmark.methods import effective_changes, get_settings, make_estimator, name_encoder
from rstc.benchmark.store import Job, Store
from rstc.errors import InputError, first_line
from rstc.io.atomic import check_writable
from rstc.runtime.device import limit_torch_threads

STOP_SECONDS = 10  # between the request to stop a process and killing it


@dataclass(frozen=True)
class JobOutcome:
    """The outcome of a job.

    Attributes
    ----------
    job : Job
        The job.
    status : {"stored", "done", "failed", "out of time"}
        "stored" if its result was in the store before, "out of time" if it was stopped or not started.
    result : dict or None
        The run, if it was made now.
    error : str
        Why there is no result.
    """

    job: Job
    status: Literal["stored", "done", "failed", "out of time"]
    result: dict[str, Any] | None = None
    error: str = ""

    def describe(self) -> str:
        """Return one line with the scores or the error."""
        title = f"{self.job.dataset}  {self.job.variant}  seed {self.job.seed}: "
        if (run := self.result) is None:
            return title + self.error
        scores = f"ACC {run['acc']:.2f}  NMI {run['nmi']:.2f}  ARI {run['ari']:.2f}"
        return f"{title}{scores}  {run['clusters']} clusters  {run['seconds']:.0f} s"


def make_jobs(
    datasets: Iterable[str], methods: Iterable[str], seeds: int, changes: Iterable[dict[str, Any]] = ({},)
) -> list[Job]:
    """Make the jobs of all combinations, ordered by seed.

    Parameters
    ----------
    datasets, methods : iterables of str
        Names of the data sets and the methods.
    seeds : int
        Number of seeds, from 0 on.
    changes : iterable of dict
        Changed settings; each dict makes a variant of every method.

    Returns
    -------
    list of Job
    """
    combinations = itertools.product(datasets, methods, changes)
    variants = [(name, method, effective_changes(method, name, some)) for name, method, some in combinations]
    return [Job(name, method, seed, some) for seed in range(seeds) for name, method, some in variants]


def run_jobs(
    jobs: Sequence[Job],
    store: Store,
    data: Path,
    report: Callable[[JobOutcome], None],
    *,
    n_parallel: int = 1,
    time_limit: float | None = None,
    checkpoints: Path | None = None,
) -> bool:
    """Run the jobs whose results are not in the store.

    Each job has a process of its own: memory that a run leaves behind does not burden the next, its peak memory is its
    own, and a stopped run leaves nothing behind.

    Parameters
    ----------
    jobs : sequence of Job
        The jobs, in the order in which they are started.
    store : Store
        The store of results.
    data : Path
        Folder of the data sets.
    report : callable
        Called with the outcome of each job.
    n_parallel : int
        Number of jobs that run at the same time; they share the cores evenly.
    time_limit : float or None
        Seconds after which running jobs are stopped and no other is started.
    checkpoints : Path, optional
        Folder for the checkpoints of runs that train RSTC, from which a stopped job is resumed by the next call.

    Returns
    -------
    bool
        Whether the results of all jobs are in the store.

    Raises
    ------
    InputError
        Before anything is run: if the store cannot be written to, or if it has a run of the same name with other
        settings, because the method has changed since.
    """
    check_writable(store.folder / "run")
    for job in jobs:
        _check_same_settings(job, store)
    deadline = None if time_limit is None else time.monotonic() + time_limit
    waiting, complete = deque(jobs), True
    running: dict[BaseProcess, tuple[Job, Connection]] = {}
    try:
        while waiting or running:
            out_of_time = deadline is not None and time.monotonic() >= deadline
            while waiting and (len(running) < n_parallel or out_of_time):
                job = waiting.popleft()
                if store.has(job):
                    report(JobOutcome(job, "stored"))
                elif out_of_time:
                    complete = False
                    report(JobOutcome(job, "out of time"))
                else:
                    process, errors = _start_process(job, store, data, n_parallel, checkpoints)
                    running[process] = job, errors
            for process in _wait_for_processes(running, deadline, out_of_time):
                job, errors = running.pop(process)
                status: Literal["failed", "out of time"] = "out of time" if process.is_alive() else "failed"
                _stop_process(process)
                result = store.get(job)
                complete &= result is not None
                if result is None:
                    report(JobOutcome(job, status, error=_receive_error(process, errors)))
                else:
                    report(JobOutcome(job, "done", result))
    finally:
        for process in running:
            _stop_process(process)
    return complete


def _check_same_settings(job: Job, store: Store) -> None:
    """Raise InputError if a stored run was made with other settings than the job would be now."""
    if (stored := store.get(job)) is None:
        return
    estimator = make_estimator(job.method, dataset(job.dataset), stored["classes"], job.seed, job.changes)
    before = name_encoder(stored["settings"])
    for name, value in name_encoder(json.loads(json.dumps(get_settings(estimator)))).items():
        if name in before and before[name] != value:
            raise InputError(
                f"{store.folder / job.path} was made with {name}={before[name]!r}, which is now {value!r}; "
                "move it away, or name another --store"
            )


def _start_process(
    job: Job, store: Store, data: Path, n_parallel: int, checkpoints: Path | None
) -> tuple[BaseProcess, Connection]:
    """Start the process of a job; return it and the connection that receives its error."""
    context = _multiprocessing_context()
    receiver, sender = context.Pipe(duplex=False)
    arguments = (job, store, data, n_parallel, checkpoints, sender)
    process: BaseProcess = context.Process(target=_run_in_process, args=arguments)
    process.start()
    sender.close()
    return process, receiver


def _receive_error(process: BaseProcess, errors: Connection) -> str:
    """Return the error that an ended process sent, or its exit code."""
    exit_code = f"the process ended with exit code {process.exitcode}"
    try:
        return str(errors.recv()) if errors.poll() else exit_code
    except EOFError:
        return exit_code


def _wait_for_processes(running: Iterable[BaseProcess], deadline: float | None, out_of_time: bool) -> list[BaseProcess]:
    """Wait until a process ends or the deadline; return the ended processes, or all of them when out of time."""
    processes = list(running)
    if out_of_time or not processes:
        return processes
    timeout = None if deadline is None else max(deadline - time.monotonic(), 0)
    ended = wait([process.sentinel for process in processes], timeout)
    return [process for process in processes if process.sentinel in ended]


def _stop_process(process: BaseProcess) -> None:
    if process.is_alive():
        process.terminate()
        process.join(STOP_SECONDS)
    if process.is_alive():  # inside native code that does not return
        process.kill()
    process.join()


def _multiprocessing_context() -> Any:
    """Return the context that starts processes: fork server with everything imported where available, else spawn."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["rstc.benchmark.runs", "sentence_transformers"])
    return context


def _run_in_process(
    job: Job, store: Store, data: Path, n_parallel: int, checkpoints: Path | None, errors: Connection
) -> None:
    """Run a job in this process on its share of the cores; store its result, or send the error."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles an interruption and stops this process
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that temporary files are removed
    threading.Thread(target=_exit_with_parent, daemon=True).start()
    limit_torch_threads()
    threads = max(torch.get_num_threads() // n_parallel, 1)
    torch.set_num_threads(threads)
    try:
        with threadpool_limits(threads):
            store.add(job, measure(job, data, checkpoints))
    except InputError as problem:
        errors.send(str(problem))
    except Exception as problem:  # whatever makes one method fail, the other jobs go on
        errors.send(f"{type(problem).__name__}: {first_line(problem)}")
        raise


def _exit_with_parent() -> None:
    """Exit when the parent process ends, which may be killed without a chance to stop this one."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
