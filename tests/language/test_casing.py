"""Case by language, and spellings of one word."""

from __future__ import annotations

import pytest

from rstc.language.casing import fold_word, lower_case


@pytest.mark.parametrize(
    ("word", "language", "lower"),
    [
        ("ISPARTA", "tr", "ısparta"),
        ("İADE", "tr", "iade"),
        ("İADE", "en", "iade"),
        ("IT", "en", "it"),
        ("ΛΟΓΟΣ", "el", "λογος"),
    ],
)
def test_lower_case_follows_the_language(word: str, language: str, lower: str) -> None:
    assert lower_case(word, [language]) == lower


@pytest.mark.parametrize(
    ("one", "other", "language"),
    [
        ("Straße", "STRASSE", "de"),
        ("παραγγελία", "ΠΑΡΑΓΓΕΛΙΑ", "el"),
        ("λόγος", "ΛΟΓΟΣ", "el"),
        ("İptal", "iptal", "tr"),
        ("مُحَمَّد", "محمد", "ar"),
        ("استرداد", "استـــرداد", "ar"),
        ("שָׁלוֹם", "שלום", "he"),
    ],
)
def test_spellings_of_a_word_are_one(one: str, other: str, language: str) -> None:
    assert fold_word(one, [language]) == fold_word(other, [language])


@pytest.mark.parametrize(("one", "other"), [("résumé", "resume"), ("für", "fur"), ("й", "и")])
def test_accents_that_distinguish_words_stay(one: str, other: str) -> None:
    assert fold_word(one) != fold_word(other)
