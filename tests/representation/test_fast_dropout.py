"""The fast dropout drops as torch's does."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from rstc.representation.fast_dropout import FastDropout, replace_dropout
from rstc.representation.loading import load_encoder


@pytest.mark.parametrize("p", [0.0, 0.1, 0.5, 0.9, 1.0])
def test_share_p_is_dropped_and_the_mean_is_kept(p: float) -> None:
    torch.manual_seed(0)
    y = FastDropout(p).train()(torch.ones(200, 1001))
    assert (y == 0).float().mean().item() == pytest.approx(p, abs=0.005)
    assert len(y.unique()) <= 2
    assert y.max().item() == pytest.approx(1 / (1 - p) if p < 1 else 0.0, rel=1e-4)
    assert y.mean().item() == pytest.approx(1.0 if p < 1 else 0.0, abs=0.02)


def test_neighbouring_elements_are_dropped_independently() -> None:
    torch.manual_seed(0)
    dropped = (FastDropout(0.5).train()(torch.ones(400_000)) == 0).float()
    for apart in range(1, 9):  # four elements share a word of random bits
        both = (dropped[:-apart] * dropped[apart:]).mean().item()
        assert both == pytest.approx(0.25, abs=0.005)


def test_gradients_pass_where_elements_are_kept() -> None:
    x = torch.ones(1000, requires_grad=True)
    y = FastDropout(0.3).train()(x)
    y.sum().backward()
    assert torch.equal(x.grad, y.detach())


def test_same_seed_gives_the_same_mask_and_evaluation_mode_is_the_identity() -> None:
    drop, x = FastDropout(0.5), torch.randn(5, 7)
    masks = []
    for _ in range(2):
        torch.manual_seed(3)
        masks.append(drop.train()(x))
    assert torch.equal(*masks)
    assert torch.equal(drop.eval()(x), x)


def test_plain_dropout_of_an_encoder_is_replaced_and_no_other_type(tiny_encoder: str) -> None:
    encoder = load_encoder(tiny_encoder, "mean", 32)
    types = {type(module) for module in encoder.modules() if isinstance(module, nn.Dropout)}
    assert types == {FastDropout}
    other = nn.Sequential(nn.Dropout2d(0.5), nn.Dropout(0.2))
    replace_dropout(other)
    assert [type(module) for module in other] == [nn.Dropout2d, FastDropout]
    assert other[1].p == 0.2
