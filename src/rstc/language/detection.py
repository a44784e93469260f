"""Detection of the languages of texts: their words are compared with the stop words of each language."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

import numpy as np

from rstc.language.stemming import STEMMERS
from rstc.language.stop_words import MARKUP_WORDS, stop_words_for

DEFAULT_LANGUAGE = "en"
MAX_TEXTS = 2000  # that are searched for stop words
MIN_STOP_WORDS = 0.2  # share of a text's words that a language other than the default has to explain
MIN_TEXTS = 0.1  # share of the texts that a language has, to count beside the most frequent one


def find_languages(texts: Sequence[str]) -> tuple[str, ...]:
    """Find the languages of texts by the share of their words that are stop words of each language.

    Parameters
    ----------
    texts : sequence of str
        The texts, of which at most `MAX_TEXTS` at even distances are read.

    Returns
    -------
    tuple of str
        ISO 639-1 codes, the language of most texts first; English for texts without stop words.

    Examples
    --------
    >>> find_languages(["where is my parcel", "I want a refund"]), find_languages(["wo ist mein Paket", "ich warte"])
    (('en',), ('de',))
    >>> find_languages(["parcel late", "refund"])
    ('en',)
    """
    codes = list(STEMMERS)
    sample = texts[:: max(len(texts) // MAX_TEXTS, 1)]
    found = np.zeros((len(sample), len(codes)))  # share of the words of each text that are stop words
    for row, text in enumerate(sample):
        words = re.findall(r"[^\W\d_]+", text[:1000].lower())
        for word in words:
            for column in _languages_by_word().get(word, ()):
                found[row, column] += 1 / len(words)
    default = codes.index(DEFAULT_LANGUAGE)
    totals = found.sum(0)
    # A text that two languages explain equally well has the one that explains more of the others.
    best = (found + 1e-6 * totals / max(totals.max(), 1e-9)).argmax(1)
    best[found[np.arange(len(found)), best] < MIN_STOP_WORDS] = -1
    counts = np.bincount(best[best >= 0], minlength=len(codes))
    if not counts.any():
        return (codes[default],)
    order = np.argsort(-counts, kind="stable")
    if counts.sum() < MIN_TEXTS * len(sample):  # keywords without grammar: a few chance hits decide nothing
        return (codes[default],)
    return tuple(codes[i] for i in order if counts[i] >= MIN_TEXTS * counts.sum())


@cache
def _languages_by_word() -> dict[str, tuple[int, ...]]:
    """Return for each stop word the indices in `STEMMERS` of the languages that have it."""
    words: dict[str, tuple[int, ...]] = {}
    for column, language in enumerate(STEMMERS):
        for word in stop_words_for(language) - MARKUP_WORDS:
            words[word] = (*words.get(word, ()), column)
    return words
