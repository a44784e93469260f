"""The languages of the texts decide on the encoder, if the user does not."""

from __future__ import annotations

import pytest

from rstc.representation import encoder_choice
from rstc.representation.encoder_choice import choose_encoder


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoder_choice, "is_multilingual_installed", lambda: True)


@pytest.mark.parametrize(
    ("shares", "encoder"),
    [
        ({"en": 1.0}, None),
        ({"en": 0.5, "de": 0.5}, None),
        ({"en": 0.49, "de": 0.3, "fr": 0.21}, "multilingual"),
        ({"ja": 1.0}, "multilingual"),
        ({"sv": 1.0}, "multilingual"),
        ({}, None),
    ],
)
def test_more_than_half_of_the_texts_decide(shares: dict[str, float], encoder: str | None) -> None:
    assert choose_encoder(shares).encoder == encoder


def test_the_reason_names_the_languages() -> None:
    reason = choose_encoder({"de": 0.6, "fr": 0.3, "en": 0.1}).reason
    assert reason == (
        "Encoder: multilingual, because more than half of the texts are not in English "
        "(German 60 %, French 30 %, English 10 %)."
    )


def test_without_the_extra_the_bundled_encoder_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoder_choice, "is_multilingual_installed", lambda: False)
    choice = choose_encoder({"de": 1.0})
    assert choice.encoder is None
    assert "the multilingual one is not installed" in choice.reason
