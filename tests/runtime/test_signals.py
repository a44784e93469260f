"""Signals that stop a run, at once or at the end of a deferred block."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable

import pytest

from rstc.runtime.signals import StopHandler, StopRequested


def test_signal_stops_at_once() -> None:
    handler = StopHandler()
    with pytest.raises(StopRequested, match="stopped by SIGTERM"), handler.listen():
        signal.raise_signal(signal.SIGTERM)


def test_deferred_signal_stops_after_the_block() -> None:
    handler = StopHandler()
    with handler.listen():
        with handler.defer():
            signal.raise_signal(signal.SIGINT)
        with pytest.raises(StopRequested) as stopped:
            handler.raise_if_requested()
    assert stopped.value.signal_number == signal.SIGINT


def test_second_signal_stops_a_deferred_block() -> None:
    handler = StopHandler()

    def send_two() -> None:
        with handler.listen(), handler.defer():
            signal.raise_signal(signal.SIGTERM)
            signal.raise_signal(signal.SIGTERM)

    with pytest.raises(StopRequested):
        send_two()


def test_shared_run_passes_signals_to_the_previous_handler_unless_deferred() -> None:
    received: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: received.append(number))
    try:
        handler = StopHandler()
        with handler.listen(shared=True):
            with handler.defer():
                signal.raise_signal(signal.SIGTERM)
            assert received == []
            signal.raise_signal(signal.SIGTERM)
        assert received == [signal.SIGTERM]
        assert handler.requested == signal.SIGTERM
    finally:
        signal.signal(signal.SIGTERM, before)


def test_previous_handlers_are_restored() -> None:
    handlers: list[Callable[..., object] | int | None] = [
        signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)
    ]
    with StopHandler().listen():
        pass
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == handlers


def test_other_threads_do_not_listen() -> None:
    before, inside = signal.getsignal(signal.SIGTERM), []

    def listen() -> None:
        with StopHandler().listen():
            inside.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=listen)
    thread.start()
    thread.join()
    assert inside == [before]
