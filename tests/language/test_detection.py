"""Detection of the languages of texts."""

from __future__ import annotations

import pytest

from rstc.language.detection import detect_languages, find_languages, measure_languages

TICKETS = {
    "de": ["Wo bleibt mein Paket?", "Rechnung nicht erhalten", "Ich möchte mein Konto kündigen", "Passwort vergessen"],
    "en": ["Where is my parcel?", "I did not get the invoice", "I want to close my account", "password forgotten"],
    "es": ["¿Dónde está mi pedido?", "quiero la devolución de mi dinero", "no puedo entrar en mi cuenta"],
    "fr": ["Où est mon colis ?", "je veux un remboursement", "l'application ne marche pas", "mot de passe oublié"],
    "it": ["Dov'è il mio pacco?", "voglio un rimborso", "ho dimenticato la password", "la mia carta è bloccata"],
    "nl": ["Waar is mijn pakket?", "ik wil mijn geld terug", "de app werkt niet", "wachtwoord vergeten"],
    "ar": ["أين طردي؟", "أريد استرداد المبلغ", "نسيت كلمة المرور"],
    "el": ["Πού είναι το δέμα μου;", "θέλω τα χρήματά μου πίσω", "ξέχασα τον κωδικό"],
    "hi": ["मेरा पार्सल कहाँ है?", "मुझे रिफंड चाहिए", "मैं पासवर्ड भूल गया"],
    "ja": ["荷物がまだ届きません", "返金してほしい", "パスワードを忘れました"],
    "ko": ["택배가 아직 안 왔어요", "환불해 주세요", "비밀번호를 잊어버렸어요"],
    "pl": ["Gdzie jest moja paczka?", "chcę zwrotu pieniędzy", "nie pamiętam hasła"],
    "ru": ["Где моя посылка?", "хочу вернуть деньги", "забыл пароль"],
    "th": ["พัสดุของฉันยังไม่มาถึง", "ต้องการขอเงินคืน", "ลืมรหัสผ่าน"],
    "tr": ["Kargom nerede?", "paramı geri istiyorum", "şifremi unuttum"],
    "uk": ["Де моя посилка?", "хочу повернути гроші", "забув пароль"],
    "zh": ["我的包裹还没有到", "我要退款", "忘记密码怎么办"],
    "pt": ["Onde está a minha encomenda?", "quero o meu dinheiro de volta", "o aplicativo não funciona"],
}


@pytest.mark.parametrize("language", TICKETS)
def test_short_texts_have_the_language_they_are_written_in(language: str) -> None:
    assert find_languages(TICKETS[language]) == (language,)


def test_texts_of_two_languages_have_both_the_larger_one_first() -> None:
    assert find_languages([*TICKETS["de"] * 2, *TICKETS["fr"]]) == ("de", "fr")


@pytest.mark.parametrize("texts", [[], ["", "!!!"], ["12:30", "#4711"], ["parcel late", "refund"]])
def test_texts_without_a_language_and_english_keywords_count_as_english(texts: list[str]) -> None:
    assert find_languages(texts) == ("en",)


def test_a_few_foreign_words_do_not_change_the_language() -> None:
    assert find_languages(["what is on in la", "play de la soul for me", "who is in the band"]) == ("en",)


def test_each_text_of_a_mixed_file_has_its_own_language() -> None:
    texts = [*TICKETS["en"], *TICKETS["ru"], *TICKETS["ja"], "12:30"]
    assert detect_languages(texts).codes == ("en",) * 4 + ("ru",) * 3 + ("ja",) * 3 + (None,)


def test_a_doubtful_text_has_the_language_of_the_others() -> None:
    alone, with_others = detect_languages(["Rest"]), detect_languages([*TICKETS["de"], "Paket", "Rest"])
    assert alone.codes == ("en",)
    assert with_others.codes[-2:] == ("de", "de")


def test_shares_are_of_the_texts_that_have_a_language() -> None:
    assert measure_languages([*TICKETS["en"], *TICKETS["ru"], "", "42"]) == {"en": 0.571, "ru": 0.429}


def test_markup_and_addresses_do_not_decide() -> None:
    assert find_languages(["https://example.com/where/is/it <br> @support где посылка"]) == ("ru",)
