"""What is an augmenter, and what its result must be."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
import torch

from rstc.errors import InputError
from rstc.representation.augmenters.base import (
    Augmenter,
    AugmenterResources,
    Composed,
    apply_augmenter,
    as_augmenter,
    is_drawn_once,
    prepare_augmenter,
)
from rstc.representation.augmenters.nearest import SynonymReplacement
from rstc.representation.augmenters.word_noise import WordDeletion
from rstc.representation.encoder import Encoder


def test_composed_augmenters_are_applied_in_order() -> None:
    shout: Augmenter = lambda texts, rng: [text.upper() for text in texts]  # noqa: E731
    both = Composed((SynonymReplacement(1.0, {"late": ["slow"]}), shout))
    assert both(["late again"], np.random.default_rng(0)) == ["SLOW AGAIN"]
    assert not is_drawn_once(both)
    with_plain = Composed((WordDeletion(0.0), lambda texts: [text[::-1] for text in texts]))  # type: ignore[arg-type]
    assert with_plain(["late"], np.random.default_rng(0)) == ["etal"]
    assert is_drawn_once(with_plain), "a function without generator is called once"


def test_optional_parameter_of_a_function_is_not_taken_for_a_generator() -> None:
    def repeat(data: list[str], n: int = 2) -> list[str]:
        return [text * n for text in data]

    assert as_augmenter(repeat)(["ha"], np.random.default_rng(0)) == ["haha"]


def test_function_of_texts_alone_is_an_augmenter_that_is_drawn_once() -> None:
    augmenter = as_augmenter(lambda texts: [text[::-1] for text in texts])
    assert augmenter(["abc"], np.random.default_rng(0)) == ["cba"]
    assert is_drawn_once(augmenter)


def test_function_of_texts_and_generator_is_its_own_augmenter() -> None:
    def own(texts: Sequence[str], rng: np.random.Generator) -> list[str]:
        return [f"{text} {rng.integers(10)}" for text in texts]

    assert as_augmenter(own) is own
    assert not is_drawn_once(own)


@pytest.mark.parametrize(
    ("versions", "message"),
    [(["one"], "1 texts for 2"), (["one", None], "None, which is not a text"), (["one", 4], "4, which")],
)
def test_augmenter_that_does_not_return_one_text_for_each_is_refused(versions: list[object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        apply_augmenter(as_augmenter(lambda texts: versions), ["a", "b"], np.random.default_rng(0))


def test_object_that_is_not_callable_is_refused() -> None:
    with pytest.raises(InputError, match="function of texts"):
        as_augmenter(3)  # type: ignore[arg-type]


def no_encoder() -> Encoder:
    raise AssertionError("no encoder is needed")


class Suffix:
    """An augmenter that has to be prepared, and whose result is kept for all epochs."""

    draw_once = True

    def __init__(self, suffix: str = "") -> None:
        self.suffix = suffix

    def prepare(self, texts: Sequence[str], resources: AugmenterResources) -> Suffix:
        return Suffix(f" {len(texts)}")

    def __call__(self, texts: Sequence[str], rng: np.random.Generator) -> list[str]:
        return [text + self.suffix for text in texts]


class DeprecatedSuffix:
    """The same with the former names of the two members."""

    lasting = True

    def prepared(self, texts: Sequence[str], tools: AugmenterResources) -> Suffix:
        return Suffix(f" {len(texts)}")

    def __call__(self, texts: Sequence[str], rng: np.random.Generator) -> list[str]:
        return list(texts)


def test_prepared_augmenter_has_seen_all_texts() -> None:
    resources = AugmenterResources(no_encoder, torch.device("cpu"))
    augmenter = prepare_augmenter(as_augmenter(Suffix()), ["a", "b"], resources)
    assert augmenter(["a"], np.random.default_rng(0)) == ["a 2"]
    assert is_drawn_once(augmenter)


def test_deprecated_members_of_an_augmenter_still_work_with_a_warning() -> None:
    with pytest.warns(DeprecationWarning, match="an augmenter's") as warned:
        augmenter = as_augmenter(DeprecatedSuffix())
    assert [str(warning.message) for warning in warned] == [
        "an augmenter's `prepared` is deprecated, rename it to `prepare`",
        "an augmenter's `lasting` is deprecated, rename it to `draw_once`",
    ]
    assert is_drawn_once(augmenter)
    prepared = prepare_augmenter(augmenter, ["a", "b"], AugmenterResources(no_encoder, torch.device("cpu")))
    assert prepared(["a"], np.random.default_rng(0)) == ["a 2"]


def test_resource_is_created_once_until_it_is_released() -> None:
    resources = AugmenterResources(no_encoder, torch.device("cpu"))
    models = [resources.get_or_create("model", object) for _ in range(2)]
    assert models[0] is models[1]
    resources.release()
    assert resources.get_or_create("model", object) is not models[0]
