"""Settings: the presets, the checks, and how they are written on a command line."""

from __future__ import annotations

import pytest

from rstc.config import Config, make_config, parse_setting
from rstc.errors import InputError


def test_preset_paper_is_the_papers_setting() -> None:
    paper = make_config("paper")
    assert (paper.eps1, paper.tau, paper.lambda_i, paper.delta) == (0.1, 1.0, 10.0, 0.01)
    assert (paper.batch_size, paper.max_tokens, paper.projection_dim) == (200, 32, 128)
    assert (paper.encoder_lr, paper.head_lr, paper.trainable_layers) == (5e-6, 5e-4, "all")


@pytest.mark.parametrize(("imbalance", "eps2"), [("balanced", 0.1), ("light", 0.01), ("heavy", 0.001)])
def test_preset_paper_sets_eps2_by_imbalance(imbalance: str, eps2: float) -> None:
    assert make_config("paper", {"imbalance": imbalance}).eps2 == eps2
    assert make_config("paper", {"imbalance": imbalance, "eps2": 0.5}).eps2 == 0.5


@pytest.mark.parametrize(
    ("assignment", "expected"),
    [
        ("eps2=0.001", ("eps2", 0.001)),
        ("batch_size=64", ("batch_size", 64)),
        ("trainable_layers=all", ("trainable_layers", "all")),
        ("trainable_layers=2", ("trainable_layers", 2)),
        ("class_contrast=no", ("class_contrast", False)),
        ("encoder=some/folder", ("encoder", "some/folder")),
        ("labels=ot-uniform", ("labels", "ot-uniform")),
        ("imbalance=heavy", ("imbalance", "heavy")),
    ],
)
def test_assignments_are_read_as_the_settings_type(assignment: str, expected: tuple[str, object]) -> None:
    assert parse_setting(assignment) == expected


@pytest.mark.parametrize(
    ("assignment", "message"),
    [("eps2", "name=value"), ("batch_size=1.5", "1.5")],
)
def test_assignments_that_make_no_sense_are_refused(assignment: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_setting(assignment)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"eps1": 0.0}, "eps1=0.0"),
        ({"eps2": -0.1}, "eps2=-0.1"),
        ({"eps2": "high"}, "eps2=.high. must be .auto. or a number"),
        ({"unit_length": False}, "unit_length=False goes with words=0"),
        ({"start": "linkages"}, "start=.linkages. is not one of auto, kmeans, linkage"),
        ({"dropout": 1.0}, "dropout=1.0"),
        ({"batch_size": 1}, "batch_size=1"),
        ({"labels": "guess"}, "labels='guess' is not one of crossfit, saot"),
        ({"trainable_layers": "some"}, "trainable_layers='some'"),
        ({"trainable_layers": -1}, "trainable_layers=-1"),
        ({"class_contrast": False, "lambda_i": 0.0}, "nothing to learn from"),
        ({"class_contrast": False, "trainable_layers": 0}, "changes nothing that clusters come from"),
        ({"batch_size": 2.5}, "batch_size=2.5"),
        ({"max_steps": "100"}, "max_steps='100'"),
        ({"eps1": float("inf")}, "eps1=inf"),
        ({"class_contrast": 1}, "class_contrast=1"),
        ({"epsilon": 1}, "no setting 'epsilon'"),
        ({"batchsize": 1}, "did you mean 'batch_size'"),
        ({"imbalance": "heavy"}, "preset 'paper' only"),
    ],
)
def test_unusable_settings_are_named(settings: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        make_config("default", settings)


def test_unknown_presets_and_imbalances_are_named() -> None:
    with pytest.raises(InputError, match="preset='best'"):
        make_config("best")
    with pytest.raises(InputError, match="imbalance='huge'"):
        make_config("paper", {"imbalance": "huge"})


def test_settings_survive_a_dictionary() -> None:
    config = make_config("paper", {"imbalance": "light", "tau": 0.3})
    assert Config(**config.to_dict()) == config
