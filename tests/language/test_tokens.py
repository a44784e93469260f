"""Texts as words: what is left out, which forms are one word, and whose capitals count."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rstc.language.tokens import BREAK, strip_markup, tokenize


def content_words(text: str, language: str = "en") -> list[str]:
    """Return the words of a text that a keyword can begin with, as they are written."""
    tokens = tokenize([text], [language])
    return [
        tokens.forms[written]
        for written, key in zip(tokens.written.tolist(), tokens.keys.tolist(), strict=True)
        if key != BREAK and tokens.is_content[key]
    ]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("read https://shop.example/a?b=c and www.shop.example", ["read"]),
        ("track at shop.example/track/99", ["track"]),
        ("write to help@shop.example please", ["write"]),
        ("@shop refund", ["refund"]),
        ("#fail again", ["fail"]),
        ("order 12345 of 2021", ["order"]),
        ("salt &amp; pepper &lt;br&gt; &nbsp; &quot;mill&quot;", ["salt", "pepper", "mill"]),
        ("a <b class='x'>bold</b> claim", ["bold", "claim"]),
        ("iron lt gt ore quot amp nbsp", ["iron", "ore"]),
        ("news lt a href http www investor aspx gt stocks", ["news", "stocks"]),
        ("C# and C++ but not node.js", ["C#", "C++", "node.js"]),
        ("don't won't can't shouldn't didnt", []),
        ("what's my x y", []),
    ],
)
def test_only_words_can_be_keywords(text: str, words: list[str]) -> None:
    assert content_words(text) == words


def test_words_with_brackets_that_are_no_markup_stay() -> None:
    assert strip_markup("if a < b and c > d") == "if a < b and c > d"


def test_inflected_forms_are_one_word() -> None:
    tokens = tokenize(["order ordered orders Ordering", "cancel cancelled canceled cancels", "mum mum's"], ["en"])
    assert [len(set(tokens.keys[tokens.rows == row].tolist())) for row in range(3)] == [1, 1, 1]


def test_french_articles_are_no_part_of_the_word() -> None:
    tokens = tokenize(["adresse l'adresse d’adresse"], ["fr"])
    assert len(set(tokens.keys.tolist())) == 1


def test_capitals_at_the_start_of_a_sentence_and_of_titles_do_not_count() -> None:
    tokens = tokenize(
        ["Refund now. Money back in Berlin", "All About My New Phone", "WHY IS IT LATE", "my iPhone", "iPhone"], ["en"]
    )
    own = [
        tokens.forms[written]
        for written, shows in zip(tokens.written.tolist(), tokens.shows_case.tolist(), strict=True)
        if shows and tokens.forms[written] != tokens.forms[written].lower()
    ]
    assert own == ["Berlin", "iPhone", "iPhone"]


@given(st.lists(st.text(max_size=60), max_size=8))
def test_any_text_is_split_and_positions_count_from_zero(texts: list[str]) -> None:
    tokens = tokenize(texts, ["en"])
    assert len(tokens.keys) == len(tokens.written) == len(tokens.rows) == len(tokens.shows_case)
    assert all(
        tokens.positions[tokens.rows == row].tolist() == list(range((tokens.rows == row).sum())) for row in range(8)
    )


@pytest.mark.parametrize(
    ("text", "language", "words"),
    [
        ("पासवर्ड गलत", "hi", ["पासवर्ड", "गलत"]),
        ("கடவுச்சொல் தவறு", "ta", ["கடவுச்சொல்", "தவறு"]),
        ("مُحَمَّد", "ar", ["مُحَمَّد"]),
        ("می\u200cخواهم", "fa", ["می\u200cخواهم"]),
        ("cafe\u0301", "fr", ["café"]),
        ("ＡＢＣ１２３ ﾊﾟｽﾜｰﾄﾞ", "ja", ["ABC123", "パスワード"]),
    ],
)
def test_words_are_not_cut_at_marks_and_joiners(text: str, language: str, words: list[str]) -> None:
    tokens = tokenize([text], [language])
    assert [tokens.forms[i] for i in tokens.written] == words


def test_latin_words_inside_chinese_are_words() -> None:
    tokens = tokenize(["使用VIP会员", "VIP会员过期", "续费会员", "会员"], ["zh"])
    assert {"VIP", "会员"} <= set(tokens.forms)


def test_german_nouns_show_their_capitals_in_texts_of_nouns() -> None:
    text = "Neue Rechnung Lieferung Konto Vertrag"
    assert tokenize([text], ["de"]).shows_case.sum() == 4
    assert tokenize([text], ["en"]).shows_case.sum() == 0
