"""Optimizer steps of the network on L_C + lambda_I L_I, by Adam with separate learning rates for encoder and heads."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from rstc.representation.network import Network
from rstc.representation.objective import ContrastiveObjective, distribute
from rstc.runtime.device import get_rng_states, set_rng_states


class NonFiniteError(ArithmeticError):
    """A loss or an embedding is not a finite number."""


class NetworkOptimizer:
    """Takes optimizer steps on a network.

    Parameters
    ----------
    objective : ContrastiveObjective
        The objective, with the network to train.
    encoder_lr : float
        Learning rate of the encoder.
    head_lr : float
        Learning rate of the two heads.
    always_labelled : bool
        Whether every step has labels; without labels, the cluster head gets no gradient.
    """

    def __init__(
        self, objective: ContrastiveObjective, encoder_lr: float, head_lr: float, always_labelled: bool = True
    ) -> None:
        self.network, self._processes = objective.network, objective.processes
        self._device = self.network.encoder.device
        self._objective = distribute(objective, always_labelled)
        self._adam = _build_adam(self.network, encoder_lr, head_lr)
        # In float16 small gradients would vanish without scaling; in other precisions the scaler does nothing.
        is_float16 = self.network.encoder.precision == torch.float16
        self._scaler = torch.amp.GradScaler(self._device.type, enabled=is_float16)

    def step(self, views: Sequence[Any], labels: Tensor | None, counts: Sequence[int]) -> tuple[float, float]:
        """Take an optimizer step on a batch.

        Parameters
        ----------
        views, counts
            As in `ContrastiveObjective.forward`.
        labels : Tensor or None
            The pseudo-labels of this process's texts of the batch; None for a step on L_I alone.

        Returns
        -------
        L_C, L_I : float
            The losses of the whole batch before the step.
        """
        self.network.train()
        Q = None if labels is None else labels.to(self._device)
        total, L_C, L_I = self._objective(views, Q, counts)
        losses = L_C.item(), L_I.item()
        if not all(map(math.isfinite, losses)):
            raise NonFiniteError("the loss is not a finite number")
        self._adam.zero_grad()
        self._scaler.scale(total).backward()
        self._scaler.step(self._adam)
        self._scaler.update()
        return losses

    def scale_learning_rates(self, factor: float) -> None:
        """Multiply all learning rates by a factor."""
        for group in self._adam.param_groups:
            group["lr"] *= factor

    def state_dict(self) -> dict[str, Any]:
        """Return the trained parameters, Adam's state, and the states of torch's generators in all processes."""
        rng_states = {name: _copy(state) for name, state in get_rng_states(self._device).items()}
        return {
            "parameters": {name: _copy(parameter) for name, parameter in self._trained_parameters()},
            "adam": {
                str(index): {name: _copy(value) for name, value in moments.items()}
                for index, moments in self._adam.state_dict()["state"].items()
            },
            "learning_rates": [group["lr"] for group in self._adam.param_groups],
            "grad_scaler": self._scaler.state_dict(),
            "torch_rng": self._processes.gather_objects(rng_states),
        }

    @torch.no_grad()
    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore a state; the generators only if the number of processes is the same."""
        for name, parameter in self._trained_parameters():
            parameter.copy_(state["parameters"][name])
        adam = self._adam.state_dict()
        adam["state"] = {
            int(index): {name: value.clone() for name, value in moments.items()}
            for index, moments in state["adam"].items()
        }
        self._adam.load_state_dict(adam)
        for group, lr in zip(self._adam.param_groups, state["learning_rates"], strict=True):
            group["lr"] = lr
        if state["grad_scaler"]:
            self._scaler.load_state_dict(state["grad_scaler"])
        if len(state["torch_rng"]) == self._processes.size:
            set_rng_states(state["torch_rng"][self._processes.rank], self._device)

    def _trained_parameters(self) -> list[tuple[str, Tensor]]:
        return [(name, parameter) for name, parameter in self.network.named_parameters() if parameter.requires_grad]


def _copy(values: Tensor) -> Tensor:
    """Copy a tensor to the CPU."""
    return values.detach().cpu().clone()


def _build_adam(network: Network, encoder_lr: float, head_lr: float) -> torch.optim.Adam:
    """Build Adam over the heads and the encoder's trainable parameters."""
    trainable = [parameter for parameter in network.encoder.parameters() if parameter.requires_grad]
    heads = [*network.cluster_head.parameters(), *network.projector.parameters()]
    groups = [{"params": heads, "lr": head_lr}]
    if trainable:
        groups.append({"params": trainable, "lr": encoder_lr})
    return torch.optim.Adam(groups, fused=True)
