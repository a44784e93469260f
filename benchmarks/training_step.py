"""Time of one training step, beside a straightforward implementation of the same step.

    python benchmarks/training_step.py --data DIR [--set stackoverflow] [--rounds 5]

The straightforward step is that of the paper's schedule: the batch is tokenised and padded to 32 tokens, the texts
and both their views pass through the whole encoder, and every parameter is trained. Ours runs with all layers and
with those of the default; texts are tokenised beforehand, and for the default the hidden states of the frozen layers
are cached. Steps take turns, and the seconds are medians. Before that, both take steps with all layers on the same
batches without dropout, and their losses are compared. Rows are written to results/training_step.json.
"""

from __future__ import annotations

import copy
from itertools import count
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from measuring import ResultFile, compare_times, make_parser
from rstc.benchmark.datasets import read_table
from rstc.config import Config, make_config
from rstc.representation.fast_dropout import FastDropout
from rstc.representation.heads import ClusteringNetwork, ProjectingNetwork
from rstc.representation.hidden_state_cache import HiddenStateCache
from rstc.representation.loading import load_encoder
from rstc.representation.network import Network
from rstc.representation.objective import ContrastiveObjective
from rstc.representation.optimizer import NetworkOptimizer
from rstc.representation.views import make_views, use_precomputed_views
from rstc.runtime.distributed import SINGLE_PROCESS
from rstc.runtime.progress import Progress
from rstc.training.data_loader import DataLoader, Generators
from rstc.training.training_texts import EncodedTexts, TrainingTexts

BATCH_SIZE = 200


class StraightforwardStep:
    """A training step without any optimisation of its speed."""

    def __init__(self, network: Network, config: Config) -> None:
        self.network, self.lambda_i, self.tau = copy.deepcopy(network), config.lambda_i, config.tau
        _restore_dropout(self.network)
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
        self.network.cluster_head(E0).softmax(
            1
        )  # the predictions that the paper's schedule stores for its label updates
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


def _restore_dropout(network: nn.Module) -> None:
    """Replace our dropout by torch's."""
    for parent in network.modules():
        for name, child in parent.named_children():
            if isinstance(child, FastDropout):
                setattr(parent, name, nn.Dropout(child.p))


class OurStep:
    """The training step of a run, with its batches."""

    def __init__(self, texts: list[str], pair: Any, n_clusters: int, settings: dict[str, Any]) -> None:
        torch.manual_seed(0)
        config, rng = make_config("default", {**settings, "batch_size": BATCH_SIZE}), np.random.default_rng(0)
        encoder = load_encoder(None, config.pooling, config.max_tokens)
        encoder.train_layers(config.trainable_layers)
        tokens = encoder.tokenize(texts)
        cache = HiddenStateCache(encoder, config.cache_mb * 2**20) if encoder.is_split else None
        if cache:
            encoder.embed(tokens, get_states=cache.get)  # a run has them from its first encoding
        head = ClusteringNetwork(encoder.dim, n_clusters, config.dropout)
        self.network = Network(encoder, head, ProjectingNetwork(encoder.dim, config.projection_dim))
        objective = ContrastiveObjective(self.network, config.lambda_i, config.tau, SINGLE_PROCESS)
        self.optimizer = NetworkOptimizer(objective, config.encoder_lr, config.head_lr)
        views = use_precomputed_views(texts, *pair) if pair else make_views(texts, config.views)
        generators = Generators.spawn(rng, SINGLE_PROCESS)
        training_texts, ends = TrainingTexts(EncodedTexts(encoder, tokens), cache=cache), np.array([len(texts)])
        self.data_loader = DataLoader(training_texts, views, BATCH_SIZE, ends, generators, SINGLE_PROCESS, Progress())

    def take(self, labels: Tensor) -> tuple[float, float]:
        """Take a step on the next batch."""
        batch = next(self.data_loader)
        return self.optimizer.step(batch.views, labels[torch.from_numpy(batch.rows)], batch.counts)


def disable_dropout(network: nn.Module) -> None:
    for module in network.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--set", default="stackoverflow", help="name of the data set")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    table = read_table(options.set, options.data)
    texts, first, second = (table[name].astype(str).tolist() for name in ("text", "text1", "text2"))
    n_clusters = table.label.nunique()
    labels = torch.from_numpy(np.random.default_rng(0).integers(n_clusters, size=len(texts)))
    config = make_config()

    def draw_batch(number: int) -> tuple[list[int], list[list[str]]]:
        rows = np.random.default_rng(number).choice(len(texts), BATCH_SIZE, replace=False).tolist()
        return rows, [[column[i] for i in rows] for column in (texts, first, second)]

    ours = OurStep(texts, (first, second), n_clusters, {"trainable_layers": "all"})
    disable_dropout(ours.network)
    plain = StraightforwardStep(ours.network, config)
    losses = []
    for number in range(3):
        rows, columns = draw_batch(number)
        tokens = ours.network.encoder.tokenize(columns[1] + columns[2])
        our_losses = ours.optimizer.step(tokens, labels[rows], [BATCH_SIZE])
        losses.append({"ours": our_losses, "straightforward": plain(*columns, labels[rows])})
    gap = max(abs(a - b) for pair in losses for a, b in zip(pair["ours"], pair["straightforward"], strict=True))
    print(f"largest difference of a loss on the same batches without dropout: {gap:.1e}", flush=True)

    all_layers = OurStep(texts, (first, second), n_clusters, {"trainable_layers": "all"})
    default = OurStep(texts, None, n_clusters, {})
    plain = StraightforwardStep(all_layers.network, config)
    batches = map(draw_batch, count())

    def take_plain_step() -> None:
        rows, columns = next(batches)
        plain(*columns, labels[rows])

    contenders = {
        "straightforward": take_plain_step,
        "all layers": lambda: all_layers.take(labels),
        "default": lambda: default.take(labels),
    }
    _, medians = compare_times(contenders, options.rounds)
    results = ResultFile("training_step", key=("step",))
    results.content |= {
        "set": options.set,
        "batch": BATCH_SIZE,
        "default_layers": config.trainable_layers,
        "rounds": options.rounds,
        "largest_loss_difference": gap,
        "losses": losses,
    }
    for name, seconds in medians.items():
        results.add(
            {"step": name, "seconds": round(seconds, 3), "faster": round(medians["straightforward"] / seconds, 1)}
        )


if __name__ == "__main__":
    main()
