"""An augmenter that mistypes words as people do: a key beside the right one, letters swapped, missed or doubled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rstc.representation.augmenters.base import check_share
from rstc.representation.augmenters.spans import replaced, words_of

KEYBOARD = ("qwertyuiop", "asdfghjkl", "zxcvbnm")


def _beside() -> dict[str, str]:
    """Return the keys around each key; each row of a keyboard stands half a key to the right of the one above."""
    near: dict[str, str] = {}
    for r, row in enumerate(KEYBOARD):
        for c, key in enumerate(row):
            places = [(r, c - 1), (r, c + 1), (r - 1, c), (r - 1, c + 1), (r + 1, c - 1), (r + 1, c)]
            near[key] = "".join(
                KEYBOARD[i][j] for i, j in places if 0 <= i < len(KEYBOARD) and 0 <= j < len(KEYBOARD[i])
            )
    return near


BESIDE = _beside()


@dataclass(frozen=True)
class Typos:
    """Mistypes each word with probability `share`, by one slip of the fingers, never in the first letter.

    >>> Typos(0.5)(["where is my parcel"], np.random.default_rng(2))
    ['wheere is my pracel']
    """

    share: float = 0.1

    def __post_init__(self) -> None:
        """Refuse what is no share."""
        check_share(self.share)

    def __call__(self, texts: Sequence[str], rng: np.random.Generator) -> list[str]:
        """Return the texts with mistyped words."""
        return [self._typed(text, rng) for text in texts]

    def _typed(self, text: str, rng: np.random.Generator) -> str:
        words = words_of(text, shortest=3)
        chosen = np.flatnonzero(rng.random(len(words)) < self.share)
        return replaced(text, [(words[i], mistyped(text[slice(*words[i])], rng)) for i in chosen])


def mistyped(word: str, rng: np.random.Generator) -> str:
    """Return a word of at least three letters with one slip in it."""
    at = int(rng.integers(1, len(word) - 1))  # a letter inside, with one before and one after it
    before, here, after, rest = word[:at], word[at], word[at + 1], word[at + 2 :]
    keys = BESIDE.get(here.lower(), "")
    slips = [before + after + rest, before + here + here + after + rest]  # missed, doubled
    if here != after:
        slips.append(before + after + here + rest)  # swapped
    if keys:
        key = keys[rng.integers(len(keys))]
        slips.append(before + (key.upper() if here.isupper() else key) + after + rest)  # beside
    return slips[rng.integers(len(slips))]
