"""Detection of the languages of texts."""

from __future__ import annotations

import pytest

from rstc.language.detection import find_languages

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
