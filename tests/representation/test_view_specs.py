"""View specifications: how the two views are written in one line, and what is refused."""

from __future__ import annotations

import pytest

from rstc.errors import InputError
from rstc.representation.view_specs import VIEW_METHODS, ViewStep, parse_view_spec, parse_view_specs


def test_one_view_serves_as_both_unless_a_comma_separates_two() -> None:
    assert parse_view_specs("typos") == ((ViewStep("typos"),), (ViewStep("typos"),))
    assert parse_view_specs("typos, swap@0.3") == ((ViewStep("typos"),), (ViewStep("swap", 0.3),))


def test_model_may_be_a_path_and_is_followed_by_its_share() -> None:
    first, second = parse_view_specs("contextual:./models/roberta@0.2,contextual:org/bert-base")
    assert first == (ViewStep("contextual", 0.2, "./models/roberta"),)
    assert second == (ViewStep("contextual", 0.1, "org/bert-base"),)


def test_neighbours_are_used_in_the_second_view_only() -> None:
    assert parse_view_specs("cutoff+neighbours") == (
        (ViewStep("cutoff"),),
        (ViewStep("neighbours"), ViewStep("cutoff")),
    )


def test_neighbours_come_before_steps_that_change_the_text() -> None:
    assert [step.method for step in parse_view_specs("typos,typos+neighbours")[1]] == ["neighbours", "typos"]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("delition", "did you mean 'deletion'"),
        ("", "choose from virtual, cutoff"),
        ("deletion@lots", "must be a number"),
        ("deletion@1", "between 0 and 1"),
        ("deletion@0", "between 0 and 1"),
        ("contextual", "needs a masked language model"),
        ("typos:roberta-base", "takes no model"),
        ("neighbours@0.2", "takes no share"),
        ("typos,swap,deletion", "3 views"),
    ],
)
def test_invalid_specification_is_refused_with_the_reason(spec: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_view_specs(spec)


def test_every_method_can_be_parsed() -> None:
    for method in VIEW_METHODS:
        spec = f"{method}:model" if method == "contextual" else method
        assert parse_view_specs(spec)[1][0].method == method


def test_neighbours_come_first_in_a_single_view_as_well() -> None:
    assert [step.method for step in parse_view_spec("typos+neighbours")] == ["neighbours", "typos"]


def test_second_cutoff_in_a_view_is_refused() -> None:
    with pytest.raises(InputError, match="more than one cutoff"):
        parse_view_specs("cutoff@0.1+cutoff@0.3")
