"""Variants of a data set: smaller, more imbalanced, noisier. A fixed seed makes them the same everywhere."""

from __future__ import annotations

import string

import numpy as np
import pandas as pd

MISSPELLED_SHARE = 0.1  # of the words of a text
NONSENSE_SHARE = 0.05  # of the texts


def stratified_subsample(table: pd.DataFrame, size: int) -> pd.DataFrame:
    """Draw about `size` rows in which each class keeps its share, in the order of the table."""
    counts = table["label"].value_counts()
    return _sample_rows(table, {str(label): round(count * size / len(table)) for label, count in counts.items()})


def make_imbalanced(table: pd.DataFrame, ratio: float) -> pd.DataFrame:
    """Draw rows such that the largest class has `ratio` times the texts of the smallest.

    The sizes of the classes form a geometric sequence, in random order. The largest class is as large as the smallest
    class of the table.
    """
    classes = sorted(table["label"].unique())
    largest = table["label"].value_counts().min()
    exponents = np.random.default_rng(0).permutation(len(classes)) / max(len(classes) - 1, 1)
    sizes = {label: round(largest * ratio**-exponent) for label, exponent in zip(classes, exponents, strict=True)}
    return _sample_rows(table, sizes)


def _sample_rows(table: pd.DataFrame, sizes: dict[str, int]) -> pd.DataFrame:
    """Draw the given number of rows of each class, in the order of the table."""
    rng = np.random.default_rng(0)
    members = table.groupby("label").indices
    rows = [rng.choice(np.asarray(members[label]), sizes[label], replace=False) for label in sorted(sizes)]
    return table.iloc[np.sort(np.concatenate(rows))].reset_index(drop=True)


def add_noise(table: pd.DataFrame) -> pd.DataFrame:
    """Misspell a tenth of the words of each text, and replace a twentieth of the texts by random words.

    A text of random words belongs to no class: its label is empty, and it is not scored.
    """
    rng = np.random.default_rng(0)
    words = sorted({word for text in table["text"] for word in text.split()})
    nonsense = set(rng.choice(len(table), round(NONSENSE_SHARE * len(table)), replace=False).tolist())
    texts = [
        " ".join(rng.choice(words, len(text.split()))) if row in nonsense else misspell(text, rng)
        for row, text in enumerate(table["text"])
    ]
    labels = ["" if row in nonsense else label for row, label in enumerate(table["label"])]
    return pd.DataFrame({"label": labels, "text": texts})


def misspell(text: str, rng: np.random.Generator) -> str:
    """Misspell each word with probability 0.1: swap two letters, or omit, double or replace one.

    Examples
    --------
    >>> misspell("where is my parcel today", np.random.default_rng(3))
    'whhere is my parcel tdoay'
    """
    words = text.split()
    for position in np.flatnonzero(rng.random(len(words)) < MISSPELLED_SHARE):
        word = words[position]
        if len(word) < 2:
            continue
        at = int(rng.integers(len(word) - 1))
        before, letter, following, rest = word[:at], word[at], word[at + 1], word[at + 2 :]
        random_letter = string.ascii_lowercase[rng.integers(26)]
        typos = (
            following + letter + rest,
            following + rest,
            letter + letter + following + rest,
            random_letter + following + rest,
        )
        words[position] = before + typos[rng.integers(len(typos))]
    return " ".join(words)
