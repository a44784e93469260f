"""The memory estimate of a run, and the check against it before the run starts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rstc import RSTC, InputError
from rstc.runtime import memory
from rstc.runtime.memory import GB, MemoryEstimate, check_memory, free_memory


def estimate(n_texts: int, n_fit_texts: int = 100_000, n_clusters: int = 50) -> MemoryEstimate:
    return MemoryEstimate(
        n_texts=n_texts,
        n_characters=50 * n_texts,
        n_fit_texts=min(n_fit_texts, n_texts),
        max_tokens=32,
        n_clusters=n_clusters,
        dim=384,
        encoder_bytes=90_000_000,
        cache_bytes=2**30,
    )


def test_estimate_is_close_to_measured_peaks() -> None:
    measured = json.loads((Path(__file__).parents[2] / "benchmarks/results/scale.json").read_text())
    for run in measured["rows"]:
        total_gb = estimate(run["texts"], run["trained_on"], measured["clusters"]).total_bytes / GB
        assert 0.9 * run["peak_memory_gb"] < total_gb < 2 * run["peak_memory_gb"]


def test_estimate_grows_with_texts_fit_texts_and_clusters() -> None:
    smallest = estimate(200_000).total_bytes
    assert estimate(300_000).total_bytes > smallest
    assert estimate(200_000, n_fit_texts=200_000).total_bytes > smallest
    assert estimate(200_000, n_clusters=500).total_bytes > smallest


def test_check_memory_error_names_estimate_limit_and_remedies() -> None:
    check_memory(estimate(1_000_000), limit_gb=20)
    with pytest.raises(InputError, match=r"about \d+\.\d GB .* 20\.0 GB are allowed .* lower max_fit_texts"):
        check_memory(estimate(10_000_000), limit_gb=20)


def test_free_memory_is_the_smaller_of_machine_and_container(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "meminfo").write_text("MemTotal: 9000000 kB\nMemAvailable: 8000000 kB\n")
    (tmp_path / "memory.max").write_text("3000000000\n")
    (tmp_path / "memory.current").write_text("2000000000\n")
    (tmp_path / "memory.stat").write_text("anon 500000000\ninactive_file 400000000\nactive_file 100000000\n")
    monkeypatch.setattr(memory, "MEMINFO", tmp_path / "meminfo")
    monkeypatch.setattr(memory, "CGROUP", tmp_path)
    assert free_memory() == 1.5e9
    (tmp_path / "memory.max").write_text("max\n")
    assert free_memory() == 8e6 * 1024


def test_fit_checks_memory_before_training(
    quick: dict[str, Any], texts_and_topics: tuple[list[str], list[str]]
) -> None:
    stages = []
    with pytest.raises(InputError, match="memory_gb"):
        RSTC(4, memory_gb=0.1, **quick).fit(texts_and_topics[0], progress=lambda *news: stages.append(news[0]))
    assert set(stages) <= {"load"}
