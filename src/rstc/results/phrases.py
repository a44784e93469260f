"""Count phrases of one to three words: in which texts each occurs, and how it is mostly written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from rstc.language.casing import lower_case
from rstc.language.characters import IS_UNSPACED
from rstc.language.detection import find_languages
from rstc.language.tokens import BREAK, NOUN_CAPITALS, Ints, Tokens, base_form, tokenize

MAX_PHRASE_WORDS = 3
MIN_PHRASE_TEXTS = 2  # texts that hold a phrase of several words
MAX_PHRASES = 100_000  # of several words, the most frequent ones
MIN_INNER_SHARE = 0.6  # of the occurrences of two words with one between them that a stop word between them has
MAX_FORMS_READ = 200  # occurrences of a phrase that its written form is chosen from


@dataclass(frozen=True, eq=False)
class PhraseCounts:
    """The phrases of N texts, V in all; words come before phrases of several words.

    Attributes
    ----------
    counts : sparse matrix of shape (N, V)
        1 where a text holds a phrase.
    parts : array of int, shape (V, MAX_PHRASE_WORDS)
        The columns of the words that a phrase consists of, -1 for a stop word, a number, and beyond its end.
    lengths : array of int, shape (V,)
        Number of words of each phrase.
    positions : array of float, shape (V,)
        Mean place of a phrase in the texts that hold it.
    languages : tuple of str
        The languages of the texts, the main one first.
    """

    counts: sp.csr_matrix
    parts: Ints
    lengths: Ints
    positions: NDArray[np.float64]
    languages: tuple[str, ...]
    _tokens: Tokens
    _starts: Ints  # of all occurrences, by phrase
    _offsets: Ints  # (V + 1,), into `_starts`

    @classmethod
    def from_texts(cls, texts: Sequence[str], languages: Sequence[str] | None = None) -> PhraseCounts:
        """Count the phrases of texts.

        Parameters
        ----------
        texts : sequence of str
            N texts.
        languages : sequence of str, optional
            Their languages, the main one first; found by `find_languages` if they are not given.
        """
        languages = tuple(languages or find_languages(texts))
        tokens = tokenize(texts, languages)
        n_words = int(tokens.is_content.sum())  # content words have the first keys
        starts = np.flatnonzero((tokens.keys >= 0) & (tokens.keys < n_words))
        columns = [tokens.keys[starts]]
        occurrences, parts, lengths = [starts], [_pad(np.arange(n_words)[:, None])], [np.ones(n_words, dtype=np.int64)]
        frequent = _count_texts(tokens, columns[0], starts, n_words) >= MIN_PHRASE_TEXTS
        n_phrases = n_words
        for length in range(2, MAX_PHRASE_WORDS + 1):
            found = _find_phrases(tokens, starts, frequent, length)
            words = tokens.keys[found.first[:, None] + np.arange(length)]
            parts.append(_pad(np.where(words < n_words, words, -1)))
            lengths.append(np.full(len(words), length))
            columns.append(found.columns + n_phrases)
            occurrences.append(found.starts)
            n_phrases += len(words)
        return cls._build(
            tokens,
            languages,
            np.concatenate(columns),
            np.concatenate(occurrences),
            np.vstack(parts),
            np.concatenate(lengths),
        )

    @classmethod
    def _build(
        cls, tokens: Tokens, languages: tuple[str, ...], columns: Ints, starts: Ints, parts: Ints, lengths: Ints
    ) -> PhraseCounts:
        order = np.lexsort((starts, columns))
        columns, starts = columns[order], starts[order]
        shape = (tokens.n_texts, len(lengths))
        counts = sp.csr_matrix((np.ones(len(columns), dtype=np.float32), (tokens.rows[starts], columns)), shape=shape)
        counts.sum_duplicates()
        counts.data[:] = 1
        sizes = np.bincount(columns, minlength=len(lengths))
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        positions = np.bincount(columns, tokens.positions[starts], len(lengths)) / np.maximum(sizes, 1)
        return cls(counts, parts, lengths, positions, languages, tokens, starts, offsets)

    def write(self, phrase: int) -> str:
        """Return a phrase as it is mostly written: in its most frequent form, with capitals where they are its own."""
        starts = self._starts[self._offsets[phrase] : self._offsets[phrase + 1]][:MAX_FORMS_READ]
        span = np.arange(self.lengths[phrase])
        written = self._tokens.written[starts[:, None] + span]
        forms = [self._trim([self._tokens.forms[i] for i in ids]) for ids in written.tolist()]
        lower = Counter(self._lower(" ".join(words)) for words in forms).most_common(1)[0][0]
        shown = [
            self._choose_case([words[i] for words in forms], self._tokens.shows_case[starts + i], word)
            for i, word in enumerate(lower.split(" "))
        ]
        return join_words(shown)

    def _trim(self, words: list[str]) -> list[str]:
        if len(words) == 1:
            return [base_form(words[0], self.languages)]
        first, *inner, last = words
        # Articles go from the first word only, possessive endings from the last: "carte d'identité", "children's book".
        return [base_form(first, self.languages) if "'s" not in first else first, *inner, base_form(last, ())]

    def _lower(self, text: str) -> str:
        return lower_case(text, self.languages[:1])

    def _choose_case(self, words: list[str], shows_case: NDArray[np.bool_], lower: str) -> str:
        """Return the form of a word with capitals if it is written so in most of the places that show its case."""
        written = [self._lower(word) == lower for word in words]
        votes = Counter(
            word for word, shows, same in zip(words, shows_case.tolist(), written, strict=True) if shows and same
        )
        if not votes and self.languages[0] in NOUN_CAPITALS:  # most keywords are nouns
            votes = Counter(word for word, same in zip(words, written, strict=True) if same and not word.isupper())
        if not votes:
            return lower
        form, count = votes.most_common(1)[0]
        return form if 2 * count > votes.total() else lower


def join_words(words: Sequence[str]) -> str:
    """Join words to a phrase, with spaces where their scripts have some.

    >>> join_words(["late", "parcel"]), join_words(["信用", "卡"]), join_words(["VIP", "会员"])
    ('late parcel', '信用卡', 'VIP 会员')
    """
    phrase = words[0]
    for word in words[1:]:
        phrase += word if IS_UNSPACED.match(word) and IS_UNSPACED.match(phrase[-1]) else f" {word}"
    return phrase


@dataclass(frozen=True, eq=False)
class _Occurrences:
    """The occurrences of phrases of one length: the phrase and the first word of each, and a first word per phrase."""

    columns: Ints
    starts: Ints
    first: Ints


def _find_phrases(tokens: Tokens, starts: Ints, is_frequent: NDArray[np.bool_], length: int) -> _Occurrences:
    """Find the phrases of a length that begin and end with frequent words and that enough texts hold.

    A phrase may end with a number. A stop word inside has to be the one that usually stands between these two words.
    """
    keys, rows, n_words = tokens.keys, tokens.rows, len(is_frequent)
    starts = starts[(starts + length <= len(keys)) & is_frequent[keys[starts]]]
    last = starts + length - 1
    ends = keys[last]
    may_end = np.concatenate([is_frequent, tokens.is_number[n_words:]])
    keep = (ends != BREAK) & may_end[ends] & (ends != keys[starts]) & (rows[last] == rows[starts])
    for i in range(1, length - 1):
        keep &= keys[starts + i] != BREAK
    starts = starts[keep]
    codes = keys[starts].copy()
    for i in range(1, length):
        codes = codes * tokens.n_keys + keys[starts + i]
    _, first, columns = np.unique(codes, return_index=True, return_inverse=True)
    n_texts = _count_texts(tokens, columns, starts, len(first))
    keep_phrase = n_texts >= MIN_PHRASE_TEXTS
    if length > 2:
        keep_phrase &= _is_usual_inside(tokens, starts, columns, first, n_words)
    if keep_phrase.sum() > MAX_PHRASES:
        n_texts[~keep_phrase] = 0
        keep_phrase[np.argsort(-n_texts, kind="stable")[MAX_PHRASES:]] = False
    new_columns = np.cumsum(keep_phrase) - 1
    kept = keep_phrase[columns]
    return _Occurrences(new_columns[columns[kept]], starts[kept], starts[first[keep_phrase]])


def _is_usual_inside(tokens: Tokens, starts: Ints, columns: Ints, first: Ints, n_words: int) -> NDArray[np.bool_]:
    """Return for each phrase of three words whether its middle is a content word, or the usual word at this place."""
    keys = tokens.keys
    outer = keys[starts] * tokens.n_keys + keys[starts + 2]
    _, outer_columns, outer_counts = np.unique(outer, return_inverse=True, return_counts=True)
    counts = np.bincount(columns, minlength=len(first))
    is_usual = counts >= MIN_INNER_SHARE * outer_counts[outer_columns[first]]
    return np.asarray(is_usual | (keys[starts[first] + 1] < n_words))


def _count_texts(tokens: Tokens, columns: Ints, starts: Ints, n_columns: int) -> Ints:
    """Return how many texts hold each phrase, by the phrase and the first word of each occurrence in order."""
    rows = tokens.rows[starts]
    order = np.argsort(columns, kind="stable")
    columns, rows = columns[order], rows[order]
    is_new = np.ones(len(columns), dtype=bool)
    is_new[1:] = (columns[1:] != columns[:-1]) | (rows[1:] != rows[:-1])
    return np.bincount(columns[is_new], minlength=n_columns)


def _pad(parts: Ints) -> Ints:
    """Return rows of words with -1 beyond their end."""
    return np.pad(parts, ((0, 0), (0, MAX_PHRASE_WORDS - parts.shape[1])), constant_values=-1)
