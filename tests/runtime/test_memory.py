"""A run that will not fit into memory says so before it starts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rstc import RSTC, InputError
from rstc.runtime import memory
from rstc.runtime.memory import GB, Sizes, check_fits, free_memory


def sizes(texts: int, learners: int = 100_000, n_clusters: int = 50) -> Sizes:
    return Sizes(texts, 50 * texts, min(learners, texts), 32, n_clusters, 384, 90_000_000, 2**30)


def test_the_estimate_is_near_what_runs_took() -> None:
    measured = json.loads((Path(__file__).parent.parent / "benchmarks/results/scale.json").read_text())
    for run in measured["rows"]:
        estimate = sizes(run["texts"], run["trained_on"], measured["clusters"]).total / GB
        assert 0.9 * run["peak_memory_gb"] < estimate < 2 * run["peak_memory_gb"]


def test_more_of_anything_takes_more() -> None:
    least = sizes(200_000).total
    assert sizes(300_000).total > least
    assert sizes(200_000, learners=200_000).total > least
    assert sizes(200_000, n_clusters=500).total > least


def test_what_does_not_fit_is_refused_with_what_to_change() -> None:
    check_fits(sizes(1_000_000), allowed_gb=20)
    with pytest.raises(InputError, match=r"about \d+\.\d GB .* 20\.0 GB are allowed .* lower max_fit_texts"):
        check_fits(sizes(10_000_000), allowed_gb=20)


def test_the_free_memory_is_the_containers_where_it_is_less(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "meminfo").write_text("MemTotal: 9000000 kB\nMemAvailable: 8000000 kB\n")
    (tmp_path / "memory.max").write_text("3000000000\n")
    (tmp_path / "memory.current").write_text("2000000000\n")
    (tmp_path / "memory.stat").write_text("anon 500000000\ninactive_file 400000000\nactive_file 100000000\n")
    monkeypatch.setattr(memory, "MEMINFO", tmp_path / "meminfo")
    monkeypatch.setattr(memory, "CGROUP", tmp_path)
    assert free_memory() == 1.5e9
    (tmp_path / "memory.max").write_text("max\n")
    assert free_memory() == 8e6 * 1024


def test_a_fit_is_refused_before_it_begins(
    quick: dict[str, Any], texts_and_topics: tuple[list[str], list[str]]
) -> None:
    stages = []
    with pytest.raises(InputError, match="memory_gb"):
        RSTC(4, memory_gb=0.1, **quick).fit(texts_and_topics[0], progress=lambda *news: stages.append(news[0]))
    assert set(stages) <= {"load"}
