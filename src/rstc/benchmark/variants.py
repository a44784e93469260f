"""Sets made of other sets: smaller, more uneven, noisier. Each is the same on every machine."""

from __future__ import annotations

import string

import numpy as np
import pandas as pd

MISSPELLED_SHARE = 0.1  # of the words of a text
NONSENSE_SHARE = 0.05  # of the texts


def stratified(table: pd.DataFrame, size: int) -> pd.DataFrame:
    """Return a sample of rows in which each class has the share it has in the table, in the table's order."""
    counts = table["label"].value_counts()
    return _sampled(table, {str(label): round(count * size / len(table)) for label, count in counts.items()})


def uneven(table: pd.DataFrame, ratio: float) -> pd.DataFrame:
    """Return a sample whose largest class has `ratio` times the texts of the smallest, the others evenly in between.

    In between means by the same factor from each class to the next smaller one. Which class is how large is drawn.
    """
    classes = sorted(table["label"].unique())
    most = table["label"].value_counts().min()  # each class has as many
    places = np.random.default_rng(0).permutation(len(classes)) / max(len(classes) - 1, 1)
    return _sampled(table, {one: round(most * ratio**-place) for one, place in zip(classes, places, strict=True)})


def _sampled(table: pd.DataFrame, sizes: dict[str, int]) -> pd.DataFrame:
    """Return so many random rows of each class, in the table's order."""
    rng = np.random.default_rng(0)
    members = table.groupby("label").indices
    rows = [rng.choice(np.asarray(members[label]), sizes[label], replace=False) for label in sorted(sizes)]
    return table.iloc[np.sort(np.concatenate(rows))].reset_index(drop=True)


def noisy(table: pd.DataFrame) -> pd.DataFrame:
    """Misspell a tenth of the words of each text, and put random words in place of a twentieth of the texts.

    A text of random words belongs to no class: its label is empty, and it is not scored.
    """
    rng = np.random.default_rng(0)
    words = sorted({word for text in table["text"] for word in text.split()})
    nonsense = set(rng.choice(len(table), round(NONSENSE_SHARE * len(table)), replace=False).tolist())
    texts = [
        " ".join(rng.choice(words, len(text.split()))) if row in nonsense else misspelled(text, rng)
        for row, text in enumerate(table["text"])
    ]
    labels = ["" if row in nonsense else label for row, label in enumerate(table["label"])]
    return pd.DataFrame({"label": labels, "text": texts})


def misspelled(text: str, rng: np.random.Generator) -> str:
    """Misspell each tenth word of a text, on average: two letters swapped, or one left out, doubled or mistaken.

    >>> misspelled("where is my parcel today", np.random.default_rng(3))
    'whhere is my parcel tdoay'
    """
    words = text.split()
    for place in np.flatnonzero(rng.random(len(words)) < MISSPELLED_SHARE):
        word = words[place]
        if len(word) < 2:
            continue
        at = int(rng.integers(len(word) - 1))
        before, here, after, rest = word[:at], word[at], word[at + 1], word[at + 2 :]
        mistaken = string.ascii_lowercase[rng.integers(26)]
        slips = (after + here + rest, after + rest, here + here + after + rest, mistaken + after + rest)
        words[place] = before + slips[rng.integers(len(slips))]
    return " ".join(words)
