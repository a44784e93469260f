"""The HTTP server of a worker: uvicorn, with a limit on the time that clients take for a request's head."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from collections.abc import Callable
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from rstc.runtime.signals import SIGNALS
from rstc.service.options import ServiceOptions
from rstc.service.rest import RestService

KEEP_ALIVE_SECONDS = 15  # that a connection may be idle
MAX_CONNECTIONS = 1024  # of a worker
MAX_HEAD_BYTES = 16 * 1024
ACCEPTED_AT_ONCE = 4  # connections that a worker takes at a time, so that the others get some


def serve_worker(
    service: RestService, options: ServiceOptions, listener: socket.socket, on_ready: Callable[[], None]
) -> None:
    """Answer requests until the process is asked to stop, and then those that were accepted before."""

    class TimedProtocol(_TimedProtocol):
        head_seconds = options.client_seconds

    config = uvicorn.Config(
        service.build(),
        http=TimedProtocol,
        ws="none",
        log_config=None,
        log_level="error",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        backlog=ACCEPTED_AT_ONCE,
        limit_concurrency=MAX_CONNECTIONS,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=int(options.stop_seconds),
        h11_max_incomplete_event_size=MAX_HEAD_BYTES,
    )
    server = _WorkerServer(config, service, on_ready)
    for number in SIGNALS:  # uvicorn raises the signal again at its end, where it has nothing left to stop
        signal.signal(number, lambda *_: None)
    server.run([listener])


class _WorkerServer(uvicorn.Server):
    """A uvicorn server that says when it is ready, and stops when the process that started it has ended."""

    def __init__(self, config: uvicorn.Config, service: RestService, on_ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._service, self._on_ready, self._parent = service, on_ready, os.getppid()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._on_ready()

    async def on_tick(self, counter: int) -> bool:
        if os.getppid() != self._parent:
            self.should_exit = True
        stops = await super().on_tick(counter)
        self._service.is_stopping = stops
        return stops


class _TimedProtocol(H11Protocol):
    """Closes a connection whose next request has no complete head in time."""

    head_seconds = 10.0
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._start_timer()

    def data_received(self, data: bytes) -> None:
        was_waiting = self._is_waiting()
        super().data_received(data)
        if not self._is_waiting():
            self._stop_timer()
        elif not was_waiting or self._timer is None:
            self._start_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        super().connection_lost(exc)

    def _is_waiting(self) -> bool:
        """Return whether no request is being answered."""
        return self.cycle is None or self.cycle.response_complete

    def _start_timer(self) -> None:
        self._stop_timer()
        self._timer = self.loop.call_later(self.head_seconds, self._close)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _close(self) -> None:
        if self._is_waiting() and not self.transport.is_closing():
            self.transport.close()
