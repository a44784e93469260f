"""When a run notes where it is: in memory to go back to, on disk to go on from, and together where several share it."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext

from rstc.training.checkpoint_file import Checkpoints, Snapshot
from rstc.runtime.progress import Progress
from rstc.runtime.distributed import Ranks
from rstc.runtime.signals import Stopped


class Keeping:
    """Keeps where a run is.

    Args:
        snapshot: tells where the run is; all processes ask together.
        checkpoints: where it is kept on disk; None: it is not.
        is_saved: whether where it is now is on disk already.
        ranks: the processes.
        progress: is told of the time that it takes.

    Attributes:
        good: where the run was at the last renewal, when all was well.
        latest: where it was when it was noted last; that goes to disk.
    """

    def __init__(
        self,
        snapshot: Callable[[], Snapshot],
        checkpoints: Checkpoints | None,
        is_saved: bool,
        ranks: Ranks,
        progress: Progress,
    ) -> None:
        self._snapshot, self._checkpoints, self._ranks, self._progress = snapshot, checkpoints, ranks, progress
        self._is_saved = is_saved
        self.good = self.latest = snapshot()

    def keep(self) -> None:
        """Note where the run is, and that all is well."""
        self.good = self.latest = self._snapshot()
        self._save()
        if self._checkpoints and self._ranks.alone:
            self._checkpoints.stopping.stop_if_asked()  # while it was saved

    def save_if_new(self) -> None:
        """Write down where the run was noted last, unless that is on disk."""
        if not self._is_saved:
            self._save()

    @contextmanager
    def step(self, renewal_follows: Callable[[], bool]) -> Iterator[None]:
        """Let a step be taken whole, and note then where the run is if it is time to, or somebody wants it to stop.

        Several processes agree on it, and stop together. Before a renewal, which may take long and be stopped, it is
        noted in memory. Whether the step did any harm is not known yet: to go back to, the last renewal is better.
        """
        self._is_saved = False
        checkpoints, ranks = self._checkpoints, self._ranks
        with checkpoints.stopping.held() if checkpoints else nullcontext():
            yield
            if checkpoints is None:
                return
            asked, due = ranks.any(checkpoints.stopping.asked is not None, ranks.is_first and checkpoints.due)
            if asked or due or renewal_follows():
                self.latest = self._snapshot()
            if asked or due:
                self._save()
        if asked:
            ranks.wait()  # who ends early makes torchrun end the one that saves
            raise Stopped(checkpoints.stopping.asked or signal.SIGTERM)
        if ranks.alone:
            checkpoints.stopping.stop_if_asked()  # while it was kept

    def _save(self) -> None:
        if self._checkpoints and self._ranks.is_first:
            with self._progress.stage("keep"), self._checkpoints.stopping.held():
                self._checkpoints.save(self.latest)
        self._is_saved = True
