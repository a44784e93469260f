"""Settings: what is declared of each, the presets, validation, and how settings are written on a command line."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, dataclass
from itertools import groupby
from typing import Any, Literal

import numpy as np
import pytest

from rstc.config import SETTINGS, Config, Setting, make_config, parse_setting
from rstc.config.fields import read_settings, setting
from rstc.errors import InputError

# -- what is declared ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("entry", SETTINGS.values(), ids=lambda entry: entry.name)
def test_every_setting_declares_meaning_group_and_allowed_values(entry: Setting) -> None:
    assert entry.meaning.endswith(".")
    assert entry.meaning[0].isupper()
    assert entry.group
    assert entry.types or entry.choices
    is_number = int in entry.types or float in entry.types
    has_lower_limit = entry.at_least is not None or entry.above is not None
    assert is_number == has_lower_limit


def test_settings_of_a_group_stand_together() -> None:
    groups = [entry.group for entry in SETTINGS.values()]
    assert len(list(groupby(groups))) == len(set(groups))


@pytest.mark.parametrize("entry", SETTINGS.values(), ids=lambda entry: entry.name)
def test_every_limit_and_choice_is_enforced(entry: Setting) -> None:
    rejected: list[Any] = [object()]
    if entry.choices:
        rejected.append("no such choice")
    if entry.at_least is not None:
        rejected.append(entry.at_least - 1)
    rejected += [limit for limit in (entry.above, entry.below) if limit is not None]
    for value in rejected:
        with pytest.raises(InputError, match=f"^{entry.name}=.* must be "):
            Config(**{entry.name: value})


def test_a_new_setting_is_validated_parsed_and_described_by_its_declaration_alone() -> None:
    @dataclass(frozen=True)
    class Example:
        patience: int | Literal["auto"] = setting("auto", "Epochs to wait.", group="Test", symbol="p", at_least=1)

    patience = read_settings(Example)["patience"]
    assert (patience.default, patience.symbol, patience.allowed) == ("auto", "p", "'auto' or int >= 1")
    assert (patience.parse("3"), patience.parse("auto")) == (3, "auto")
    with pytest.raises(InputError, match="patience=0 must be 'auto' or an integer >= 1"):
        patience.validate(0)


# -- presets ---------------------------------------------------------------------------------------------------------


def test_preset_paper_is_the_papers_setting() -> None:
    paper = make_config("paper")
    assert (paper.eps1, paper.tau, paper.lambda_i, paper.delta) == (0.1, 1.0, 10.0, 0.01)
    assert (paper.batch_size, paper.max_tokens, paper.projection_dim) == (200, 32, 128)
    assert (paper.encoder_lr, paper.head_lr, paper.trainable_layers) == (5e-6, 5e-4, "all")


@pytest.mark.parametrize(("imbalance", "eps2"), [("balanced", 0.1), ("light", 0.01), ("heavy", 0.001)])
def test_preset_paper_sets_eps2_by_imbalance(imbalance: str, eps2: float) -> None:
    assert make_config("paper", {"imbalance": imbalance}).eps2 == eps2
    assert make_config("paper", {"imbalance": imbalance, "eps2": 0.5}).eps2 == 0.5


def test_unknown_presets_and_imbalances_are_named() -> None:
    with pytest.raises(InputError, match="preset='best'"):
        make_config("best")
    with pytest.raises(InputError, match="imbalance='huge'"):
        make_config("paper", {"imbalance": "huge"})


# -- assignments of the command line ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("assignment", "expected"),
    [
        ("eps2=0.001", ("eps2", 0.001)),
        ("eps2=auto", ("eps2", "auto")),
        (" batch_size = 64 ", ("batch_size", 64)),
        ("trainable_layers=all", ("trainable_layers", "all")),
        ("trainable_layers=2", ("trainable_layers", 2)),
        ("class_contrast=no", ("class_contrast", False)),
        ("encoder=some/folder", ("encoder", "some/folder")),
        ("labels=ot-uniform", ("labels", "ot-uniform")),
        ("imbalance=heavy", ("imbalance", "heavy")),
    ],
)
def test_an_assignment_is_parsed_as_the_type_of_the_setting(assignment: str, expected: tuple[str, object]) -> None:
    assert parse_setting(assignment) == expected


@pytest.mark.parametrize(
    ("assignment", "message"),
    [
        ("eps2", "NAME=VALUE"),
        ("=3", "NAME=VALUE"),
        ("batch_size=1.5", "batch_size='1.5' must be an integer >= 2"),
        ("swaps=perhaps", "swaps='perhaps' must be True or False"),
    ],
)
def test_an_assignment_that_cannot_be_parsed_is_rejected(assignment: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_setting(assignment)


# -- validation ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"eps1": 0.0}, "eps1=0.0 must be a number > 0"),
        ({"eps2": -0.1}, "eps2=-0.1"),
        ({"eps2": "high"}, "eps2='high' must be 'auto' or a number >= 0"),
        ({"unit_length": False}, "unit_length=False needs words=0"),
        ({"start": "linkages"}, "start='linkages' must be 'auto', 'kmeans', 'spectral' or 'linkage'"),
        ({"dropout": 1.0}, "dropout=1.0 must be a number >= 0 and < 1"),
        ({"batch_size": 1}, "batch_size=1 must be an integer >= 2"),
        ({"labels": "guess"}, "labels='guess' must be 'crossfit', 'saot'"),
        ({"labels": "ot-near", "eps2": 0}, "labels='ot-near' needs eps2 > 0"),
        ({"trainable_layers": "some"}, "trainable_layers='some'"),
        ({"trainable_layers": -1}, "trainable_layers=-1"),
        ({"views": "deletions"}, "deletions"),
        ({"class_contrast": False, "lambda_i": 0.0}, "class_contrast=False needs lambda_i > 0"),
        ({"class_contrast": False, "trainable_layers": 0}, "class_contrast=False needs layers to train"),
        ({"batch_size": 2.5}, "batch_size=2.5"),
        ({"max_steps": "100"}, "max_steps='100'"),
        ({"eps1": float("inf")}, "eps1=inf"),
        ({"eps1": float("nan")}, "eps1=nan"),
        ({"max_steps": None}, "max_steps=None"),
        ({"max_steps": True}, "max_steps=True"),
        ({"class_contrast": 1}, "class_contrast=1"),
        ({"epsilon": 1}, "no setting 'epsilon'"),
        ({"batchsize": 1}, "did you mean 'batch_size'"),
        ({"imbalance": "heavy"}, "preset 'paper' only"),
    ],
)
def test_invalid_settings_are_named(settings: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        make_config("default", settings)


def test_numbers_of_numpy_become_plain_ones() -> None:
    config = Config(batch_size=np.int64(64), tau=np.float32(0.5), words=2, swaps=np.bool_(False))  # type: ignore[arg-type]
    values = (config.batch_size, config.tau, config.words, config.swaps)
    assert values == (64, 0.5, 2.0, False)
    assert [type(value) for value in values] == [int, float, float, bool]


def test_a_config_does_not_change() -> None:
    with pytest.raises(FrozenInstanceError):
        Config().eps1 = 1.0  # type: ignore[misc]


def test_settings_survive_a_dictionary() -> None:
    config = make_config("paper", {"imbalance": "light", "tau": 0.3})
    assert Config(**config.to_dict()) == config


def test_the_docstring_describes_every_setting() -> None:
    assert Config.__doc__ is not None
    for entry in SETTINGS.values():
        assert f"\n{entry.name} : {entry.allowed}, default={entry.default!r}\n" in Config.__doc__
