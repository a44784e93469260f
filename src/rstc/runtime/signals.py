"""Signals that ask a run to stop: SIGINT (Ctrl-C) and SIGTERM, deferred while a step must not be interrupted."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class StopRequested(KeyboardInterrupt):
    """Raised when a run stops because of a signal.

    Parameters
    ----------
    signal_number : int
        The signal.
    """

    def __init__(self, signal_number: int) -> None:
        self.signal_number = signal_number
        super().__init__(f"stopped by {signal.Signals(signal_number).name}")


class StopHandler:
    """Turns SIGINT and SIGTERM into `StopRequested`, at once or after a deferred block.

    A signal raises `StopRequested` at once, except inside `defer`: there it is recorded, and `raise_if_requested`
    raises later. A second signal raises at once even inside `defer`. Processes that share a run must stop at the same
    step; with `listen(shared=True)` nothing is raised here, and the training loop lets all processes agree.

    Attributes
    ----------
    requested : int or None
        The last signal that was received.

    Examples
    --------
    >>> handler = StopHandler()
    >>> with handler.listen(), handler.defer():
    ...     signal.raise_signal(signal.SIGTERM)
    ...     handler.requested == signal.SIGTERM
    True
    """

    def __init__(self) -> None:
        self.requested: int | None = None
        self._deferred = False
        self._shared = False
        self._previous_handlers: dict[int, Any] = {}

    @contextmanager
    def listen(self, shared: bool = False) -> Iterator[None]:
        """Handle signals inside the block; does nothing outside of the main thread, where Python allows no handlers.

        Parameters
        ----------
        shared : bool, default=False
            Whether several processes share the run: a signal outside of `defer` then goes to the previous handler.
        """
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        previous = self._previous_handlers, self._shared
        self._previous_handlers = {number: signal.signal(number, self._handle) for number in SIGNALS}
        self._shared = shared
        try:
            yield
        finally:
            for number, handler in self._previous_handlers.items():
                signal.signal(number, handler)
            self._previous_handlers, self._shared = previous

    @contextmanager
    def defer(self) -> Iterator[None]:
        """Record the first signal inside the block instead of raising."""
        was_deferred, self._deferred = self._deferred, True
        try:
            yield
        finally:
            self._deferred = was_deferred

    def raise_if_requested(self) -> None:
        """Raise `StopRequested` if a signal was received."""
        if self.requested is not None:
            raise StopRequested(self.requested)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        """Handle a signal."""
        is_repeated, self.requested = self.requested is not None, number
        if self._shared:
            if not self._deferred:
                self._call_previous_handler(number, frame)
        elif is_repeated or not self._deferred:
            raise StopRequested(number)

    def _call_previous_handler(self, number: int, frame: FrameType | None) -> None:
        """Handle a signal as before `listen`."""
        handler = self._previous_handlers[number]
        if callable(handler):
            handler(number, frame)
        elif handler != signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)
