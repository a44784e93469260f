"""Word deletion, swaps and typos change what they say they change, and nothing else."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rstc.errors import InputError
from rstc.language.characters import split_clusters
from rstc.representation.augmenters.base import Augmenter, apply_augmenter
from rstc.representation.augmenters.nearest import SynonymReplacement, Synonyms
from rstc.representation.augmenters.word_noise import ADJACENT_KEYS, Typos, WordDeletion, WordSwap, add_typo

UNUSUAL_TEXTS = [
    "help",
    "😀😀",
    "x" * 100_000,
    " ".join(["parcel"] * 20_000),
    "4711 v2.0",
    "Ünïcödé wörds",
    "a\nb",
    "don't",
]
AUGMENTERS: list[Augmenter] = [
    WordDeletion(0.3),
    WordSwap(0.3),
    Typos(0.3),
    SynonymReplacement(0.3, {"help": ["aid"]}),
]


def test_deletion_leaves_out_its_share_of_the_words() -> None:
    text = " ".join(f"w{i}" for i in range(10_000))
    kept = WordDeletion(0.1)([text], np.random.default_rng(0))[0].split()
    assert len(kept) == pytest.approx(9000, abs=150)
    assert set(kept) <= set(text.split())


@given(st.lists(st.text(min_size=1).filter(str.strip), max_size=8), st.sampled_from([0.0, 0.1, 0.99]))
def test_deletion_keeps_the_rows_and_at_least_one_word_of_each_text(texts: list[str], share: float) -> None:
    views = WordDeletion(share)(texts, np.random.default_rng(0))
    assert len(views) == len(texts)
    for text, view in zip(texts, views, strict=True):
        assert view.strip()
        assert not Counter("".join(view.split())) - Counter(text)


@pytest.mark.parametrize("augmenter", AUGMENTERS, ids=lambda augmenter: type(augmenter).__name__)
def test_unusual_texts_keep_their_rows_and_codes(augmenter: Augmenter) -> None:
    views = apply_augmenter(augmenter, UNUSUAL_TEXTS, np.random.default_rng(0))
    assert len(views) == len(UNUSUAL_TEXTS)
    assert all(text.strip() for text in views)
    assert views[1] == "😀😀"
    assert set(views[4]) <= set(UNUSUAL_TEXTS[4]), "codes are not changed"


@given(st.lists(st.text(min_size=1).filter(str.strip), max_size=6))
def test_any_text_gives_a_non_empty_text(texts: list[str]) -> None:
    for augmenter in AUGMENTERS:
        views = apply_augmenter(augmenter, texts, np.random.default_rng(0))
        assert len(views) == len(texts)
        assert all(text.strip() for text in views)


def test_swap_keeps_all_words_and_moves_about_two_per_swap() -> None:
    words = [f"w{i}" for i in range(1000)]
    views = WordSwap(0.1)([" ".join(words)], np.random.default_rng(0))[0].split()
    assert sorted(views) == sorted(words)
    assert 100 < sum(a != b for a, b in zip(views, words, strict=True)) < 300


def test_typo_is_one_letter_missed_doubled_swapped_or_replaced() -> None:
    rng = np.random.default_rng(0)
    counts = {"shorter": 0, "longer": 0, "swapped": 0, "replaced": 0}
    for _ in range(400):
        typed = add_typo("parcel", rng)
        assert typed != "parcel"
        assert typed[0] == "p"
        if len(typed) == 6:
            positions = [i for i in range(6) if typed[i] != "parcel"[i]]
            swapped = len(positions) == 2
            counts["swapped" if swapped else "replaced"] += 1
            if not swapped:
                assert typed[positions[0]] in ADJACENT_KEYS["parcel"[positions[0]]], "an adjacent key"
        else:
            counts["shorter" if len(typed) == 5 else "longer"] += 1
    assert min(counts.values()) > 50


def test_adjacent_keys_are_those_of_a_keyboard() -> None:
    assert set(ADJACENT_KEYS["g"]) == set("fhtyvb")
    assert set(ADJACENT_KEYS["q"]) == set("wa")


def test_typos_change_their_share_of_the_words_and_no_short_ones() -> None:
    words = ["parcel", "is"] * 2000
    views = Typos(0.1)([" ".join(words)], np.random.default_rng(0))[0].split()
    assert [views[i] for i in range(1, 4000, 2)] == ["is"] * 2000
    assert sum(word != "parcel" for word in views[::2]) == pytest.approx(200, abs=45)


@pytest.mark.parametrize("share", [-0.1, 1.5, float("nan")])
def test_share_outside_of_0_and_1_is_refused(share: float) -> None:
    for augmenter in (WordDeletion, WordSwap, Typos, Synonyms):
        with pytest.raises(InputError, match="between 0 and 1"):
            augmenter(share)


@pytest.mark.parametrize("text", ["我的包裹还没有到", "荷物がまだ届きません", "พัสดุของฉันยังไม่มาถึง"])
def test_texts_without_spaces_lose_and_swap_parts(text: str) -> None:
    rng = np.random.default_rng(0)
    shorter = {WordDeletion(0.3)([text], rng)[0] for _ in range(20)}
    assert len(shorter) > 5
    assert all(0 < len(part) <= len(text) and " " not in part for part in shorter)
    swapped = {WordSwap(0.3)([text], rng)[0] for _ in range(20)}
    assert len(swapped) > 3
    assert all(sorted(other) == sorted(text) for other in swapped)


@pytest.mark.parametrize("word", ["पासवर्ड", "கடவுச்சொல்"])
def test_typos_leave_vowel_signs_at_their_letters(word: str) -> None:
    clusters = set(split_clusters(word))
    for seed in range(20):
        assert set(split_clusters(add_typo(word, np.random.default_rng(seed)))) <= clusters


def test_words_of_too_few_letters_have_no_typo() -> None:
    assert add_typo("की", np.random.default_rng(0)) == "की"
