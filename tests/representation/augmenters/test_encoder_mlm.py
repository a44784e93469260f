"""The encoder as a masked language model: trained on texts, and not changed."""

from __future__ import annotations

import pytest

from rstc.errors import InputError
from rstc.representation.augmenters.encoder_mlm import fit_encoder_mlm
from rstc.representation.loading import load_encoder
from sentences import CITIES, HAND_TOOLS, SENTENCES


def test_bundled_encoder_learns_to_predict_words_of_the_kind_that_fits() -> None:
    encoder = load_encoder(None, "mean", 32)
    before = [weights.clone() for weights in encoder.parameters()]
    model = fit_encoder_mlm(SENTENCES * 2, encoder)
    assert all(bool((a == b).all()) for a, b in zip(before, encoder.parameters(), strict=True)), (
        "the encoder is not changed"
    )
    texts = ["my train to [MASK] leaves at noon", "hand me the [MASK] from the box"]
    for masks, kind in zip(model.predict_masks(texts, 6), (CITIES, HAND_TOOLS), strict=True):
        words, probabilities = masks[0]
        assert sum(probability for word, probability in zip(words, probabilities, strict=True) if word in kind) > 0.6


def test_encoder_without_a_mask_token_is_refused(tiny_encoder: str) -> None:
    encoder = load_encoder(tiny_encoder, "mean", 32)
    encoder.model.tokenizer.mask_token = None
    with pytest.raises(InputError, match="no mask token"):
        fit_encoder_mlm(["parcel late"], encoder)
