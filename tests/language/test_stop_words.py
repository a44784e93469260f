"""Stop words and stems of languages."""

from __future__ import annotations

import pytest

from rstc.language.stemming import STEMMERS, stemmer_for
from rstc.language.stop_words import stop_words_for
from rstc.language.tokens import elision_pattern


@pytest.mark.parametrize(
    ("language", "word"), [("de", "und"), ("fr", "dans"), ("es", "está"), ("it", "della"), ("pt", "não"), ("nl", "een")]
)
def test_stop_words_are_those_of_the_language(language: str, word: str) -> None:
    assert word in stop_words_for(language)


@pytest.mark.parametrize(("language", "word"), [("en", "bill"), ("es", "cuenta"), ("de", "suche"), ("pt", "viagem")])
def test_words_that_tickets_are_about_are_no_stop_words(language: str, word: str) -> None:
    assert word not in stop_words_for(language)


def test_a_language_without_list_and_stemmer_is_served_too() -> None:
    assert "und" not in stop_words_for("xx")
    assert stemmer_for("xx")(["abc"]) == ["abc"]


@pytest.mark.parametrize("language", STEMMERS)
def test_every_language_of_the_table_has_a_stemmer(language: str) -> None:
    assert stemmer_for(language)(["test"])


@pytest.mark.parametrize("language", ["ar", "de", "el", "fa", "hi", "it", "ja", "ko", "pl", "ru", "th", "uk", "zh"])
def test_languages_of_many_speakers_have_a_list(language: str) -> None:
    assert len(stop_words_for(language)) > 50


def test_articles_before_an_apostrophe_are_found_in_french_and_italian_only() -> None:
    french = elision_pattern(["fr"])
    assert french is not None
    assert french.sub("", "l'adresse") == "adresse"
    assert french.sub("", "aujourd'hui") == "aujourd'hui"
    assert elision_pattern(["en"]) is None
