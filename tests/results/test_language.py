"""The language of texts, and its stop words and stems."""

from __future__ import annotations

import pytest

from rstc.results.language import STEMMERS, elision_pattern, find_languages, stemmer_for, stop_words_for

TICKETS = {
    "de": ["Wo bleibt mein Paket?", "Rechnung nicht erhalten", "Ich möchte mein Konto kündigen", "Passwort vergessen"],
    "en": ["Where is my parcel?", "I did not get the invoice", "I want to close my account", "password forgotten"],
    "es": ["¿Dónde está mi pedido?", "quiero la devolución de mi dinero", "no puedo entrar en mi cuenta"],
    "fr": ["Où est mon colis ?", "je veux un remboursement", "l'application ne marche pas", "mot de passe oublié"],
    "it": ["Dov'è il mio pacco?", "voglio un rimborso", "ho dimenticato la password", "la mia carta è bloccata"],
    "nl": ["Waar is mijn pakket?", "ik wil mijn geld terug", "de app werkt niet", "wachtwoord vergeten"],
    "pt": ["Onde está a minha encomenda?", "quero o meu dinheiro de volta", "o aplicativo não funciona"],
}


@pytest.mark.parametrize("language", TICKETS)
def test_language_is_the_one_whose_stop_words_the_texts_hold(language: str) -> None:
    assert find_languages(TICKETS[language]) == (language,)


def test_texts_of_two_languages_have_both_the_larger_one_first() -> None:
    assert find_languages([*TICKETS["de"] * 2, *TICKETS["fr"]]) == ("de", "fr")


@pytest.mark.parametrize("texts", [[], ["", "!!!"], ["parcel late", "refund"], ["包裹在哪里"]])
def test_texts_without_stop_words_count_as_english(texts: list[str]) -> None:
    assert find_languages(texts) == ("en",)


def test_a_few_foreign_words_do_not_change_the_language() -> None:
    assert find_languages(["what is on in la", "play de la soul for me", "who is in the band"]) == ("en",)


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
def test_every_language_has_a_stemmer_and_a_list(language: str) -> None:
    assert stemmer_for(language)(["test"])
    assert len(stop_words_for(language)) > 50


def test_articles_before_an_apostrophe_are_found_in_french_and_italian_only() -> None:
    french = elision_pattern(["fr"])
    assert french is not None
    assert french.sub("", "l'adresse") == "adresse"
    assert french.sub("", "aujourd'hui") == "aujourd'hui"
    assert elision_pattern(["en"]) is None
