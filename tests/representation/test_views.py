"""Two views of every text: changed, never empty, never shifted."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rstc.representation.views import Cutoff, WordDeletion, drawn_views, given_views


def test_deletion_leaves_out_about_its_share_of_the_words() -> None:
    text = " ".join(f"w{i}" for i in range(10_000))
    kept = WordDeletion(0.1)([text], np.random.default_rng(0))[0].split()
    assert len(kept) == pytest.approx(9000, abs=150)
    assert set(kept) <= set(text.split())


@given(st.lists(st.text(min_size=1).filter(str.strip), max_size=8), st.sampled_from([0.0, 0.1, 0.99]))
def test_every_text_keeps_at_least_one_word_and_its_place(texts: list[str], share: float) -> None:
    views = WordDeletion(share)(texts, np.random.default_rng(0))
    assert len(views) == len(texts)
    for text, view in zip(texts, views, strict=True):
        assert view.strip()
        assert set(view.split()) <= set(text.split())


def test_drawn_views_differ_from_each_other_and_from_draw_to_draw() -> None:
    views, rng = drawn_views([" ".join("abcdefghijklmnop")], 0.3, 0.0), np.random.default_rng(0)
    drawn = {text for _ in range(3) for view in views.draw(rng) for text in view}
    assert len(drawn) == 6


def test_where_a_given_view_is_missing_the_text_itself_stands_in() -> None:
    views = given_views(["late parcel", "no refund"], ["slow parcel", None], [None, "no money"])
    assert views.draw(np.random.default_rng(0)) == (["slow parcel", "no refund"], ["late parcel", "no money"])


@given(st.integers(1, 40), st.sampled_from([0.0, 0.1, 0.99]), st.booleans())
def test_cutoff_keeps_both_ends_the_order_and_at_least_one_token_between(
    length: int, share: float, states: bool
) -> None:
    ids = np.arange(length)
    sequence = np.stack([ids, ids], axis=1) if states else ids
    cut = Cutoff(share)([sequence], np.random.default_rng(0))[0]
    left = cut[:, 0] if states else cut
    assert (left[0], left[-1]) == (0, length - 1)
    assert (np.diff(left) > 0).all()
    assert len(left) >= min(length, 3)


def test_cutoff_leaves_out_about_its_share_anew_each_time() -> None:
    rng, ids = np.random.default_rng(0), np.arange(10_000)
    first, second = Cutoff(0.1)([ids, ids], rng)
    assert len(first) == pytest.approx(9000, abs=150)
    assert len(set(first) & set(second)) == pytest.approx(8100, abs=200)


def test_views_of_some_texts_are_those_of_these_texts() -> None:
    rng = np.random.default_rng(0)
    pairs = given_views(["a", "b", "c"], ["a1", "b1", "c1"], ["a2", "b2", "c2"]).of([2, 0])
    assert pairs.draw(rng) == (["c1", "a1"], ["c2", "a2"])
    drawn = drawn_views(["a", "b", "c"], 0.0, 0.1).of([2, 0])
    assert drawn.draw(rng) == (["c", "a"], ["c", "a"])
    assert not drawn.changes_texts
