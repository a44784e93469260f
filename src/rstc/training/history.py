"""What a run writes down on its way: where it was at each renewal of the labels, and the losses since the last."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from rstc.runtime.distributed import ALONE, Ranks
from rstc.representation.network import Prediction

logger = logging.getLogger("rstc")


Watch = Callable[[int, NDArray[np.int64], NDArray[np.int64]], None]  # step, rows of texts, the clusters they are in


@dataclass(frozen=True)
class Renewal:
    """Where the run is when labels are renewed.

    Attributes:
        prediction: what the network says.
        clusters: the clusters so far, (N,): the network's, or the first labels where it has not learned them yet.
        labels: what it is to learn from here on, (N,).
        b: their class distribution, (C,).
        facts: how they were found.
    """

    prediction: Prediction
    clusters: Tensor
    labels: Tensor
    b: NDArray[np.float64]
    facts: dict[str, Any]


class MeanLosses:
    """The mean of L_C and L_I over some steps."""

    def __init__(self, losses: Iterable[tuple[float, float]] = ()) -> None:
        self._losses = list(losses)

    def add(self, L_C: float, L_I: float) -> None:
        """Take the losses of one more step."""
        self._losses.append((L_C, L_I))

    def told(self) -> list[tuple[float, float]]:
        """Return what it was told."""
        return list(self._losses)

    def means(self) -> tuple[float | None, float | None]:
        """Return both means; None without steps."""
        if not self._losses:
            return None, None
        L_C, L_I = np.mean(self._losses, axis=0)
        return float(L_C), float(L_I)


def contrast_entry(step: int, losses: MeanLosses) -> dict[str, Any]:
    """Return, and log, where a run is after steps of L_I alone."""
    entry = {"step": step, "loss_class": None, "loss_instance": losses.means()[1]}
    logger.info("step %d: L_I %.3f", step, entry["loss_instance"])
    return entry


def renewal_entry(
    step: int,
    losses: MeanLosses,
    renewed: Renewal,
    changed: float | None,
    moved: float | None,
    ranks: Ranks = ALONE,
) -> dict[str, Any]:
    """Return, and log, where a run is at a renewal.

    Shares of texts in another cluster than before: `changed` since the last look of the stop test, `moved` since the
    last renewal.
    """
    loss_class, loss_instance = losses.means()
    entry = {
        "step": step,
        "loss_class": loss_class,
        "loss_instance": loss_instance,
        "clusters": int((ranks.sum(renewed.clusters.bincount(minlength=len(renewed.b))) > 0).sum()),
        "changed": changed,
        "moved": moved,
        "confidence": ranks.mean(renewed.prediction.log_p.max(1).values.exp()),
        "smallest_class": float(renewed.b.min()),
        "largest_class": float(renewed.b.max()),
        **renewed.facts,
    }
    logger.info(
        "step %d: L_C %s, L_I %s, %d clusters, changed %s",
        step,
        *("-" if value is None else f"{value:.3f}" for value in (loss_class, loss_instance)),
        entry["clusters"],
        "-" if changed is None else f"{changed:.1%}",
    )
    return entry
