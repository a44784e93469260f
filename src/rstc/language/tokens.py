"""Split texts into words: markup, addresses and handles are left out, and the forms of a word share one number.

A word is looked up in two ways: as it is written ("Orders"), from which the shown form is chosen, and by its key, which
is the stem of content words ("order") and the lower-case word of stop words and numbers. Texts of scripts without
spaces are split into the words that the texts themselves show (`rstc.language.segmentation`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import unescape

import numpy as np
from numpy.typing import NDArray

from rstc.language.casing import fold_word
from rstc.language.characters import (
    HIRAGANA,
    IS_UNSPACED,
    MARKS,
    NEEDS_CARE,
    SOUTH_EAST_ASIAN,
    UNSPACED,
    ZERO_WIDTH_JOINERS,
    normalize_characters,
)
from rstc.language.segmentation import learn_lexicon
from rstc.language.stemming import IS_HANGUL, stemmer_for, strip_korean_particles
from rstc.language.stop_words import stop_words_for

Ints = NDArray[np.int64]

MAX_CHARACTERS = 5000  # of a text are read: a text as long as a novel is still one text
MAX_WORDS = 50_000  # the most frequent ones; further words are as good as punctuation
MAX_RARE_WORDS = 5000  # with more words than that, those that occur once are not stemmed: they are no keywords
MAX_WORD_LENGTH = 40  # characters; longer ones are codes
MIN_TITLE_WORDS = 3  # after the first one, to tell a title or shouting from a name
MIN_CAPITALS = 0.6  # share of these words that begin with a capital in a title, or hold a further one in shouting
BREAK = -1  # the key of what separates phrases: punctuation, and words beyond `MAX_WORDS`

_NOT_WORDS = re.compile(
    r"""
    \bhttps?://\S+ | \bwww\.\S+                       # addresses of pages
    | \b[\w-]+(?:\.[\w-]+)*\.[a-z]{2,}/\S+            # without https://
    | [\w.+-]+@[\w-]+\.[\w.-]+                        # of people
    | (?<!\w)@\w+                                     # handles
    | </?[a-z!][^<>]{0,300}>                          # tags
    | \blt\ (?:a\ |/?(?:p|b|i|br|em|strong|font)\b|href\b|img\b).{0,200}?\bgt\b   # tags whose brackets were stripped
    """,
    re.IGNORECASE | re.VERBOSE,
)
# C++ and C#; words with dots, apostrophes and the like inside; one character of punctuation.
_TOKEN = re.compile(r"[A-Za-z](?:\+\+|\#)(?!\w)|[^\W_]\w*(?:[.'’&-]\w+)*|[^\w\s]")
# The same for texts with combining marks, which belong to words, and with letters of scripts without spaces.
_LETTER, _INNER = rf"[^\W_{UNSPACED}]", rf"(?:[^\W{UNSPACED}]+|[{MARKS}{ZERO_WIDTH_JOINERS}]+)"
_CAREFUL_TOKEN = re.compile(
    rf"[A-Za-z](?:\+\+|\#)(?!\w)|[{UNSPACED}][{UNSPACED}{MARKS}]*|{_LETTER}{_INNER}*(?:[.'’&-]{_INNER}+)*|[^\w\s]"
)
# Endings and particles, and single characters, which are rarely words of their own.
_NO_WORD = re.compile(
    f"[{HIRAGANA}]{{1,3}}|[{HIRAGANA}]*(?:ません|ました|ます|です|ない|たい)|[{SOUTH_EAST_ASIAN}].[{MARKS}]*"
)
_MAY_HOLD_MARKUP = re.compile(r"[@</]|www\.|\blt ", re.IGNORECASE)  # quick to search
_POSSESSIVE = re.compile(r"['’]s?$")
_SENTENCE_ENDS = frozenset(".!?:…|。！？؟।")
NOUN_CAPITALS = frozenset({"de", "lb"})  # languages that write all nouns with capitals
# "l'adresse", "dell'ordine", "qu'il": the article is no part of the word.
_ELISIONS = {
    "ca": r"(?:[dlmnst])",
    "fr": r"(?:[cdjlmnst]|qu|jusqu|lorsqu|puisqu)",
    "it": r"(?:[cdlmnstv]|un|gl|(?:d|ne|su|co|a|da|que|be)ll|quest|sant|tutt)",
}


@dataclass(frozen=True, eq=False)
class Tokens:
    """The words of N texts, T in all, one after the other.

    Attributes
    ----------
    rows : array of int, shape (T,)
        The text of each word, ascending.
    positions : array of int, shape (T,)
        The place of each word in its text, from 0.
    written : array of int, shape (T,)
        Index into `forms`: the word as it is written.
    keys : array of int, shape (T,)
        The word without inflection, from 0 to `n_keys` - 1; `BREAK` where a phrase ends.
    forms : list of str
        The written forms.
    shows_case : array of bool, shape (T,)
        Whether the capitals of the word are its own: it begins no sentence, and its text is not all capitals.
    n_keys : int
        Number of keys.
    is_content : array of bool, shape (n_keys,)
        Whether a keyword can begin with a key: stop words and numbers cannot.
    is_number : array of bool, shape (n_keys,)
        Whether a key is a number, which a phrase may end with.
    n_texts : int
        Number of texts, N.
    """

    rows: Ints
    positions: Ints
    written: Ints
    keys: Ints
    forms: list[str]
    shows_case: NDArray[np.bool_]
    n_keys: int
    is_content: NDArray[np.bool_]
    is_number: NDArray[np.bool_]
    n_texts: int


def strip_markup(text: str, replacement: str = "|") -> str:
    """Return a text with something else, such as a break, in place of addresses, handles and markup.

    >>> strip_markup("@shop see https://a.example/x?y=1 &amp; write to me@b.example <br>now")
    '| see | & write to | |now'
    """
    text = text[:MAX_CHARACTERS]
    if "&" in text and ";" in text:
        text = unescape(text)
    return _NOT_WORDS.sub(replacement, text) if _MAY_HOLD_MARKUP.search(text) else text


def tokenize(texts: Sequence[str], languages: Sequence[str]) -> Tokens:
    """Split texts into words.

    Parameters
    ----------
    texts : sequence of str
        N texts.
    languages : sequence of str
        Their languages, the main one first: stop words are those of all, stems those of the first.

    Returns
    -------
    Tokens

    Examples
    --------
    >>> tokens = tokenize(["Orders of mine", "my order, #order"], ["en"])
    >>> [tokens.forms[i] for i in tokens.written], tokens.keys.tolist()
    (['Orders', 'of', 'mine', 'my', 'order', ',', '#', 'order'], [0, 1, 2, 3, 0, -1, -1, 0])
    """
    index: dict[str, int] = {}
    written: list[int] = []
    lengths = np.empty(len(texts), dtype=np.int64)
    for row, words in enumerate(_split_texts(texts, languages)):
        found = [index.setdefault(word, len(index)) for word in words]
        lengths[row] = len(found)
        written += found
    forms = list(index)
    ids = np.array(written, dtype=np.int64)
    rows = np.repeat(np.arange(len(texts)), lengths)
    positions = np.arange(len(ids)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    keys, is_content, is_number = _find_keys(forms, np.bincount(ids, minlength=len(forms)), languages)
    return Tokens(
        rows=rows,
        positions=positions,
        written=ids,
        keys=keys[ids],
        forms=forms,
        shows_case=_find_own_case(
            forms, ids, rows, positions, len(texts), has_titles=languages[0] not in NOUN_CAPITALS
        ),
        n_keys=len(is_content),
        is_content=is_content,
        is_number=is_number,
        n_texts=len(texts),
    )


def _split_texts(texts: Sequence[str], languages: Sequence[str]) -> list[list[str]]:
    """Return the words and the punctuation of each text, without markup."""
    tokens = []
    runs_of: dict[str, list[str]] = {}  # of scripts without spaces, by text: repeats of a text show no words
    for text in texts:
        cleaned = strip_markup(normalize_characters(text))
        if cleaned.isascii() or not NEEDS_CARE.search(cleaned):
            tokens.append(_TOKEN.findall(cleaned))
            continue
        tokens.append(_CAREFUL_TOKEN.findall(cleaned))
        runs_of[text] = list(filter(IS_UNSPACED.match, tokens[-1]))
    runs = [run for row in runs_of.values() for run in row]
    if not runs:
        return tokens
    known = frozenset[str]().union(*(stop_words_for(language) for language in languages))
    lexicon = learn_lexicon(runs, known)
    words_of = {run: lexicon.split(run) for run in set(runs)}
    return [
        [word for token in row for word in words_of.get(token, (token,))] if text in runs_of else row
        for text, row in zip(texts, tokens, strict=True)
    ]


def base_form(form: str, languages: Sequence[str]) -> str:
    """Return a written word without the article before and the possessive ending after it.

    >>> base_form("mum's", ["en"]), base_form("l'adresse", ["fr"])
    ('mum', 'adresse')
    """
    return _base_form(form, elision_pattern(languages))


def elision_pattern(languages: Sequence[str]) -> re.Pattern[str] | None:
    """Return a pattern of articles that are written together with the next word; None if the languages have none."""
    patterns = [_ELISIONS[language] for language in languages if language in _ELISIONS]
    return re.compile(rf"^(?:{'|'.join(patterns)})['’](?=\w\w)", re.IGNORECASE) if patterns else None


def _base_form(form: str, elision: re.Pattern[str] | None) -> str:
    base = _POSSESSIVE.sub("", form)
    if IS_HANGUL.match(base):
        return strip_korean_particles([base])[0]
    return elision.sub("", base) if elision else base


def _find_keys(
    forms: list[str], counts: Ints, languages: Sequence[str]
) -> tuple[Ints, NDArray[np.bool_], NDArray[np.bool_]]:
    """Return the key of each written form, and of each key whether it is a content word and whether it is a number."""
    main = languages[:1]  # whose rules of case hold for all texts
    stop_words = {fold_word(word, main) for language in languages for word in stop_words_for(language)}
    elision = elision_pattern(languages)
    words: dict[str, int] = {}  # lower-case words
    word_of_form = np.full(len(forms), BREAK)
    for i, form in enumerate(forms):
        if form[0].isalnum() and len(form) <= MAX_WORD_LENGTH:
            lower = fold_word(form, main).replace("’", "'")
            base = lower if lower in stop_words else _base_form(lower, elision)  # "don't" and "what's" as they are
            word_of_form[i] = words.setdefault(base, len(words))
    vocabulary = list(words)
    word_counts = np.zeros(len(vocabulary), dtype=np.int64)
    np.add.at(word_counts, word_of_form[word_of_form >= 0], counts[word_of_form >= 0])
    frequent = np.argsort(-word_counts, kind="stable")[:MAX_WORDS].tolist()
    is_letters = {i: any(map(str.isalpha, vocabulary[i])) for i in frequent}
    content = [
        i
        for i in frequent
        if is_letters[i]
        and len(vocabulary[i]) > 1
        and vocabulary[i] not in stop_words
        and not _NO_WORD.fullmatch(vocabulary[i])
    ]
    stemmed = content if len(content) <= MAX_RARE_WORDS else [i for i in content if word_counts[i] > 1]
    stems = dict(zip(stemmed, stemmer_for(languages[0])([vocabulary[i] for i in stemmed]), strict=True))
    keys: dict[tuple[str, str], int] = {}
    key_of_word = np.full(len(vocabulary) + 1, BREAK)  # the last one for `BREAK`
    for i in content:
        key_of_word[i] = keys.setdefault(("content", stems.get(i, vocabulary[i])), len(keys))
    n_content = len(keys)
    for i in frequent:
        if key_of_word[i] == BREAK:
            key_of_word[i] = keys.setdefault(("other" if is_letters[i] else "number", vocabulary[i]), len(keys))
    is_number = np.array([kind == "number" for kind, _ in keys], dtype=bool)
    return key_of_word[word_of_form], np.arange(len(keys)) < n_content, is_number


def _find_own_case(
    forms: list[str], ids: Ints, rows: Ints, positions: Ints, n_texts: int, has_titles: bool
) -> NDArray[np.bool_]:
    """Return for each word whether its capitals are its own: not those of a sentence's start, a title or shouting.

    Without `has_titles`, many capitals make no title, as in a language that writes all nouns with capitals.
    """
    capital = _flag(forms, lambda form: form[0].isupper())[ids]
    inner = _flag(forms, lambda form: any(map(str.isupper, form[1:])))[ids]
    ends = _flag(forms, lambda form: form in _SENTENCE_ENDS)[ids]
    starts = positions == 0
    starts[1:] |= ends[:-1]
    words = _flag(forms, lambda form: form[0].isalpha())[ids] & ~starts
    n_words = np.maximum(np.bincount(rows[words], minlength=n_texts), 1)
    has_several = n_words >= MIN_TITLE_WORDS  # "in Visual Studio" is no title
    is_title = (
        has_titles & has_several & (np.bincount(rows[words & capital], minlength=n_texts) > MIN_CAPITALS * n_words)
    )
    is_shouted = has_several & (np.bincount(rows[words & inner], minlength=n_texts) > MIN_CAPITALS * n_words)
    return np.asarray(~is_shouted[rows] & (inner | ~(starts | is_title[rows])))


def _flag(forms: list[str], predicate: Callable[[str], bool]) -> NDArray[np.bool_]:
    return np.fromiter(map(predicate, forms), dtype=bool, count=len(forms))
