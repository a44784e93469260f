"""The memory estimate of a run, and the check against it before the run starts."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rstc import RSTC, InputError
from rstc.config import Config
from rstc.representation.loading import load_encoder
from rstc.runtime import memory
from rstc.runtime.distributed import SINGLE_PROCESS
from rstc.runtime.memory import GB, MemoryEstimate, check_memory, free_memory, limit_memory
from rstc.training.inputs import estimate_memory


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


@pytest.mark.parametrize(
    ("change", "advice"),
    [
        ({"batch_size": 1_000_000}, "batch_size (now 1,000,000)"),
        ({"batch_size": 200, "projection_dim": 10**9}, "projection_dim (now 1,000,000,000)"),
        ({"n_repeats": 10**9}, "repeats (now 1,000,000,000)"),
        ({"n_neighbours": 10**6}, "lower max_fit_texts"),
    ],
)
def test_settings_that_take_much_memory_are_counted_and_named(change: dict[str, int], advice: str) -> None:
    usual = replace(estimate(200_000), batch_size=200, n_layers=1, projection_dim=128, n_repeats=30, n_neighbours=10)
    check_memory(usual, limit_gb=8)
    with pytest.raises(InputError, match=re.escape(advice)):
        check_memory(replace(usual, **change), limit_gb=1000)


@pytest.mark.parametrize(
    "change", [{"batch_size": 1_000_000}, {"projection_dim": 10**9}, {"repeats": 10**9}, {"neighbours": 10**9}]
)
def test_settings_of_a_run_reach_the_estimate(change: dict[str, int], quick: dict[str, Any]) -> None:
    texts = [f"late parcel {number}" for number in range(30_000)]
    encoder = load_encoder(quick["encoder"], "mean", 32)
    usual, large = Config(**quick), Config(**{**quick, **change})
    assert estimate_memory(texts, encoder, 2, usual, SINGLE_PROCESS).total_bytes < 2 * GB
    assert estimate_memory(texts, encoder, 2, large, SINGLE_PROCESS).total_bytes > 6 * GB


def test_limit_of_the_process_counts_as_free_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    resource = pytest.importorskip("resource")
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    monkeypatch.setattr(resource, "getrlimit", lambda _: (used + 10**8, -1))
    assert 0 <= (free_memory() or -1) <= 10**8


def test_allocations_beyond_a_limit_fail_and_later_ones_do_not() -> None:
    with pytest.raises(MemoryError), limit_memory(10**8):
        bytearray(10**9)
    assert len(bytearray(2 * 10**8)) == 2 * 10**8
