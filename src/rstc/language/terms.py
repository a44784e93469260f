"""Terms of texts for TF-IDF: words in lower case without stop words, and pairs of characters where no spaces are."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from rstc.language.casing import fold_word
from rstc.language.characters import (
    EAST_ASIAN,
    MARKS,
    NEEDS_CARE,
    UNSPACED,
    ZERO_WIDTH_JOINERS,
    normalize_characters,
    split_clusters,
)
from rstc.language.detection import DEFAULT_LANGUAGE, choose_languages
from rstc.language.names import are_english
from rstc.language.stop_words import stop_words_for

PAIR, TRIPLE = 2, 3  # characters of a term in scripts without spaces: of East Asia, where a character is a syllable

_WORD = re.compile(r"\b\w\w+\b")  # as scikit-learn splits texts
_CAREFUL_WORD = re.compile(
    rf"[{UNSPACED}][{UNSPACED}{MARKS}]*|[^\W{UNSPACED}](?:[^\W{UNSPACED}]+|[{MARKS}{ZERO_WIDTH_JOINERS}]+)+"
)
_UNSPACED_RUN = re.compile(f"[{UNSPACED}]")
_EAST_ASIAN = re.compile(f"[{EAST_ASIAN}]")


def make_term_splitter(shares: Mapping[str, float]) -> Callable[[str], list[str]]:
    """Return a function from a text to its terms.

    Terms of English texts are exactly those of scikit-learn's vectorizers with `stop_words="english"`. In other texts,
    scripts without spaces are cut into overlapping pairs of characters, or triples where characters are letters, so
    that no dictionary decides which words texts share.

    Parameters
    ----------
    shares : mapping of str to float
        Share of each language in the texts, as `measure_languages` returns it.

    Examples
    --------
    >>> make_term_splitter({"en": 1.0})("The refunds are late"), make_term_splitter({"de": 1.0})("Wo ist die Rechnung?")
    (['refunds', 'late'], ['rechnung'])
    >>> make_term_splitter({"zh": 1.0})("取消订单"), make_term_splitter({"hi": 1.0})("मेरा पासवर्ड")
    (['取消', '消订', '订单'], ['पासवर्ड'])
    """
    if are_english(shares):
        from sklearn.feature_extraction.text import CountVectorizer

        analyze: Callable[[str], list[str]] = CountVectorizer(stop_words="english").build_analyzer()
        return analyze
    languages = choose_languages(shares)
    main = languages[:1]
    stop_words = {fold_word(word, main) for language in languages for word in _listed_words(language)}

    def split(text: str) -> list[str]:
        folded = fold_word(normalize_characters(text), main)
        words = _WORD if folded.isascii() or not NEEDS_CARE.search(folded) else _CAREFUL_WORD
        terms: list[str] = []
        for word in words.findall(folded):
            if _UNSPACED_RUN.match(word):
                terms += _cut(word)
            elif word not in stop_words:
                terms.append(word)
        return terms

    return split


def _listed_words(language: str) -> frozenset[str]:
    """Return the stop words of a language that are left out of TF-IDF; for English, scikit-learn's."""
    if language != DEFAULT_LANGUAGE:
        return stop_words_for(language)
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    return frozenset(ENGLISH_STOP_WORDS)


def _cut(run: str) -> list[str]:
    """Cut a run of letters without spaces into overlapping sequences of characters."""
    clusters = split_clusters(run)
    size = min(PAIR if _EAST_ASIAN.match(run) else TRIPLE, len(clusters))
    return ["".join(clusters[i : i + size]) for i in range(len(clusters) - size + 1)]
