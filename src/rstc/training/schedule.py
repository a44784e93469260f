"""The schedule of a run: its number of steps, the steps of its label updates, and its stopping criterion."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from rstc.config import Config
from rstc.errors import InputError
from rstc.runtime.distributed import SINGLE_PROCESS, ProcessGroup

TRIAL_STEPS = 20  # after which a run with training="auto" tests whether training changes the labels


@dataclass(frozen=True)
class Schedule:
    """The steps of a run.

    Attributes
    ----------
    max_steps : int
        The step at which training ends unless it stops early.
    contrast_steps : int
        Steps on L_I alone before the first labels are found.
    label_update_steps : frozenset of int
        The steps after which labels are updated, the last step among them.
    trial_step : int or None
        The step at which a run with training="auto" tests whether training changes the labels.
    uses_labels : bool
        Whether the objective includes L_C; without it (RSTC-I), clusters are found by k-means after the last step.
    """

    max_steps: int
    contrast_steps: int
    label_update_steps: frozenset[int]
    trial_step: int | None = None
    uses_labels: bool = True

    @classmethod
    def from_config(cls, n_texts: int, trainable_layers: int | str, config: Config) -> Schedule:
        """Plan a run on `n_texts` training texts; raise an InputError if no step is left to train on labels."""
        max_steps, contrast_steps = count_steps(n_texts, trainable_layers, config), count_contrast_steps(config)
        if config.class_contrast and contrast_steps >= max(max_steps, 1):
            if max_steps == 0:
                raise InputError(
                    f"contrast_steps={config.contrast_steps} needs trainable layers, got trainable_layers=0"
                )
            raise InputError(
                f"contrast_steps={config.contrast_steps} leaves none of the {max_steps} steps to train on labels"
            )
        updates = plan_label_updates(max_steps, config) | {max_steps}
        trial_step = None
        if max_steps and config.tries_training:
            trial_step = min(contrast_steps + TRIAL_STEPS, max_steps)
            updates |= {trial_step}
        return cls(max_steps, contrast_steps, updates, trial_step, config.class_contrast)


def count_steps(n_texts: int, trainable_layers: int | str, config: Config) -> int:
    """Return the step at which training ends unless it stops early.

    >>> count_steps(450, 1, Config(batch_size=200, max_steps=100, max_epochs=20))
    40
    >>> count_steps(450, 0, Config())  # in a fixed space, crossfit finds the same labels again
    0
    """
    if trainable_layers == 0 and config.finds_labels_without_network:
        return 0
    if config.max_epochs == 0:
        return config.max_steps
    return min(config.max_steps, config.max_epochs * max(n_texts // config.batch_size, 1))


def count_contrast_steps(config: Config) -> int:
    """Return the number of steps on L_I alone, which is 0 if L_I has no weight."""
    return config.contrast_steps if config.lambda_i else 0


def plan_label_updates(max_steps: int, config: Config) -> frozenset[int]:
    """Return the steps at which labels are updated: max_steps * (i / (R - 1))^2, at growing intervals.

    >>> sorted(plan_label_updates(100, Config(renewals=6, first_renewal=10)))
    [16, 36, 64]
    """
    intervals = max(config.renewals - 1, 1)
    steps = (round(max_steps * (i / intervals) ** 2) for i in range(config.renewals))
    first = count_contrast_steps(config) + max(config.first_renewal, 1)
    return frozenset(step for step in steps if first <= step < max_steps)


class StoppingCriterion:
    """Stops a run when few texts change their cluster between two tests, at least `interval` steps apart.

    The first label updates are so close together that few clusters change between them; this is no convergence.

    Parameters
    ----------
    interval : int
        Smallest number of steps between two tests.
    delta : float
        A run has converged if the share of texts whose cluster changed is smaller.
    processes : ProcessGroup
        The processes that share the texts.
    local_rows : slice
        The rows of this process's texts among those of all processes.
    """

    def __init__(
        self,
        interval: int,
        delta: float = 0.0,
        processes: ProcessGroup = SINGLE_PROCESS,
        local_rows: slice = slice(None),
    ) -> None:
        self._interval, self._delta, self._processes, self._local_rows = interval, delta, processes, local_rows
        self._last_test: tuple[int, Tensor] | None = None

    def test(self, step: int, clusters: Tensor) -> float | None:
        """Return the share of texts whose cluster changed since the last test.

        Parameters
        ----------
        step : int
            Number of optimizer steps taken.
        clusters : Tensor of shape (N,)
            The current clusters.

        Returns
        -------
        float or None
            None for the first test, and if the last one was less than `interval` steps ago.
        """
        if self._last_test is not None and step - self._last_test[0] < self._interval:
            return None
        previous, self._last_test = self._last_test, (step, clusters)
        return None if previous is None else self._processes.mean(previous[1] != clusters)

    def is_met(self, share_changed: float | None) -> bool:
        """Whether a share of texts with a changed cluster is below `delta`."""
        return share_changed is not None and share_changed < self._delta

    def state_dict(self) -> dict[str, Any]:
        """Return the last test, with the clusters of all processes."""
        if self._last_test is None:
            return {"step": None, "clusters": None}
        step, clusters = self._last_test
        return {"step": step, "clusters": self._processes.gather_rows(clusters)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore a state, with the clusters of this process."""
        step, clusters = state["step"], state["clusters"]
        self._last_test = None if step is None else (step, clusters[self._local_rows].clone())
