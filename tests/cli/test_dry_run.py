"""`rstc cluster --dry-run`: it says what the run then does, refuses what the run would refuse, and writes nothing."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from fork_server import run_rstc
from rstc.pipelines.cluster import cluster_file
from rstc.pipelines.plan import plan_run
from rstc.pipelines.request import RunRequest


@pytest.fixture
def words(tickets: Path, tiny_encoder: str) -> list[str]:
    settings = {"encoder": tiny_encoder, "kmeans_starts": 1, "repeats": 2}
    return [
        "cluster",
        str(tickets),
        *(part for name, value in settings.items() for part in ("--set", f"{name}={value}")),
    ]


def list_tree(folder: Path) -> dict[str, tuple[int, int]]:
    """Return size and time of all files and folders below a folder."""
    return {str(path.relative_to(folder)): (path.stat().st_size, path.stat().st_mtime_ns) for path in folder.rglob("*")}


def plan(*words: object, code: int = 0, **options: Any) -> dict[str, Any]:
    done = run_rstc(*words, "--dry-run", "--json", **options)
    assert done.returncode == code, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def test_a_plan_says_what_the_run_then_does_and_writes_nothing(words: list[str], tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    where = {"cwd": tmp_path, "environment": {"RSTC_CACHE_DIR": str(cache)}}
    words += ["-k", "4", "-o", "run", "--by", "topic", "--truth", "topic"]
    before = list_tree(tmp_path)
    planned = plan(*words, **where)
    assert list_tree(tmp_path) == before
    assert not cache.exists()
    assert planned["action"] == "start"
    assert planned["overwrites"] == []
    assert planned["columns"] == {"text": ["text"], "truth": ["topic"], "by": ["topic"]}
    assert planned["kept_columns"] == ["id", "topic"]
    assert (planned["n_clusters"], planned["training"], planned["n_trained"]) == (4, "none", 120)
    assert planned["encoder"]["n_to_encode"] == planned["texts"]["n_distinct"]
    assert planned["estimate"]["seconds"] == pytest.approx(
        sum(planned["estimate"]["seconds_by_part"].values()), abs=0.5
    )

    assert run_rstc(*words, **where).returncode == 0
    assert all((tmp_path / path).exists() for path in planned["writes"])
    written = {path.name for path in (tmp_path / "run").iterdir()}
    assert written == {Path(path).name for path in planned["writes"]}
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert planned["texts"]["n_rows"] == summary["input"]["rows"]
    assert planned["encoder"]["max_tokens"] == summary["settings"]["max_tokens"]

    before = list_tree(tmp_path)
    refused = plan(*words, code=2, **where)
    assert "holds an earlier run" in refused["error"]["message"]
    again = plan(*words, "--overwrite", **where)
    assert list_tree(tmp_path) == before
    assert again["action"] == "replace"
    assert sorted(again["overwrites"]) == sorted(again["writes"])
    assert again["encoder"]["n_to_encode"] == 0, "the embeddings are cached"
    assert again["estimate"]["seconds_by_part"]["encode"] == 0


def test_a_plan_is_printed_in_lines(words: list[str], tmp_path: Path) -> None:
    done = run_rstc(*words, "-o", "run", "--clusters", "2-6", "--dry-run", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    lines = dict(line.split(maxsplit=1) for line in done.stdout.replace("dry run", "dry-run").splitlines())
    assert lines["dry-run"] == "nothing is written; the run would start a new run"
    assert lines["clusters"] == "estimated, 2 to 6"
    assert "text: text" in lines["input"]
    assert "(estimate" in lines["time"]
    assert "(estimate)" in lines["memory"]


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (["-k", "500"], "n_clusters=500 needs at least 500 distinct texts"),
        (["--text-column", "body"], "no column 'body'"),
        (["--time", "topic"], "does not hold dates"),
        (["--set", "memory_gb=0.01"], "of memory"),
        (["--views", "id,topic"], "--set training=always"),
        (["--device", "gpu"], "device='gpu' is not available"),
        (["--set", "encoder=none/such"], "encoder='none/such'"),
    ],
)
def test_a_plan_is_refused_as_the_run_would_be(
    more: list[str], sentence: str, words: list[str], tmp_path: Path
) -> None:
    before = list_tree(tmp_path)
    error = plan(*words, "-o", "run", *more, code=2, cwd=tmp_path)["error"]
    assert sentence in error["message"]
    done = run_rstc(*words, "-o", "run", *more, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == f"rstc: {error['message']}"
    assert {name for name in list_tree(tmp_path) if not name.startswith("run")} == set(before)


def test_a_subsample_and_training_are_planned(tickets: Path, quick: dict[str, object], tmp_path: Path) -> None:
    plan = plan_run(RunRequest(str(tickets), tmp_path / "run", 4, settings=quick | {"max_fit_texts": 60}))
    assert (plan.n_trained, plan.n_texts, plan.max_steps, plan.tries_training) == (60, 120, 12, False)
    untrained = plan_run(RunRequest(str(tickets), tmp_path / "run", 4, settings={"encoder": quick["encoder"]}))
    assert (untrained.max_steps, untrained.seconds.train) == (0, 0.0)
    assert plan.seconds.train > 0
    assert untrained.seconds.search == 0
    assert (
        plan_run(RunRequest(str(tickets), tmp_path / "run", settings={"encoder": quick["encoder"]})).seconds.search > 0
    )


def test_an_interrupted_run_is_planned_to_be_completed(
    tickets: Path, quick: dict[str, object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    out = tmp_path / "run"
    with monkeypatch.context() as patch:
        patch.setattr("rstc.pipelines.cluster.add_map_and_page", stop)
        with pytest.raises(KeyboardInterrupt):
            cluster_file(RunRequest(str(tickets), out, 4, settings=quick))
    before = list_tree(out)
    assert plan_run(RunRequest(str(tickets), out, 4, settings=quick)).action == "complete"
    assert plan_run(RunRequest(str(tickets), out, 4, settings=quick, seed=1, overwrite=True)).action == "replace"
    assert list_tree(out) == before


def test_what_a_killed_process_left_is_not_touched(finished_run: Path, tmp_path: Path, words: list[str]) -> None:
    shutil.copytree(finished_run, tmp_path / "run")
    (tmp_path / ".run.0123456789abcdef.old").mkdir()
    before = list_tree(tmp_path)
    plan(*words, "-o", "run", "--overwrite", cwd=tmp_path)
    assert list_tree(tmp_path) == before


def test_rows_without_a_text_are_noted(words: list[str], tickets: Path, tmp_path: Path) -> None:
    table = pd.read_csv(tickets)
    table.loc[:1, "text"] = ""
    table.to_csv(tickets, index=False)
    assert plan(*words, "-k", "4", "-o", "run", cwd=tmp_path)["texts"]["n_texts"] == 118
