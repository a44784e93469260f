"""Letters that differ only in case or in optional marks, by language: what the forms of a word are compared by."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection

_DOTLESS = frozenset({"tr", "az", "crh", "tt"})  # I is the capital of the dotless ı, and İ that of i
# Vowel signs that Arabic and Hebrew texts may leave out, and the line that stretches an Arabic word.
_OPTIONAL_SIGNS = re.compile(
    "[\u0610-\u061a\u064b-\u065f\u0670\u0640\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7]"
)
_GREEK = re.compile("[\u0370-\u03ff]")
_ACUTE = "\u0301"  # the Greek tonos, which capitals are written without


def lower_case(text: str, languages: Collection[str] = ()) -> str:
    """Return a text in lower case, by the rules of its languages.

    >>> lower_case("İPTAL"), lower_case("IŞIK", ["tr"]), lower_case("IT HELP", ["en"]), lower_case("ΟΔΟΣ", ["el"])
    ('iptal', 'ışık', 'it help', 'οδος')
    """
    if not text.isascii():
        text = text.replace("İ", "i")
    if not _DOTLESS.isdisjoint(languages):
        text = text.replace("I", "ı")
    return text.lower()


def _without_tonos(word: str) -> str:
    parts = (
        part.replace(_ACUTE, "") if _GREEK.match(part) else part
        for part in (unicodedata.normalize("NFD", character) for character in word)
    )
    return unicodedata.normalize("NFC", "".join(parts)).replace("ς", "σ")


def fold_word(word: str, languages: Collection[str] = ()) -> str:
    """Return what the spellings of a word have in common: lower case, without signs that may be left out.

    >>> fold_word("ΠΑΡΑΓΓΕΛΊΑΣ") == fold_word("παραγγελιας"), fold_word("سَلَام")
    (True, 'سلام')
    >>> fold_word("Orders"), fold_word("STRASSE"), fold_word("Straße", ["de"])
    ('orders', 'strasse', 'strasse')
    """
    lower = lower_case(word, languages)
    if lower.isascii():
        return lower
    lower = _OPTIONAL_SIGNS.sub("", lower) or lower
    if "ß" in lower:
        lower = lower.replace("ß", "ss")
    return _without_tonos(lower) if _GREEK.search(lower) else lower
