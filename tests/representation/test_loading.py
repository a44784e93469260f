"""Where encoders come from: the bundled one, folders, hub names and models in memory."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

from rstc.errors import InputError
from rstc.representation.loading import load_encoder


@pytest.mark.parametrize("pooling", ["mean", "cls", "max", "model"])
def test_saved_encoder_keeps_its_pooling(pooling: str, tiny_encoder: str, tmp_path: Path) -> None:
    encoder = load_encoder(tiny_encoder, pooling, 16, "cpu")
    encoder.save(tmp_path / "saved")
    again = load_encoder(tmp_path / "saved", "model", 16, "cpu")
    tokens = encoder.tokenize(["parcel late van", "soup"])
    assert torch.equal(encoder.embed(tokens), again.embed(tokens))


def test_poolings_give_different_embeddings(tiny_encoder: str) -> None:
    embeddings = []
    for pooling in ("mean", "cls", "max"):
        encoder = load_encoder(tiny_encoder, pooling, 16, "cpu")
        embeddings.append(encoder.embed(encoder.tokenize(["parcel late van"])).numpy())
    assert not np.allclose(embeddings[0], embeddings[1])
    assert not np.allclose(embeddings[0], embeddings[2])


def test_model_in_memory_is_copied(tiny_encoder: str) -> None:
    from sentence_transformers import SentenceTransformer

    theirs = SentenceTransformer(tiny_encoder, device="cpu")
    ours = load_encoder(theirs, "mean", 32, "cpu")
    with torch.no_grad():
        next(ours.parameters()).zero_()
    assert next(theirs.parameters()).any()


def test_folder_with_broken_weights_is_refused(tiny_encoder: str, tmp_path: Path) -> None:
    broken = Path(shutil.copytree(tiny_encoder, tmp_path / "broken"))
    (broken / "model.safetensors").write_bytes(b"not tensors")
    with pytest.raises(InputError, match="does not hold a Sentence-Transformers model"):
        load_encoder(broken, "mean", 32, "cpu")


def test_unknown_hub_name_is_refused(socket_disabled: None) -> None:
    with pytest.raises(InputError, match="no/such-model"):
        load_encoder("no/such-model", "mean", 32, "cpu")


def test_a_mistyped_folder_is_not_taken_for_a_model_on_the_hub(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, socket_disabled: None
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "models").mkdir()
    for source in ("models/encodre", "./encoder", "/models/encoder", "models/encoder/"):
        with pytest.raises(InputError, match="is neither a folder nor the name of a model on the hub"):
            load_encoder(source, "mean", 32, "cpu")
    with pytest.raises(InputError, match="could be loaded from the hub"):
        load_encoder("hub:models/encoder", "mean", 32, "cpu")


def test_unknown_pooling_is_refused(tiny_encoder: str) -> None:
    with pytest.raises(InputError, match="pooling='sum'"):
        load_encoder(tiny_encoder, "sum", 32, "cpu")
