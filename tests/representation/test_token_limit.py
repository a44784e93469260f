"""The number of tokens that texts are truncated to."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rstc import RSTC
from rstc.representation.loading import load_encoder
from rstc.representation.token_limit import choose_max_tokens, limit_tokens


@pytest.mark.parametrize(("longest", "limit"), [(5, 32), (32, 32), (33, 40), (48, 48), (49, 56), (400, 128)])
def test_limit_is_the_length_of_long_texts_rounded_up_within_32_and_128(longest: int, limit: int) -> None:
    counts = np.bincount([4] * 90 + [min(longest, 129)] * 10)
    assert choose_max_tokens(counts, encoder_limit=512) == limit


@given(st.lists(st.integers(2, 129), min_size=1), st.integers(4, 600))
def test_at_least_95_percent_are_whole_unless_a_limit_forbids_it(lengths: list[int], encoder_limit: int) -> None:
    limit = choose_max_tokens(np.bincount(lengths), encoder_limit)
    assert limit <= encoder_limit
    assert (np.array(lengths) <= limit).mean() >= 0.95 or limit in (128, encoder_limit)


def test_share_of_truncated_texts_is_that_above_the_limit(tiny_encoder: str) -> None:
    encoder = load_encoder(tiny_encoder, "mean", "auto")
    texts = ["parcel late"] * 3 + ["parcel " * 20]
    assert limit_tokens(encoder, texts, 10) == 0.25
    assert encoder.max_tokens == 10
    assert limit_tokens(encoder, texts, "auto") == 0
    assert encoder.max_tokens == 32
    assert limit_tokens(encoder, ["parcel " * 100], "auto") == 1
    assert encoder.max_tokens == 64  # what the encoder reads


def test_model_remembers_the_limit_that_its_texts_chose(tiny_encoder: str, tmp_path: object) -> None:
    texts = [f"{word} " * 40 for word in ("parcel", "late", "password", "login", "refund", "money")] * 4
    model = RSTC(3, encoder=tiny_encoder, random_state=0, repeats=0).fit(texts)
    assert model.config_.max_tokens == model.network_.encoder.max_tokens == 48
    assert model.max_tokens is None
    model.save(tmp_path / "model")  # type: ignore[operator]
    loaded = RSTC.load(tmp_path / "model")  # type: ignore[operator]
    assert loaded.network_.encoder.max_tokens == 48
    assert np.array_equal(loaded.predict(texts), model.labels_)
