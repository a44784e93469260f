"""Progress and timing of a run by named stages, with a listener for the progress of each."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

import numpy as np
from numpy.typing import NDArray

STAGES = {  # what is shown of a stage
    "load": "loading the model",
    "encode": "encoding the texts",
    "count": "estimating the number of clusters",
    "views": "augmenting texts",
    "train": "training",
    "renew": "updating the labels",
    "predict": "predicting",
    "confidence": "estimating the confidence",
    "sample": "drawing a subsample",
    "novelty": "looking for new clusters",
    "levels": "finding the levels of detail",
}

Listener = Callable[[str, int, int], None]  # stage, done, total
Watch = Callable[[int, NDArray[np.int64], NDArray[np.int64]], None]  # step, rows of texts, clusters of these texts


class Progress:
    """Times the stages of a run and reports their progress.

    Parameters
    ----------
    listener : callable, optional
        Called with (stage, done, total).

    Attributes
    ----------
    seconds : dict of str to float
        Time of each finished stage.

    Examples
    --------
    >>> events = []
    >>> progress = Progress(lambda *event: events.append(event))
    >>> with progress.stage("encode"):
    ...     progress.advance(3, 10)
    >>> events, list(progress.seconds)
    ([('encode', 3, 10)], ['encode'])
    """

    def __init__(self, listener: Listener | None = None) -> None:
        self._listener = listener
        self._stages: list[tuple[str, float]] = []  # the current stages, outermost first, and when each was resumed
        self.seconds: dict[str, float] = {}

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Time the block under this name; the time of a nested stage does not count for the outer one."""
        self._add_time()
        self._stages.append((name, time.perf_counter()))
        try:
            yield
        finally:
            self._add_time()
            self._stages.pop()
            self._resume()

    def elapsed(self) -> dict[str, float]:
        """Return the seconds of each stage so far, including the current one."""
        self._add_time()
        self._resume()
        return dict(self.seconds)

    def announce(self, message: str) -> None:
        """Report that something begins that has no count, in words; the listener gets them in place of a stage."""
        if self._listener:
            self._listener(message, 0, 0)

    def advance(self, done: int, total: int) -> None:
        """Report the progress of the current stage."""
        if self._listener and self._stages:
            self._listener(self._stages[-1][0], done, total)

    def _add_time(self) -> None:
        """Add the time since the current stage was resumed to its seconds."""
        if self._stages:
            name, resumed_at = self._stages[-1]
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - resumed_at

    def _resume(self) -> None:
        """Restart the clock of the current stage."""
        if self._stages:
            self._stages[-1] = (self._stages[-1][0], time.perf_counter())


def open_listener(progress: Listener | bool | None) -> AbstractContextManager[Listener | None]:
    """Return the listener that a user asked for: their own, progress bars for True, and none for False or None."""
    if progress is True:
        return _show_progress_bars()
    return nullcontext(progress or None)


@contextmanager
def _show_progress_bars() -> Iterator[Listener]:
    """Yield a listener that shows a bar for the current stage, in a notebook or a terminal."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="IProgress not found")  # it then shows the bar as text
        from tqdm.auto import tqdm

    bar, shown = None, ""

    def listen(stage: str, done: int, total: int) -> None:
        nonlocal bar, shown
        if bar is None or stage != shown:
            if bar is not None:
                bar.close()
            bar, shown = tqdm(desc=STAGES.get(stage, stage), total=total or None, leave=False), stage
        bar.total = total or None
        bar.update(done - bar.n)

    try:
        yield listen
    finally:
        if bar is not None:
            bar.close()
