"""When things happen in a run: how many steps there are, when labels are renewed, when the clusters have settled."""

from __future__ import annotations

import torch
from torch import Tensor

from rstc.training.checkpoint_file import Snapshot
from rstc.config import Config
from rstc.runtime.distributed import ALONE, Ranks


def last_step(n_texts: int, config: Config) -> int:
    """Return the step at which training ends if it does not settle before.

    >>> last_step(450, Config(batch_size=200, max_steps=100, max_epochs=20))
    40
    >>> last_step(450, Config(trainable_layers=0))  # labels that are found in a space that stays as it is, stay too
    0
    """
    if config.trainable_layers == 0 and config.labels == "crossfit" and config.class_contrast:
        return 0
    if config.max_epochs == 0:
        return config.max_steps
    return min(config.max_steps, config.max_epochs * max(n_texts // config.batch_size, 1))


def contrast_steps(config: Config) -> int:
    """Return the steps of L_I alone: none where L_I has no weight."""
    return config.contrast_steps if config.lambda_i else 0


def renewal_steps(last_step: int, config: Config) -> frozenset[int]:
    """Return the steps at which Q is renewed: last_step * (i / (R - 1))^2, dense first, sparse later.

    >>> sorted(renewal_steps(100, Config(renewals=6, first_renewal=10)))
    [16, 36, 64]
    """
    intervals = max(config.renewals - 1, 1)
    steps = (round(last_step * (i / intervals) ** 2) for i in range(config.renewals))
    first = contrast_steps(config) + max(config.first_renewal, 1)
    return frozenset(step for step in steps if first <= step < last_step)


class StopTest:
    """Compares clusters with those of the last test, at least `interval` steps ago.

    The first renewals follow each other so closely that little can change between them; that is not settling.
    """

    def __init__(self, interval: int, ranks: Ranks = ALONE) -> None:
        self._interval, self._ranks = interval, ranks
        self._last: tuple[int, Tensor] | None = None

    def snapshot(self) -> Snapshot:
        """Return the last test."""
        if self._last is None:
            return Snapshot({"step": None}, {})
        everything = self._ranks.rows_at_first(self._last[1])
        return Snapshot({"step": self._last[0]}, {} if everything is None else {"clusters": everything.numpy()})

    def restore(self, snapshot: Snapshot, own: slice) -> None:
        """Go on from a test, of this process's own texts among all."""
        step = snapshot.facts["step"]
        self._last = None if step is None else (step, torch.from_numpy(snapshot.arrays["clusters"][own].copy()))

    def share_changed(self, step: int, clusters: Tensor) -> float | None:
        """Return the share of texts that changed their cluster since the last test; None where it is too soon."""
        if self._last is not None and step - self._last[0] < self._interval:
            return None
        before, self._last = self._last, (step, clusters)
        return None if before is None else self._ranks.mean(before[1] != clusters)
