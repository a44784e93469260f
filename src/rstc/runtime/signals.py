"""Being asked to stop: what Ctrl-C and a polite kill do to a run that can be taken up again."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Stopped(KeyboardInterrupt):
    """The work was stopped because somebody asked for it, by this signal."""

    def __init__(self, signal_number: int) -> None:
        self.signal_number = signal_number
        super().__init__(f"stopped by {signal.Signals(signal_number).name}")


class Stopping:
    """Whether somebody asked this process to stop.

    Being asked ends the work at once, except where it is held: there it waits until what must not be torn is whole.
    Who is asked twice does not wait, except among others: processes that share a run stop together, where all agree.

    >>> stopping = Stopping()
    >>> with stopping.listening(), stopping.held():
    ...     signal.raise_signal(signal.SIGTERM)
    ...     stopping.asked == signal.SIGTERM
    True
    """

    def __init__(self) -> None:
        self.asked: int | None = None  # the signal that did
        self._held = False
        self._among_others = False
        self._before: dict[int, Any] = {}  # who listened before

    @contextmanager
    def listening(self, among_others: bool = False) -> Iterator[None]:
        """Listen to signals; only the main thread can. Among others, where it is not held those before are told."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        outer = self._before, self._among_others
        self._before = {number: signal.signal(number, self._hear) for number in SIGNALS}
        self._among_others = among_others
        try:
            yield
        finally:
            for number, handler in self._before.items():
                signal.signal(number, handler)
            self._before, self._among_others = outer

    @contextmanager
    def held(self) -> Iterator[None]:
        """Take note of being asked, and go on."""
        before, self._held = self._held, True
        try:
            yield
        finally:
            self._held = before

    def stop_if_asked(self) -> None:
        """Stop now if somebody has asked."""
        if self.asked is not None:
            raise Stopped(self.asked)

    def _tell_before(self, number: int, frame: FrameType | None) -> None:
        """Let a signal do what it would have done."""
        before = self._before[number]
        if callable(before):
            before(number, frame)
        elif before != signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)

    def _hear(self, number: int, frame: FrameType | None) -> None:
        again, self.asked = self.asked is not None, number
        if self._among_others:
            if not self._held:
                self._tell_before(number, frame)
        elif again or not self._held:
            raise Stopped(number)
