"""The shared embedding lookup gives the values and gradients of the plain one."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from rstc.representation import encoder as encoder_module
from rstc.representation.embedding_lookup import find_word_embedding, share_embedding_lookup
from rstc.representation.loading import load_encoder

TEXTS = ["parcel late", "refund money bank returned", "parcel parcel", "a"]


@pytest.mark.parametrize("pad", [None, 0, 7])
def test_values_and_gradients_equal_those_of_the_plain_lookup(pad: int | None) -> None:
    words = nn.Embedding(50, 4, padding_idx=pad)
    tokens = [np.array([3, 7, 3], dtype=np.int32), np.array([49, 0], dtype=np.int32)]
    ids = torch.tensor([[3, 7, 3], [49, 0, pad or 0]])
    plain = words(ids)
    plain.square().sum().backward()
    expected, words.weight.grad = words.weight.grad, None
    with share_embedding_lookup(words, tokens):
        shared = words(ids)
        shared.square().sum().backward()
    assert torch.equal(shared, plain)
    assert torch.allclose(words.weight.grad, expected)
    assert "forward" not in vars(words)


def test_encoder_gradients_equal_those_without_the_shared_lookup(
    tiny_encoder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoder = load_encoder(tiny_encoder, "mean", 32).eval()
    tokens = encoder.tokenize(TEXTS)
    encoder(tokens).square().mean().backward()
    gradients = {name: p.grad.clone() for name, p in encoder.named_parameters() if p.grad is not None}
    encoder.zero_grad()
    monkeypatch.setattr(encoder_module, "find_word_embedding", lambda transformer: None)
    encoder(tokens).square().mean().backward()
    expected = {name: p.grad for name, p in encoder.named_parameters() if p.grad is not None}
    assert gradients.keys() == expected.keys()
    assert any("word_embeddings" in name for name in gradients)
    for name, gradient in expected.items():
        assert torch.allclose(gradients[name], gradient, atol=1e-7), name


def test_only_an_embedding_that_does_nothing_but_look_up_is_found() -> None:
    class Model(nn.Module):
        def __init__(self, words: nn.Module) -> None:
            super().__init__()
            self.words = words

        def get_input_embeddings(self) -> nn.Module:
            return self.words

    assert find_word_embedding(Model(nn.Embedding(5, 2))) is not None
    assert find_word_embedding(Model(nn.Embedding(5, 2, max_norm=1.0))) is None
    assert find_word_embedding(Model(nn.Linear(5, 2))) is None
    assert find_word_embedding(nn.Linear(5, 2)) is None
