"""Names of clusters: from keywords, unique, or a quoted text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rstc.results.describe import ClusterDescription
from rstc.results.keywords import Keyword
from rstc.results.naming import MAX_FOUND_LENGTH, is_found_name, name_by_keywords, name_clusters, quote_text

TEXTS = ["where is it", "a text that is much longer than a name of a cluster may ever be", "why?"]


def describe(cluster: int, *keywords: Keyword, typical: tuple[int, ...] = (0,)) -> ClusterDescription:
    return ClusterDescription(cluster, 9, 0.9, list(keywords), list(typical), [], [])


def keyword(text: str, share: float = 0.5) -> Keyword:
    return Keyword(text, share, 0.9, share)


def test_a_name_has_at_most_three_keywords() -> None:
    assert name_by_keywords([keyword(text) for text in ("refund", "money", "bank", "paid")]) == "refund, money, bank"


def test_a_keyword_that_says_it_all_needs_no_second() -> None:
    assert name_by_keywords([keyword("refund", 0.9), keyword("bank", 0.1)]) == "refund"


def test_a_long_keyword_is_skipped() -> None:
    keywords = [keyword("credit card"), keyword("international transfers of money"), keyword("fee")]
    assert name_by_keywords(keywords) == "credit card, fee"


def test_keywords_of_few_texts_make_no_name() -> None:
    assert name_by_keywords([keyword("aadan", 0.1)]) is None
    assert name_by_keywords([]) is None


def test_clusters_that_keywords_do_not_describe_are_named_by_a_text() -> None:
    first, second = describe(0, keyword("aadan", 0.1)), describe(1, typical=(1, 2))
    assert name_clusters([first, second], TEXTS) == ["“where is it”", "“why?”"]


def test_clusters_with_the_same_best_words_are_named_by_what_tells_them_apart() -> None:
    alarm, set_, today, wake = keyword("alarm", 0.9), keyword("set"), keyword("today", 0.1), keyword("wake", 0.1)
    assert name_clusters([describe(0, alarm, set_, wake), describe(1, alarm, set_, today)], TEXTS) == [
        "alarm, set, wake",
        "alarm, set, today",
    ]


def test_given_names_are_used_and_not_repeated() -> None:
    clusters = [describe(0, keyword("refund"), keyword("late", 0.1)), describe(1, keyword("parcel"))]
    assert name_clusters(clusters, TEXTS, [None, "Refund"]) == ["refund, late", "Refund"]
    assert name_clusters(clusters[1:], TEXTS, taken=["PARCEL"]) == ["“where is it”"]


def test_a_cluster_without_anything_is_named_by_its_number() -> None:
    assert name_clusters([describe(4, typical=())], []) == ["cluster 4"]


def test_quotes_are_cut_after_a_word_and_hold_no_markup() -> None:
    assert quote_text(TEXTS[1]) == "“a text that is much longer than a…”"
    assert quote_text("@shop: see https://a.example/b\tnow") == "“: see now”"
    assert quote_text("x" * 100) == f"“{'x' * (MAX_FOUND_LENGTH - 3)}…”"


@pytest.mark.parametrize(
    ("name", "was_found"),
    [("late, refund", True), ("late", True), ("“Hi”", True), ("late (3)", True), ("cluster 7", True), ("lost", False)],
)
def test_names_of_persons_are_told_from_those_that_were_found(name: str, was_found: bool) -> None:
    assert is_found_name(name, ["refund", "late"]) is was_found


words = st.sampled_from(["refund", "late", "Refund", "parcel", "a word that is longer than a name can possibly be"])


@given(st.lists(st.lists(st.tuples(words, st.floats(0.01, 1)), max_size=4), max_size=6), st.lists(words, max_size=2))
def test_names_are_unique_and_short(clusters: list[list[tuple[str, float]]], taken: list[str]) -> None:
    descriptions = [describe(i, *(keyword(*pair) for pair in pairs)) for i, pairs in enumerate(clusters)]
    names = name_clusters(descriptions, TEXTS, taken=taken)
    folded = [name.casefold() for name in [*names, *set(map(str.casefold, taken))]]
    assert len(folded) == len(set(folded))
    assert all(0 < len(name) <= MAX_FOUND_LENGTH + len(" (12, 12)") for name in names)
