"""One training step: ours against a straightforward one.

    python benchmarks/step.py --data DIR [--set stackoverflow] [--rounds 5]

The straightforward step is what the released schedule does at every step, written down plainly below: the batch is
tokenised and padded to 32 tokens, the texts and both their views pass through the whole encoder, every parameter is
trained. Ours runs with all layers and with the default's; it has tokenised all texts before, and for the default run
the frozen layers once. Rounds take turns, the figures are medians. Before that, both take steps with all layers on the
same batches without dropout, and their losses are compared.
"""

from __future__ import annotations

import argparse
import copy
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from measuring import RESULTS, ResultFile, circumstances
from rstc.training.data_loader import Batches, Draws
from rstc.benchmark.datasets import read
from rstc.config import Config, make_config
from rstc.runtime.progress import Progress
from rstc.runtime.distributed import ALONE
from rstc.representation.fast_dropout import BitDropout
from rstc.representation.heads import ClusteringNetwork, ProjectingNetwork
from rstc.representation.loading import load_encoder
from rstc.representation.network import Network
from rstc.representation.hidden_state_cache import StateCache
from rstc.representation.optimizer import Steps
from rstc.representation.views import drawn_views, given_views

BATCH = 200


class Straightforward:
    """The step as one would write it first."""

    def __init__(self, network: Network, config: Config) -> None:
        self.network, self.lambda_i, self.tau = copy.deepcopy(network), config.lambda_i, config.tau
        _plain_dropout(self.network)
        heads = [*self.network.cluster_head.parameters(), *self.network.projector.parameters()]
        encoder = {"params": self.network.encoder.parameters(), "lr": config.encoder_lr}
        self.optimizer = torch.optim.Adam([{"params": heads, "lr": config.head_lr}, encoder])

    def embed(self, texts: list[str]) -> Tensor:
        model = self.network.encoder.model
        padded = model.tokenizer(texts, padding="max_length", truncation=True, max_length=32, return_tensors="pt")
        return model(dict(padded))["sentence_embedding"]

    def __call__(self, texts: list[str], first: list[str], second: list[str], Q: Tensor) -> tuple[float, float]:
        self.network.train()
        E0, E1, E2 = self.embed(texts), self.embed(first), self.embed(second)
        self.network.cluster_head(E0).softmax(1)  # the predictions that the schedule keeps for its labels
        P1, P2 = (self.network.cluster_head(E).log_softmax(1) for E in (E1, E2))
        L_C = F.nll_loss(P1, Q) + F.nll_loss(P2, Q)
        Z1, Z2 = self.network.projector(E1), self.network.projector(E2)
        same, cross = (F.cosine_similarity(Z1[:, None], Z[None], dim=2) / self.tau for Z in (Z1, Z2))
        other = F.cosine_similarity(Z2[:, None], Z2[None], dim=2) / self.tau
        eye = torch.eye(len(Q), dtype=torch.bool)
        directions = []
        for own, to_partner in ((same, cross), (other, cross.T)):
            among = torch.cat([to_partner, own.masked_fill(eye, -torch.inf)], dim=1)
            directions.append((among.logsumexp(1) - to_partner.diagonal()).mean())
        L_I = (directions[0] + directions[1]) / 2
        self.optimizer.zero_grad()
        (L_C + self.lambda_i * L_I).backward()
        self.optimizer.step()
        return L_C.item(), L_I.item()


def _plain_dropout(network: nn.Module) -> None:
    """Take back what our encoder does to dropout."""
    for parent in network.modules():
        for name, child in parent.named_children():
            if isinstance(child, BitDropout):
                setattr(parent, name, nn.Dropout(child.p))


class Ours:
    """The step as a run takes it, with its batches."""

    def __init__(self, texts: list[str], pair: Any, n_clusters: int, settings: dict[str, Any]) -> None:
        torch.manual_seed(0)
        config, rng = make_config("default", {**settings, "batch_size": BATCH}), np.random.default_rng(0)
        encoder = load_encoder(None, config.pooling, config.max_tokens)
        encoder.train_layers(config.trainable_layers)
        tokens = encoder.tokenize(texts)
        cache = StateCache(encoder, config.cache_mb * 2**20) if encoder.is_cut else None
        if cache:
            encoder.embed(tokens, states_of=cache.states)  # a run has these from its first encoding; no part of a step
        head = ClusteringNetwork(encoder.dim, n_clusters, config.dropout)
        self.network = Network(encoder, head, ProjectingNetwork(encoder.dim, config.projection_dim))
        self.steps = Steps(self.network, config.encoder_lr, config.head_lr, config.lambda_i, config.tau, True, ALONE)
        views = given_views(texts, *pair) if pair else drawn_views(texts, config.views)
        draws = Draws(rng, rng, rng.spawn(1)[0])
        ends = np.array([len(texts)])
        self.batches = Batches(tokens, views, BATCH, ends, encoder, cache, draws, ALONE, Progress())

    def take(self, labels: Tensor) -> tuple[float, float]:
        """Take a step on the next batch."""
        batch = next(self.batches)
        return self.steps.take(batch.views, labels[torch.from_numpy(batch.rows)], batch.counts)


def without_dropout(network: nn.Module) -> None:
    for module in network.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--set", default="stackoverflow")
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    table = read(given.set, given.data)
    texts, first, second = (table[name].astype(str).tolist() for name in ("text", "text1", "text2"))
    n_clusters = table.label.nunique()
    labels = torch.from_numpy(np.random.default_rng(0).integers(n_clusters, size=len(texts)))  # any will do
    config = make_config()

    def batch(number: int) -> tuple[list[int], list[list[str]]]:
        rows = np.random.default_rng(number).choice(len(texts), BATCH, replace=False).tolist()
        return rows, [[column[i] for i in rows] for column in (texts, first, second)]

    print("the same batches without dropout", flush=True)
    ours = Ours(texts, (first, second), n_clusters, {"trainable_layers": "all"})
    without_dropout(ours.network)
    plain = Straightforward(ours.network, config)
    losses = []
    for number in range(3):
        rows, columns = batch(number)
        tokens = ours.network.encoder.tokenize(columns[1] + columns[2])
        both = ours.steps.take(tokens, labels[rows], [BATCH])
        losses.append({"ours": both, "straightforward": plain(*columns, labels[rows])})
    gap = max(abs(a - b) for one in losses for a, b in zip(one["ours"], one["straightforward"], strict=True))
    print(f"largest difference of a loss: {gap:.1e}", flush=True)

    all_layers = Ours(texts, (first, second), n_clusters, {"trainable_layers": "all"})
    by_default = Ours(texts, None, n_clusters, {})
    plain = Straightforward(all_layers.network, config)
    spent: dict[str, list[float]] = {"straightforward": [], "all layers": [], "default": []}
    for number in range(given.rounds + 1):
        rows, columns = batch(number)
        for name, step in (
            ("straightforward", lambda columns=columns, rows=rows: plain(*columns, labels[rows])),
            ("all layers", lambda: all_layers.take(labels)),
            ("default", lambda: by_default.take(labels)),
        ):
            start = time.perf_counter()
            step()
            spent[name].append(time.perf_counter() - start)
        print({name: round(seconds[-1], 2) for name, seconds in spent.items()}, flush=True)
    medians = {name: float(np.median(seconds[1:])) for name, seconds in spent.items()}  # the first round warms up
    results = ResultFile(RESULTS / "step.json", circumstances(), key=("step",))
    results.content |= {
        "set": given.set,
        "batch": BATCH,
        "default_layers": config.trainable_layers,
        "rounds": given.rounds,
        "largest_loss_difference": gap,
        "losses": losses,
    }
    for name, seconds in medians.items():
        results.add(
            {"step": name, "seconds": round(seconds, 3), "faster": round(medians["straightforward"] / seconds, 1)}
        )


if __name__ == "__main__":
    main()
