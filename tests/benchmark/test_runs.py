"""Runs of the benchmark, in real processes."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rstc.benchmark.runs import News, jobs_for, measure, run_all
from rstc.benchmark.store import Job, Store
from rstc.errors import InputError


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def quick(tiny_encoder: str) -> dict[str, Any]:
    return {"encoder": tiny_encoder, "max_steps": 6, "contrast_steps": 2, "batch_size": 32, "kmeans_starts": 1}


def test_a_run_is_written_down_with_all_that_made_it(tmp_path: Path, tiny_encoder: str) -> None:
    result = measure(Job("sample", "rstc-paper", 1, quick(tiny_encoder)), tmp_path)
    assert (result["dataset"], result["method"], result["seed"]) == ("sample", "rstc-paper", 1)
    assert (result["texts"], result["classes"], result["views"]) == (465, 10, "word deletion")
    assert 0 < result["acc"] <= 100
    assert result["settings"]["eps2"] == 0.01
    assert result["settings"]["max_steps"] == 6
    assert result["peak_memory_mb"] > 100
    assert result["seconds"] > 0
    assert "torch" in result["versions"]
    assert "threads" in result["machine"]
    assert [point["step"] for point in result["curve"]] == [e["step"] for e in result["history"] if "clusters" in e]
    assert json.loads(json.dumps(result)) == result


def test_the_curve_ends_where_the_result_is(tmp_path: Path, tiny_encoder: str) -> None:
    result = measure(Job("sample", "rstc-paper", 0, quick(tiny_encoder)), tmp_path)
    last = result["curve"][-1]
    assert {name: last[name] for name in ("acc", "nmi", "ari", "clusters")} == {
        name: result[name] for name in ("acc", "nmi", "ari", "clusters")
    }


def test_embeddings_are_kept_for_the_other_seeds_and_their_time_counted(tmp_path: Path, tiny_encoder: str) -> None:
    changes = {"encoder": tiny_encoder, "kmeans_starts": 1}
    first = measure(Job("sample", "sbert", 1, changes), tmp_path)
    kept = list((tmp_path / "cache" / "rstc" / "embeddings").iterdir())
    assert len(kept) == 1
    with np.load(kept[0]) as content:
        np.savez(kept[0], E=content["E"], seconds=1000.0)
    again = measure(Job("sample", "sbert", 1, changes), tmp_path)
    assert again["acc"] == first["acc"]
    assert again["seconds"] > 1000


def test_runs_that_are_there_are_not_run_again(tmp_path: Path) -> None:
    store, told = Store(tmp_path / "store"), []
    jobs = jobs_for(["sample"], ["bow", "tfidf"], seeds=1)
    assert run_all(jobs, store, tmp_path, told.append, at_a_time=2)
    assert [news.outcome for news in told] == ["done", "done"]
    before = {path: path.read_bytes() for path in store.folder.rglob("*.json")}
    told.clear()
    assert run_all(jobs, store, tmp_path, told.append)
    assert [news.outcome for news in told] == ["there", "there"]
    assert {path: path.read_bytes() for path in store.folder.rglob("*.json")} == before


def test_a_run_that_fails_says_why_and_does_not_stop_the_others(tmp_path: Path) -> None:
    told: list[News] = []
    jobs = [Job("tweet", "bow", 0), Job("sample", "bow", 0, {"kmeans_starts": 0}), Job("sample", "bow", 0)]
    assert not run_all(jobs, Store(tmp_path / "store"), tmp_path / "nowhere", told.append)
    assert [news.outcome for news in told] == ["failed", "failed", "done"]
    assert "there is no tweet.csv" in told[0].problem
    assert "n_init" in told[1].problem


def test_a_stored_run_of_other_settings_is_refused(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    job = Job("sample", "bow", 0)
    store.add(job, {**measure(job, tmp_path), "settings": {"kmeans_starts": 3}})
    with pytest.raises(InputError, match=r"0\.json was made with kmeans_starts=3, which is 10 today"):
        run_all([job], store, tmp_path, print)


def test_a_store_that_cannot_be_written_is_refused_before_anything_runs(tmp_path: Path) -> None:
    (tmp_path / "store").write_text("no folder")
    with pytest.raises(InputError, match="cannot be written"):
        run_all([Job("sample", "bow", 0)], Store(tmp_path / "store"), tmp_path, print)


def test_clusters_of_those_that_train_are_scored_against_their_own_truth(tmp_path: Path, tiny_encoder: str) -> None:
    result = measure(
        Job("sample", "rstc", 0, {**quick(tiny_encoder), "contrast_steps": 0, "max_fit_texts": 200}), tmp_path
    )
    assert all(0 < point["acc"] <= 100 for point in result["curve"])


def test_the_time_limit_stops_what_runs_and_begins_nothing_more(tmp_path: Path) -> None:
    told: list[News] = []
    jobs = [Job("sample", "rstc-paper", 0), Job("sample", "bow", 0)]  # with the real encoder, the first takes a minute
    start = time.monotonic()
    assert not run_all(jobs, Store(tmp_path / "store"), tmp_path, told.append, time_limit=3)
    assert time.monotonic() - start < 30
    assert [news.outcome for news in told] == ["out of time", "out of time"]
    assert not list((tmp_path / "store").rglob("*"))


def test_all_of_the_first_seed_come_first() -> None:
    jobs = jobs_for(["tweet", "agnews"], ["bow"], seeds=2)
    assert [(job.seed, job.dataset) for job in jobs] == [(0, "tweet"), (0, "agnews"), (1, "tweet"), (1, "agnews")]


def test_wrong_names_are_refused_before_anything_runs() -> None:
    with pytest.raises(InputError, match="no set 'twitter'"):
        jobs_for(["twitter"], ["bow"], 1)
    with pytest.raises(InputError, match="no method 'lda'"):
        jobs_for(["tweet"], ["lda"], 1)


@pytest.mark.slow
def test_a_killed_call_leaves_nothing_half_written_and_the_next_goes_on(tmp_path: Path) -> None:
    store = tmp_path / "store"
    call = [
        sys.executable,
        "-m",
        "rstc",
        "benchmark",
        "run",
        "--datasets",
        "sample",
        "--store",
        str(store),
        "--seeds",
        "1",
    ]
    with subprocess.Popen([*call, "--methods", "bow,rstc-paper"], stdout=subprocess.PIPE, text=True) as killed:
        assert killed.stdout is not None
        assert "sample  bow  seed 0" in killed.stdout.readline()
        time.sleep(4)  # by now the second run is loading its encoder
        below = _descendants(killed.pid)
        killed.send_signal(signal.SIGKILL)
    assert _all_gone(below)  # the run that lost its parent ends too
    assert [path.name for path in store.rglob("*") if path.is_file()] == ["0.json"]
    went_on = subprocess.run([*call, "--methods", "bow,tfidf"], capture_output=True, text=True, timeout=120)
    assert went_on.returncode == 0, went_on.stderr
    assert "2 runs asked for, 1 were there" in went_on.stdout
    assert sorted(path.parent.name for path in store.rglob("*.json")) == ["bow", "tfidf"]


def _descendants(pid: int) -> set[int]:
    """Return the processes below one, as far as this system tells."""
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
    found: set[int] = set()
    while more := {child for child, parent in parents.items() if parent in found | {pid}} - found:
        found |= more
    return found


def _all_gone(pids: set[int], within: float = 20) -> bool:
    deadline = time.monotonic() + within
    while any(Path(f"/proc/{pid}").exists() for pid in pids):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True
