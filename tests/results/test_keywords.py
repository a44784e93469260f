"""Keywords of clusters: phrases, one form per word, no rare words, nothing that all clusters share."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rstc.results.keywords import Keyword, find_keywords, score_phrases, smallest_count
from rstc.results.phrases import PhraseCounts

PARCELS = ["my parcel is late", "the parcel is very late", "late parcels again", "where is the parcel", "no parcel yet"]
PASSWORDS = [
    "reset my password",
    "password forgotten",
    "I forgot the password",
    "password reset mail",
    "password wrong",
]


def keywords_of(*clusters: list[str]) -> list[list[str]]:
    """Return the keywords of clusters, each given by its texts."""
    texts = [text for cluster in clusters for text in cluster]
    labels = np.repeat(np.arange(len(clusters)), [len(cluster) for cluster in clusters])
    found = find_keywords(PhraseCounts.from_texts(texts), labels)
    return [[keyword.text for keyword in found[cluster]] for cluster in range(len(clusters))]


def test_keywords_are_frequent_inside_and_rare_outside() -> None:
    parcels, passwords = keywords_of(PARCELS, PASSWORDS)
    assert parcels == ["parcel", "late"]
    assert passwords[0] == "password"


def test_shares_are_counted() -> None:
    texts = [*PARCELS, *PASSWORDS, "parcel"]
    found = find_keywords(PhraseCounts.from_texts(texts), np.repeat([0, 1], [5, 6]))[0]
    assert found == [Keyword("parcel", 1.0, 5 / 6, 1.0), Keyword("late", 0.6, 1.0, 1.0)]


def test_a_phrase_replaces_its_words() -> None:
    york = ["flights to new york", "new york hotels", "is new york cold", "new york", "a new phone"]
    assert keywords_of(york, PARCELS)[0] == ["new york"]


def test_a_phrase_of_few_of_its_words_does_not_replace_them() -> None:
    cards = [
        "credit card",
        "card lost",
        "my card is gone",
        "card blocked",
        "a new card",
        "credit card stolen",
        "the card",
    ]
    assert keywords_of(cards, PARCELS)[0] == ["card", "credit"]


def test_no_keyword_is_contained_in_another() -> None:
    jobs = [f"data science {word}" for word in ("job", "job", "team", "course", "course", "blog")] + ["data", "science"]
    for keywords in keywords_of(jobs, PARCELS):
        words = [word for keyword in keywords for word in keyword.split()]
        assert len(words) == len(set(words))


def test_stop_words_stay_inside_a_phrase_and_go_from_its_ends() -> None:
    cash = ["is cash on delivery possible", "pay by cash on delivery", "cash on delivery please", "Cash on delivery?"]
    assert keywords_of(cash, PARCELS)[0] == ["cash on delivery"]


def test_phrases_do_not_cross_punctuation() -> None:
    assert keywords_of(["parcel, late", "parcel. late", "late: parcel"], PASSWORDS)[0] == ["parcel", "late"]


def test_forms_of_a_word_are_one_keyword_in_the_most_frequent_form() -> None:
    orders = ["my orders", "orders are late", "I ordered it", "an order", "two orders"]
    assert keywords_of(orders, PASSWORDS)[0][0] == "orders"


@pytest.mark.parametrize(
    ("texts", "keyword"),
    [
        (["my iPhone", "iPhone dead", "the iphone", "new iPhone"], "iPhone"),
        (["at NASA", "a NASA job", "what NASA does"], "NASA"),
        (["open Visual Studio", "in Visual Studio", "my visual studio", "Visual Studio"], "Visual Studio"),
        (["Refund", "Refund now", "my refund"], "refund"),
        (["die Rechnung ist falsch", "wo ist meine Rechnung", "eine Rechnung fehlt"], "Rechnung"),
    ],
)
def test_capitals_are_shown_where_they_are_usual(texts: list[str], keyword: str) -> None:
    assert keywords_of(texts, PASSWORDS)[0][0] == keyword


def test_rare_words_name_no_cluster() -> None:
    texts = [f"{word} parcel" for word in ("aadan", "abamecha", "abamilki", "lte", "laet")] * 2
    texts += ["late parcel"] * 10
    assert keywords_of(texts, PASSWORDS)[0] == ["parcel", "late"]
    assert smallest_count(1000) > smallest_count(100) > smallest_count(10) > 1


def test_ties_are_not_broken_alphabetically() -> None:
    assert keywords_of(["zebra crossing, apple"] * 3, PASSWORDS)[0] == ["zebra crossing", "apple"]


def test_words_that_all_clusters_hold_alike_are_no_keywords() -> None:
    first = ["please parcel", "please parcel", "please late"]
    second = ["please password", "please reset", "please password"]
    assert "please" not in [word for keywords in keywords_of(first, second) for word in keywords]


def test_a_single_cluster_has_its_frequent_words() -> None:
    assert keywords_of(PARCELS) == [["parcel", "late"]]


def test_german_texts_are_not_named_by_articles() -> None:
    parcels = ["Wo ist das Paket", "Das Paket und die Rechnung", "Der Bote hat das Paket nicht gebracht"]
    invoices = ["Die Rechnung ist nicht da", "Ich habe die Rechnungen nicht", "Und wo ist die Rechnung"]
    assert keywords_of(parcels, invoices) == [["Paket"], ["Rechnung"]]


def test_french_keywords_have_no_article_and_keep_it_inside() -> None:
    texts = ["la carte d'identité", "ma carte d'identité est perdue", "une carte d'identité"]
    assert keywords_of(texts, ["où est l'adresse", "l'adresse est fausse"]) == [["carte d'identité"], ["adresse"]]


def test_texts_without_cluster_are_left_out() -> None:
    texts = ["my parcel is late", "parcel late again", "late parcel", "reset my password", "password forgotten"]
    found = find_keywords(PhraseCounts.from_texts(texts), np.array([0, 0, 0, -1, 1]))
    assert {keyword.text for keyword in found[1]} == {"password", "forgotten"}
    assert "reset" not in [keyword.text for keyword in found[0]]


def test_only_the_clusters_that_are_asked_for_are_described() -> None:
    labels = np.repeat([3, 5], 5)
    phrases = PhraseCounts.from_texts([*PARCELS, *PASSWORDS])
    assert find_keywords(phrases, labels, only=[5]) == {5: find_keywords(phrases, labels)[5]}


def test_texts_without_words_have_no_keywords() -> None:
    assert keywords_of(["🎉"], ["!!!", "12"]) == [[], []]


def test_score_grows_with_the_share_inside_and_falls_with_the_share_outside() -> None:
    a, b = np.array([2.0, 5.0, 9.0, 9.0, 9.0]), np.array([0.0, 0.0, 0.0, 5.0, 20.0])
    scores = score_phrases(a, b, 10, 100)
    assert scores[0] < scores[1] < scores[2] > scores[3] > scores[4]
    assert score_phrases(np.array([1.0]), np.array([10.0]), 10, 100)[0] == pytest.approx(0)


@given(st.lists(st.tuples(st.text("ab cA.1'", max_size=20), st.integers(-1, 3)), max_size=12))
def test_any_texts_have_keywords_that_their_clusters_hold(rows: list[tuple[str, int]]) -> None:
    labels = np.array([cluster for _, cluster in rows], dtype=np.int64)
    found = find_keywords(PhraseCounts.from_texts([text for text, _ in rows]), labels)
    assert set(found) == set(labels[labels >= 0].tolist())
    for keywords in found.values():
        assert all(0 < keyword.share <= keyword.covered <= 1 and 0 < keyword.precision <= 1 for keyword in keywords)
        assert [keyword.covered for keyword in keywords] == sorted(keyword.covered for keyword in keywords)


def test_words_of_all_clusters_are_stop_words_in_a_language_without_a_list() -> None:
    rng = np.random.default_rng(0)
    topics = [["kafe", "tano"], ["mbuku", "soma"], ["gari", "safi"], ["simu", "piga"]]
    texts, labels = [], []
    for label, topic in enumerate(topics):
        for i in range(12):
            grammar = rng.permutation(["ngo", "kwe", "lua"])[: 2 + (label == 0)]
            texts.append(" ".join([*grammar, topic[i % 2], topic[0]]))
            labels.append(label)
    keywords = find_keywords(PhraseCounts.from_texts(texts, ["xx"]), np.array(labels))
    found = {word for entries in keywords.values() for keyword in entries for word in keyword.text.split()}
    assert found == {word for topic in topics for word in topic}
