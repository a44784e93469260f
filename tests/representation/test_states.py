"""The kept states: computed once, the same from memory and from the file."""

from __future__ import annotations

import errno
import tempfile
from typing import Any

import numpy as np
import pytest
import torch

from rstc.errors import CacheWarning
from rstc.representation.encoder import Encoder
from rstc.representation.loading import load_encoder
from rstc.representation.states import StateCache

TEXTS = ["parcel late", "refund money bank returned", "parcel late", "soup onion garlic", "code", "email locked"]


@pytest.fixture
def encoder(tiny_encoder: str) -> Encoder:
    encoder = load_encoder(tiny_encoder, "mean", 32)
    encoder.train_layers(1)
    return encoder


def counted(encoder: Encoder, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    seen: list[int] = []
    lower = Encoder.frozen_states
    monkeypatch.setattr(Encoder, "frozen_states", lambda self, tokens: seen.append(len(tokens)) or lower(self, tokens))
    return seen


@pytest.mark.parametrize("budget", [0, 1000, 10**9])
def test_in_memory_and_in_the_file_the_states_are_the_same(encoder: Encoder, budget: int) -> None:
    tokens = encoder.tokenize(TEXTS)
    expected = [states for row in tokens for states in encoder.frozen_states([row])]
    cache = StateCache(encoder, budget)
    for _ in range(2):
        for found, states in zip(cache.states(tokens), expected, strict=True):
            np.testing.assert_allclose(found, states, atol=2e-3)
    again = cache.states(tokens[::-1])
    assert all(np.array_equal(a, b) for a, b in zip(again[::-1], cache.states(tokens), strict=True))
    total = sum(states.nbytes for states in expected[:2] + expected[3:])
    assert cache.bytes_in_file == (0 if budget > total else pytest.approx(total - budget, abs=500))


def test_each_text_goes_through_the_frozen_layers_once(encoder: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = counted(encoder, monkeypatch)
    tokens = encoder.tokenize(TEXTS)
    cache = StateCache(encoder, 10**6)
    first = encoder.embed(tokens, states_of=cache.states)
    assert torch.equal(encoder.embed(tokens, states_of=cache.states), first)
    assert sum(seen) == len(set(TEXTS))


def test_what_is_not_to_be_kept_is_not(encoder: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = counted(encoder, monkeypatch)
    tokens = encoder.tokenize(TEXTS)
    cache = StateCache(encoder, 10**6)
    for _ in range(2):
        cache.states(tokens, keep=False)
    assert seen == [5, 5]


def test_on_a_full_disk_the_rest_is_computed_each_time(encoder: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    class FullDisk:
        def seek(self, place: int) -> None: ...

        def write(self, data: Any) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(tempfile, "TemporaryFile", lambda **_: FullDisk())
    cache, tokens = StateCache(encoder, 300), encoder.tokenize(TEXTS)
    with pytest.warns(CacheWarning, match=r"no room for more than 0.0 GB.*No space left") as told:
        first = cache.states(tokens)
    again = cache.states(tokens)
    assert len(told) == 1
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True)), "the run goes on"
