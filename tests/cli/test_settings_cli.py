"""`rstc settings`, and where help refers to it."""

from __future__ import annotations

import pytest

from fork_server import run_rstc
from rstc.config import SETTINGS


def test_every_setting_is_listed_with_its_value() -> None:
    printed = run_rstc("settings").stdout
    assert [name for name in SETTINGS if f" {name} " not in printed] == []
    assert {entry.group for entry in SETTINGS.values()} <= {line.strip() for line in printed.splitlines()}


def test_one_setting_is_listed_by_name() -> None:
    printed = run_rstc("settings", "eps2").stdout
    assert "'auto' or float >= 0" in " ".join(printed.split())
    assert "lambda_i" not in printed


@pytest.mark.parametrize(("preset", "value"), [("default", "cutoff@0.1"), ("paper", "deletion@0.1")])
def test_values_are_those_of_the_preset(preset: str, value: str) -> None:
    assert f" {value} " in run_rstc("settings", "views", "--preset", preset).stdout


def test_unknown_settings_are_named() -> None:
    done = run_rstc("settings", "epsilon2")
    assert done.returncode == 2
    assert "there is no setting 'epsilon2'; did you mean 'eps2'?" in done.stderr


def test_the_help_of_cluster_refers_to_the_list() -> None:
    printed = run_rstc("cluster", "--help").stdout
    assert "rstc settings" in " ".join(printed.replace("│", " ").split())
