"""Embeddings are stored once, found again by the same encoder only, and limited in size."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from rstc import RSTC
from rstc.io.cache_folder import EMBEDDINGS, default_cache_folder, measure_parts, shrink_cache
from rstc.representation.embedding_cache import EmbeddingCache
from rstc.representation.encoder import Encoder, TokenIds
from rstc.representation.loading import load_encoder

TEXTS = ["my parcel is late", "refund please", "my parcel is late", "i forgot my password", "a recipe for soup"]


@pytest.fixture
def encoder(tiny_encoder: str) -> Encoder:
    return load_encoder(tiny_encoder, "mean", 32, "cpu")


@pytest.fixture
def encoded(encoder: Encoder, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that receives the number of texts of each call of the encoder."""
    counts: list[int] = []
    embed = encoder.embed

    def count(tokens: Sequence[TokenIds], *arguments: Any) -> torch.Tensor:
        counts.append(len(tokens))
        return embed(tokens, *arguments)

    monkeypatch.setattr(encoder, "embed", count)
    return counts


def test_texts_are_encoded_once(encoder: Encoder, encoded: list[int], tmp_path: Path) -> None:
    tokens = encoder.tokenize(TEXTS)
    first = EmbeddingCache(tmp_path, encoder).embed(tokens)
    again = EmbeddingCache(tmp_path, encoder).embed(tokens[::-1])
    assert encoded == [5]
    assert torch.equal(again, first.flip(0))
    more = EmbeddingCache(tmp_path, encoder).embed(encoder.tokenize(["cancel my order", *TEXTS]))
    assert encoded == [5, 1]
    assert torch.equal(more[1:], first)
    part = min(measure_parts(tmp_path), key=lambda path: path.stat().st_mtime_ns)
    assert (part / EMBEDDINGS).stat().st_size % (4 * encoder.dim) == 0


def test_equal_texts_are_stored_once(encoder: Encoder, tmp_path: Path) -> None:
    EmbeddingCache(tmp_path, encoder).embed(encoder.tokenize(TEXTS))
    (part,) = measure_parts(tmp_path)
    assert (part / EMBEDDINGS).stat().st_size == 4 * 4 * encoder.dim


def test_another_encoder_does_not_use_them(encoder: Encoder, encoded: list[int], tmp_path: Path) -> None:
    tokens = encoder.tokenize(TEXTS)
    EmbeddingCache(tmp_path, encoder).embed(tokens)
    with torch.no_grad():
        next(encoder.parameters()).add_(0.1)
    EmbeddingCache(tmp_path, encoder).embed(tokens)
    encoder.train_layers(1)  # hidden states are then rounded at the split
    EmbeddingCache(tmp_path, encoder).embed(tokens)
    assert encoded == [5, 5, 5]


def test_damaged_part_is_ignored(
    encoder: Encoder, encoded: list[int], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    tokens = encoder.tokenize(TEXTS)
    expected = EmbeddingCache(tmp_path, encoder).embed(tokens)
    (part,) = measure_parts(tmp_path)
    with (part / EMBEDDINGS).open("r+b") as file:
        file.truncate(100)
    assert torch.equal(EmbeddingCache(tmp_path, encoder).embed(tokens), expected)
    assert encoded == [5, 5]
    assert "ignored the stored embeddings" in caplog.text


def test_least_recently_used_parts_are_removed(encoder: Encoder, encoded: list[int], tmp_path: Path) -> None:
    size = 4 * encoder.dim + 16 + 128  # an embedding, its key and the header of the keys' file
    cache = EmbeddingCache(tmp_path, encoder, max_bytes=2 * size + 50)
    for age, text in ((300, TEXTS[0]), (200, TEXTS[1])):
        cache.embed(encoder.tokenize([text]))
        newest = max(measure_parts(tmp_path), key=lambda part: part.stat().st_mtime_ns)
        os.utime(newest, (0, 1_000_000 - age))
    cache.embed(encoder.tokenize([TEXTS[0]]))  # now the second one is the oldest
    cache.embed(encoder.tokenize([TEXTS[3]]))
    assert sum(measure_parts(tmp_path).values()) <= 2 * size + 50
    encoded.clear()
    cache.embed(encoder.tokenize([TEXTS[0], TEXTS[3]]))
    assert encoded == []
    assert shrink_cache(tmp_path, 0) > 0
    assert measure_parts(tmp_path) == {}


def test_folder_that_cannot_be_written_costs_the_cache_only(
    encoder: Encoder, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("not a folder")
    tokens = encoder.tokenize(TEXTS)
    assert torch.equal(EmbeddingCache(tmp_path / "file", encoder).embed(tokens), encoder.embed(tokens))
    assert "no embeddings were stored" in caplog.text


def test_second_fit_with_other_settings_has_the_result_without_a_cache(
    texts_and_topics: tuple[list[str], list[str]], tiny_encoder: str, tmp_path: Path
) -> None:
    texts = texts_and_topics[0]
    RSTC(4, random_state=0, encoder=tiny_encoder).fit(texts, cache=tmp_path)
    stages: list[str] = []
    cached = RSTC(5, random_state=0, encoder=tiny_encoder).fit(
        texts, cache=tmp_path, progress=lambda stage, *_: stages.append(stage)
    )
    assert "encode" not in stages, "progress is reported where texts are encoded"
    assert cached.labels_.tolist() == RSTC(5, random_state=0, encoder=tiny_encoder).fit(texts).labels_.tolist()


def test_training_has_the_same_result_with_and_without_a_cache(
    texts_and_topics: tuple[list[str], list[str]], quick: dict[str, Any], tmp_path: Path
) -> None:
    texts = texts_and_topics[0]
    first, cached, without = (RSTC(4, random_state=0, **quick).fit(texts, cache=c) for c in (tmp_path, tmp_path, None))
    assert first.labels_.tolist() == cached.labels_.tolist() == without.labels_.tolist()
    assert np.allclose(first.embedding_, cached.embedding_, atol=1e-4)


def test_folder_of_the_command_line_is_named_by_a_variable(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("RSTC_CACHE_DIR", str(tmp_path))
    assert default_cache_folder() == tmp_path
    monkeypatch.delenv("RSTC_CACHE_DIR")
    assert default_cache_folder().name == "rstc"
