"""The processes of the service: one that listens and watches, and workers, each with the model, that answer requests.

All workers accept connections from one socket. When a worker dies, the requests that it was answering fail, the others
go on, and another one takes its place.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import socket
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from pathlib import Path
from types import FrameType

from rstc.errors import InputError, RstcWarning, first_line
from rstc.pipelines.saved_model import identify_model
from rstc.runtime.optional import import_optional
from rstc.runtime.signals import SIGNALS
from rstc.service.metrics import FOLDER_VARIABLE, forget_process
from rstc.service.options import ServiceOptions

logger = logging.getLogger("rstc")

BACKLOG = 2048  # connections that wait to be accepted
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0  # seconds before a worker that died is replaced
LOOK_SECONDS = 0.5


@dataclass
class _Worker:
    process: SpawnProcess
    messages: Connection
    is_ready: bool = False


class Supervisor:
    """Starts workers, replaces those that die, and stops them.

    Parameters
    ----------
    options : ServiceOptions
        What the workers serve.
    port : int
        The port to listen on; 0 chooses a free one.

    Attributes
    ----------
    address : str
        The address of the service.
    """

    def __init__(self, options: ServiceOptions, port: int = 0) -> None:
        for module in ("uvicorn", "starlette", "prometheus_client"):
            import_optional(module, "serve")
        identify_model(options.folder)  # raises if there is none
        self._options, self._workers = options, list[_Worker]()
        self._pause, self._retry_at, self._is_stopping = FIRST_PAUSE, 0.0, False
        family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
        try:
            self._socket = socket.create_server((options.host, port), family=family, backlog=BACKLOG)
        except OSError as problem:
            raise InputError(f"the service cannot listen on {options.host}:{port}: {problem.strerror}") from problem
        name = f"[{options.host}]" if ":" in options.host else options.host
        self.address = f"http://{name}:{self._socket.getsockname()[1]}"

    def run(self, on_ready: Callable[[], None]) -> None:
        """Serve until SIGTERM or SIGINT; then let the workers finish what they have accepted.

        Parameters
        ----------
        on_ready : callable
            Called once, when all workers take requests.
        """
        previous = {number: signal.signal(number, self._request_stop) for number in SIGNALS}
        try:
            with tempfile.TemporaryDirectory(prefix="rstc-metrics-") as folder:
                os.environ[FOLDER_VARIABLE] = folder
                os.environ["OMP_NUM_THREADS"] = str(self._options.threads)  # read when the workers import torch
                try:
                    self._supervise(on_ready, Path(folder))
                finally:
                    self._stop()
        finally:
            for number, handler in previous.items():
                signal.signal(number, handler)

    def _supervise(self, on_ready: Callable[[], None], metrics_folder: Path) -> None:
        was_ready = False
        while not self._is_stopping:
            while len(self._workers) < self._options.n_workers and time.monotonic() >= self._retry_at:
                self._workers.append(self._start())
            events = [item for worker in self._workers for item in (worker.process.sentinel, worker.messages)]
            wait(events, LOOK_SECONDS)
            for worker in list(self._workers):
                self._read_messages(worker)
                if not worker.process.is_alive():
                    self._forget(worker, metrics_folder, was_ready)
            if not was_ready and sum(worker.is_ready for worker in self._workers) == self._options.n_workers:
                was_ready = True
                on_ready()

    def _start(self) -> _Worker:
        """Start a worker."""
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe(duplex=False)
        process = context.Process(target=run_worker, args=(self._options, self._socket, theirs), daemon=True)
        process.start()
        theirs.close()
        return _Worker(process, ours)

    def _read_messages(self, worker: _Worker) -> None:
        """Take the message that a worker is ready, or why it is not."""
        try:
            while worker.messages.poll():
                message = worker.messages.recv()
                if message is not None:
                    raise InputError(message)
                worker.is_ready, self._pause = True, FIRST_PAUSE
                self._socket.listen(BACKLOG)  # a worker's event loop asks for a shorter queue
        except (EOFError, OSError):
            pass

    def _forget(self, worker: _Worker, metrics_folder: Path, was_ready: bool) -> None:
        """Put a worker aside that ended, and decide when another one is started."""
        self._workers.remove(worker)
        worker.messages.close()
        if worker.process.pid is not None:
            forget_process(worker.process.pid, metrics_folder)
        if self._is_stopping:
            return
        if not was_ready:
            raise InputError(f"a worker ended with exit code {worker.process.exitcode} before it could serve")
        logger.warning(
            "worker %s ended with exit code %s; another one is started", worker.process.pid, worker.process.exitcode
        )
        self._retry_at = time.monotonic() + (0.0 if worker.is_ready else self._pause)
        if not worker.is_ready:
            self._pause = min(2 * self._pause, LONGEST_PAUSE)

    def _stop(self) -> None:
        """Close the socket, so that new connections are refused, and wait for the workers."""
        self._socket.close()
        for worker in self._workers:
            worker.process.terminate()
        deadline = time.monotonic() + self._options.stop_seconds + 5
        for worker in self._workers:
            worker.process.join(max(deadline - time.monotonic(), 0))
            if worker.process.is_alive():
                worker.process.kill()
                worker.process.join()

    def _request_stop(self, number: int, frame: FrameType | None) -> None:
        self._is_stopping = True


def run_worker(options: ServiceOptions, listener: socket.socket, messages: Connection) -> None:
    """Load the model and answer requests until SIGTERM, or until the supervising process has ended."""
    for number in SIGNALS:
        signal.signal(number, lambda *_: sys.exit(0))  # until the server has handlers of its own
    logging.basicConfig(format="%(message)s", stream=sys.stderr)
    logger.setLevel(logging.INFO)
    warnings.simplefilter("ignore")
    warnings.simplefilter("default", RstcWarning)
    from rstc.service.metrics import Metrics
    from rstc.service.model_store import ModelStore
    from rstc.service.rest import RestService
    from rstc.service.server import serve_worker

    try:
        store = ModelStore(options.folder, options.device)
    except InputError as problem:
        messages.send(first_line(problem))
        return
    service = RestService(options, store, Metrics())
    serve_worker(service, options, listener, lambda: messages.send(None))
