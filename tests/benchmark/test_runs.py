"""Benchmark jobs in real processes."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rstc.benchmark import measurement
from rstc.benchmark.datasets import load
from rstc.benchmark.measurement import measure
from rstc.benchmark.runs import JobOutcome, make_jobs, run_jobs
from rstc.benchmark.store import Job, Store, unpack_labels
from rstc.errors import InputError
from rstc.metrics import evaluate
from rstc.runtime.environment import find_commit, hash_source


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def quick(tiny_encoder: str) -> dict[str, Any]:
    return {
        "encoder": tiny_encoder,
        "training": "always",
        "max_steps": 6,
        "contrast_steps": 2,
        "batch_size": 32,
        "kmeans_starts": 1,
    }


@pytest.fixture(scope="module")
def paper_run(tiny_encoder: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Measure a run of the paper's method."""
    folder = tmp_path_factory.mktemp("paper")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        return measure(Job("sample", "rstc-paper", 1, quick(tiny_encoder)), folder)


def test_run_records_scores_settings_and_machine(paper_run: dict[str, Any]) -> None:
    result = paper_run
    assert (result["dataset"], result["method"], result["seed"]) == ("sample", "rstc-paper", 1)
    assert (result["texts"], result["classes"], result["views"]) == (465, 10, "word deletion")
    assert 0 < result["acc"] <= 100
    assert result["settings"]["eps2"] == 0.01
    assert result["settings"]["max_steps"] == 6
    assert result["peak_memory_mb"] > 100
    assert result["seconds"] > 0
    assert "torch" in result["versions"]
    assert "threads" in result["machine"]
    assert result["source"] == hash_source()
    assert result["commit"] == find_commit()
    assert [point["step"] for point in result["curve"]] == [e["step"] for e in result["history"] if "clusters" in e]
    assert json.loads(json.dumps(result)) == result


def test_last_point_of_the_curve_has_the_final_scores(paper_run: dict[str, Any]) -> None:
    last = paper_run["curve"][-1]
    scores = ("acc", "nmi", "ari", "ami", "clusters")
    assert {name: last[name] for name in scores} == {name: paper_run[name] for name in scores}


def test_scores_follow_from_the_stored_labels(paper_run: dict[str, Any], tmp_path: Path) -> None:
    labels = unpack_labels(paper_run["labels"])
    scores = evaluate(load("sample", tmp_path).true_labels, labels.tolist())
    assert paper_run["acc"] == pytest.approx(100 * scores.acc, abs=1e-3)
    assert paper_run["ami"] == pytest.approx(100 * scores.ami, abs=1e-3)


def test_stopped_run_is_resumed_from_its_checkpoints(
    paper_run: dict[str, Any], tiny_encoder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job, n_scored, score = Job("sample", "rstc-paper", 1, quick(tiny_encoder)), 0, measurement._score

    def stop_at_the_third_score(*arguments: Any) -> dict[str, Any]:
        nonlocal n_scored
        n_scored += 1
        if n_scored == 3:
            raise KeyboardInterrupt
        return score(*arguments)

    monkeypatch.setattr(measurement, "_score", stop_at_the_third_score)
    with pytest.raises(KeyboardInterrupt):
        measure(job, tmp_path, tmp_path / "checkpoints")
    assert list((tmp_path / "checkpoints").rglob("*.curve.json"))
    resumed = measure(job, tmp_path, tmp_path / "checkpoints")
    assert resumed["labels"] == paper_run["labels"]
    assert resumed["curve"] == paper_run["curve"]
    assert not [path for path in (tmp_path / "checkpoints").rglob("*") if path.is_file()]


def test_embeddings_are_cached_and_their_time_counts(tmp_path: Path, tiny_encoder: str) -> None:
    changes = {"encoder": tiny_encoder, "kmeans_starts": 1}
    first = measure(Job("sample", "sbert", 1, changes), tmp_path)
    cached = list((tmp_path / "cache" / "rstc" / "embeddings").iterdir())
    assert len(cached) == 1
    with np.load(cached[0]) as content:
        np.savez(cached[0], E=content["E"], seconds=1000.0)
    again = measure(Job("sample", "sbert", 1, changes), tmp_path)
    assert again["acc"] == first["acc"]
    assert again["seconds"] >= 1000  # seconds are rounded, and the clustering itself may take less than that shows


def test_stored_runs_are_not_repeated(tmp_path: Path) -> None:
    store, outcomes = Store(tmp_path / "store"), []
    jobs = make_jobs(["sample"], ["bow", "tfidf"], seeds=1)
    assert run_jobs(jobs, store, tmp_path, outcomes.append, n_parallel=2)
    assert [outcome.status for outcome in outcomes] == ["done", "done"]
    before = {path: path.read_bytes() for path in store.folder.rglob("*.json")}
    outcomes.clear()
    assert run_jobs(jobs, store, tmp_path, outcomes.append)
    assert [outcome.status for outcome in outcomes] == ["stored", "stored"]
    assert {path: path.read_bytes() for path in store.folder.rglob("*.json")} == before


def test_failed_job_reports_its_error_and_does_not_stop_the_others(tmp_path: Path) -> None:
    outcomes: list[JobOutcome] = []
    jobs = [Job("tweet", "bow", 0), Job("sample", "bow", 0, {"kmeans_starts": 0}), Job("sample", "bow", 0)]
    assert not run_jobs(jobs, Store(tmp_path / "store"), tmp_path / "nowhere", outcomes.append)
    assert [outcome.status for outcome in outcomes] == ["failed", "failed", "done"]
    assert "has no tweet.csv" in outcomes[0].error
    assert "n_init" in outcomes[1].error


def test_stored_run_with_other_settings_raises(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    job = Job("sample", "bow", 0)
    store.add(job, {**measure(job, tmp_path), "settings": {"kmeans_starts": 3}})
    with pytest.raises(InputError, match=r"0\.json was made with kmeans_starts=3, which is now 10"):
        run_jobs([job], store, tmp_path, print)


def test_unwritable_store_raises_before_anything_runs(tmp_path: Path) -> None:
    (tmp_path / "store").write_text("no folder")
    with pytest.raises(InputError, match="cannot be written"):
        run_jobs([Job("sample", "bow", 0)], Store(tmp_path / "store"), tmp_path, print)


@pytest.mark.usefixtures("few_head_steps")
def test_curve_scores_the_subsample_against_its_own_labels(tmp_path: Path, tiny_encoder: str) -> None:
    result = measure(
        Job("sample", "rstc", 0, {**quick(tiny_encoder), "contrast_steps": 0, "max_fit_texts": 200}), tmp_path
    )
    assert all(0 < point["acc"] <= 100 for point in result["curve"])


def test_time_limit_stops_running_jobs_and_starts_no_other(tmp_path: Path) -> None:
    outcomes: list[JobOutcome] = []
    jobs = [Job("sample", "rstc-paper", 0), Job("sample", "bow", 0)]  # with the real encoder, the first takes a minute
    start = time.monotonic()
    assert not run_jobs(jobs, Store(tmp_path / "store"), tmp_path, outcomes.append, time_limit=3)
    assert time.monotonic() - start < 30
    assert [outcome.status for outcome in outcomes] == ["out of time", "out of time"]
    assert not list((tmp_path / "store").rglob("*"))


def test_jobs_are_ordered_by_seed() -> None:
    jobs = make_jobs(["tweet", "agnews"], ["bow"], seeds=2)
    assert [(job.seed, job.dataset) for job in jobs] == [(0, "tweet"), (0, "agnews"), (1, "tweet"), (1, "agnews")]


def test_unknown_names_raise_before_anything_runs() -> None:
    with pytest.raises(InputError, match="unknown data set 'twitter'"):
        make_jobs(["twitter"], ["bow"], 1)
    with pytest.raises(InputError, match="unknown method 'lda'"):
        make_jobs(["tweet"], ["lda"], 1)


@pytest.mark.slow
def test_killed_command_leaves_no_partial_file_and_the_next_continues(tmp_path: Path) -> None:
    store = tmp_path / "store"
    options = ["--datasets", "sample", "--store", str(store), "--seeds", "1"]
    command = [sys.executable, "-m", "rstc", "benchmark", "run", *options]
    with subprocess.Popen([*command, "--methods", "bow,rstc-paper"], stdout=subprocess.PIPE, text=True) as killed:
        try:
            assert killed.stdout is not None
            assert "sample  bow  seed 0" in killed.stdout.readline()
            time.sleep(4)  # by now the second run is loading its encoder
            descendants = _descendants(killed.pid)
        finally:
            killed.kill()
    assert _all_ended(descendants)  # the running job ends with its parent
    assert [path.name for path in store.rglob("*") if path.is_file()] == ["0.json"]
    continued = subprocess.run([*command, "--methods", "bow,tfidf"], capture_output=True, text=True, timeout=120)
    assert continued.returncode == 0, continued.stderr
    assert "2 runs requested, 1 already stored" in continued.stdout
    assert sorted(path.parent.name for path in store.rglob("*.json")) == ["bow", "tfidf"]


def _descendants(pid: int) -> set[int]:
    """Return the descendants of a process, where /proc lists processes."""
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


def _all_ended(pids: set[int], within: float = 20) -> bool:
    deadline = time.monotonic() + within
    while any(Path(f"/proc/{pid}").exists() for pid in pids):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True
