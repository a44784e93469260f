"""Where a run is and where its time went: named stages, timed, reported to whoever listens."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Listener = Callable[[str, int, int], None]  # stage, done, total


class Progress:
    """Times the stages of a run and passes their advance on.

    >>> seen = []
    >>> progress = Progress(lambda *news: seen.append(news))
    >>> with progress.stage("encode"):
    ...     progress.advance(3, 10)
    >>> seen, list(progress.seconds)
    ([('encode', 3, 10)], ['encode'])
    """

    def __init__(self, listener: Listener | None = None) -> None:
        self._listener = listener
        self._stages: list[tuple[str, float]] = []
        self.seconds: dict[str, float] = {}

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Time what happens inside under this name; a stage inside a stage is timed apart from it."""
        self._pause()
        self._stages.append((name, time.perf_counter()))
        try:
            yield
        finally:
            self._pause()
            self._stages.pop()
            if self._stages:
                self._stages[-1] = (self._stages[-1][0], time.perf_counter())

    def so_far(self) -> dict[str, float]:
        """Return the seconds of each stage, the current one's up to now."""
        self._pause()
        if self._stages:
            self._stages[-1] = (self._stages[-1][0], time.perf_counter())
        return dict(self.seconds)

    def advance(self, done: int, total: int) -> None:
        """Tell the listener how far the current stage is."""
        if self._listener and self._stages:
            self._listener(self._stages[-1][0], done, total)

    def _pause(self) -> None:
        """Book the time since the current stage began or was last taken up."""
        if self._stages:
            name, since = self._stages[-1]
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - since
