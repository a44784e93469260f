"""The encoder: embeddings, equal texts and trainable layers."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from rstc.errors import InputError
from rstc.representation.bundled_files import get_bundled_folder
from rstc.representation.encoder import Encoder
from rstc.representation.loading import load_encoder

TEXTS = [
    "where is my parcel",
    "my parcel has not come yet, where is it?",
    "i forgot my password",
    "🎉",
    "a",
    "a",
]


@pytest.fixture(scope="module")
def minilm() -> Encoder:
    return load_encoder(None, "mean", 32, "cpu")


def test_embeddings_equal_those_of_sentence_transformers(minilm: Encoder) -> None:
    from sentence_transformers import SentenceTransformer

    theirs = SentenceTransformer(str(get_bundled_folder()), device="cpu").encode(TEXTS, show_progress_bar=False)
    ours = torch.nn.functional.normalize(minilm.embed(minilm.tokenize(TEXTS)), dim=1).numpy()
    assert ours == pytest.approx(theirs, abs=1e-5)


def test_texts_of_similar_meaning_have_similar_embeddings(minilm: Encoder) -> None:
    E = torch.nn.functional.normalize(minilm.embed(minilm.tokenize(TEXTS)), dim=1)
    assert E[0] @ E[1] > 0.7 > 0.4 > E[0] @ E[2]


def test_embeddings_are_pooled_and_not_normalised(minilm: Encoder) -> None:
    assert (minilm.embed(minilm.tokenize(TEXTS)).norm(dim=1) > 2).all()


def test_texts_are_truncated_to_max_tokens(minilm: Encoder) -> None:
    assert [len(ids) for ids in minilm.tokenize(["one", "word " * 20_000])] == [3, 32]


def test_equal_texts_are_encoded_once_and_rows_keep_their_order(
    minilm: Encoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = []
    forward = Encoder.forward

    def count(self: Encoder, tokens: Any, *options: Any) -> Any:
        counts.append(len(tokens))
        return forward(self, tokens, *options)

    monkeypatch.setattr(Encoder, "forward", count)
    E = minilm.embed(minilm.tokenize([*TEXTS, *TEXTS]))
    assert sum(counts) == len(set(TEXTS))
    assert torch.equal(E[: len(TEXTS)], E[len(TEXTS) :])
    assert E[0].numpy() == pytest.approx(minilm.embed(minilm.tokenize(TEXTS[:1]))[0].numpy(), abs=1e-5)


def test_only_the_last_layers_are_trainable(tiny_encoder: str) -> None:
    encoder = load_encoder(tiny_encoder, "mean", 32, "cpu")
    encoder.train_layers(1)
    trainable = {name for name, p in encoder.named_parameters() if p.requires_grad}
    assert trainable
    assert all("layer.1." in name for name in trainable)
    encoder.train_layers(0)
    assert not any(p.requires_grad for p in encoder.parameters())
    encoder.train_layers("all")
    assert all(p.requires_grad for p in encoder.parameters())


def test_frozen_layers_have_no_dropout_in_training(tiny_encoder: str) -> None:
    encoder = load_encoder(tiny_encoder, "mean", 32, "cpu")
    tokens = encoder.tokenize(["parcel late"])
    encoder.train_layers(0)
    encoder.train()
    assert torch.equal(encoder(tokens), encoder(tokens))
    encoder.train_layers(1)
    encoder.train()
    assert not torch.equal(encoder(tokens), encoder(tokens))


def test_more_trainable_layers_than_the_encoder_has_are_refused(tiny_encoder: str) -> None:
    with pytest.raises(InputError, match="trainable_layers=9, but the encoder has 2 layers"):
        load_encoder(tiny_encoder, "mean", 32, "cpu").train_layers(9)


def test_more_tokens_than_the_encoder_reads_are_refused(tiny_encoder: str) -> None:
    with pytest.raises(InputError, match="max_tokens=65, but the encoder reads at most 64"):
        load_encoder(tiny_encoder, "mean", 65, "cpu")
