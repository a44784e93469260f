"""The encoder: the real embedded one, and any other Sentence-Transformers model."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

from rstc.errors import InputError
from rstc.representation import loading
from rstc.representation.encoder import Encoder
from rstc.representation.loading import embedded_folder, load_encoder

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


def test_embedded_encoder_gives_what_sentence_transformers_gives(minilm: Encoder) -> None:
    from sentence_transformers import SentenceTransformer

    theirs = SentenceTransformer(str(embedded_folder()), device="cpu").encode(TEXTS, show_progress_bar=False)
    ours = torch.nn.functional.normalize(minilm.embed(minilm.tokenize(TEXTS)), dim=1).numpy()
    assert ours == pytest.approx(theirs, abs=1e-5)


def test_embedded_encoder_knows_what_texts_mean(minilm: Encoder) -> None:
    E = torch.nn.functional.normalize(minilm.embed(minilm.tokenize(TEXTS)), dim=1)
    assert E[0] @ E[1] > 0.7 > 0.4 > E[0] @ E[2]


def test_embeddings_are_pooled_and_not_normalised(minilm: Encoder) -> None:
    assert (minilm.embed(minilm.tokenize(TEXTS)).norm(dim=1) > 2).all()


def test_altered_weights_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "EMBEDDED_SHA256", "0" * 64)
    with pytest.raises(InputError, match="sha256"):
        load_encoder(None, "mean", 32, "cpu")


def test_texts_are_cut_to_the_asked_number_of_tokens(minilm: Encoder) -> None:
    assert [len(ids) for ids in minilm.tokenize(["one", "word " * 20_000])] == [3, 32]


def test_equal_texts_are_encoded_once_and_order_is_kept(minilm: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    forward = Encoder.forward
    monkeypatch.setattr(Encoder, "forward", lambda self, tokens: seen.append(len(tokens)) or forward(self, tokens))
    E = minilm.embed(minilm.tokenize([*TEXTS, *TEXTS]))
    assert sum(seen) == len(set(TEXTS))
    assert torch.equal(E[: len(TEXTS)], E[len(TEXTS) :])
    assert E[0].numpy() == pytest.approx(minilm.embed(minilm.tokenize(TEXTS[:1]))[0].numpy(), abs=1e-5)


def test_only_the_last_layers_learn(tiny_encoder: str) -> None:
    encoder = load_encoder(tiny_encoder, "mean", 32, "cpu")
    encoder.train_layers(1)
    learning = {name for name, p in encoder.named_parameters() if p.requires_grad}
    assert learning
    assert all("layer.1." in name for name in learning)
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


def test_more_layers_than_there_are_is_an_error(tiny_encoder: str) -> None:
    with pytest.raises(InputError, match="trainable_layers=9, but the encoder has 2 layers"):
        load_encoder(tiny_encoder, "mean", 32, "cpu").train_layers(9)


def test_more_tokens_than_the_encoder_reads_is_an_error(tiny_encoder: str) -> None:
    with pytest.raises(InputError, match="max_tokens=65, but the encoder reads at most 64"):
        load_encoder(tiny_encoder, "mean", 65, "cpu")


@pytest.mark.parametrize("pooling", ["mean", "cls", "max", "model"])
def test_pooling_is_kept_when_saved(pooling: str, tiny_encoder: str, tmp_path: Path) -> None:
    encoder = load_encoder(tiny_encoder, pooling, 16, "cpu")
    encoder.save(tmp_path / "saved")
    again = load_encoder(tmp_path / "saved", "model", 16, "cpu")
    tokens = encoder.tokenize(["parcel late van", "soup"])
    assert torch.equal(encoder.embed(tokens), again.embed(tokens))


def test_poolings_differ(tiny_encoder: str) -> None:
    found = []
    for pooling in ("mean", "cls", "max"):
        encoder = load_encoder(tiny_encoder, pooling, 16, "cpu")
        found.append(encoder.embed(encoder.tokenize(["parcel late van"])).numpy())
    assert not np.allclose(found[0], found[1])
    assert not np.allclose(found[0], found[2])


def test_a_model_given_as_an_object_is_copied(tiny_encoder: str) -> None:
    from sentence_transformers import SentenceTransformer

    theirs = SentenceTransformer(tiny_encoder, device="cpu")
    ours = load_encoder(theirs, "mean", 32, "cpu")
    with torch.no_grad():
        next(ours.parameters()).zero_()
    assert next(theirs.parameters()).any()


def test_a_broken_folder_is_said_so(tiny_encoder: str, tmp_path: Path) -> None:
    broken = Path(shutil.copytree(tiny_encoder, tmp_path / "broken"))
    (broken / "model.safetensors").write_bytes(b"not tensors")
    with pytest.raises(InputError, match="does not hold a Sentence-Transformers model"):
        load_encoder(broken, "mean", 32, "cpu")


def test_a_name_that_nobody_knows_is_said_so(socket_disabled: None) -> None:
    with pytest.raises(InputError, match="no/such-model"):
        load_encoder("no/such-model", "mean", 32, "cpu")


def test_an_unknown_pooling_is_refused(tiny_encoder: str) -> None:
    with pytest.raises(InputError, match="pooling='sum'"):
        load_encoder(tiny_encoder, "sum", 32, "cpu")
