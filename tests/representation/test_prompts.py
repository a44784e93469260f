"""The prompt and the pooling that a model declares are used, kept with a saved model, and can be overruled."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

from rstc import RSTC, OnnxModel
from rstc.config import Config
from rstc.representation.loading import load_encoder

TEXTS = ["parcel late van", "soup onion"]


def copy_encoder(tiny_encoder: str, target: Path, **settings: object) -> Path:
    """Copy the tiny encoder, with other entries of config_sentence_transformers.json."""
    shutil.copytree(tiny_encoder, target)
    path = target / "config_sentence_transformers.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | settings))
    return target


@pytest.mark.parametrize(
    ("prompts", "default", "expected"),
    [
        ({"query": "", "document": ""}, None, ""),
        ({"query": "find: ", "document": ""}, None, ""),
        ({"query": "find: ", "document": ""}, "query", "find: "),
        ({"query": "find: ", "Clustering": "group: "}, "query", "group: "),
    ],
)
def test_the_prompt_for_clustering_comes_before_the_default_one(
    prompts: dict[str, str], default: str | None, expected: str, tiny_encoder: str, tmp_path: Path
) -> None:
    folder = copy_encoder(tiny_encoder, tmp_path / "model", prompts=prompts, default_prompt_name=default)
    encoder = load_encoder(folder, "auto", 32)
    assert encoder.prompt == expected
    plain = load_encoder(tiny_encoder, "auto", 32)
    prompted = [expected + text for text in TEXTS]
    assert all(np.array_equal(*rows) for rows in zip(encoder.tokenize(TEXTS), plain.tokenize(prompted), strict=True))


@pytest.mark.parametrize("name", ["multilingual-e5-small", "e5-base-v2"])
def test_models_of_the_e5_family_get_their_prompt(name: str, tiny_encoder: str, tmp_path: Path) -> None:
    folder = copy_encoder(tiny_encoder, tmp_path / name)
    assert load_encoder(folder, "auto", 32).prompt == "query: "
    assert load_encoder(folder, "auto", 32, prompt="").prompt == ""
    assert load_encoder(copy_encoder(tiny_encoder, tmp_path / "e5-like"), "auto", 32).prompt == ""


@pytest.mark.parametrize("pooling", ["auto", "mean"])
@pytest.mark.parametrize("prompt", ["auto", "", "group: "])
def test_a_saved_model_keeps_its_prompt(pooling: str, prompt: str, tiny_encoder: str, tmp_path: Path) -> None:
    prompts = {"clustering": "van: "}
    folder = copy_encoder(tiny_encoder, tmp_path / "model", prompts=prompts)
    encoder = load_encoder(folder, pooling, 32, prompt=prompt)
    assert encoder.prompt == ("van: " if prompt == "auto" else prompt)
    encoder.save(tmp_path / "encoder")
    assert load_encoder(tmp_path / "encoder", "model", 32, strict=True).prompt == encoder.prompt


def test_predictions_of_loaded_and_exported_models_use_the_prompt(
    tiny_encoder: str, texts_and_topics: tuple[list[str], list[str]], tmp_path: Path
) -> None:
    texts = texts_and_topics[0]
    model = RSTC(4, encoder=tiny_encoder, prompt="garlic oven: ", random_state=0, kmeans_starts=1, repeats=0).fit(texts)
    plain = RSTC(4, encoder=tiny_encoder, random_state=0, kmeans_starts=1, repeats=0).fit(texts)
    assert not np.allclose(model.transform(texts), plain.transform(texts), atol=1e-3)
    model.save(tmp_path / "model")
    assert np.array_equal(RSTC.load(tmp_path / "model").transform(texts), model.transform(texts))
    for fitted, version in ((model, 2), (plain, 1)):
        fitted.export_onnx(tmp_path / f"onnx{version}")
        assert json.loads((tmp_path / f"onnx{version}" / "onnx.json").read_text())["format_version"] == version
        exported = OnnxModel(tmp_path / f"onnx{version}")
        assert exported.transform(texts) == pytest.approx(fitted.transform(texts), abs=0.02)


def test_a_pooling_that_leaves_out_the_prompt_gets_its_length(tiny_encoder: str, tmp_path: Path) -> None:
    folder = copy_encoder(tiny_encoder, tmp_path / "model", prompts={"clustering": "van: "})
    path = folder / "1_Pooling" / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"include_prompt": False}))
    encoder = load_encoder(folder, "auto", 32)
    tokens = encoder.tokenize(TEXTS)
    theirs = encoder.model.encode(TEXTS, prompt="van: ")
    assert encoder.embed(tokens).numpy() == pytest.approx(theirs, abs=1e-5)
    encoder.train_layers(0)
    assert encoder.embed(tokens).numpy() == pytest.approx(theirs, abs=1e-2)


def test_a_folder_keeps_its_own_pooling_by_default(tiny_encoder: str, tmp_path: Path) -> None:
    load_encoder(tiny_encoder, "cls", 32).save(tmp_path / "cls")
    for pooling, same in (("auto", "cls"), ("mean", "mean")):
        encoder, other = load_encoder(tmp_path / "cls", pooling, 32), load_encoder(tiny_encoder, same, 32)
        tokens = encoder.tokenize(TEXTS)
        assert torch.allclose(encoder.embed(tokens), other.embed(tokens), atol=1e-6)


def test_the_bundled_encoder_and_the_preset_of_the_paper_pool_by_the_mean() -> None:
    auto, mean = load_encoder(None, "auto", 32), load_encoder(None, "mean", 32)
    tokens = auto.tokenize(TEXTS)
    assert torch.equal(auto.embed(tokens), mean.embed(tokens))
    assert Config().pooling == "auto"
    paper = RSTC(preset="paper").config()
    assert (paper.encoder, paper.pooling) == ("all-MiniLM-L6-v2", "mean")
