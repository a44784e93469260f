"""The training state of a run: its step, its labels, its history and its losses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from rstc.runtime.distributed import ProcessGroup
from rstc.training.history import MeanLosses

_SCALAR_FIELDS = ("step", "last_update_step", "lr_was_reduced")
_TEXT_FIELDS = ("labels", "clusters")


class Outcome(NamedTuple):
    """The outcome of a run after its last step.

    Attributes
    ----------
    b : ndarray of shape (C,)
        The class distribution.
    converged : bool
        Whether the stopping criterion ended the run, rather than the step limit.
    """

    b: NDArray[np.float64]
    converged: bool


@dataclass
class TrainingState:
    """The state of a run between two optimizer steps.

    Attributes
    ----------
    step : int
        Optimizer steps taken.
    labels : Tensor of shape (n,) or None
        The pseudo-labels of this process's training texts; None before the first are found.
    clusters : Tensor of shape (n,) or None
        The clusters of the same texts at the last label update.
    last_update_step : int
        The step of the last label update; -1 before the first.
    lr_was_reduced : bool
        Whether the run has returned to an earlier state with lower learning rates, which it does at most once.
    recent_losses : MeanLosses
        The losses since the last label update.
    history : list of dict
        An entry for each label update.
    losses : list of (float or None, float)
        L_C and L_I of each step; L_C is None for a step without labels.
    outcome : Outcome or None
        The outcome, after the last step.
    """

    step: int = 0
    labels: Tensor | None = None
    clusters: Tensor | None = None
    last_update_step: int = -1
    lr_was_reduced: bool = False
    recent_losses: MeanLosses = field(default_factory=MeanLosses)
    history: list[dict[str, Any]] = field(default_factory=list)
    losses: list[tuple[float | None, float]] = field(default_factory=list)
    outcome: Outcome | None = None

    def state_dict(self, processes: ProcessGroup) -> dict[str, Any]:
        """Return the state; in the first process, labels and clusters are those of all processes."""
        per_text = {name: getattr(self, name) for name in _TEXT_FIELDS}
        return {
            **{name: getattr(self, name) for name in _SCALAR_FIELDS},
            **{name: None if rows is None else processes.gather_rows(rows) for name, rows in per_text.items()},
            "recent_losses": self.recent_losses.to_list(),
            "history": list(self.history),
            "losses": list(self.losses),
            "outcome": None if self.outcome is None else self.outcome._asdict(),
        }

    @classmethod
    def from_state_dict(cls, state: Mapping[str, Any], local_rows: slice) -> TrainingState:
        """Restore a state, with the labels and clusters of this process's rows."""
        labels, clusters = (None if state[name] is None else state[name][local_rows].clone() for name in _TEXT_FIELDS)
        return cls(
            **{name: state[name] for name in _SCALAR_FIELDS},
            labels=labels,
            clusters=clusters,
            recent_losses=MeanLosses((L_C, L_I) for L_C, L_I in state["recent_losses"]),
            history=list(state["history"]),
            losses=[(L_C, L_I) for L_C, L_I in state["losses"]],
            outcome=None if state["outcome"] is None else Outcome(**state["outcome"]),
        )
