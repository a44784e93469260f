"""The network's predictions: each depends on its text alone."""

from __future__ import annotations

import torch

from rstc.representation.heads import ClusteringNetwork, ProjectingNetwork
from rstc.representation.loading import load_encoder
from rstc.representation.network import TIE_MARGIN, Network


def tied_network(tiny_encoder: str) -> Network:
    """Return a network whose first two clusters are tied for every text."""
    encoder = load_encoder(tiny_encoder, "mean", 32, "cpu")
    head = ClusteringNetwork(encoder.dim, 3, 0.5)
    with torch.no_grad():
        head[-1].weight[1] = head[-1].weight[0]
        head[-1].bias[:2] = 5.0
    return Network(encoder, head, ProjectingNetwork(encoder.dim, 8))


def test_tie_break_gives_each_text_the_prediction_it_has_alone(tiny_encoder: str) -> None:
    network = tied_network(tiny_encoder)
    texts = ["parcel late", "soup onion garlic pepper boil pan oven flour", "refund money bank", "code"]
    tokens = network.encoder.tokenize(texts)
    together = network.break_ties(tokens, network.predict(tokens))
    best = together.log_p.topk(2, dim=1).values
    assert (best[:, 0] - best[:, 1] < TIE_MARGIN).all()
    for i, row in enumerate(tokens):
        alone = network.break_ties([row], network.predict([row]))
        assert torch.equal(alone.log_p[0], together.log_p[i])
        assert torch.equal(alone.E[0], together.E[i])


def test_prediction_is_in_evaluation_mode(tiny_encoder: str) -> None:
    network = tied_network(tiny_encoder)
    network.train()
    tokens = network.encoder.tokenize(["parcel late van depot"])
    first, second = network.predict(tokens), network.predict(tokens)
    assert torch.equal(first.log_p, second.log_p)
