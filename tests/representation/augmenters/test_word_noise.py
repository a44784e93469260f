"""Augmenters: each changes what it says it changes, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from rstc.errors import InputError
from rstc.representation.augmenters.base import Augmenter, Composed, Tools, as_augmenter, changed, lasts
from rstc.representation.augmenters.nearest import KnownSynonyms, NearestTexts, Synonyms
from rstc.representation.augmenters.cache import KeptTexts, key_of
from rstc.representation.augmenters.spans import like, words_of
from rstc.representation.augmenters.typos import BESIDE, Typos, mistyped
from rstc.representation.augmenters.word_noise import WordDeletion, WordSwap
from rstc.representation.loading import load_encoder

ODD = ["help", "😀😀", "x" * 100_000, " ".join(["parcel"] * 20_000), "4711 v2.0", "Ünïcödé wörds", "a\nb", "don't"]
MADE_OF_WORDS: list[Augmenter] = [WordDeletion(0.3), WordSwap(0.3), Typos(0.3), KnownSynonyms(0.3, {"help": ["aid"]})]


@pytest.fixture(scope="module")
def tools() -> Tools:
    return Tools(lambda: load_encoder(None, "mean", 32), torch.device("cpu"))


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


@pytest.mark.parametrize("augmenter", MADE_OF_WORDS, ids=lambda one: type(one).__name__)
def test_odd_texts_are_no_error_and_rows_never_shift(augmenter: Augmenter) -> None:
    made = changed(augmenter, ODD, np.random.default_rng(0))
    assert len(made) == len(ODD)
    assert all(text.strip() for text in made)
    assert made[1] == "😀😀"
    assert set(made[4]) <= set(ODD[4]), "codes are left as they are"


@given(st.lists(st.text(min_size=1).filter(str.strip), max_size=6))
def test_any_text_gives_a_text(texts: list[str]) -> None:
    for augmenter in MADE_OF_WORDS:
        made = changed(augmenter, texts, np.random.default_rng(0))
        assert len(made) == len(texts)
        assert all(text.strip() for text in made)


def test_swaps_keep_the_words_and_move_them_by_little() -> None:
    words = [f"w{i}" for i in range(1000)]
    made = WordSwap(0.1)([" ".join(words)], np.random.default_rng(0))[0].split()
    assert sorted(made) == sorted(words)
    assert 100 < sum(a != b for a, b in zip(made, words, strict=True)) < 300


def test_a_typo_is_one_slip_inside_the_word() -> None:
    rng = np.random.default_rng(0)
    kinds = {"shorter": 0, "longer": 0, "swapped": 0, "beside": 0}
    for _ in range(400):
        typed = mistyped("parcel", rng)
        assert typed != "parcel"
        assert typed[0] == "p"
        if len(typed) == 6:
            places = [i for i in range(6) if typed[i] != "parcel"[i]]
            swapped = len(places) == 2
            kinds["swapped" if swapped else "beside"] += 1
            if not swapped:
                assert typed[places[0]] in BESIDE["parcel"[places[0]]], "a key beside the right one"
        else:
            kinds["shorter" if len(typed) == 5 else "longer"] += 1
    assert min(kinds.values()) > 50


def test_keys_beside_a_key_are_those_of_a_keyboard() -> None:
    assert set(BESIDE["g"]) == set("fhtyvb")
    assert set(BESIDE["q"]) == set("wa")


def test_typos_hit_about_their_share_of_the_words_and_no_short_ones() -> None:
    words = ["parcel", "is"] * 2000
    made = Typos(0.1)([" ".join(words)], np.random.default_rng(0))[0].split()
    assert [made[i] for i in range(1, 4000, 2)] == ["is"] * 2000
    assert sum(word != "parcel" for word in made[::2]) == pytest.approx(200, abs=45)


def test_words_are_letters_with_nothing_odd_around_them() -> None:
    text = "Mail me@home.org or see http://x.org/path, @anna #late 4th v2.0 don't C3PO end."
    assert [text[a:b] for a, b in words_of(text)] == ["Mail", "or", "see", "don't", "end"]


def test_marks_belong_to_their_letters_and_scripts_without_spaces_have_no_words() -> None:
    for text, words in {
        "मेरा पार्सल नहीं आया": ["मेरा", "पार्सल", "नहीं", "आया"],
        "cafe\u0301 au lait": ["cafe\u0301", "au", "lait"],
        "我的包裹没有到": [],
        "[SEP] <b>late</b>": ["late"],
    }.items():
        assert [text[a:b] for a, b in words_of(text)] == words


@pytest.mark.parametrize("share", [-0.1, 1.5, float("nan")])
def test_a_share_is_a_share(share: float) -> None:
    for way in (WordDeletion, WordSwap, Typos, Synonyms):
        with pytest.raises(InputError, match="between 0 and 1"):
            way(share)


def test_a_word_takes_the_case_of_the_one_it_replaces() -> None:
    assert [like("late", model) for model in ("Slow", "SLOW", "slow", "I")] == ["Late", "LATE", "late", "Late"]


def test_synonyms_are_near_words_of_the_texts_themselves(tools: Tools) -> None:
    texts = ["cars on the road", "a car on the motorway", "refund my money", "refunds of money", "doctor and physician"]
    found = Synonyms(0.99, k=3, least=0.6).prepared(texts, tools)
    assert isinstance(found, KnownSynonyms)
    assert "cars" in found.synonyms["car"]
    assert "refunds" in found.synonyms["refund"]
    assert "physician" in found.synonyms["doctor"]
    assert "money" not in found.synonyms["car"]
    assert found(["Refund it"], np.random.default_rng(0)) == ["Refunds it"]


def test_a_neighbour_is_another_text_about_the_same(tools: Tools) -> None:
    texts = ["my parcel is late", "the parcel did not come", "I forgot my password", "cannot log in, wrong password"]
    made = NearestTexts(k=1).prepared([*texts, texts[0]], tools)([*texts, "something new"], np.random.default_rng(0))
    assert made == [texts[1], texts[0], texts[3], texts[2], "something new"]


def test_a_single_text_is_its_own_neighbour(tools: Tools) -> None:
    assert NearestTexts().prepared(["alone"], tools)(["alone"], np.random.default_rng(0)) == ["alone"]


def test_several_augmenters_work_one_after_the_other() -> None:
    shout: Augmenter = lambda texts, rng: [text.upper() for text in texts]  # noqa: E731
    both = Composed((KnownSynonyms(1.0, {"late": ["slow"]}), shout))
    assert both(["late again"], np.random.default_rng(0)) == ["SLOW AGAIN"]
    assert not lasts(both)
    with_plain = Composed((WordDeletion(0.0), lambda texts: [text[::-1] for text in texts]))  # type: ignore[arg-type]
    assert with_plain(["late"], np.random.default_rng(0)) == ["etal"]
    assert lasts(with_plain), "a plain function is asked once"


def test_an_option_is_not_taken_for_a_generator() -> None:
    def repeated(data: list[str], n: int = 2) -> list[str]:
        return [text * n for text in data]

    assert as_augmenter(repeated)(["ha"], np.random.default_rng(0)) == ["haha"]


def test_a_plain_function_of_texts_is_an_augmenter_that_is_asked_once() -> None:
    augmenter = as_augmenter(lambda texts: [text[::-1] for text in texts])
    assert augmenter(["abc"], np.random.default_rng(0)) == ["cba"]
    assert lasts(augmenter)


def test_a_function_of_texts_and_generator_is_an_augmenter_as_it_is() -> None:
    def own(texts: Sequence[str], rng: np.random.Generator) -> list[str]:
        return [f"{text} {rng.integers(10)}" for text in texts]

    assert as_augmenter(own) is own
    assert not lasts(own)


@pytest.mark.parametrize(
    ("made", "complaint"),
    [(["one"], "1 texts of 2"), (["one", None], "None, which is not a text"), (["one", 4], "4, which")],
)
def test_an_augmenter_that_shifts_rows_or_returns_no_texts_is_refused(made: list[object], complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        changed(as_augmenter(lambda texts: made), ["a", "b"], np.random.default_rng(0))


def test_what_is_no_function_is_no_augmenter() -> None:
    with pytest.raises(InputError, match="function of texts"):
        as_augmenter(3)  # type: ignore[arg-type]


def test_texts_are_kept_by_key(tmp_path: Path) -> None:
    keys = [key_of("how", str(i)) for i in range(1200)]
    KeptTexts(tmp_path).add({key: f"text {i}" for i, key in enumerate(keys)})
    again = KeptTexts(tmp_path).read([*keys, key_of("how", "unknown")])
    assert again == {key: f"text {i}" for i, key in enumerate(keys)}


def test_parts_of_a_key_do_not_run_into_each_other() -> None:
    assert key_of("ab", "c") != key_of("a", "bc")


def test_several_may_write_at_a_time(tmp_path: Path) -> None:
    def write(part: int) -> None:
        for i in range(20):
            KeptTexts(tmp_path).add({key_of(str(part), str(i)): f"{part} {i}", key_of("common"): "the same"})

    with ThreadPoolExecutor(4) as workers:
        list(workers.map(write, range(4)))
    keys = [key_of(str(part), str(i)) for part in range(4) for i in range(20)]
    assert len(KeptTexts(tmp_path).read([*keys, key_of("common")])) == 81


def test_a_folder_that_cannot_be_used_is_told_of_and_done_without(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "views.sqlite").write_text("not a database, but long enough to be looked at " * 20)
    kept = KeptTexts(tmp_path)
    kept.add({b"key": "text"})
    assert kept.read([b"key"]) == {}
    assert caplog.text.count("nothing is kept") == 1
    assert len(caplog.records) == 1
    assert KeptTexts(tmp_path).read([b"key"]) == {}
    assert "not used" in caplog.text
