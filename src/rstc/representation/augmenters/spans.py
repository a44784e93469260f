"""Where the words of a text stand that may be changed: letters only, so that numbers, codes and addresses stay."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import cache

LONGEST_WORD = 40  # letters; what is longer is no word

# Scripts that are written without spaces: a run of them is a phrase, not a word.
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
)

Span = tuple[int, int]


@cache
def _word() -> re.Pattern[str]:
    """Letters, with the marks that many scripts set on them, and nothing but white space or punctuation around them.

    So not in the name of an account or a file, not in 4th, not in <b>.
    """
    marks = "".join(chr(c) for c in range(0x300, 0x10000) if unicodedata.category(chr(c)).startswith("M"))
    letters = rf"(?:[^\W\d_][{marks}]*)+"
    around = rf"\w{marks}@/\\"
    return re.compile(rf"(?<![{around}#.:&'’<\[-]){letters}(?:['’-]{letters})*(?![{around}:]|\.\w|['’-]\w)")


def words_of(text: str, shortest: int = 2) -> list[Span]:
    """Return where the words of a text begin and end.

    >>> text = "Don't mail me@home.org 4 times, café #late v2.0!"
    >>> [text[start:end] for start, end in words_of(text)]
    ["Don't", 'mail', 'times', 'café']
    """
    return [
        found.span()
        for found in _word().finditer(text)
        if shortest <= found.end() - found.start() <= LONGEST_WORD and not _UNSPACED.search(found[0])
    ]


def replaced(text: str, words: Iterable[tuple[Span, str]]) -> str:
    """Return a text with other words in some places, given in order.

    >>> replaced("my parcel is late", [((0, 2), "our"), ((13, 17), "slow")])
    'our parcel is slow'
    """
    pieces, last = [], 0
    for (start, end), word in words:
        pieces += [text[last:start], word]
        last = end
    return "".join([*pieces, text[last:]])


def like(word: str, model: str) -> str:
    """Return a word in the case of another.

    >>> like("late", "Slow"), like("late", "SLOW"), like("late", "slow")
    ('Late', 'LATE', 'late')
    """
    if len(model) > 1 and model.isupper():
        return word.upper()
    return word[:1].upper() + word[1:] if model[:1].isupper() else word
