"""Checkpoints of a run: which files hold them, and when they are written.

A checkpoint is the `state_dict()` of a trainer (`checkpoint_file` defines its file). It is written atomically. The last
two are kept, so that a run can be resumed even if the last one is damaged.
"""

from __future__ import annotations

import json
import signal
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from safetensors import SafetensorError

from rstc.errors import CheckpointWarning, InputError
from rstc.io.atomic import check_writable, replace_file
from rstc.io.checkpoint_names import CHECKPOINT_SUFFIX, check_only_checkpoints, checkpoint_path, list_checkpoints
from rstc.io.durability import make_folder
from rstc.runtime.distributed import ProcessGroup
from rstc.runtime.progress import Progress
from rstc.runtime.signals import StopHandler, StopRequested
from rstc.training.checkpoint_file import CHECKPOINT_FORMAT, StateDict, read_checkpoint, write_checkpoint

N_KEPT_CHECKPOINTS = 2
SAVE_INTERVAL = 60  # seconds between two checkpoints, unless labels are updated or the run is stopped


@dataclass
class CheckpointFolder:
    """The checkpoint files of one run.

    Attributes
    ----------
    folder : Path
        The folder that holds them.
    resume : bool
        Whether a run resumes from the latest checkpoint; otherwise it starts from scratch.
    replace : bool
        Whether checkpoints of another run, with other texts or settings, are removed; otherwise they raise an error.
    stop_handler : StopHandler
        Receives the signals that stop a run.
    resumed_at : int or None
        The step from which this run was resumed; None if it started from scratch.
    """

    folder: Path
    resume: bool = True
    replace: bool = False
    stop_handler: StopHandler = field(default_factory=StopHandler)
    resumed_at: int | None = None
    _run: dict[str, Any] = field(default_factory=dict)
    _last_save: float = field(default_factory=time.monotonic)

    def open(self, run: Mapping[str, Any]) -> StateDict | None:
        """Load the latest checkpoint of a run.

        If there is none, checkpoints of other runs are removed, or raise an error without `replace`.

        Parameters
        ----------
        run : mapping
            The fingerprint of the run, of JSON values: runs with equal fingerprints have equal results.

        Returns
        -------
        dict or None
            The state; None if the run starts from scratch.
        """
        self._run = json.loads(json.dumps({**run, "checkpoint format": CHECKPOINT_FORMAT}))
        check_writable(self.folder / "any")
        check_only_checkpoints(self.folder)
        difference = None
        for path in reversed(list_checkpoints(self.folder)) if self.resume else ():
            try:
                state, other_run = read_checkpoint(path)
            except (ValueError, KeyError, OSError, SafetensorError) as error:
                warnings.warn(CheckpointWarning(f"{path} is damaged and not used ({error})"), stacklevel=2)
                continue
            if other_run == self._run:
                self.resumed_at = int(state["step"])
                return state
            difference = _name_differences(other_run, self._run)
        if difference and not self.replace:
            raise InputError(
                f"{self.folder.parent} holds checkpoints of another run ({difference} differ); choose another folder, "
                "or pass --overwrite"
            )
        for path in [*list_checkpoints(self.folder), *self.folder.glob(f".*{CHECKPOINT_SUFFIX}.*.tmp")]:
            path.unlink(missing_ok=True)
        return None

    @property
    def is_due(self) -> bool:
        """Whether the last checkpoint is older than `SAVE_INTERVAL`."""
        return time.monotonic() - self._last_save > SAVE_INTERVAL

    def save(self, state: StateDict) -> None:
        """Write a checkpoint and remove all but the last two; if it cannot be written, warn and continue."""
        self._last_save = time.monotonic()
        files = list_checkpoints(self.folder)
        number = int(files[-1].stem) + 1 if files else 1
        try:
            make_folder(self.folder)
            with replace_file(checkpoint_path(self.folder, number)) as temporary:
                write_checkpoint(temporary, state, self._run)
            for path in files[: 1 - N_KEPT_CHECKPOINTS]:
                path.unlink()
        except (InputError, OSError) as error:
            warnings.warn(
                CheckpointWarning(f"a checkpoint could not be saved; the run continues ({error})"), stacklevel=2
            )


class Checkpointer:
    """Decides when the state of a run is copied in memory and when it is written to disk.

    Parameters
    ----------
    get_state : callable
        Returns the state of the run; called in all processes together.
    folder : CheckpointFolder or None
        Where checkpoints are written; None for a run without checkpoints.
    processes : ProcessGroup
        The processes that share the run.
    progress : Progress
        Times the saving.
    is_saved : bool
        Whether the current state is on disk already.

    Attributes
    ----------
    last_good : dict
        The state at the last label update, to return to from a loss that is not finite.
    latest : dict
        The state that is written to disk.
    """

    def __init__(
        self,
        get_state: Callable[[], StateDict],
        folder: CheckpointFolder | None,
        processes: ProcessGroup,
        progress: Progress,
        is_saved: bool = False,
    ) -> None:
        self._get_state, self._folder, self._processes, self._progress = get_state, folder, processes, progress
        self._is_saved = is_saved
        self.last_good = self.latest = get_state()

    def save(self) -> None:
        """Save the current state, whose losses and embeddings are finite, on disk and as `last_good`."""
        self.last_good = self.latest = self._get_state()
        self._write()
        if self._folder and self._processes.is_single:
            self._folder.stop_handler.raise_if_requested()  # a signal may have arrived during the write

    def write_pending(self) -> None:
        """Write the latest state to disk, unless it was written already."""
        if not self._is_saved:
            self._write()

    @contextmanager
    def guard_step(self, label_update_follows: Callable[[], bool]) -> Iterator[None]:
        """Defer signals during an optimizer step, then save the state if a checkpoint is due or a stop is requested.

        Several processes agree on it and stop together. Before a label update, which may take long and be interrupted,
        the state is copied in memory only. The state does not become `last_good`, because a diverging step may show
        only in later losses.
        """
        self._is_saved = False
        folder, processes = self._folder, self._processes
        if folder is None:
            yield
            return
        with folder.stop_handler.defer():
            yield
            is_requested = folder.stop_handler.requested is not None
            is_requested, is_due = processes.any(is_requested, processes.is_first and folder.is_due)
            if is_requested or is_due or label_update_follows():
                self.latest = self._get_state()
            if is_requested or is_due:
                self._write()
        if is_requested:
            processes.barrier()  # torchrun kills the process that writes when another one ends
            raise StopRequested(folder.stop_handler.requested or signal.SIGTERM)
        if processes.is_single:
            folder.stop_handler.raise_if_requested()  # a signal may have arrived during the write

    def _write(self) -> None:
        """Write the latest state to disk, in the first process."""
        if self._folder and self._processes.is_first:
            with self._progress.stage("keep"), self._folder.stop_handler.defer():
                self._folder.save(self.latest)
        self._is_saved = True


def _name_differences(other: Mapping[str, Any], run: Mapping[str, Any]) -> str:
    """Name what differs between the fingerprints of two runs.

    >>> _name_differences({"texts": 1, "settings": {"a": 1, "b": 2}}, {"texts": 2, "settings": {"a": 1, "b": 3}})
    'texts, b'
    """
    names = []
    for name, value in run.items():
        other_value = other.get(name)
        if other_value == value:
            continue
        if isinstance(value, dict) and isinstance(other_value, dict):
            names += [key for key in value if other_value.get(key) != value[key]]
        else:
            names.append(name)
    return ", ".join(names)
