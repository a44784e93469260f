"""Views asked for in one line."""

from __future__ import annotations

import pytest

from rstc.errors import InputError
from rstc.representation.view_specs import WAYS, Step, read_recipe, read_view


def test_both_views_are_made_alike_unless_a_comma_parts_them() -> None:
    assert read_recipe("typos") == ((Step("typos"),), (Step("typos"),))
    assert read_recipe("typos, swap@0.3") == ((Step("typos"),), (Step("swap", 0.3),))


def test_a_model_may_be_a_path_and_has_a_share_of_its_own() -> None:
    first, second = read_recipe("contextual:./models/roberta@0.2,contextual:org/bert-base")
    assert first == (Step("contextual", 0.2, "./models/roberta"),)
    assert second == (Step("contextual", 0.1, "org/bert-base"),)


def test_a_neighbour_stands_in_the_second_view_only() -> None:
    assert read_recipe("cutoff+neighbours") == ((Step("cutoff"),), (Step("neighbours"), Step("cutoff")))


def test_a_neighbour_is_looked_for_before_anything_is_changed() -> None:
    assert [step.way for step in read_recipe("typos,typos+neighbours")[1]] == ["neighbours", "typos"]


@pytest.mark.parametrize(
    ("recipe", "complaint"),
    [
        ("delition", "did you mean 'deletion'"),
        ("", "there are virtual, cutoff"),
        ("deletion@lots", "must be a number"),
        ("deletion@1", "between 0 and 1"),
        ("deletion@0", "between 0 and 1"),
        ("contextual", "needs a masked language model"),
        ("typos:roberta-base", "takes no model"),
        ("neighbours@0.2", "takes no share"),
        ("typos,swap,deletion", "3 views"),
    ],
)
def test_a_mistake_is_named(recipe: str, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        read_recipe(recipe)


def test_every_way_can_be_read() -> None:
    for way in WAYS:
        recipe = f"{way}:model" if way == "contextual" else way
        assert read_recipe(recipe)[1][0].way == way


def test_a_view_by_itself_looks_for_neighbours_first_too() -> None:
    assert [step.way for step in read_view("typos+neighbours")] == ["neighbours", "typos"]


def test_one_cutoff_is_enough() -> None:
    with pytest.raises(InputError, match="more than one cutoff"):
        read_recipe("cutoff@0.1+cutoff@0.3")
