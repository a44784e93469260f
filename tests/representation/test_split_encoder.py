"""The split encoder: both parts together give what the whole model gives, whatever its architecture."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
from torch import nn

from rstc.representation.encoder import Encoder
from rstc.representation.loading import load_encoder

TEXTS = ["parcel late", "refund money bank returned", "a", "soup onion garlic pepper boil pan oven flour"]


@pytest.fixture(scope="module")
def minilm() -> Encoder:
    return load_encoder(None, "mean", 32)


@pytest.mark.parametrize("layers", [0, 1, 3, 6])
def test_split_encoder_gives_the_embeddings_of_the_whole_encoder(minilm: Encoder, layers: int) -> None:
    tokens = minilm.tokenize(TEXTS)
    minilm.train_layers("all")
    whole = minilm.embed(tokens)
    minilm.train_layers(layers)
    assert minilm.is_split
    states = minilm.run_frozen_layers(tokens)
    assert [(len(s), s.dtype) for s in states] == [(len(t), np.float16) for t in tokens]
    with torch.no_grad():
        from_states = minilm(states)
    assert from_states.numpy() == pytest.approx(whole.numpy(), abs=2e-3)  # half precision at the split
    assert torch.allclose(from_states, minilm.embed(tokens), atol=1e-5), "cached or not, a text's embedding is the same"


def test_trainable_layers_get_the_same_gradients_from_tokens_and_from_states(minilm: Encoder) -> None:
    tokens = minilm.tokenize(TEXTS)
    minilm.train_layers(1)
    gradients = []
    for sequences in (tokens, minilm.run_frozen_layers(tokens)):
        minilm.zero_grad()
        minilm.eval()(sequences).square().mean().backward()
        gradients.append({name: p.grad.clone() for name, p in minilm.named_parameters() if p.grad is not None})
    assert gradients[0].keys() == gradients[1].keys() != set()
    for name, gradient in gradients[0].items():
        assert torch.allclose(gradient, gradients[1][name], atol=1e-6), name


def build_transformer(kind: str, vocabulary: int) -> Any:
    from transformers import AutoConfig, AutoModel

    small: dict[str, Any] = {"vocab_size": vocabulary, "max_position_embeddings": 64, "pad_token_id": 0}
    sizes = {"hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 2, "intermediate_size": 64}
    if kind == "distilbert":
        sizes = {"dim": 32, "n_layers": 3, "n_heads": 2, "hidden_dim": 64}
    if kind == "t5":
        sizes = {"d_model": 32, "num_layers": 3, "num_heads": 2, "d_ff": 64, "d_kv": 16}
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return AutoModel.from_config(AutoConfig.for_model(kind, **small, **sizes))


def build_encoder(kind: str, tiny_encoder: str, folder: Path) -> Encoder:
    theirs = SentenceTransformer(tiny_encoder, device="cpu", local_files_only=True)
    build_transformer(kind, len(theirs.tokenizer)).save_pretrained(folder / kind)
    theirs.tokenizer.save_pretrained(folder / kind)
    return Encoder(SentenceTransformer(modules=[Transformer(str(folder / kind)), Pooling(32, pooling_mode="mean")]), 16)


@pytest.mark.parametrize("kind", ["distilbert", "roberta", "mpnet", "modernbert", "xlm-roberta"])
def test_other_architectures_can_be_split(kind: str, tiny_encoder: str, tmp_path: Path) -> None:
    encoder = build_encoder(kind, tiny_encoder, tmp_path)
    tokens = encoder.tokenize(TEXTS)
    whole = encoder.embed(tokens)
    for layers in (0, 1, 2):
        encoder.train_layers(layers)
        assert encoder.is_split
        with torch.no_grad():
            assert encoder(encoder.run_frozen_layers(tokens)).numpy() == pytest.approx(whole.numpy(), abs=2e-3)


def test_architecture_whose_layers_pass_on_more_than_states_is_not_split(tiny_encoder: str, tmp_path: Path) -> None:
    encoder = build_encoder("t5", tiny_encoder, tmp_path)
    tokens = encoder.tokenize(TEXTS)
    whole = encoder.embed(tokens)
    encoder.train_layers(1)
    assert not encoder.is_split
    assert torch.equal(encoder.embed(tokens), whole)


def test_threads_that_share_an_encoder_get_their_own_embeddings(tiny_encoder: str) -> None:
    encoder = load_encoder(tiny_encoder, "mean", 32)
    encoder.train_layers(1)
    groups = [encoder.tokenize([text] * 3) for text in TEXTS]
    expected = [encoder.embed(tokens) for tokens in groups]
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(encoder.embed, groups * 20))
    for i, E in enumerate(results):
        assert torch.allclose(E, expected[i % len(groups)], atol=1e-5)


def test_model_stored_in_half_precision_is_trained_in_float32(tiny_encoder: str) -> None:
    theirs = SentenceTransformer(tiny_encoder, device="cpu", local_files_only=True).bfloat16()
    encoder = load_encoder(theirs, "mean", 32)
    assert all(p.dtype == torch.float32 for p in encoder.parameters())
    assert all(p.dtype == torch.bfloat16 for p in theirs.parameters()), "the caller's model is unchanged"
    encoder.train_layers(1)
    assert encoder.is_split


class Backwards(nn.Module):
    """A transformer that runs its layers from the last to the first."""

    def __init__(self, transformer: Any) -> None:
        super().__init__()
        self.inner = transformer

    def forward(self, features: dict[str, Any]) -> dict[str, Any]:
        layers = self.inner.auto_model.encoder.layer
        original = list(layers)
        layers[0], layers[1] = original[1], original[0]
        try:
            return self.inner(features)
        finally:
            layers[0], layers[1] = original

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(super().__getattr__("inner"), name)


def test_encoder_that_cannot_be_split_runs_whole_with_a_warning(
    tiny_encoder: str, caplog: pytest.LogCaptureFixture
) -> None:
    encoder = load_encoder(tiny_encoder, "mean", 32)
    encoder.model[0] = Backwards(encoder.model[0])
    tokens = encoder.tokenize(TEXTS)
    whole = encoder.embed(tokens)
    encoder.train_layers(1)
    assert not encoder.is_split
    assert "cannot be split into layers" in caplog.text
    assert torch.equal(encoder.embed(tokens), whole)


def test_no_hook_is_left_after_a_pass(tiny_encoder: str) -> None:
    encoder = load_encoder(tiny_encoder, "mean", 32)
    encoder.train_layers(1)
    encoder.embed(encoder.tokenize(TEXTS))
    for module in encoder.modules():
        assert "forward" not in vars(module)
        assert not module._forward_pre_hooks
        assert not module._forward_hooks


@pytest.mark.parametrize("precision", [torch.bfloat16, torch.float16])
def test_lower_precision_gives_similar_embeddings_in_float32(tiny_encoder: str, precision: torch.dtype) -> None:
    exact, coarse = (load_encoder(tiny_encoder, "mean", 32, "cpu", p) for p in (torch.float32, precision))
    tokens = exact.tokenize(TEXTS)
    for layers in ("all", 1):
        exact.train_layers(layers)
        coarse.train_layers(layers)
        E, coarse_E = exact.embed(tokens), coarse.embed(tokens)
        assert coarse_E.dtype == torch.float32
        assert not torch.equal(E, coarse_E)
        assert coarse_E.numpy() == pytest.approx(E.numpy(), abs=0.05)
