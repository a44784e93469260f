"""Two changed versions of each text, outside of training."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rstc import InputError, WordDeletion, augment

TEXTS = ["the parcel never came home", None, "refund my money please", "  ", "password reset does not work"]


def test_rows_stay_in_place_and_missing_texts_stay_missing() -> None:
    first, second = augment(TEXTS, "deletion@0.3")
    for version in (first, second):
        assert [text is None for text in version] == [False, True, False, True, False]
    assert first != second


def test_the_same_seed_gives_the_same_versions() -> None:
    assert augment(TEXTS, "typos@0.9", random_state=3) == augment(TEXTS, "typos@0.9", random_state=3)
    assert augment(TEXTS, "typos@0.9", random_state=3) != augment(TEXTS, "typos@0.9", random_state=4)


def test_versions_may_come_from_augmenters_and_functions() -> None:
    first, second = augment(["late again"], (WordDeletion(0.5), lambda texts: [text.upper() for text in texts]))
    assert first[0] in ("late", "again", "late again")
    assert second == ["LATE AGAIN"]


def test_ways_that_need_an_encoder_get_one(tiny_encoder: str) -> None:
    texts = ["parcel late courier", "courier van depot", "refund money bank", "bank credit transfer"]
    first, second = augment(texts, "neighbours", encoder=tiny_encoder)
    assert first == texts
    assert all(a != b and b in texts for a, b in zip(texts, second, strict=True))


@pytest.mark.parametrize("views", ["cutoff", "virtual"])
def test_views_inside_the_encoder_have_no_texts_to_show(views: str) -> None:
    with pytest.raises(InputError, match="no text to write"):
        augment(["a text"], views)


def test_no_texts_are_refused() -> None:
    with pytest.raises(InputError, match="no texts"):
        augment([None, ""])


@pytest.mark.parametrize("views", ["cutoff@0.3+deletion", "cutoff,typos"])
def test_a_cutoff_cannot_be_written(views: str) -> None:
    with pytest.raises(InputError, match="no text to write"):
        augment(["a text of words"], views)


@pytest.mark.parametrize("texts", ["one text", [404], np.array([["a"], ["b"]])])
def test_what_is_no_list_of_texts_is_refused(texts: Any) -> None:
    with pytest.raises(InputError, match="texts must be"):
        augment(texts)


@pytest.mark.parametrize("way", ["deletion", "swap", "typos", "synonyms", "neighbours", "learned"])
def test_odd_texts_have_two_versions_that_are_not_empty(way: str, tiny_encoder: str) -> None:
    texts = ["parcel", "🎉🎉", "?", "parcel late " * 9000, "my parcel is late", None, "reset password"]
    first, second = augment(texts, way, encoder=tiny_encoder)
    assert [text is None for text in first] == [text is None for text in second] == [text is None for text in texts]
    assert all(text.strip() for text in first + second if text is not None)
