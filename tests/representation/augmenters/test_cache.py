"""The cache of augmented texts on disk."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from rstc.representation.augmenters.cache import TextCache, hash_strings


def test_cached_texts_are_read_by_key(tmp_path: Path) -> None:
    keys = [hash_strings("settings", str(i)) for i in range(1200)]
    TextCache(tmp_path).add({key: f"text {i}" for i, key in enumerate(keys)})
    cached = TextCache(tmp_path).read([*keys, hash_strings("settings", "unknown")])
    assert cached == {key: f"text {i}" for i, key in enumerate(keys)}


def test_hash_depends_on_where_strings_end() -> None:
    assert hash_strings("ab", "c") != hash_strings("a", "bc")


def test_several_threads_may_write_at_a_time(tmp_path: Path) -> None:
    def write(part: int) -> None:
        for i in range(20):
            TextCache(tmp_path).add(
                {hash_strings(str(part), str(i)): f"{part} {i}", hash_strings("common"): "the same"}
            )

    with ThreadPoolExecutor(4) as workers:
        list(workers.map(write, range(4)))
    keys = [hash_strings(str(part), str(i)) for part in range(4) for i in range(20)]
    assert len(TextCache(tmp_path).read([*keys, hash_strings("common")])) == 81


def test_unusable_folder_is_reported_once_and_not_used(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "views.sqlite").write_text("not a database, but long enough to be looked at " * 20)
    cache = TextCache(tmp_path)
    cache.add({b"key": "text"})
    assert cache.read([b"key"]) == {}
    assert caplog.text.count("cannot cache views") == 1
    assert len(caplog.records) == 1
    assert TextCache(tmp_path).read([b"key"]) == {}
    assert "cannot read cached views" in caplog.text
