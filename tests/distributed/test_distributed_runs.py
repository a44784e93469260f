"""Runs that several processes share have the result of a single process."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
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
from sklearn.preprocessing import normalize

from fork_server import ForkedProcess
from rstc import RSTC, MissingTextWarning
from rstc.pipelines.cluster import cluster_file
from rstc.pipelines.request import RunRequest
from rstc.results.corrected_run import CorrectedRun

WORKER = Path(__file__).parent / "worker.py"
TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", "-m", "rstc"]


def run_processes(
    n_processes: int, *arguments: object, script: Path | None = None
) -> list[subprocess.CompletedProcess[str]]:
    """Run `rstc`, or a script, in several processes with the environment variables of torchrun."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    group = {"TORCHELASTIC_RUN_ID": "test", "WORLD_SIZE": n_processes, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    processes = []
    for rank in range(n_processes):
        variables = {name: str(value) for name, value in {**group, "RANK": rank, "LOCAL_RANK": rank}.items()}
        processes.append(ForkedProcess(*arguments, script=script, environment=variables))
    return [process.wait() for process in processes]


@pytest.fixture(scope="session")
def encoder_without_dropout(tiny_encoder: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("without-dropout") / "model"
    shutil.copytree(tiny_encoder, folder)
    config = json.loads((folder / "config.json").read_text())
    config |= {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    (folder / "config.json").write_text(json.dumps(config))
    return str(folder)


# One run of k-means: several that find the same clusters number them differently, and rounding decides between them.
# The same holds for candidates, so that of "saot", whose network depends on the numbers of the first labels, is given.
SETTINGS = {
    "n_clusters": 4,
    "random_state": 0,
    "batch_size": 32,
    "kmeans_starts": 1,
    "dropout": 0.0,
    "training": "always",
    "max_steps": 20,
}
VARIANTS: dict[str, dict[str, Any]] = {
    "default": {"views": "cutoff@0.2"},
    "saot": {"labels": "saot", "renewals": 4, "start": "kmeans", "words": 1.0, "static": 1.0},
    "paper": {"preset": "paper", "trainable_layers": 1, "head_start": 0.5, "views": "cutoff@0.2"},
    "moving average": {"contrast_steps": 5, "labels": "ot-average-released", "renewals": 4},
    "subsample, estimated n_clusters": {"n_clusters": "3-6", "max_fit_texts": 90},
}


TOPIC_WORDS = (
    "parcel delivery courier address late tracking driver doorstep",
    "refund money invoice charge payment card twice bank",
    "password login account email reset locked code verify",
    "screen battery charger broken crack repair warranty cable",
    "cancel subscription renewal plan upgrade monthly trial downgrade",
    "size shirt colour jacket shoes fit fabric sleeve",
)


@pytest.fixture(scope="module")
def results(
    encoder_without_dropout: str,
    texts_and_topics: tuple[list[str], list[str]],
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """Do the work of worker.py in one, two and three processes; return the folder of their results."""
    folder = tmp_path_factory.mktemp("results")
    rng = np.random.default_rng(0)
    np.savez(folder / "log_p.npz", few=draw_log_p(501, 7, rng), many=draw_log_p(1040, 520, rng))
    np.save(folder / "points.npy", draw_points(1001, rng))
    variants = {name: SETTINGS | {"encoder": encoder_without_dropout} | settings for name, settings in VARIANTS.items()}
    (folder / "task.json").write_text(json.dumps({"texts": texts_and_topics[0], "variants": variants}))
    np.savez(folder / "topics.npz", **draw_topics(701, rng))
    work = ["solve_transports", "run_kmeans", "fit_models", "search_labels"]
    for n_processes, names in ((1, work), (2, work), (3, ["search_labels"])):
        for completed in run_processes(n_processes, folder, *names, script=WORKER):
            assert completed.returncode == 0, completed.stderr
    return folder


def draw_topics(n_texts: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Draw texts of six topics that overlap: two of five words are of any topic; and embeddings near their centres."""
    topics = rng.integers(6, size=n_texts)
    words = [line.split() for line in TOPIC_WORDS]
    texts = [" ".join([*rng.choice(words[topic], 3), *rng.choice(np.concatenate(words), 2)]) for topic in topics]
    E = rng.normal(size=(6, 24))[topics] + rng.normal(size=(n_texts, 24))
    return {"topics": topics, "texts": np.array(texts), "E": normalize(E).astype(np.float32)}


def draw_log_p(n_texts: int, n_classes: int, rng: np.random.Generator) -> np.ndarray:
    logits = rng.normal(size=(n_texts, n_classes)) * 3 + rng.normal(size=n_classes)
    return logits - np.log(np.exp(logits).sum(1, keepdims=True))


def draw_points(n_points: int, rng: np.random.Generator) -> np.ndarray:
    centres = 4 * rng.normal(size=(6, 8))
    return (centres[rng.integers(6, size=n_points)] + rng.normal(size=(n_points, 8))).astype(np.float32)


def test_shared_kmeans_equals_that_of_one_process_and_gathers_a_sample_only(results: Path) -> None:
    single = np.load(results / "kmeans-1-0.npz")
    parts = [np.load(results / f"kmeans-2-{rank}.npz") for rank in range(2)]
    assert np.concatenate([part["labels"] for part in parts]).tolist() == single["labels"].tolist()
    for part in parts:
        assert part["centres"] == pytest.approx(single["centres"], abs=1e-4)
        assert part["inertia"] == pytest.approx(single["inertia"], rel=1e-5)
    assert parts[0]["max_gathered"] == 300, "the first process gathers 300 of the 1,001 points"


def read_label_search(n_processes: int, name: str, results: Path) -> np.ndarray:
    """Return a result of `search_labels`, with the rows of all processes."""
    return np.concatenate([np.load(results / f"labels-{n_processes}-{rank}.npz")[name] for rank in range(n_processes)])


@pytest.mark.parametrize("n_processes", [2, 3])
def test_shared_features_equal_those_of_one_process(n_processes: int, results: Path) -> None:
    for name in ("tfidf", "static", "points"):
        shared, single = (read_label_search(n, name, results) for n in (n_processes, 1))
        if name == "points":  # LSA has other axes
            shared, single = shared @ shared.T, single @ single.T
        assert np.allclose(shared, single, atol=1e-4)


@pytest.mark.parametrize("n_processes", [2, 3])
def test_shared_lsa_spans_the_subspace_of_one_process(n_processes: int, results: Path) -> None:
    shared, single = (read_label_search(n, "lsa", results) for n in (n_processes, 1))
    assert shared.shape == single.shape
    assert np.allclose(shared @ shared.T, single @ single.T, atol=1e-4)


@pytest.mark.parametrize("n_processes", [2, 3])
def test_shared_neighbours_equal_those_of_one_process(n_processes: int, results: Path) -> None:
    shared, single = (read_label_search(n, "neighbours", results) for n in (n_processes, 1))
    assert (shared[:, 0] == np.arange(701)).all(), "each text is its own first neighbour"
    assert (shared == single).mean() > 0.99, "neighbours of equal similarity may change places"


@pytest.mark.parametrize("n_processes", [1, 2, 3])
def test_indexes_of_blocks_find_almost_the_exact_neighbours(n_processes: int, results: Path) -> None:
    pytest.importorskip("faiss")
    found, exact = (
        read_label_search(n_processes, "neighbours by index", results),
        read_label_search(1, "neighbours", results),
    )
    assert (found[:, 0] == np.arange(701)).all()
    overlap = [len(set(a) & set(b)) for a, b in zip(found.tolist(), exact.tolist(), strict=True)]
    assert np.mean(overlap) > 0.95 * exact.shape[1]


@pytest.mark.parametrize("n_processes", [2, 3])
@pytest.mark.parametrize(
    "labels", ["kmeans", "linkage", "spectral", "crossfit", "crossfit with an empty class", "initial"]
)
def test_shared_labels_equal_those_of_one_process(labels: str, n_processes: int, results: Path) -> None:
    shared, single = (read_label_search(n, labels, results) for n in (n_processes, 1))
    assert len(set(single.tolist())) == 6
    if labels.startswith("crossfit"):
        assert (shared == single).mean() > 0.995
    assert adjusted_rand_score(shared, single) > 0.99


@pytest.mark.parametrize("n_processes", [2, 3])
def test_shared_labels_of_few_texts_are_exactly_those_of_one_process(n_processes: int, results: Path) -> None:
    shared, single = (read_label_search(n, "initial of few", results) for n in (n_processes, 1))
    assert shared.tolist() == single.tolist()


@pytest.mark.parametrize("n_processes", [2, 3])
def test_label_search_gathers_samples_only(n_processes: int, results: Path) -> None:
    parts = [np.load(results / f"labels-{n_processes}-{rank}.npz") for rank in range(n_processes)]
    assert [int(part["max_gathered"]) for part in parts] == [300] + [0] * (n_processes - 1), "of 701 texts"
    assert len({float(part["next random number"]) for part in parts}) == 1, "generators stay in step"


@pytest.mark.parametrize("n_processes", [2, 3])
def test_shared_head_equals_that_of_one_process(n_processes: int, results: Path) -> None:
    single = np.load(results / "labels-1-0.npz")["head"]
    heads = [np.load(results / f"labels-{n_processes}-{rank}.npz")["head"] for rank in range(n_processes)]
    assert all((head == heads[0]).all() for head in heads), "all processes have the same head, to the bit"
    assert heads[0] == pytest.approx(single, abs=1e-3)


@pytest.mark.parametrize("classes", ["few", "many"])
def test_shared_plan_equals_that_of_one_process(classes: str, results: Path) -> None:
    single = np.load(results / f"{classes}-1-0.npz")
    parts = [np.load(results / f"{classes}-2-{rank}.npz") for rank in range(2)]
    for method in ("newton", "alternating", "near", "fixed"):
        plan = np.concatenate([part[method] for part in parts])
        assert np.abs(plan - single[method]).sum() < 1e-6
        assert np.abs(plan.sum(0) - single[f"{method} b"]).sum() < 1e-6
        assert (parts[0][f"{method} b"] == parts[1][f"{method} b"]).all(), "both processes have the same b, to the bit"


@pytest.mark.parametrize("variant", VARIANTS)
def test_losses_and_clusters_do_not_depend_on_the_number_of_processes(variant: str, results: Path) -> None:
    single = json.loads((results / "1-0.json").read_text())[variant]
    parts = [json.loads((results / f"2-{rank}.json").read_text())[variant] for rank in range(2)]
    assert len(single["losses"]) == 20
    for part in parts:
        for expected, losses in zip(single["losses"], part["losses"], strict=True):
            assert losses == pytest.approx(expected, abs=1e-4)
        assert part["b"] == pytest.approx(single["b"], abs=1e-3)
        assert part["n_texts"] == 120
        assert part["n_trained"] == VARIANTS[variant].get("max_fit_texts", 120)
        assert part["n_clusters"] == single["n_clusters"]
        assert part["weights"] == parts[0]["weights"], "all processes have the same model"
        assert np.array(part["hierarchy"]) == pytest.approx(np.array(single["hierarchy"]), abs=1e-3)
    assert [len(part["labels"]) for part in parts] == [60, 60]
    if "max_fit_texts" not in VARIANTS[variant]:  # a subsample is chosen by groups of up to 50,000 gathered texts
        assert max(part["max_gathered"] for part in parts) <= 100, "no process gathers all 120 texts"
    assert adjusted_rand_score([label for part in parts for label in part["labels"]], single["labels"]) >= 0.99


@pytest.fixture
def shared_file(tickets: Path) -> Path:
    """Write a file in which one text is missing."""
    table = pd.read_csv(tickets)
    table.loc[70, "text"] = None
    table.to_parquet(tickets.with_suffix(".parquet"), index=False)
    return tickets.with_suffix(".parquet")


def cluster_command(file: Path, out: Path, encoder: str) -> list[object]:
    """Return the arguments of `rstc` for a run of a few steps."""
    settings = [f"encoder={encoder}", "training=always", "max_steps=12", "batch_size=32", "kmeans_starts=3"]
    return ["cluster", file, "-k", 4, "--out", out, *(f"--set={setting}" for setting in settings)]


def test_command_line_shares_a_run(shared_file: Path, tiny_encoder: str, quick: dict[str, Any], tmp_path: Path) -> None:
    first, second = run_processes(2, *cluster_command(shared_file, tmp_path / "run2", tiny_encoder))
    assert (first.returncode, second.returncode) == (0, 0), first.stderr + second.stderr
    assert first.stdout.count("Written to") == 1
    assert second.stdout == "", "one process prints"
    with pytest.warns(MissingTextWarning):
        cluster_file(RunRequest(str(shared_file), tmp_path / "run1", 4, settings=quick))
    single, shared = (pq.read_table(tmp_path / f"run{n}/clusters.parquet").to_pandas() for n in (1, 2))
    assert shared["id"].tolist() == list(range(120))
    assert shared["cluster"].isna().tolist() == [row == 70 for row in range(120)]
    has_text = shared["cluster"].notna()
    assert adjusted_rand_score(single["cluster"][has_text], shared["cluster"][has_text]) >= 0.95, "dropout differs"
    run = CorrectedRun.read(tmp_path / "run2")
    assert (run.summary.input.n_processes, run.summary.input.n_texts) == (2, 119)
    assert sum(entry.size for entry in run.entries()) == 119
    model = RSTC.load(tmp_path / "run2/model")
    assert model.predict(shared["text"][:5].tolist()).tolist() == shared["cluster"][:5].tolist()


def test_input_error_is_printed_once_by_torchrun(tiny_encoder: str, tmp_path: Path) -> None:
    command = cluster_command(tmp_path / "none.csv", tmp_path / "run", tiny_encoder)
    completed = subprocess.run(
        [*TORCHRUN, *map(str, command)],
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert completed.returncode != 0
    assert completed.stderr.count("rstc: there is no file") == 1
    assert "rstc/cli" not in completed.stderr, "no traceback but that of torchrun"


def latest_checkpoint(out: Path) -> int:
    """Return the number of a run's latest checkpoint."""
    return max((int(path.stem) for path in (out / "checkpoints").glob("*.checkpoint")), default=0)


def start_run(command: list[str], out: Path) -> subprocess.Popen[str]:
    """Start or resume a run, and wait until it has written two more checkpoints."""
    first = latest_checkpoint(out)
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    for _ in range(1200):
        time.sleep(0.1)
        if latest_checkpoint(out) >= first + 2 or running.poll() is not None:
            break
    return running


@pytest.mark.slow
def test_shared_run_stops_and_resumes_with_another_number_of_processes(
    shared_file: Path, tiny_encoder: str, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    settings = {
        "encoder": tiny_encoder,
        "training": "always",
        "max_steps": 600,
        "max_epochs": 0,
        "batch_size": 32,
        "renewals": 12,
        "delta": 0,
    }
    command = [*TORCHRUN, "cluster", str(shared_file), "-k", "4", "--out", str(out)]
    command += [f"--set={name}={value}" for name, value in settings.items()]
    running = start_run(command, out)
    try:
        running.terminate()  # as a scheduler does
        _, stderr = running.communicate(timeout=120)
    finally:
        running.kill()
    assert stderr.count("stopped; the same command resumes from the last checkpoint") == 1
    assert "rstc/cli" not in stderr
    running = start_run(command, out)
    try:
        os.kill(find_second_process(running.pid), signal.SIGKILL)
        _, stderr = running.communicate(timeout=120)
    finally:
        running.kill()
    assert running.returncode != 0
    assert stderr.count("another process of this run has died; the same command") == 1
    assert "rstc/cli" not in stderr
    assert [path.name for path in out.iterdir()] == ["checkpoints"]
    assert not list(tmp_path.glob(".run*"))
    with pytest.warns(MissingTextWarning):
        summary = cluster_file(
            RunRequest(str(shared_file), out, 4, settings=settings | {"device": "auto", "row_order": "given"})
        )
    assert summary is not None
    assert 0 < summary.resumed_at < 600
    assert summary.n_iter == 600
    assert len(summary.clusters) == 4
    assert not (out / "checkpoints").exists()


def find_second_process(launcher: int) -> int:
    """Return the process of rank 1 that torchrun has started."""
    for path in Path("/proc").glob("[0-9]*"):
        try:
            variables = (path / "environ").read_text().split("\0")
            parent = int((path / "stat").read_text().rsplit(")", 1)[1].split()[1])
        except (OSError, ValueError):
            continue
        if parent == launcher and "RANK=1" in variables:
            return int(path.name)
    raise AssertionError("there is no process of rank 1")
