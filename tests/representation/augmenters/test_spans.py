"""The words of a text that may be replaced."""

from __future__ import annotations

from rstc.representation.augmenters.spans import find_words, match_case


def test_words_are_letters_between_white_space_and_punctuation() -> None:
    text = "Mail me@home.org or see http://x.org/path, @anna #late 4th v2.0 don't C3PO end."
    assert [text[a:b] for a, b in find_words(text)] == ["Mail", "or", "see", "don't", "end"]


def test_combining_marks_are_letters_and_scripts_without_spaces_have_no_words() -> None:
    for text, words in {
        "मेरा पार्सल नहीं आया": ["मेरा", "पार्सल", "नहीं", "आया"],
        "cafe\u0301 au lait": ["cafe\u0301", "au", "lait"],
        "我的包裹没有到": [],
        "[SEP] <b>late</b>": ["late"],
    }.items():
        assert [text[a:b] for a, b in find_words(text)] == words


def test_match_case_takes_the_case_of_the_reference() -> None:
    assert [match_case("late", model) for model in ("Slow", "SLOW", "slow", "I")] == ["Late", "LATE", "late", "Late"]
