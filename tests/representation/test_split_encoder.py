"""The encoder cut in two: both parts together are the whole, whatever its architecture."""

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
def test_cut_anywhere_the_encoder_gives_what_it_gave(minilm: Encoder, layers: int) -> None:
    tokens = minilm.tokenize(TEXTS)
    minilm.train_layers("all")
    whole = minilm.embed(tokens)
    minilm.train_layers(layers)
    assert minilm.is_cut
    states = minilm.frozen_states(tokens)
    assert [(len(s), s.dtype) for s in states] == [(len(t), np.float16) for t in tokens]
    with torch.no_grad():
        kept = minilm(states)
    assert kept.numpy() == pytest.approx(whole.numpy(), abs=2e-3)  # half precision at the cut
    assert torch.allclose(kept, minilm.embed(tokens), atol=1e-5), "kept or not, a text's embedding is the same"


def test_the_upper_part_learns_what_it_would_learn_in_the_whole(minilm: Encoder) -> None:
    tokens = minilm.tokenize(TEXTS)
    minilm.train_layers(1)
    gradients = []
    for sequences in (tokens, minilm.frozen_states(tokens)):
        minilm.zero_grad()
        minilm.eval()(sequences).square().mean().backward()
        gradients.append({name: p.grad.clone() for name, p in minilm.named_parameters() if p.grad is not None})
    assert gradients[0].keys() == gradients[1].keys() != set()
    for name, gradient in gradients[0].items():
        assert torch.allclose(gradient, gradients[1][name], atol=1e-6), name


def architecture(kind: str, vocabulary: int) -> Any:
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


def small_encoder(kind: str, tiny_encoder: str, folder: Path) -> Encoder:
    theirs = SentenceTransformer(tiny_encoder, device="cpu", local_files_only=True)
    architecture(kind, len(theirs.tokenizer)).save_pretrained(folder / kind)
    theirs.tokenizer.save_pretrained(folder / kind)
    return Encoder(SentenceTransformer(modules=[Transformer(str(folder / kind)), Pooling(32, pooling_mode="mean")]), 16)


@pytest.mark.parametrize("kind", ["distilbert", "roberta", "mpnet", "modernbert", "xlm-roberta"])
def test_other_architectures_are_cut_as_well(kind: str, tiny_encoder: str, tmp_path: Path) -> None:
    encoder = small_encoder(kind, tiny_encoder, tmp_path)
    tokens = encoder.tokenize(TEXTS)
    whole = encoder.embed(tokens)
    for layers in (0, 1, 2):
        encoder.train_layers(layers)
        assert encoder.is_cut
        with torch.no_grad():
            assert encoder(encoder.frozen_states(tokens)).numpy() == pytest.approx(whole.numpy(), abs=2e-3)


def test_layers_that_hand_on_more_than_states_are_run_whole(tiny_encoder: str, tmp_path: Path) -> None:
    encoder = small_encoder("t5", tiny_encoder, tmp_path)
    tokens = encoder.tokenize(TEXTS)
    whole = encoder.embed(tokens)
    encoder.train_layers(1)
    assert not encoder.is_cut
    assert torch.equal(encoder.embed(tokens), whole)


def test_two_threads_do_not_get_into_each_others_way(tiny_encoder: str) -> None:
    encoder = load_encoder(tiny_encoder, "mean", 32)
    encoder.train_layers(1)
    groups = [encoder.tokenize([text] * 3) for text in TEXTS]
    expected = [encoder.embed(tokens) for tokens in groups]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(encoder.embed, groups * 20))
    for i, E in enumerate(found):
        assert torch.allclose(E, expected[i % len(groups)], atol=1e-5)


def test_a_model_stored_in_halves_learns_in_float32(tiny_encoder: str) -> None:
    theirs = SentenceTransformer(tiny_encoder, device="cpu", local_files_only=True).bfloat16()
    encoder = load_encoder(theirs, "mean", 32)
    assert all(p.dtype == torch.float32 for p in encoder.parameters())
    assert all(p.dtype == torch.bfloat16 for p in theirs.parameters()), "the caller's model stays as it is"
    encoder.train_layers(1)
    assert encoder.is_cut


class Backwards(nn.Module):
    """A transformer that goes through its layers from the last to the first."""

    def __init__(self, transformer: Any) -> None:
        super().__init__()
        self.inner = transformer

    def forward(self, features: dict[str, Any]) -> dict[str, Any]:
        layers = self.inner.auto_model.encoder.layer
        own = list(layers)
        layers[0], layers[1] = own[1], own[0]
        try:
            return self.inner(features)
        finally:
            layers[0], layers[1] = own

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(super().__getattr__("inner"), name)


def test_an_encoder_that_cannot_be_cut_is_run_whole(tiny_encoder: str, caplog: pytest.LogCaptureFixture) -> None:
    encoder = load_encoder(tiny_encoder, "mean", 32)
    encoder.model[0] = Backwards(encoder.model[0])
    tokens = encoder.tokenize(TEXTS)
    whole = encoder.embed(tokens)
    encoder.train_layers(1)
    assert not encoder.is_cut
    assert "cannot be run apart" in caplog.text
    assert torch.equal(encoder.embed(tokens), whole)


def test_after_a_pass_the_model_is_as_it_was(tiny_encoder: str) -> None:
    encoder = load_encoder(tiny_encoder, "mean", 32)
    encoder.train_layers(1)
    encoder.embed(encoder.tokenize(TEXTS))
    for module in encoder.modules():
        assert "forward" not in vars(module)
        assert not module._forward_pre_hooks
        assert not module._forward_hooks


@pytest.mark.parametrize("precision", [torch.bfloat16, torch.float16])
def test_lower_precision_gives_nearly_the_same_in_float32(tiny_encoder: str, precision: torch.dtype) -> None:
    exact, coarse = (load_encoder(tiny_encoder, "mean", 32, "cpu", p) for p in (torch.float32, precision))
    tokens = exact.tokenize(TEXTS)
    for layers in ("all", 1):
        exact.train_layers(layers)
        coarse.train_layers(layers)
        E, rough = exact.embed(tokens), coarse.embed(tokens)
        assert rough.dtype == torch.float32
        assert not torch.equal(E, rough)
        assert rough.numpy() == pytest.approx(E.numpy(), abs=0.05)
