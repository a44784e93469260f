"""Characters: combining marks, letters of scripts without spaces between words, and forms of one character."""

from __future__ import annotations

import re
import unicodedata

ZERO_WIDTH_JOINERS = "\u200c\u200d"  # inside words of Persian and of Indian languages

# Letters of scripts that write no spaces between words, as ranges of a regular expression's character class.
HAN = "\u2e80-\u2fdf\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"
HIRAGANA = "\u3041-\u3096\u309d-\u309f"
KATAKANA = "\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"
THAI_LAO = "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ece\u0edc-\u0edf"
KHMER = "\u1780-\u17d3\u17d7\u17dc"
BURMESE = "\u1000-\u103f\u104c-\u109f\uaa60-\uaa7f"
EAST_ASIAN = HAN + HIRAGANA + KATAKANA
SOUTH_EAST_ASIAN = THAI_LAO + KHMER + BURMESE
UNSPACED = EAST_ASIAN + SOUTH_EAST_ASIAN

_FULL_OR_HALF_WIDTH = re.compile("[\uff01-\uff9f]+")  # without currency signs and the like, which have no other form


def _find_marks() -> str:
    """Return the combining marks as ranges: vowel signs, diacritics. Python counts them to no word."""
    blocks = (range(0x300, 0xFE00), range(0xFE20, 0xFE30), range(0x10A00, 0x12000))  # variation selectors are no marks
    marks = [code for block in blocks for code in block if unicodedata.category(chr(code)) in ("Mn", "Mc")]
    ranges: list[list[int]] = []
    for code in marks:
        if ranges and ranges[-1][1] == code - 1:
            ranges[-1][1] = code
        else:
            ranges.append([code, code])
    return "".join(f"{chr(first)}-{chr(last)}" if first < last else chr(first) for first, last in ranges)


MARKS = _find_marks()
# Thai and Lao vowels that are written before or after their consonant; consonants that Khmer and Burmese stack.
_CLUSTER = re.compile(
    f"[\u0e40-\u0e44\u0ec0-\u0ec4]?.(?:[\u17d2\u1039].|[{MARKS}])*[\u0e30\u0e32\u0e33\u0e45\u0eb0\u0eb2\u0eb3]*",
    re.DOTALL,
)
IS_UNSPACED = re.compile(f"[{UNSPACED}]")
# What Python's \w leaves out of words, or joins into one: marks, joiners, and letters that are words without spaces.
NEEDS_CARE = re.compile(f"[{MARKS}{ZERO_WIDTH_JOINERS}{UNSPACED}]")


def normalize_characters(text: str) -> str:
    """Return a text with one form of each character: composed letters, and no full-width or half-width forms.

    >>> normalize_characters("ＡＢＣ！ ﾊﾟｽﾜｰﾄﾞ cafe\\u0301")
    'ABC! パスワード café'
    """
    if text.isascii():
        return text
    text = text.replace("\u0e4d\u0e32", "\u0e33").replace("\u0ecd\u0eb2", "\u0eb3")  # the vowel am of Thai and Lao
    text = _FULL_OR_HALF_WIDTH.sub(lambda match: unicodedata.normalize("NFKC", match[0]), text)
    return text if unicodedata.is_normalized("NFC", text) else unicodedata.normalize("NFC", text)


def split_clusters(run: str) -> list[str]:
    """Split a run of letters where a word can end: into characters with their marks and vowels.

    >>> split_clusters("ที่นี่"), split_clusters("เรา"), split_clusters("東京")
    (['ที่', 'นี่'], ['เรา'], ['東', '京'])
    """
    return _CLUSTER.findall(run)
