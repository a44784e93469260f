"""The kept states: computed once, the same from memory and from the file."""

from __future__ import annotations

import errno
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from rstc.errors import CacheWarning
from rstc.representation.encoder import Encoder
from rstc.representation.loading import load_encoder
from rstc.representation.shelf import StateShelf
from rstc.representation.hidden_state_cache import StateCache

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


def test_what_is_kept_in_a_folder_is_not_computed_again(
    encoder: Encoder, tiny_encoder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = StateCache(encoder, 10**9, str(tmp_path))
    expected = first.states(encoder.tokenize(TEXTS))
    first.save()
    other = load_encoder(tiny_encoder, "mean", 32)
    other.train_layers(1)
    seen = counted(other, monkeypatch)
    second = StateCache(other, 10**9, str(tmp_path))
    found = second.states(other.tokenize([*TEXTS, "a new text"]))
    assert all((a == b).all() for a, b in zip(expected, found, strict=False))
    assert seen == [1]  # the new text alone
    second.save()
    third = StateCache(other, 10**9, str(tmp_path))
    third.states(other.tokenize([*TEXTS, "a new text"]))
    assert seen == [1, 0]


def test_other_frozen_layers_have_a_shelf_of_their_own(encoder: Encoder, tmp_path: Path) -> None:
    cache = StateCache(encoder, 10**9, str(tmp_path))
    cache.states(encoder.tokenize(TEXTS))
    cache.save()
    encoder.train_layers(2)
    assert not StateShelf(tmp_path, encoder).read()


def test_a_broken_piece_is_left_aside(encoder: Encoder, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    cache = StateCache(encoder, 10**9, str(tmp_path))
    expected = cache.states(encoder.tokenize(TEXTS))
    cache.save()
    [states] = tmp_path.rglob("states.npy")
    states.write_bytes(states.read_bytes()[:-10])
    again = StateCache(encoder, 10**9, str(tmp_path))
    assert "is left aside" in caplog.text
    assert all((a == b).all() for a, b in zip(expected, again.states(encoder.tokenize(TEXTS)), strict=True))


def test_a_folder_that_cannot_be_written_costs_nothing_but_the_keeping(
    encoder: Encoder, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("no folder")
    cache = StateCache(encoder, 10**9, str(tmp_path / "file"))
    cache.states(encoder.tokenize(TEXTS))
    cache.save()
    assert "nothing is kept for later runs" in caplog.text
