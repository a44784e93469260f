"""Sets made of other sets."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from rstc.benchmark.variants import misspelled, noisy, stratified, uneven


@pytest.fixture
def table() -> pd.DataFrame:
    labels = ["a"] * 600 + ["b"] * 300 + ["c"] * 300
    return pd.DataFrame({"label": labels, "text": [f"{label} text number {i}" for i, label in enumerate(labels)]})


def test_a_stratified_sample_keeps_shares_and_order_and_is_always_the_same(table: pd.DataFrame) -> None:
    sample = stratified(table, 120)
    assert sample["label"].value_counts().to_dict() == {"a": 60, "b": 30, "c": 30}
    places = [table["text"].tolist().index(text) for text in sample["text"]]
    assert places == sorted(places)
    assert stratified(table, 120).equals(sample)


def test_an_uneven_sample_has_the_ratio_and_even_factors(table: pd.DataFrame) -> None:
    assert sorted(uneven(table, 100)["label"].value_counts()) == [3, 30, 300]
    assert sorted(uneven(table, 1)["label"].value_counts()) == [300, 300, 300]


def test_noise_is_of_the_size_it_says(table: pd.DataFrame) -> None:
    found = noisy(table)
    nonsense = found["label"] == ""
    assert nonsense.sum() == 60
    assert (found["label"] == table["label"])[~nonsense].all()
    words, before = (" ".join(one["text"][~nonsense]).split() for one in (found, table))
    wrong = [word for word, right in zip(words, before, strict=True) if word != right]
    long = [word for word in before if len(word) > 1]
    assert len(wrong) / len(long) == pytest.approx(0.1, abs=0.02)
    assert noisy(table).equals(found)


def test_a_slip_changes_a_word_a_little() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        word = misspelled("parcel", rng)
        assert 5 <= len(word) <= 7
        assert len(set("parcel") - set(word)) <= 1
