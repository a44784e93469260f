"""What learns, and how it takes a step: the network by its losses and Adam, in one process or in many."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from rstc.training.checkpoint_file import Snapshot
from rstc.runtime.device import generator_states, set_generator_states
from rstc.runtime.distributed import Ranks
from rstc.representation.objective import Contrasts, spread
from rstc.representation.network import Network


class NotFiniteError(ArithmeticError):
    """A loss or an embedding is not a finite number."""


class Steps:
    """Steps of a network on L_C + lambda_I L_I.

    Args:
        network: that learns.
        encoder_lr, head_lr: learning rates of the encoder and of the heads.
        lambda_i, tau: of the losses.
        with_labels_always: whether every step has labels; without them, G_p learns nothing.
        ranks: the processes that share the texts.
    """

    def __init__(
        self,
        network: Network,
        encoder_lr: float,
        head_lr: float,
        lambda_i: float,
        tau: float,
        with_labels_always: bool,
        ranks: Ranks,
    ) -> None:
        self.network, self.ranks = network, ranks
        self._device = network.encoder.device
        self._contrasts = spread(Contrasts(network, lambda_i, tau, ranks), with_labels_always)
        self._optimizer = _adam(network, encoder_lr, head_lr)
        # In float16 small gradients would vanish; the scaler lifts them. It stands aside in the other precisions.
        in_halves = network.encoder.precision == torch.float16
        self._scaler = torch.amp.GradScaler(self._device.type, enabled=in_halves)

    def take(self, views: Sequence[Any], labels: Tensor | None, counts: Sequence[int]) -> tuple[float, float]:
        """Take a step on a batch (`Contrasts.forward`) with its labels, or without on L_I alone; return L_C and L_I."""
        self.network.train()
        Q = None if labels is None else labels.to(self._device)
        loss, L_C, L_I = self._contrasts(views, Q, counts)
        losses = L_C.item(), L_I.item()
        if not all(map(math.isfinite, losses)):
            raise NotFiniteError("the loss is not a finite number")
        self._optimizer.zero_grad()
        self._scaler.scale(loss).backward()
        self._scaler.step(self._optimizer)
        self._scaler.update()
        return losses

    def slow_down(self, factor: float) -> None:
        """Make the learning rates so many times as large."""
        for group in self._optimizer.param_groups:
            group["lr"] *= factor

    def snapshot(self) -> Snapshot:
        """Return where the network, Adam and torch's generators are; of several processes, where each one's are."""
        rates = [group["lr"] for group in self._optimizer.param_groups]
        arrays = {f"weights.{name}": _array(one) for name, one in self._learning()}
        for number, moments in self._optimizer.state_dict()["state"].items():
            arrays |= {f"adam.{number}.{name}": _array(one) for name, one in moments.items()}
        states = {name: _array(state) for name, state in generator_states(self._device).items()}
        for rank, each in enumerate(self.ranks.every(states)):
            arrays |= {f"draws.{rank}.{name}": state for name, state in each.items()}
        return Snapshot({"rates": rates, "scaler": self._scaler.state_dict(), "processes": self.ranks.size}, arrays)

    @torch.no_grad()
    def restore(self, snapshot: Snapshot) -> None:
        """Go on from where they were; with another number of processes, the generators from where they are."""
        facts, arrays = snapshot.facts, snapshot.arrays
        for name, weights in self._learning():
            weights.copy_(torch.from_numpy(arrays[f"weights.{name}"]))
        optimizer = self._optimizer.state_dict()
        optimizer["state"] = {}
        for name, values in arrays.items():
            kind, _, rest = name.partition(".")
            if kind == "adam":
                number, _, moment = rest.partition(".")
                optimizer["state"].setdefault(int(number), {})[moment] = torch.from_numpy(values.copy())
        self._optimizer.load_state_dict(optimizer)
        for group, rate in zip(self._optimizer.param_groups, facts["rates"], strict=True):
            group["lr"] = rate
        if facts["scaler"]:
            self._scaler.load_state_dict(facts["scaler"])
        if facts["processes"] == self.ranks.size:
            own = f"draws.{self.ranks.rank}."
            states = {n.removeprefix(own): torch.from_numpy(v.copy()) for n, v in arrays.items() if n.startswith(own)}
            set_generator_states(states, self._device)

    def _learning(self) -> list[tuple[str, Tensor]]:
        return [(name, weights) for name, weights in self.network.named_parameters() if weights.requires_grad]


def _array(values: Tensor) -> Any:
    return values.detach().cpu().numpy().copy()


def _adam(network: Network, encoder_lr: float, head_lr: float) -> torch.optim.Adam:
    """Return Adam with a rate for the encoder's learning parameters and one for the heads'."""
    learning = [p for p in network.encoder.parameters() if p.requires_grad]
    heads = [*network.cluster_head.parameters(), *network.projector.parameters()]
    groups = [{"params": heads, "lr": head_lr}]
    if learning:
        groups.append({"params": learning, "lr": encoder_lr})
    return torch.optim.Adam(groups, fused=True)
