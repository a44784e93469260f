"""Augmenters that need nothing but the text: deletion, swaps and typos of words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rstc.language.characters import split_clusters
from rstc.representation.augmenters.base import check_share
from rstc.representation.augmenters.spans import find_words, replace_spans, split_units

KEYBOARD_ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
MIN_TYPO_LETTERS = 3  # the mistyped letter has one before and one after it


def _find_adjacent_keys() -> dict[str, str]:
    """Return the keys around each key; each row of a keyboard is half a key to the right of the row above."""
    adjacent: dict[str, str] = {}
    for r, row in enumerate(KEYBOARD_ROWS):
        for c, key in enumerate(row):
            positions = [(r, c - 1), (r, c + 1), (r - 1, c), (r - 1, c + 1), (r + 1, c - 1), (r + 1, c)]
            adjacent[key] = "".join(
                KEYBOARD_ROWS[i][j]
                for i, j in positions
                if 0 <= i < len(KEYBOARD_ROWS) and 0 <= j < len(KEYBOARD_ROWS[i])
            )
    return adjacent


ADJACENT_KEYS = _find_adjacent_keys()


@dataclass(frozen=True)
class WordDeletion:
    """Leave out each word with probability `share`, but never all words of a text.

    In scripts without spaces, such as Chinese, two or three characters count as a word.

    Parameters
    ----------
    share : float, default=0.1
        The probability that a word is left out.

    Examples
    --------
    >>> WordDeletion(0.5)(["the parcel never came", "help"], np.random.default_rng(0))
    ['the', 'help']
    """

    share: float = 0.1

    def __post_init__(self) -> None:
        """Check the share."""
        check_share(self.share)

    def __call__(self, texts: Sequence[str], rng: np.random.Generator) -> list[str]:
        """Return the texts with words left out."""
        return [self._delete_words(text, rng) or text for text in texts]

    def _delete_words(self, text: str, rng: np.random.Generator) -> str:
        """Return the words of a text that are kept."""
        words, separators = split_units(text)
        keep = rng.random(len(words)) >= self.share
        if len(words) and not keep.any():
            keep[rng.integers(len(words))] = True
        return "".join(separators[i] + words[i] for i in np.flatnonzero(keep)).lstrip()


@dataclass(frozen=True)
class WordSwap:
    """Swap each word with the next one with probability `share`.

    In scripts without spaces, such as Chinese, two or three characters count as a word.

    Parameters
    ----------
    share : float, default=0.1
        The probability that a word is swapped with the next one.

    Examples
    --------
    >>> WordSwap(0.5)(["my parcel never came", "help"], np.random.default_rng(1))
    ['my parcel came never', 'help']
    """

    share: float = 0.1

    def __post_init__(self) -> None:
        """Check the share."""
        check_share(self.share)

    def __call__(self, texts: Sequence[str], rng: np.random.Generator) -> list[str]:
        """Return the texts with words swapped."""
        return [self._swap_words(text, rng) or text for text in texts]

    def _swap_words(self, text: str, rng: np.random.Generator) -> str:
        """Return the words of a text with neighbours swapped."""
        words, separators = split_units(text)
        for i in np.flatnonzero(rng.random(max(len(words) - 1, 0)) < self.share):
            words[i], words[i + 1] = words[i + 1], words[i]
        return "".join(map("".join, zip(separators, words, strict=True)))


@dataclass(frozen=True)
class Typos:
    """Mistype each word of at least three letters with probability `share`.

    A typo is a letter missed, doubled, swapped with the next one or replaced by an adjacent key, never the first letter
    of a word.

    Parameters
    ----------
    share : float, default=0.1
        The probability that a word is mistyped.

    Examples
    --------
    >>> Typos(0.5)(["where is my parcel"], np.random.default_rng(2))
    ['wheere is my pracel']
    """

    share: float = 0.1

    def __post_init__(self) -> None:
        """Check the share."""
        check_share(self.share)

    def __call__(self, texts: Sequence[str], rng: np.random.Generator) -> list[str]:
        """Return the texts with mistyped words."""
        return [self._mistype(text, rng) for text in texts]

    def _mistype(self, text: str, rng: np.random.Generator) -> str:
        """Return a text with mistyped words."""
        words = find_words(text, min_letters=MIN_TYPO_LETTERS)
        chosen = np.flatnonzero(rng.random(len(words)) < self.share)
        return replace_spans(text, [(words[i], add_typo(text[slice(*words[i])], rng)) for i in chosen])


def add_typo(word: str, rng: np.random.Generator) -> str:
    """Return a word with one typo if it has at least three letters; marks stay with their letters."""
    letters = split_clusters(word)
    if len(letters) < MIN_TYPO_LETTERS:
        return word
    i = int(rng.integers(1, len(letters) - 1))
    before, letter, following, rest = "".join(letters[:i]), letters[i], letters[i + 1], "".join(letters[i + 2 :])
    keys = ADJACENT_KEYS.get(letter.lower(), "")
    typos = [before + following + rest, before + letter + letter + following + rest]  # missed, doubled
    if letter != following:
        typos.append(before + following + letter + rest)  # swapped
    if keys:
        key = keys[rng.integers(len(keys))]
        typos.append(before + (key.upper() if letter.isupper() else key) + following + rest)
    return typos[rng.integers(len(typos))]
