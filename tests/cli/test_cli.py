"""The command line in real processes: what it prints, what it leaves, and how it ends."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from fork_server import run_rstc
from rstc.cli import main


@pytest.fixture(scope="module")
def settings(tiny_encoder: str) -> list[str]:
    values = {"encoder": tiny_encoder, "training": "always", "max_steps": 6, "batch_size": 32, "kmeans_starts": 1}
    return [part for name, value in values.items() for part in ("--set", f"{name}={value}")]


def test_help_shows_examples() -> None:
    assert "rstc cluster tickets.csv --clusters 12 --out run" in run_rstc("cluster", "--help").stdout
    assert {
        "cluster",
        "predict",
        "augment",
        "report",
        "explore",
        "names",
        "apply",
        "figures",
        "evaluate",
        "info",
        "demo",
    } <= set(run_rstc("--help").stdout.split())


def test_from_a_file_to_clusters_scores_and_new_labels(tickets: Path, settings: list[str], tmp_path: Path) -> None:
    run = tmp_path / "run"
    clustered = run_rstc("cluster", tickets, "--clusters", 4, "--out", run, *settings)
    assert clustered.returncode == 0, clustered.stderr
    assert "keywords" in clustered.stdout
    assert re.search(r"\d\.\d\d (high|medium|low) │ +\d+ of 30 │", clustered.stdout)
    assert "are found again in most repeats" in clustered.stdout.replace("\n", " ")
    assert "120 texts (column 'text') in 4 clusters; trained for 6 steps" in clustered.stdout
    assert "training: 6 of 6" in clustered.stderr
    assert re.search(r"^120 texts .* trained for 6 steps.*; \d+ s$", clustered.stdout, re.MULTILINE)
    assert clustered.stdout.endswith(f"Written to {run}: open {run / 'report.html'} in a browser\n")
    assert "agreement" not in clustered.stdout, "what the run decided is in the page and in `rstc info --all`"
    assert "\x1b" not in clustered.stdout + clustered.stderr, "no terminal, no colours and no bars"

    scored = run_rstc("evaluate", run / "clusters.csv", "--truth", "topic")
    assert scored.returncode == 0
    assert scored.stdout.startswith("ACC ")
    assert re.search(
        r"^Confidence: ECE 0\.\d{3}   AURC 0\.\d{3}   error [\d.]+%, of the surest half", scored.stdout, re.M
    )
    assert "in the right cluster" in scored.stdout
    assert "120 texts, 4 classes, 4 clusters" in scored.stdout
    assert "password" in scored.stdout

    told = run_rstc("info", run)
    assert "trained on    120 texts" in told.stdout
    assert "default, 0" in told.stdout
    assert "input         tickets.csv, column 'text'" in told.stdout
    assert "eps2=auto" not in told.stdout
    told = run_rstc("info", run, "--all")
    assert "eps2=auto" in told.stdout
    assert re.search(r"^decisions     Start: .*agreement", told.stdout, re.MULTILINE)
    assert re.search(r"^seconds       \d+ \(read [\d.]+, load .*, train .*, write [\d.]+\)$", told.stdout, re.MULTILINE)

    labelled = run_rstc("predict", run, tickets, "--out", tmp_path / "new.csv")
    assert labelled.returncode == 0
    assert pd.read_csv(tmp_path / "new.csv")["cluster"].equals(pd.read_csv(run / "clusters.csv")["cluster"])


def test_from_a_file_to_two_versions_of_each_text_and_clusters_learned_from_them(
    tickets: Path, settings: list[str], tmp_path: Path
) -> None:
    made = run_rstc("augment", tickets, "--out", tmp_path / "views.jsonl", "--method", "deletion@0.4,swap@0.9")
    assert made.returncode == 0, made.stderr
    assert "120 rows written to" in made.stdout
    assert "text1" in made.stdout
    table = pd.read_json(tmp_path / "views.jsonl", lines=True)
    assert table["text"].tolist() == pd.read_csv(tickets)["text"].tolist(), "rows never shift"
    pairs = zip(table["text"], table["text2"], strict=True)
    assert all(sorted(a.split()) == sorted(b.split()) for a, b in pairs)
    clustered = run_rstc(
        "cluster", tmp_path / "views.jsonl", "-k", 4, "--out", tmp_path / "run", "--views", "text1,text2", *settings
    )
    assert clustered.returncode == 0, clustered.stderr
    assert "120 texts (column 'text') in 4 clusters" in clustered.stdout
    assert json.loads((tmp_path / "run" / "summary.json").read_text())["input"]["view_columns"] == ["text1", "text2"]


def test_texts_come_through_a_pipe(texts_and_topics: Any, settings: list[str], tmp_path: Path) -> None:
    done = run_rstc(
        "cluster", "-", "-k", 4, "--out", "run", *settings, stdin="\n".join(texts_and_topics[0]), cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert len((tmp_path / "run" / "clusters.txt").read_text().splitlines()) == 120
    assert "note: standard input is read as one text per line" in done.stderr


def test_predictions_go_to_standard_output_and_messages_elsewhere(run_folder: Path, tmp_path: Path) -> None:
    rows = pd.read_csv(run_folder / "clusters.csv")
    rows[["text", "topic"]].to_json(tmp_path / "in.json", orient="records")
    rows[["text", "topic"]].to_excel(tmp_path / "in.xlsx", index=False)
    rows[["text", "topic"]].to_csv(tmp_path / "in.csv.gz", index=False)
    for name in ("in.json", "in.xlsx", "in.csv.gz"):
        done = run_rstc("predict", run_folder, tmp_path / name, "--out", "-")
        assert done.returncode == 0, done.stderr
        table = pd.read_json(io.StringIO(done.stdout)) if name == "in.json" else pd.read_csv(io.StringIO(done.stdout))
        assert table["cluster"].tolist() == rows["cluster"].tolist()
        assert "120 rows written to standard output" in done.stderr


def test_a_closed_pipe_ends_a_prediction_quietly(run_folder: Path, tmp_path: Path) -> None:
    pd.DataFrame({"text": ["late parcel"] * 30_000}).to_csv(tmp_path / "in.csv", index=False)
    command = [sys.executable, "-m", "rstc", "predict", str(run_folder), str(tmp_path / "in.csv"), "--out", "-"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        header = process.stdout.readline()
        process.stdout.close()
        errors = process.stderr.read()
    assert header == "text,cluster,cluster_name,confidence,confidence_level\n"
    assert "Traceback" not in errors
    assert "Broken pipe" not in errors


def test_missing_texts_are_counted_in_a_note(texts_and_topics: Any, settings: list[str], tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("\n".join([*texts_and_topics[0][:50], "", " "]) + "\n")
    done = run_rstc("cluster", "in.txt", "-k", 3, "--out", "run", *settings, cwd=tmp_path)
    assert "note: 2 of 52 rows hold no text and get no cluster" in done.stderr


def test_mistakes_end_in_one_sentence_and_code_2(
    tickets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "latin.csv").write_bytes("text\ncafé au lait\n".encode("cp1252"))
    (tmp_path / "empty.csv").write_bytes(b"")
    (tmp_path / "two.csv").write_text("title,body\nmy app,is slow\n")
    (tmp_path / "versions.csv").write_text("text,text1\nmy app,our app\n")
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "cat.jpg").write_bytes(b"meow")
    (tmp_path / "no_model").mkdir()
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "model.json").write_text('{"format_version": 2}')
    cases = {
        ("cluster", "none.csv", "-k", 4, "-o", "run"): "there is no file none.csv",
        ("cluster", "empty.csv", "-k", 4, "-o", "run"): "empty.csv is empty",
        ("cluster", "latin.csv", "-k", 4, "-o", "run"): "not utf-8 text (byte 0xE9)",
        ("cluster", "two.csv", "-k", 4, "-o", "run"): "several columns could hold the texts: title, body",
        ("cluster", tickets, "-k", 4, "-o", "run", "--text-column", "body"): "the columns are id, text, topic",
        ("cluster", tickets, "-k", 1, "-o", "run"): "n_clusters=1",
        ("cluster", tickets, "-k", 500, "-o", "run"): "n_clusters=500 needs at least 500 distinct texts",
        ("cluster", tickets, "-k", 4, "-o", "photos"): "photos holds something that is not a run",
        ("cluster", tickets, "-k", 4, "-o", "run", "--set", "eps3=1"): "did you mean 'eps2'",
        ("cluster", tickets, "-k", 4, "-o", "run", "--preset", "best"): "preset='best'",
        ("cluster", tickets, "-k", 4, "-o", "run", "--device", "gpu"): "device='gpu' is not available",
        ("cluster", tickets, "-k", 4, "-o", "run", "--set", "precision=int8"): "precision='int8' must be 'auto'",
        ("cluster", tickets, "-k", 4, "-o", "run", "--set", "encoder=no/such"): "encoder='no/such'",
        ("cluster", tickets, "-k", 4, "-o", "run", "--views", "text1"): "--views expects two columns",
        (
            "cluster",
            tickets,
            "-k",
            4,
            "-o",
            "run",
            "--views",
            "text1,text2",
            "--set",
            "training=always",
        ): "there is no column 'text1'",
        ("cluster", tickets, "-k", 4, "-o", "run", "--set", "views=delition"): "did you mean 'deletion'",
        ("augment", tickets, "-o", "out.csv", "-m", "delition"): "did you mean 'deletion'",
        ("augment", tickets, "-o", "out.csv", "-m", "cutoff"): "no text to write",
        (
            "augment",
            tickets,
            "-o",
            "out.csv",
            "-m",
            "contextual:no/such",
        ): "'no/such' cannot be loaded as a masked language model",
        ("augment", tickets, "-o", "out.txt"): "out.txt cannot hold columns",
        ("augment", "versions.csv", "-o", "out.csv", "--text-column", "text"): "already has a column 'text1'",
        ("augment", "none.csv", "-o", "out.csv"): "there is no file none.csv",
        ("predict", "no_model", tickets, "-o", "out.csv"): "no model in no_model",
        ("evaluate", tickets, "--truth", "label"): "no column 'label'",
        ("info", "no_model"): "no model in no_model",
        ("info", "broken"): "broken was altered",
        ("predict", "no_model", "none.csv", "-o", tickets): "there is no file none.csv",
    }
    for arguments, sentence in cases.items():
        monkeypatch.setattr(sys, "argv", ["rstc", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        said = capfd.readouterr().err
        assert ended.value.code == 2, arguments
        assert sentence in said, (arguments, said)
        *_, last = said.splitlines()
        assert last.startswith("rstc: ")
        assert "Traceback" not in said
    assert not (tmp_path / "run").exists()
    assert not (tmp_path / "out.csv").exists()
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_a_mistake_in_a_real_process(tmp_path: Path) -> None:
    done = run_rstc("cluster", "none.csv", "-k", 4, "-o", "run", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (2, "reading none.csv\nrstc: there is no file none.csv\n")


def test_usage_mistakes_end_in_code_2_too(tickets: Path) -> None:
    assert run_rstc("cluster", tickets).returncode == 2
    assert run_rstc("cluster", tickets, "-k", "many", "-o", "run").returncode == 2
    assert run_rstc("frobnicate").returncode == 2


def test_asking_for_help_does_not_load_torch() -> None:
    code = (
        "import sys\nsys.argv = ['rstc', '--help']\nfrom rstc.cli import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\nassert 'torch' not in sys.modules, 'torch was loaded'\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"RANK": "1"}, "nothing"),
        ({"RANK": "1", "WORLD_SIZE": "2", "LOCAL_RANK": "1"}, "nothing"),
        ({"WORLD_SIZE": "abc"}, "nothing"),
        ({"RANK": "x"}, "nothing"),
    ],
)
def test_variables_of_torchrun_without_torchrun_hide_no_message(variables: dict[str, str], message: str) -> None:
    done = run_rstc("info", "nothing", environment=variables)
    assert (done.returncode, message in done.stderr) == (2, True), done.stderr


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"RANK": "0", "WORLD_SIZE": "abc", "LOCAL_RANK": "0"}, "WORLD_SIZE is 'abc', not a number"),
        ({"RANK": "1", "WORLD_SIZE": "-2", "LOCAL_RANK": "0"}, "WORLD_SIZE is '-2', not a number"),
        ({}, "RANK is missing"),
    ],
)
def test_damaged_variables_of_torchrun_are_named(
    variables: dict[str, str], message: str, tickets: Path, tmp_path: Path
) -> None:
    command = ["cluster", tickets, "--text-column", "text", "-k", 4, "--out", tmp_path / "run"]
    done = run_rstc(*command, environment={"TORCHELASTIC_RUN_ID": "none", "MASTER_PORT": "29500", **variables})
    assert (done.returncode, message in done.stderr) == (2, True), done.stderr
