"""Two views of every text: changed, never empty, and in the order of the texts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from rstc.errors import InputError
from rstc.representation.augmenters.base import AugmenterResources
from rstc.representation.augmenters.word_noise import WordDeletion
from rstc.representation.encoder import Encoder
from rstc.representation.loading import load_encoder
from rstc.representation.views import Cutoff, make_views, use_precomputed_views


def test_drawn_views_differ_from_each_other_and_from_draw_to_draw() -> None:
    views, rng = make_views([" ".join("abcdefghijklmnop")], "deletion@0.3"), np.random.default_rng(0)
    drawn = {text for _ in range(3) for view in views.draw(rng) for text in view}
    assert len(drawn) == 6


def test_missing_precomputed_view_is_replaced_by_the_text() -> None:
    views = use_precomputed_views(["late parcel", "no refund"], ["slow parcel", None], [None, "no money"])
    assert views.draw(np.random.default_rng(0)) == (["slow parcel", "no refund"], ["late parcel", "no money"])


@given(st.integers(1, 40), st.sampled_from([0.0, 0.1, 0.99]), st.booleans())
def test_cutoff_keeps_the_ends_the_order_and_at_least_one_token_between(
    length: int, share: float, states: bool
) -> None:
    ids = np.arange(length)
    sequence = np.stack([ids, ids], axis=1) if states else ids
    cut = Cutoff(share)([sequence], np.random.default_rng(0))[0]
    left = cut[:, 0] if states else cut
    assert (left[0], left[-1]) == (0, length - 1)
    assert (np.diff(left) > 0).all()
    assert len(left) >= min(length, 3)


def test_cutoff_leaves_out_its_share_of_tokens_independently_at_each_draw() -> None:
    rng, ids = np.random.default_rng(0), np.arange(10_000)
    first, second = Cutoff(0.1)([ids, ids], rng)
    assert len(first) == pytest.approx(9000, abs=150)
    assert len(set(first) & set(second)) == pytest.approx(8100, abs=200)


def test_selected_views_belong_to_the_selected_texts() -> None:
    rng = np.random.default_rng(0)
    pairs = use_precomputed_views(["a", "b", "c"], ["a1", "b1", "c1"], ["a2", "b2", "c2"]).select([2, 0])
    assert pairs.draw(rng) == (["c1", "a1"], ["c2", "a2"])
    drawn = make_views(["a", "b", "c"], "cutoff@0.1").select([2, 0])
    assert drawn.draw(rng) == (["c", "a"], ["c", "a"])
    assert not drawn.changes_texts


def test_each_view_may_have_its_own_method() -> None:
    def shout(texts: list[str]) -> list[str]:
        return [text.upper() for text in texts]

    views = make_views(["late parcel"], ("virtual", shout))
    assert views.draw(np.random.default_rng(0)) == (["late parcel"], ["LATE PARCEL"])
    assert views.changes_texts
    assert views.fixed, "a function without generator is called once"


def test_cutoff_may_apply_to_one_view_only() -> None:
    views, ids = make_views(["a"], "cutoff@0.9,virtual"), np.arange(100)
    first, second = (ids[mask] for mask in views.draw_masks([len(ids), len(ids)], np.random.default_rng(0)))
    assert len(first) < 30
    assert len(second) == 100


def test_equal_views_are_prepared_once_and_load_the_encoder_once(tiny_encoder: str) -> None:
    views = make_views(["parcel late courier van", "refund money bank paid"], "synonyms@0.9")
    loaded: list[str] = []

    def load() -> Encoder:
        loaded.append("encoder")
        return load_encoder(tiny_encoder, "mean", 32)

    prepared = views.prepare(AugmenterResources(load, torch.device("cpu")), np.random.default_rng(0))
    assert prepared.first is prepared.second
    assert loaded == ["encoder"]
    make_views(["a text"], "deletion+typos").prepare(
        AugmenterResources(load, torch.device("cpu")), np.random.default_rng(0)
    )
    assert loaded == ["encoder"], "loaded only where it is needed"


def test_view_that_is_drawn_once_stays_beside_one_that_is_drawn_anew() -> None:
    calls = []

    def costly(texts: list[str]) -> list[str]:
        calls.append(len(texts))
        return [text.upper() for text in texts]

    views, rng = make_views([" ".join("abcdefghijklmnop")], (costly, WordDeletion(0.5))), np.random.default_rng(0)
    assert not views.fixed
    first = views.draw(rng)
    second = views.draw(rng, first)
    assert calls == [1]
    assert first[0] == second[0]
    assert first[1] != second[1]


@pytest.mark.parametrize(
    ("views", "message"),
    [(("typos", "swap", "typos"), "two of them, got 3"), (("typos,swap", "swap"), "more than one view")],
)
def test_views_must_be_one_or_two_single_views(views: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make_views(["a text"], views)
