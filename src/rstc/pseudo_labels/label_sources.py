"""Pseudo-labels from the network's predictions by optimal transport, with different class distributions b."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rstc.pseudo_labels.transport.marginals import count_by_first_appearance, update_moving_average
from rstc.pseudo_labels.transport.saot import Transport, optimal_transport, saot, semi_relaxed_transport
from rstc.runtime.distributed import SINGLE_PROCESS, ProcessGroup

SOURCES = ("saot", "ot-random", "ot-uniform", "ot-average", "ot-average-released", "ot-near")


class TransportLabelSource:
    """Solves the transport of log P (N, C) at each label update, starting from the solution of the last one.

    Parameters
    ----------
    source : str
        Where the class distribution b comes from: "saot" estimates it (M1); "ot-random" and "ot-uniform" hold one
        fixed; "ot-average" follows the counts of the predictions (M2), and "ot-average-released" their counts in order
        of first appearance, as the authors' released code does; "ot-near" stays near the last one (M3).
    n_clusters : int
        C.
    eps1 : float
        Weight of the plan's entropy.
    method : str
        Solver of the transport.
    rng : numpy.random.Generator
        Draws the first b of "ot-random", "ot-average" and "ot-near".
    processes : ProcessGroup
        The processes that share the texts.

    Attributes
    ----------
    b : ndarray of shape (C,)
        Class distribution for the next update, which all sources but "saot" use.
    potentials : Tensor or None
        The dual solution of the last transport.
    """

    def __init__(
        self,
        source: str,
        n_clusters: int,
        eps1: float,
        method: str,
        rng: np.random.Generator,
        processes: ProcessGroup = SINGLE_PROCESS,
    ) -> None:
        if source not in SOURCES:
            raise ValueError(f"source={source!r} is not one of {', '.join(SOURCES)}")
        self.source, self.eps1, self.method = source, eps1, method
        self.b = _draw_distribution(n_clusters, rng)
        if source == "ot-uniform":
            self.b = np.full(n_clusters, 1 / n_clusters)
        self.potentials: Tensor | None = None
        self.processes = processes

    def solve(self, log_p: Tensor, clusters: NDArray[np.int64], eps2: float) -> Transport[Tensor]:
        """Solve the transport of predictions.

        Parameters
        ----------
        log_p : Tensor of shape (N, C)
            Log probabilities.
        clusters : ndarray of shape (N,)
            The predicted clusters.
        eps2 : float
            Weight of the penalty on b.

        Returns
        -------
        Transport
        """
        start, processes = self.potentials, self.processes
        if self.source == "saot":
            transport = saot(log_p, self.eps1, eps2, self.method, start=start, processes=processes)
        elif self.source == "ot-near":
            b = torch.from_numpy(self.b)
            transport = semi_relaxed_transport(log_p, b, self.eps1, eps2, self.method, start=start, processes=processes)
            self.b = transport.b.numpy()
        else:
            if self.source == "ot-average":
                counts = torch.from_numpy(np.bincount(clusters, minlength=len(self.b)))
                self.b = update_moving_average(self.b, processes.all_reduce(counts).numpy())
            elif self.source == "ot-average-released":
                all_clusters = processes.all_gather_rows(torch.from_numpy(clusters)).numpy()
                self.b = update_moving_average(self.b, count_by_first_appearance(all_clusters, len(self.b)))
            b = torch.from_numpy(self.b)
            transport = optimal_transport(log_p, b, self.eps1, self.method, start=start, processes=processes)
        self.potentials = transport.potentials
        return transport

    def state_dict(self) -> dict[str, Any]:
        """Return the state that the next transport starts from."""
        return {"b": self.b, "potentials": None if self.potentials is None else self.potentials.cpu()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore a state."""
        self.b, self.potentials = state["b"], state["potentials"]


def _draw_distribution(n_clusters: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Draw a random class distribution, (C,)."""
    b = rng.random(n_clusters) + 1e-3  # no class may have size zero
    return np.asarray(b / b.sum())
