"""Variants of data sets."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from rstc.benchmark.variants import add_noise, make_imbalanced, misspell, stratified_subsample


@pytest.fixture
def table() -> pd.DataFrame:
    labels = ["a"] * 600 + ["b"] * 300 + ["c"] * 300
    return pd.DataFrame({"label": labels, "text": [f"{label} text number {i}" for i, label in enumerate(labels)]})


def test_stratified_subsample_keeps_shares_and_order_and_is_deterministic(table: pd.DataFrame) -> None:
    sample = stratified_subsample(table, 120)
    assert sample["label"].value_counts().to_dict() == {"a": 60, "b": 30, "c": 30}
    positions = [table["text"].tolist().index(text) for text in sample["text"]]
    assert positions == sorted(positions)
    assert stratified_subsample(table, 120).equals(sample)


def test_imbalanced_sizes_form_a_geometric_sequence(table: pd.DataFrame) -> None:
    assert sorted(make_imbalanced(table, 100)["label"].value_counts()) == [3, 30, 300]
    assert sorted(make_imbalanced(table, 1)["label"].value_counts()) == [300, 300, 300]


def test_noise_has_the_documented_shares(table: pd.DataFrame) -> None:
    noisy = add_noise(table)
    nonsense = noisy["label"] == ""
    assert nonsense.sum() == 60
    assert (noisy["label"] == table["label"])[~nonsense].all()
    words, before = (" ".join(variant["text"][~nonsense]).split() for variant in (noisy, table))
    misspelled = [word for word, original in zip(words, before, strict=True) if word != original]
    long = [word for word in before if len(word) > 1]
    assert len(misspelled) / len(long) == pytest.approx(0.1, abs=0.02)
    assert add_noise(table).equals(noisy)


def test_misspelled_word_differs_by_one_typo() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        word = misspell("parcel", rng)
        assert 5 <= len(word) <= 7
        assert len(set("parcel") - set(word)) <= 1
