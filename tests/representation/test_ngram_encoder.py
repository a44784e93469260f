"""The encoder of n-grams: batches, folders, training, prediction and export, with a small one of random weights."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

from rstc import RSTC, InputError, OnnxModel
from rstc.pipelines.cluster import cluster_file
from rstc.pipelines.predict import predict_file
from rstc.pipelines.request import RunRequest
from rstc.representation.encoder import Encoder
from rstc.representation.loading import load_encoder
from tiny_encoder import build_tiny_ngram_encoder

TEXTS = ["parcel", "late parcel van", "soup onion garlic pepper boil pan oven flour soup onion", "", "ünknown 😀😀"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return build_tiny_ngram_encoder(tmp_path_factory.mktemp("ngrams"))


@pytest.fixture
def encoder(folder: str) -> Encoder:
    return load_encoder(folder, "auto", 32)


def test_a_text_is_embedded_alone_as_in_a_padded_batch(encoder: Encoder) -> None:
    tokens = encoder.tokenize(TEXTS)
    together = encoder(tokens).detach()
    alone = torch.cat([encoder([row]).detach() for row in tokens])
    assert torch.allclose(together, alone, atol=1e-6)
    assert torch.allclose(together.norm(dim=1), torch.ones(len(TEXTS)), atol=1e-6)


def test_the_order_of_words_matters(encoder: Encoder) -> None:
    first, second = encoder(encoder.tokenize(["late parcel van", "van parcel late"])).detach()
    assert not torch.allclose(first, second, atol=1e-4)


def test_special_pieces_are_not_read_in_texts(encoder: Encoder) -> None:
    (ids,) = encoder.tokenize(["<s> parcel </s>"])
    assert (ids[0], ids[-1]) == (1, 2)
    assert not set(ids[1:-1]) & {1, 2}


def test_long_texts_are_cut_and_keep_both_ends(encoder: Encoder) -> None:
    (ids,) = encoder.tokenize(["parcel " * 100])
    assert len(ids) == 32
    assert (ids[0], ids[-1]) == (1, 2)


def test_a_saved_encoder_is_the_same(encoder: Encoder, tmp_path: Path) -> None:
    encoder.save(tmp_path / "saved")
    again = load_encoder(tmp_path / "saved", "model", 32, strict=True)
    tokens = encoder.tokenize(TEXTS)
    assert all(np.array_equal(a, b) for a, b in zip(tokens, again.tokenize(TEXTS), strict=True))
    assert torch.equal(encoder.embed(tokens), again.embed(tokens))


def test_sentence_transformers_opens_it(encoder: Encoder, folder: str) -> None:
    from sentence_transformers import SentenceTransformer

    theirs = SentenceTransformer(folder, device="cpu", trust_remote_code=True).encode(TEXTS)
    assert theirs == pytest.approx(encoder.embed(encoder.tokenize(TEXTS)).numpy(), abs=1e-6)


def test_the_mean_of_the_states_can_be_taken_instead(folder: str, tmp_path: Path) -> None:
    encoder = load_encoder(folder, "mean", 32)
    assert encoder.dim == encoder.hidden_dim == 40
    encoder.save(tmp_path / "saved")
    again = load_encoder(tmp_path / "saved", "model", 32, strict=True)
    tokens = encoder.tokenize(TEXTS)
    assert torch.equal(encoder.embed(tokens), again.embed(tokens))


def test_layers_are_frozen_and_trained_as_those_of_a_transformer(encoder: Encoder) -> None:
    tokens = encoder.tokenize(TEXTS)
    whole = encoder.embed(tokens)
    for layers in (0, 1, 2, "all"):
        encoder.train_layers(layers)
        assert torch.allclose(encoder.embed(tokens), whole, atol=2e-3)
        assert any(p.requires_grad for p in encoder.parameters()) == (layers != 0)
    encoder.train_layers(0)
    assert torch.equal(encoder.embed(tokens), whole)  # not rounded


@pytest.mark.parametrize(
    ("file", "name", "value"),
    [("config.json", "ngram_dim", 50_000), ("1_NgramPooling/config.json", "hidden_dim", 2**24)],
)
def test_sizes_that_the_weights_do_not_have_are_refused(
    folder: str, tmp_path: Path, file: str, name: str, value: int
) -> None:
    hostile = Path(shutil.copytree(folder, tmp_path / "hostile"))
    settings = json.loads((hostile / file).read_text()) | {name: value}
    (hostile / file).write_text(json.dumps(settings))
    with pytest.raises(InputError, match="implies"):
        load_encoder(hostile, "model", 32, strict=True)


def test_other_classes_of_rstc_are_not_imported(folder: str, tmp_path: Path) -> None:
    hostile = Path(shutil.copytree(folder, tmp_path / "hostile"))
    text = (hostile / "modules.json").read_text().replace("NgramPooling", "ResidualLayer")
    (hostile / "modules.json").write_text(text)
    with pytest.raises(InputError, match="code that is not Sentence-Transformers' own"):
        load_encoder(hostile, "auto", 32)


@pytest.mark.parametrize("training", ["never", "always"])
def test_fitted_models_save_load_predict_and_export(
    training: str, folder: str, texts_and_topics: tuple[list[str], list[str]], tmp_path: Path
) -> None:
    texts = texts_and_topics[0]
    settings = {"training": training, "kmeans_starts": 1, "repeats": 0}
    settings |= {"max_steps": 4, "batch_size": 32} if training == "always" else {}
    model = RSTC(4, encoder=folder, random_state=0, **settings).fit(texts, checkpoints=tmp_path / "checkpoints")
    assert model.n_iter_ == (4 if training == "always" else 0)
    model.save(tmp_path / "model")
    again = RSTC.load(tmp_path / "model")
    assert np.array_equal(again.predict(texts), model.predict(texts))
    model.export_onnx(tmp_path / "onnx")
    exported = OnnxModel(tmp_path / "onnx")
    assert exported.transform(texts) == pytest.approx(model.transform(texts), abs=0.02)


def test_the_command_line_clusters_and_predicts_in_blocks(folder: str, tickets: Path, tmp_path: Path) -> None:
    settings = {"encoder": folder, "kmeans_starts": 1, "repeats": 0}
    cluster_file(RunRequest(str(tickets), tmp_path / "run", 4, truth_column="topic", settings=settings))
    predict_file(tmp_path / "run" / "model", str(tickets), tmp_path / "predicted.csv")
    assert (tmp_path / "predicted.csv").is_file()
