"""A run that several processes share ends as in one process: real processes, started by torchrun."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from sklearn.metrics import adjusted_rand_score

from rstc import RSTC, MissingTextWarning
from rstc.results.corrected_run import RunNow
from rstc.pipelines.cluster import cluster_file

WORKER = Path(__file__).parent / "sharing.py"


def torchrun(processes: int, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Start processes and wait for them."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={processes}"]
    return subprocess.run([*command, *map(str, arguments)], capture_output=True, text=True, timeout=300)


@pytest.fixture(scope="session")
def steady_encoder(tiny_encoder: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the tiny encoder without dropout of its own."""
    folder = tmp_path_factory.mktemp("steady") / "model"
    shutil.copytree(tiny_encoder, folder)
    config = json.loads((folder / "config.json").read_text())
    config |= {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    (folder / "config.json").write_text(json.dumps(config))
    return str(folder)


SETTINGS = {"n_clusters": 4, "random_state": 0, "batch_size": 32, "kmeans_starts": 3, "dropout": 0.0, "max_steps": 20}
WAYS: dict[str, dict[str, Any]] = {
    "default": {"views": "cutoff@0.2"},
    "saot": {"labels": "saot", "renewals": 4},
    "paper": {"preset": "paper", "trainable_layers": 1, "head_start": 0.5, "views": "cutoff@0.2"},
    "moving average": {"contrast_steps": 5, "labels": "ot-average", "renewals": 4},
    "a sample, and unknown": {"n_clusters": "3-6", "max_fit_texts": 90},
}


@pytest.fixture(scope="module")
def shared(
    steady_encoder: str, texts_and_topics: tuple[list[str], list[str]], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """Solve transports and fit in all ways by one and by two processes; return where each wrote what it has."""
    folder = tmp_path_factory.mktemp("shared")
    rng = np.random.default_rng(0)
    np.savez(folder / "log_p.npz", few=predictions(501, 7, rng), many=predictions(1300, 600, rng))
    np.save(folder / "points.npy", crowds(1001, rng))
    ways = {name: SETTINGS | {"encoder": steady_encoder} | way for name, way in WAYS.items()}
    (folder / "asked.json").write_text(json.dumps({"texts": texts_and_topics[0], "ways": ways}))
    for processes in (1, 2):
        ended = torchrun(processes, WORKER, folder)
        assert ended.returncode == 0, ended.stderr
    return folder


def predictions(texts: int, classes: int, rng: np.random.Generator) -> np.ndarray:
    logits = rng.normal(size=(texts, classes)) * 3 + rng.normal(size=classes)
    return logits - np.log(np.exp(logits).sum(1, keepdims=True))


def crowds(points: int, rng: np.random.Generator) -> np.ndarray:
    centres = 4 * rng.normal(size=(6, 8))
    return (centres[rng.integers(6, size=points)] + rng.normal(size=(points, 8))).astype(np.float32)


def test_k_means_on_shared_rows_is_that_on_all_and_nobody_has_them_all(shared: Path) -> None:
    one = np.load(shared / "kmeans-1-0.npz")
    parts = [np.load(shared / f"kmeans-2-{rank}.npz") for rank in range(2)]
    assert np.concatenate([part["labels"] for part in parts]).tolist() == one["labels"].tolist()
    for part in parts:
        assert part["centres"] == pytest.approx(one["centres"], abs=1e-4)
        assert part["inertia"] == pytest.approx(one["inertia"], rel=1e-5)
    assert parts[0]["most"] == 300, "the first process sees a sample of the 1,001"


@pytest.mark.parametrize("classes", ["few", "many"])
def test_the_plan_of_shared_rows_is_that_of_all(classes: str, shared: Path) -> None:
    one = np.load(shared / f"{classes}-1-0.npz")
    parts = [np.load(shared / f"{classes}-2-{rank}.npz") for rank in range(2)]
    for name in ("newton", "alternating", "near", "fixed"):
        plan = np.concatenate([part[name] for part in parts])
        assert np.abs(plan - one[name]).sum() < 1e-6
        assert np.abs(plan.sum(0) - one[f"{name} b"]).sum() < 1e-6
        assert (parts[0][f"{name} b"] == parts[1][f"{name} b"]).all(), "both end at the same sizes, to the bit"


@pytest.mark.parametrize("way", WAYS)
def test_losses_and_clusters_do_not_depend_on_the_number_of_processes(way: str, shared: Path) -> None:
    (one,), two = ([json.loads((shared / f"{n}-{rank}.json").read_text())[way] for rank in range(n)] for n in (1, 2))
    assert len(one["losses"]) == 20
    for rank in two:
        for before, after in zip(one["losses"], rank["losses"], strict=True):
            assert after == pytest.approx(before, abs=1e-4)
        assert rank["b"] == pytest.approx(one["b"], abs=1e-3)
        assert rank["texts"] == 120
        assert rank["trained"] == WAYS[way].get("max_fit_texts", 120)
        assert rank["clusters"] == one["clusters"]
        assert rank["weights"] == two[0]["weights"], "all processes have the same model"
        assert np.array(rank["hierarchy"]) == pytest.approx(np.array(one["hierarchy"]), abs=1e-3)
    assert [len(rank["labels"]) for rank in two] == [60, 60]
    assert adjusted_rand_score([label for rank in two for label in rank["labels"]], one["labels"]) >= 0.99


@pytest.fixture
def shared_file(tickets: Path) -> Path:
    """Return a file with a missing text among the others."""
    table = pd.read_csv(tickets)
    table.loc[70, "text"] = None
    table.to_parquet(tickets.with_suffix(".parquet"), index=False)
    return tickets.with_suffix(".parquet")


def commanded(processes: int, file: Path, out: Path, encoder: str, *more: str) -> subprocess.CompletedProcess[str]:
    """Run `rstc cluster` in so many processes."""
    quick = [f"--set={setting}" for setting in ("max_steps=12", "batch_size=32", "kmeans_starts=3")]
    command = ["-m", "rstc", "cluster", file, "-k", "4", "--out", out, f"--set=encoder={encoder}", *quick, *more]
    return torchrun(processes, *command)


def test_the_command_line_shares_a_run(
    shared_file: Path, tiny_encoder: str, quick: dict[str, Any], tmp_path: Path
) -> None:
    ended = commanded(2, shared_file, tmp_path / "run2", tiny_encoder)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.count("Written to") == 1, "one process speaks"
    with pytest.warns(MissingTextWarning):
        cluster_file(str(shared_file), tmp_path / "run1", 4, settings=quick)
    one, two = (pq.read_table(tmp_path / f"run{n}/clusters.parquet").to_pandas() for n in (1, 2))
    assert two["id"].tolist() == list(range(120))
    assert two["cluster"].isna().tolist() == [row == 70 for row in range(120)]
    there = two["cluster"].notna()
    assert adjusted_rand_score(one["cluster"][there], two["cluster"][there]) >= 0.95, "dropout differs"
    told = RunNow.read(tmp_path / "run2")
    assert (told.summary["input"]["processes"], told.summary["input"]["texts"]) == (2, 119)
    assert sum(one["size"] for one in told.entries()) == 119
    assert RSTC.load(tmp_path / "run2/model").predict(two["text"][:5].tolist()).tolist() == two["cluster"][:5].tolist()


def test_a_mistake_is_told_once(tiny_encoder: str, tmp_path: Path) -> None:
    ended = commanded(2, tmp_path / "none.csv", tmp_path / "run", tiny_encoder)
    assert ended.returncode != 0
    assert ended.stderr.count("rstc: there is no file") == 1
    assert "rstc/cli" not in ended.stderr, "torchrun has a traceback of its own, but we have none"


def newest(out: Path) -> int:
    """Return the number of a run's newest checkpoint."""
    return max((int(path.stem) for path in (out / "checkpoints").glob("*.checkpoint")), default=0)


def begun(command: list[str], out: Path, after: int) -> subprocess.Popen[str]:
    """Start a run, or go on with it, and wait until it has kept where it is twice more."""
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    for _ in range(1200):
        time.sleep(0.1)
        if newest(out) >= after + 2 or running.poll() is not None:
            break
    return running


@pytest.mark.slow
def test_processes_stop_together_and_when_one_dies_another_number_of_them_goes_on(
    shared_file: Path, tiny_encoder: str, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    settings = {
        "encoder": tiny_encoder,
        "max_steps": 600,
        "max_epochs": 0,
        "batch_size": 32,
        "renewals": 12,
        "delta": 0,
    }
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", "-m", "rstc"]
    command += ["cluster", str(shared_file), "-k", "4", "--out", str(out)]
    command += [f"--set={name}={value}" for name, value in settings.items()]
    running = begun(command, out, after=0)
    running.terminate()  # as a scheduler does
    _, said = running.communicate(timeout=120)
    assert said.count("stopped; the same command goes on from where it was") == 1
    assert "rstc/cli" not in said
    running = begun(command, out, after=newest(out))
    os.kill(second_of(running.pid), signal.SIGKILL)
    _, said = running.communicate(timeout=120)
    assert running.returncode != 0
    assert said.count("a process that shares this run ended before its time; the same command") == 1
    assert "rstc/cli" not in said
    assert [path.name for path in out.iterdir()] == ["checkpoints"]
    assert not list(tmp_path.glob(".run*"))
    with pytest.warns(MissingTextWarning):
        summary = cluster_file(str(shared_file), out, 4, settings=settings | {"device": "auto"})
    assert summary is not None
    assert 0 < summary["resumed_at"] < 600
    assert summary["steps"] == 600
    assert summary["clusters_found"] == 4
    assert not (out / "checkpoints").exists()


def second_of(launcher: int) -> int:
    """Return the second process of a run."""
    for place in Path("/proc").glob("[0-9]*"):
        try:
            started = dict(one.split("=", 1) for one in (place / "environ").read_text().split("\0") if "=" in one)
            parent = int((place / "stat").read_text().rsplit(")", 1)[1].split()[1])
        except (OSError, ValueError):
            continue
        if parent == launcher and started.get("RANK") == "1":
            return int(place.name)
    raise AssertionError("there is no such process")
