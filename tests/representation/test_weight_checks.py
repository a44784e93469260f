"""All weights of an encoder come from its files, or it is refused."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from rstc import InputError
from rstc.representation.loading import load_encoder
from rstc.representation.weight_checks import compare_names

Weights = dict[str, Tensor]
NAME = "encoder.layer.0.output.dense.weight"


@pytest.fixture
def change_weights(tiny_encoder: str, tmp_path: Path) -> Callable[[Callable[[Weights], Weights]], Path]:
    """Return a function that copies the tiny encoder and changes the weights of the copy."""

    def change(change_state: Callable[[Weights], Weights]) -> Path:
        folder = tmp_path / "encoder"
        shutil.copytree(tiny_encoder, folder)
        (path,) = folder.rglob("model.safetensors")
        save_file(change_state(load_file(path)), path, {"format": "pt"})
        return folder

    return change


def drop(state: Weights) -> Weights:
    return {name: weights for name, weights in state.items() if name != NAME}


def test_a_missing_weight_is_named(change_weights: Callable[..., Path]) -> None:
    with pytest.raises(InputError, match=rf"are incomplete: {NAME} is missing"):
        load_encoder(change_weights(drop), "mean", 32)


def test_a_weight_of_another_shape_is_refused(change_weights: Callable[..., Path]) -> None:
    with pytest.raises(InputError, match="encoder"):
        load_encoder(change_weights(lambda state: state | {NAME: state[NAME][:, :-1].contiguous()}), "mean", 32)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_weight_that_is_not_finite_is_named(change_weights: Callable[..., Path], value: float) -> None:
    def damage(state: Weights) -> Weights:
        state[NAME][0, 0] = value
        return state

    with pytest.raises(InputError, match=rf"{NAME} holds values that are not finite"):
        load_encoder(change_weights(damage), "mean", 32)


def test_an_additional_weight_is_refused_in_a_saved_model_only(change_weights: Callable[..., Path]) -> None:
    folder = change_weights(lambda state: state | {"classifier.weight": torch.ones(2, 2)})
    with pytest.raises(InputError, match=r"hold more than the encoder: classifier\.weight is unknown"):
        load_encoder(folder, "mean", 32, strict=True)
    load_encoder(folder, "mean", 32)


def test_weights_under_the_name_of_a_larger_model_are_found(change_weights: Callable[..., Path]) -> None:
    folder = change_weights(lambda state: {f"bert.{name}": weights for name, weights in state.items()})
    load_encoder(folder, "mean", 32)


def test_weights_that_share_memory_are_stored_once() -> None:
    first, second = nn.Linear(3, 3), nn.Linear(3, 3)
    second.weight = first.weight
    assert compare_names(nn.Sequential(first, second), ["0.weight", "0.bias", "1.bias"]) == ([], [])
    assert compare_names(nn.Sequential(first, second), ["0.bias", "1.bias"]) == (["0.weight", "1.weight"], [])


def test_the_bundled_encoder_has_all_its_weights() -> None:
    load_encoder(None, "mean", 32)
