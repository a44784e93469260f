"""How far a run has come: its step, its labels, and what it has written down so far."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rstc.training.checkpoint_file import Snapshot
from rstc.training.history import MeanLosses


class End(NamedTuple):
    """How a run ended: the class distribution b (C,), and whether the clusters had settled."""

    b: NDArray[np.float64]
    settled: bool


@dataclass
class Course:
    """How far a run has come.

    Attributes:
        step: training steps taken.
        labels: what the network learns, of this process's learners; None before they are found.
        clusters: of the same texts, at the last renewal.
        renewed_at: the step of the last renewal; -1: there was none.
        slowed: whether it has been taken back once, to go on with smaller steps.
        since: losses since the last renewal.
        history: one entry a renewal.
        losses: L_C, where there were labels, and L_I of each step.
        end: how it ended, if it did.
    """

    step: int = 0
    labels: Tensor | None = None
    clusters: Tensor | None = None
    renewed_at: int = -1
    slowed: bool = False
    since: MeanLosses = field(default_factory=MeanLosses)
    history: list[dict[str, Any]] = field(default_factory=list)
    losses: list[tuple[float | None, float]] = field(default_factory=list)
    end: End | None = None

    def snapshot(self, of_all: Callable[[Tensor], Tensor | None]) -> Snapshot:
        """Return it as data; `of_all` puts the texts of all processes together in the first."""
        plain = {name: getattr(self, name) for name in _PLAIN}
        plain |= {"history": list(self.history), "losses": list(self.losses)}  # they go on being written
        facts = plain | {"since": self.since.told(), "settled": None}
        arrays: dict[str, NDArray[Any]] = {}
        for name in _OF_TEXTS:
            values = getattr(self, name)
            if values is not None and (everything := of_all(values)) is not None:
                arrays[name] = everything.numpy()
        if self.end:
            facts["settled"], arrays["b"] = self.end.settled, self.end.b
        return Snapshot(facts, arrays)

    @classmethod
    def read(cls, snapshot: Snapshot, own: slice) -> Course:
        """Return it again, of this process's own texts among all."""
        facts, arrays = snapshot.facts, snapshot.arrays
        course = cls(**{name: facts[name] for name in _PLAIN}, since=MeanLosses(facts["since"]))
        course.history, course.losses = list(facts["history"]), [(L_C, L_I) for L_C, L_I in facts["losses"]]
        for name in _OF_TEXTS:
            if name in arrays:
                setattr(course, name, torch.from_numpy(arrays[name][own].copy()))
        if facts["settled"] is not None:
            course.end = End(arrays["b"], facts["settled"])
        return course


_PLAIN = ("step", "renewed_at", "slowed")
_OF_TEXTS = ("labels", "clusters")
