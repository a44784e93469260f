"""Running the benchmark: each run in a process of its own, measured, and written down as soon as it is there."""

from __future__ import annotations

import hashlib
import itertools
import json
import multiprocessing
import os
import signal
import sys
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from rstc.benchmark.datasets import Loaded, dataset, load
from rstc.benchmark.maps import flat_map
from rstc.benchmark.methods import make_estimator, method, settings_of, without_own
from rstc.benchmark.store import Job, Store
from rstc.errors import InputError, RstcWarning, first_line
from rstc.io.atomic import check_writable, replaced_file, user_cache
from rstc.runtime.device import use_granted_cores
from rstc.metrics import evaluate
from rstc.representation.shelf import fingerprint
from rstc.runtime.environment import machine, peak_memory, versions

MAPPED = ("sbert", "rstc-c", "rstc-i", "rstc-paper")  # whose representations the paper's t-SNE figure shows


@dataclass(frozen=True)
class News:
    """What became of a job: its result, or why there is none."""

    job: Job
    outcome: Literal["there", "done", "failed", "out of time"]
    result: dict[str, Any] | None = None
    problem: str = ""

    def sentence(self) -> str:
        """Say it: the scores, or the problem."""
        line = f"{self.job.dataset}  {self.job.row}  seed {self.job.seed}: "
        if (found := self.result) is None:
            return line + self.problem
        scores = f"ACC {found['acc']:.2f}  NMI {found['nmi']:.2f}  ARI {found['ari']:.2f}"
        return f"{line}{scores}  {found['clusters']} clusters  {found['seconds']:.0f} s"


def run_all(
    jobs: Sequence[Job],
    store: Store,
    data: Path,
    tell: Callable[[News], None],
    *,
    at_a_time: int = 1,
    time_limit: float | None = None,
) -> bool:
    """Run the jobs whose results are not in the store; return whether all are there in the end.

    Each has a process of its own: what a run leaves in memory cannot burden the next, its peak is its own, and stopping
    it leaves nothing behind.

    Args:
        jobs: what to run, in this order.
        store: where results are and go.
        data: the folder of the sets.
        tell: called with what becomes of each job.
        at_a_time: how many run side by side; they share the cores evenly.
        time_limit: seconds after which runs that are under way are stopped and no other is begun; None: no limit.

    Raises:
        InputError: before anything is run, if nothing can be written, or if the store has a run of the same name with
            other settings: the method has changed since.
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
            while waiting and (len(running) < at_a_time or out_of_time):
                job = waiting.popleft()
                if store.has(job):
                    tell(News(job, "there"))
                elif out_of_time:
                    complete = False
                    tell(News(job, "out of time"))
                else:
                    process, problems = _started(job, store, data, at_a_time)
                    running[process] = job, problems
            for process in _ended(running, deadline, out_of_time):
                job, problems = running.pop(process)
                outcome: Literal["failed", "out of time"] = "out of time" if process.is_alive() else "failed"
                _stop(process)
                result = store.get(job)
                complete &= result is not None
                if result is None:
                    tell(News(job, outcome, problem=_problem(process, problems)))
                else:
                    tell(News(job, "done", result))
    finally:
        for process in running:
            _stop(process)
    return complete


def _check_same_settings(job: Job, store: Store) -> None:
    """Refuse a stored run whose settings are not those that it would have today."""
    if (kept := store.get(job)) is None:
        return
    today = settings_of(make_estimator(job.method, dataset(job.dataset), kept["classes"], job.seed, job.changes))
    for name, value in json.loads(json.dumps(today)).items():
        if name in kept["settings"] and kept["settings"][name] != value:
            raise InputError(
                f"{store.folder / job.path} was made with {name}={kept['settings'][name]!r}, which is {value!r} today; "
                "move it away, or name another --store"
            )


def _started(job: Job, store: Store, data: Path, at_a_time: int) -> tuple[BaseProcess, Connection]:
    """Start the process of a job; return it and where it tells what went wrong."""
    processes = _processes()
    reader, writer = processes.Pipe(duplex=False)
    process: BaseProcess = processes.Process(target=run_into, args=(job, store, data, at_a_time, writer))
    process.start()
    writer.close()
    return process, reader


def _problem(process: BaseProcess, problems: Connection) -> str:
    """Return what a process that ended without a result says of it, or how it ended."""
    try:
        return str(problems.recv()) if problems.poll() else f"the process ended with exit code {process.exitcode}"
    except EOFError:
        return f"the process ended with exit code {process.exitcode}"


def _ended(running: Iterable[BaseProcess], deadline: float | None, out_of_time: bool) -> list[BaseProcess]:
    """Wait until a process ends or the time is over; return those that ended, or all of them when time is over."""
    processes = list(running)
    if out_of_time or not processes:
        return processes
    left = None if deadline is None else max(deadline - time.monotonic(), 0)
    ended = wait([process.sentinel for process in processes], left)
    return [process for process in processes if process.sentinel in ended]


def _stop(process: BaseProcess) -> None:
    if process.is_alive():
        process.terminate()
        process.join(10)
    if process.is_alive():  # in the middle of something long that cannot be left
        process.kill()
    process.join()


def _processes() -> Any:
    """Return how processes are made: forked from one that has imported everything and done nothing, if possible."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["rstc.benchmark.runs", "sentence_transformers"])
    return context


def run_into(job: Job, store: Store, data: Path, at_a_time: int, problems: Connection) -> None:
    """Run a job in this process on its share of the cores, and write its result to the store or tell the problem."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interruption is for the parent, which stops us
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that temporary files are taken away
    threading.Thread(target=_end_with_parent, daemon=True).start()
    use_granted_cores()
    threads = max(torch.get_num_threads() // at_a_time, 1)
    torch.set_num_threads(threads)
    try:
        with threadpool_limits(threads):
            store.add(job, measure(job, data))
    except InputError as mistake:
        problems.send(str(mistake))
    except Exception as problem:  # whatever a method stumbles over, the others go on
        problems.send(f"{type(problem).__name__}: {first_line(problem)}")
        raise


def _end_with_parent() -> None:
    """End this process when the one that asked for it is gone, killed perhaps without a chance to stop us."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def measure(job: Job, data: Path) -> dict[str, Any]:
    """Run a job and return what the store keeps of it."""
    loaded = load(job.dataset, data)
    asked = method(job.method)
    estimator = make_estimator(job.method, dataset(job.dataset), loaded.n_classes, job.seed, job.changes)
    watcher = _Watcher(np.array(loaded.truth))
    given: dict[str, Any] = {}
    encoding = 0.0
    if asked.views:
        given["views"] = loaded.views
    if asked.watched:
        given["watch"] = watcher
    if asked.embeds:
        given["embeddings"], encoding = _embeddings(loaded, estimator)
    if "cache_folder" in estimator.get_params():
        # What an earlier run on the same texts encoded is not encoded again: it would be most of the work. So `seconds`
        # and the peak may lack it; `stages` tells.
        estimator.set_params(cache_folder=str(user_cache() / "states"))
    start = time.perf_counter()
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always", RstcWarning)
        estimator.fit(loaded.texts, **given)
    seconds = time.perf_counter() - start - watcher.seconds + encoding
    peak = peak_memory()
    scores = _scores(loaded.truth, estimator.labels_)
    result = {
        "dataset": job.dataset,
        "method": job.method,
        "changes": dict(job.changes),
        "seed": job.seed,
        "texts": len(loaded.texts),
        "classes": loaded.n_classes,
        "views": loaded.views_from if asked.views else None,
        **scores,
        "seconds": round(seconds, 2),
        "peak_memory_mb": None if peak is None else round(peak / 2**20),
        "stages": {name: round(spent, 2) for name, spent in getattr(estimator, "seconds_", {}).items()},
        "steps": getattr(estimator, "n_iter_", None),
        "settled": getattr(estimator, "settled_", None),
        "warnings": [str(one.message) for one in warned if issubclass(one.category, RstcWarning)],
        "settings": settings_of(estimator),
        "curve": watcher.curve,
        "history": getattr(estimator, "history_", []),
        "versions": versions(),
        "machine": machine(),
    }
    if job.method in MAPPED and job.seed == 0 and set(job.changes) <= {"schedule"}:
        result["map"] = flat_map(estimator.embedding_, loaded.truth)
    return result


def _scores(truth: Sequence[str], clusters: NDArray[np.int64]) -> dict[str, Any]:
    scored = [row for row, label in enumerate(truth) if label]
    found = evaluate([truth[row] for row in scored], clusters[scored].tolist())
    return {
        "acc": round(100 * found.acc, 3),
        "nmi": round(100 * found.nmi, 3),
        "ari": round(100 * found.ari, 3),
        "clusters": found.n_clusters,
    }


class _Watcher:
    """Scores the clusters that a method has on the way; the method itself never sees the scores."""

    def __init__(self, truth: NDArray[np.str_]) -> None:
        self._truth = truth
        self.curve: list[dict[str, Any]] = []
        self.seconds = 0.0

    def __call__(self, step: int, rows: NDArray[np.int64], clusters: NDArray[np.int64]) -> None:
        start = time.perf_counter()
        self.curve.append({"step": step, **_scores(self._truth[rows].tolist(), clusters)})
        self.seconds += time.perf_counter() - start


def _embeddings(loaded: Loaded, estimator: Any) -> tuple[NDArray[np.float32], float]:
    """Return the embeddings of a set and the seconds that they took, when they were made or now.

    They do not depend on the seed, so they are kept for the other seeds.
    """
    start = time.perf_counter()
    encoder = estimator.load_encoder()
    settings = f"{fingerprint(encoder.named_parameters())} {estimator.max_tokens} {versions()}"
    digest = hashlib.sha256("\x1e".join([settings, *loaded.texts]).encode()).hexdigest()
    path = user_cache() / "embeddings" / f"{digest}.npz"
    if not path.exists():
        E = encoder.embed(encoder.tokenize(loaded.texts)).numpy()
        path.parent.mkdir(parents=True, exist_ok=True)
        with replaced_file(path) as temporary, temporary.open("wb") as file:
            np.savez(file, E=E, seconds=time.perf_counter() - start)
    with np.load(path) as kept:
        return kept["E"], float(kept["seconds"])


def jobs_for(
    datasets: Iterable[str], methods: Iterable[str], seeds: int, changes: Iterable[dict[str, Any]] = ({},)
) -> list[Job]:
    """Return the runs of all sets and methods: all of the first seed, then all of the second, and so on."""
    wanted = itertools.product(datasets, methods, changes)
    rows = [(one, row, without_own(row, one, some)) for one, row, some in wanted]
    return [Job(one, row, seed, some) for seed in range(seeds) for one, row, some in rows]
