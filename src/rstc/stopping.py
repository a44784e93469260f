"""Being asked to stop: what Ctrl-C and a polite kill do to a run that can be taken up again."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Stopped(KeyboardInterrupt):
    """The work was stopped because somebody asked for it, by this signal."""

    def __init__(self, signal_number: int) -> None:
        self.signal_number = signal_number
        super().__init__(f"stopped by {signal.Signals(signal_number).name}")


class Stopping:
    """Whether somebody asked this process to stop.

    Being asked ends the work at once, except where it is held: there it waits until what must not be torn is whole.
    Who is asked twice does not wait.

    >>> stopping = Stopping()
    >>> with stopping.listening(), stopping.held():
    ...     signal.raise_signal(signal.SIGTERM)
    ...     stopping.asked == signal.SIGTERM
    True
    """

    def __init__(self) -> None:
        self.asked: int | None = None  # the signal that did
        self._held = False

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Listen to signals; only the main thread can."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = [(number, signal.signal(number, self._hear)) for number in SIGNALS]
        try:
            yield
        finally:
            for number, handler in before:
                signal.signal(number, handler)

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

    def _hear(self, number: int, _: FrameType | None) -> None:
        again, self.asked = self.asked is not None, number
        if again or not self._held:
            raise Stopped(number)
