"""The history of a run: an entry for each label update, with the mean losses since the previous one."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Any

import numpy as np

from rstc.runtime.distributed import SINGLE_PROCESS, ProcessGroup
from rstc.training.label_updater import LabelUpdate

logger = logging.getLogger("rstc")


class MeanLosses:
    """The losses L_C and L_I of some steps, and their means.

    Examples
    --------
    >>> losses = MeanLosses([(1.0, 2.0)])
    >>> losses.add(2.0, 4.0)
    >>> losses.means()
    (1.5, 3.0)
    """

    def __init__(self, losses: Iterable[tuple[float, float]] = ()) -> None:
        self._losses = list(losses)

    def add(self, L_C: float, L_I: float) -> None:
        """Add the losses of a step."""
        self._losses.append((L_C, L_I))

    def to_list(self) -> list[tuple[float, float]]:
        """Return the losses of all steps."""
        return list(self._losses)

    def means(self) -> tuple[float | None, float | None]:
        """Return the means of L_C and L_I; None without steps."""
        if not self._losses:
            return None, None
        L_C, L_I = np.mean(self._losses, axis=0)
        return float(L_C), float(L_I)


def make_contrast_entry(step: int, losses: MeanLosses) -> dict[str, Any]:
    """Create and log the entry of the steps on L_I alone."""
    entry = {"step": step, "loss_class": None, "loss_instance": losses.means()[1]}
    logger.info("step %d: L_I %.3f", step, entry["loss_instance"])
    return entry


def make_update_entry(
    step: int,
    losses: MeanLosses,
    update: LabelUpdate,
    changed: float | None,
    moved: float | None,
    processes: ProcessGroup = SINGLE_PROCESS,
) -> dict[str, Any]:
    """Create and log the entry of a label update.

    Parameters
    ----------
    step : int
        Number of optimizer steps taken.
    losses : MeanLosses
        The losses since the last update.
    update : LabelUpdate
        The update.
    changed : float or None
        Share of texts whose cluster changed since the last test of the stopping criterion.
    moved : float or None
        Share of texts whose cluster changed since the last update.
    processes : ProcessGroup
        The processes that share the texts.

    Returns
    -------
    dict
        JSON values.
    """
    loss_class, loss_instance = losses.means()
    entry = {
        "step": step,
        "loss_class": loss_class,
        "loss_instance": loss_instance,
        "clusters": int((processes.all_reduce(update.clusters.bincount(minlength=len(update.b))) > 0).sum()),
        "changed": changed,
        "moved": moved,
        "confidence": processes.mean(update.prediction.log_p.max(1).values.exp()),
        "smallest_class": float(update.b.min()),
        "largest_class": float(update.b.max()),
        **update.diagnostics,
    }
    logger.info(
        "step %d: L_C %s, L_I %s, %d clusters, changed %s",
        step,
        *("-" if value is None else f"{value:.3f}" for value in (loss_class, loss_instance)),
        entry["clusters"],
        "-" if changed is None else f"{changed:.1%}",
    )
    return entry
