"""Augmentation outside of training."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rstc import InputError, WordDeletion, augment

TEXTS = ["the parcel never came home", None, "refund my money please", "  ", "password reset does not work"]


def test_versions_keep_the_order_of_rows_and_missing_texts_stay_missing() -> None:
    first, second = augment(TEXTS, "deletion@0.3")
    for version in (first, second):
        assert [text is None for text in version] == [False, True, False, True, False]
    assert first != second


def test_versions_are_determined_by_the_seed() -> None:
    assert augment(TEXTS, "typos@0.9", random_state=3) == augment(TEXTS, "typos@0.9", random_state=3)
    assert augment(TEXTS, "typos@0.9", random_state=3) != augment(TEXTS, "typos@0.9", random_state=4)


def test_views_may_be_augmenters_and_functions() -> None:
    first, second = augment(["late again"], (WordDeletion(0.5), lambda texts: [text.upper() for text in texts]))
    assert first[0] in ("late", "again", "late again")
    assert second == ["LATE AGAIN"]


def test_augmenters_that_need_an_encoder_get_one(tiny_encoder: str) -> None:
    texts = ["parcel late courier", "courier van depot", "refund money bank", "bank credit transfer"]
    first, second = augment(texts, "neighbours", encoder=tiny_encoder)
    assert first == texts
    assert all(a != b and b in texts for a, b in zip(texts, second, strict=True))


@pytest.mark.parametrize("views", ["cutoff", "virtual"])
def test_views_inside_the_encoder_are_refused(views: str) -> None:
    with pytest.raises(InputError, match="no text to write"):
        augment(["a text"], views)


def test_input_without_texts_is_refused() -> None:
    with pytest.raises(InputError, match="no texts"):
        augment([None, ""])


@pytest.mark.parametrize("views", ["cutoff@0.3+deletion", "cutoff,typos"])
def test_cutoff_combined_with_other_views_is_refused(views: str) -> None:
    with pytest.raises(InputError, match="no text to write"):
        augment(["a text of words"], views)


@pytest.mark.parametrize("texts", ["one text", [404], np.array([["a"], ["b"]])])
def test_input_that_is_not_a_list_of_texts_is_refused(texts: Any) -> None:
    with pytest.raises(InputError, match="texts must be"):
        augment(texts)


@pytest.mark.parametrize("name", ["deletion", "swap", "typos", "synonyms", "neighbours", "learned"])
def test_unusual_texts_have_two_versions_that_are_not_empty(name: str, tiny_encoder: str) -> None:
    texts = ["parcel", "🎉🎉", "?", "parcel late " * 9000, "my parcel is late", None, "reset password"]
    first, second = augment(texts, name, encoder=tiny_encoder)
    assert [text is None for text in first] == [text is None for text in second] == [text is None for text in texts]
    assert all(text.strip() for text in first + second if text is not None)
