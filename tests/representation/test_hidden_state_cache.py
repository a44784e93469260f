"""Cached hidden states: computed once, and the same from memory, from the temporary file and from the store."""

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
from rstc.representation.hidden_state_cache import HiddenStateCache, HiddenStateStore
from rstc.representation.loading import load_encoder

TEXTS = ["parcel late", "refund money bank returned", "parcel late", "soup onion garlic", "code", "email locked"]


@pytest.fixture
def encoder(tiny_encoder: str) -> Encoder:
    encoder = load_encoder(tiny_encoder, "mean", 32)
    encoder.train_layers(1)
    return encoder


def count_frozen_passes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    counts: list[int] = []
    run = Encoder.run_frozen_layers
    monkeypatch.setattr(
        Encoder,
        "run_frozen_layers",
        lambda self, tokens, *by_length: counts.append(len(tokens)) or run(self, tokens, *by_length),
    )
    return counts


@pytest.mark.parametrize("budget", [0, 1000, 10**9])
def test_states_are_the_same_from_memory_and_from_the_file(encoder: Encoder, budget: int) -> None:
    tokens = encoder.tokenize(TEXTS)
    expected = [states for row in tokens for states in encoder.run_frozen_layers([row])]
    cache = HiddenStateCache(encoder, budget)
    for _ in range(2):
        for cached, states in zip(cache.get(tokens), expected, strict=True):
            np.testing.assert_allclose(cached, states, atol=2e-3)
    again = cache.get(tokens[::-1])
    assert all(np.array_equal(a, b) for a, b in zip(again[::-1], cache.get(tokens), strict=True))
    total = sum(states.nbytes for states in expected[:2] + expected[3:])
    assert cache.bytes_in_file == (0 if budget > total else pytest.approx(total - budget, abs=500))


def test_each_distinct_text_passes_the_frozen_layers_once(encoder: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    counts = count_frozen_passes(monkeypatch)
    tokens = encoder.tokenize(TEXTS)
    cache = HiddenStateCache(encoder, 10**6)
    first = encoder.embed(tokens, get_states=cache.get)
    assert torch.equal(encoder.embed(tokens, get_states=cache.get), first)
    assert sum(counts) == len(set(TEXTS))


def test_states_are_computed_again_without_keep(encoder: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    counts = count_frozen_passes(monkeypatch)
    tokens = encoder.tokenize(TEXTS)
    cache = HiddenStateCache(encoder, 10**6)
    for _ in range(2):
        cache.get(tokens, keep=False)
    assert counts == [5, 5]


def test_full_disk_warns_once_and_states_are_recomputed(encoder: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    class FullDisk:
        def seek(self, offset: int) -> None: ...

        def write(self, data: Any) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(tempfile, "TemporaryFile", lambda **_: FullDisk())
    cache, tokens = HiddenStateCache(encoder, 300), encoder.tokenize(TEXTS)
    with pytest.warns(CacheWarning, match=r"no room for more than 0.0 GB.*No space left") as warned:
        first = cache.get(tokens)
    again = cache.get(tokens)
    assert len(warned) == 1
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True)), "the run continues"


def test_stored_states_are_not_computed_again_by_later_runs(
    encoder: Encoder, tiny_encoder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = HiddenStateCache(encoder, 10**9, str(tmp_path))
    expected = first.get(encoder.tokenize(TEXTS))
    first.save()
    other = load_encoder(tiny_encoder, "mean", 32)
    other.train_layers(1)
    counts = count_frozen_passes(monkeypatch)
    second = HiddenStateCache(other, 10**9, str(tmp_path))
    states = second.get(other.tokenize([*TEXTS, "a new text"]))
    assert all((a == b).all() for a, b in zip(expected, states, strict=False))
    assert counts == [1]  # the new text alone
    second.save()
    third = HiddenStateCache(other, 10**9, str(tmp_path))
    third.get(other.tokenize([*TEXTS, "a new text"]))
    assert counts == [1, 0]


def test_other_frozen_layers_have_their_own_store(encoder: Encoder, tmp_path: Path) -> None:
    cache = HiddenStateCache(encoder, 10**9, str(tmp_path))
    cache.get(encoder.tokenize(TEXTS))
    cache.save()
    encoder.train_layers(2)
    assert not HiddenStateStore(tmp_path, encoder).read()


def test_broken_part_of_the_store_is_ignored_with_a_warning(
    encoder: Encoder, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    cache = HiddenStateCache(encoder, 10**9, str(tmp_path))
    expected = cache.get(encoder.tokenize(TEXTS))
    cache.save()
    [states] = tmp_path.rglob("states.npy")
    states.write_bytes(states.read_bytes()[:-10])
    again = HiddenStateCache(encoder, 10**9, str(tmp_path))
    assert "ignored the stored hidden states" in caplog.text
    assert all((a == b).all() for a, b in zip(expected, again.get(encoder.tokenize(TEXTS)), strict=True))


def test_unwritable_store_is_a_warning_and_no_error(
    encoder: Encoder, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("no folder")
    cache = HiddenStateCache(encoder, 10**9, str(tmp_path / "file"))
    cache.get(encoder.tokenize(TEXTS))
    cache.save()
    assert "no hidden states were stored for later runs" in caplog.text
