"""Terms of texts for TF-IDF: scikit-learn's for English, whole words and pairs of characters for other scripts."""

from __future__ import annotations

import pytest
from sklearn.feature_extraction.text import CountVectorizer

from rstc.language.terms import make_term_splitter

ENGLISH = [
    "The café's 2 refunds aren't in my account!",
    "C++ and node.js: it's NOT a bug",
    "naïve — l'été",
    "a I the",
    "",
]


@pytest.mark.parametrize("shares", [{"en": 1.0}, {"en": 0.99}, {}])
def test_english_texts_have_the_terms_of_scikit_learn(shares: dict[str, float]) -> None:
    analyzer = CountVectorizer(stop_words="english").build_analyzer()
    assert [make_term_splitter(shares)(text) for text in ENGLISH] == [analyzer(text) for text in ENGLISH]


@pytest.mark.parametrize(
    ("language", "text", "terms"),
    [
        ("de", "Wo ist die neue Straße?", ["strasse"]),
        ("ru", "Где моя посылка и где деньги", ["посылка", "деньги"]),
        ("ar", "أين طردي", ["طردي"]),
        ("hi", "मेरा पासवर्ड", ["पासवर्ड"]),
        ("ja", "荷物がﾅｲ VIP", ["荷物", "物が", "がナ", "ナイ", "vip"]),
        ("zh", "退款,退", ["退款", "退"]),
        ("th", "รหัสผ่าน", ["รหัส", "หัสผ่า", "สผ่าน"]),
        ("tr", "İADE IŞIK", ["iade", "ışık"]),
        ("el", "ΠΑΡΑΓΓΕΛΙΑ παραγγελία", ["παραγγελια", "παραγγελια"]),
    ],
)
def test_terms_follow_the_script_and_the_language(language: str, text: str, terms: list[str]) -> None:
    assert make_term_splitter({language: 1.0})(text) == terms


def test_stop_words_of_all_frequent_languages_are_left_out() -> None:
    split = make_term_splitter({"de": 0.6, "en": 0.38, "fr": 0.02})
    assert split("the refund und die Rechnung") == ["refund", "rechnung"]
