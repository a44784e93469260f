"""The words of a text that may be replaced: letters only, so that numbers, codes and addresses stay as they are."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import cache

from rstc.language.characters import EAST_ASIAN, IS_UNSPACED, MARKS, UNSPACED, split_clusters

MAX_WORD_CHARS = 40  # longer runs of letters are not words

# Scripts that are written without spaces, where a run of letters is a phrase.
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
)

_UNSPACED_RUN = re.compile(f"([{UNSPACED}][{UNSPACED}{MARKS}]*)")
_EAST_ASIAN = re.compile(f"[{EAST_ASIAN}]")

Span = tuple[int, int]  # start and end of a word in its text


@cache
def _word_pattern() -> re.Pattern[str]:
    """Compile the pattern of a word: letters with their combining marks, surrounded by white space or punctuation.

    So nothing is found in the name of an account or a file, in 4th or in <b>.
    """
    marks = "".join(chr(c) for c in range(0x300, 0x10000) if unicodedata.category(chr(c)).startswith("M"))
    letters = rf"(?:[^\W\d_][{marks}]*)+"
    excluded = rf"\w{marks}@/\\"
    return re.compile(rf"(?<![{excluded}#.:&'’<\[-]){letters}(?:['’-]{letters})*(?![{excluded}:]|\.\w|['’-]\w)")


def find_words(text: str, min_letters: int = 2) -> list[Span]:
    """Return the spans of the words of a text.

    >>> text = "Don't mail me@home.org 4 times, café #late v2.0!"
    >>> [text[start:end] for start, end in find_words(text)]
    ["Don't", 'mail', 'times', 'café']
    """
    return [
        match.span()
        for match in _word_pattern().finditer(text)
        if min_letters <= match.end() - match.start() <= MAX_WORD_CHARS and not _UNSPACED.search(match[0])
    ]


def split_units(text: str) -> tuple[list[str], list[str]]:
    """Split a text at white space, and where scripts without spaces are, into pieces of two or three characters.

    Returns
    -------
    units : list of str
        Words and pieces.
    separators : list of str
        What stands before each of them: a space, or nothing inside a run of letters without spaces.

    Examples
    --------
    >>> split_units("my parcel"), split_units("取消 VIP订单吧")
    ((['my', 'parcel'], ['', ' ']), (['取消', 'VIP', '订单', '吧'], ['', ' ', '', '']))
    """
    if text.isascii() or not IS_UNSPACED.search(text):
        words = text.split()
        return words, ["" if i == 0 else " " for i in range(len(words))]
    units, separators = [], []
    for i, word in enumerate(text.split()):
        pieces = _cut_unspaced(word) if IS_UNSPACED.search(word) else [word]
        units += pieces
        separators += [" " if i else "", *[""] * (len(pieces) - 1)]
    return units, separators


def _cut_unspaced(word: str) -> list[str]:
    """Cut the letters without spaces in a word into pieces, and leave its other parts whole."""
    pieces: list[str] = []
    for part in _UNSPACED_RUN.split(word):
        if IS_UNSPACED.match(part):
            clusters, size = split_clusters(part), 2 if _EAST_ASIAN.match(part) else 3
            pieces += ["".join(clusters[i : i + size]) for i in range(0, len(clusters), size)]
        elif part:
            pieces.append(part)
    return pieces


def replace_spans(text: str, replacements: Iterable[tuple[Span, str]]) -> str:
    """Return a text with some spans replaced, which are given in order.

    >>> replace_spans("my parcel is late", [((0, 2), "our"), ((13, 17), "slow")])
    'our parcel is slow'
    """
    parts, position = [], 0
    for (start, end), word in replacements:
        parts += [text[position:start], word]
        position = end
    return "".join([*parts, text[position:]])


def match_case(word: str, reference: str) -> str:
    """Return a word in the case of a reference word.

    >>> match_case("late", "Slow"), match_case("late", "SLOW"), match_case("late", "slow")
    ('Late', 'LATE', 'late')
    """
    if len(reference) > 1 and reference.isupper():
        return word.upper()
    return word[:1].upper() + word[1:] if reference[:1].isupper() else word
