"""`--json`: one document on standard output that fits the schema, whatever the command does and however it ends."""

from __future__ import annotations

import io
import json
import math
import shutil
import signal
import time
from pathlib import Path
from typing import Any

import jsonschema
import pandas as pd
import pytest
import typer

from fork_server import ForkedProcess, run_rstc
from rstc.cli.app import app
from rstc.cli.commands import list_commands, list_documents
from rstc.cli.documents.base import to_plain
from rstc.cli.exit_codes import OUTCOMES, classify_error
from rstc.cli.json_output import JsonOutput, is_json_requested
from rstc.cli.json_schema import build_schema
from rstc.errors import InputError, MissingExtraError, ResourceLimitError
from rstc.runtime.memory import MemoryEstimate, check_memory
from rstc.runtime.optional import import_optional
from rstc.runtime.signals import StopRequested

ROOT = Path(__file__).parents[2]
SCHEMA = json.loads((ROOT / "docs" / "json-schema.json").read_text(encoding="utf-8"))
COMMON = {"schema_version", "command", "warnings"}


def refuse_constant(name: str) -> None:
    raise AssertionError(f"{name} is not JSON")


def read_document(text: str, command: str) -> dict[str, Any]:
    """Return the only document of an output, which fits the schema and holds no field that it does not name."""
    document: dict[str, Any] = json.loads(text, parse_constant=refuse_constant)
    jsonschema.Draft202012Validator(SCHEMA).validate(document)
    assert document["command"] == command
    kinds = [kind for kind in SCHEMA["$defs"].values() if set(kind["properties"]) == set(document)]
    assert kinds, f"{set(document)} are not the fields of a document"
    return document


def run_json(*arguments: object, command: str, code: int = 0, **options: Any) -> dict[str, Any]:
    done = run_rstc(*arguments, "--json", **options)
    assert done.returncode == code, done.stderr
    return read_document(done.stdout, command)


@pytest.fixture
def quick_words(tiny_encoder: str) -> list[str]:
    values = {"encoder": tiny_encoder, "kmeans_starts": 1, "repeats": 2}
    return [part for name, value in values.items() for part in ("--set", f"{name}={value}")]


def test_every_command_has_a_document() -> None:
    commands = list_commands(typer.main.get_command(app))
    assert [path for path, command in commands.items() if not list_documents(command)] == []


def test_the_schema_is_one_of_json_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert build_schema(typer.main.get_command(app)) == SCHEMA


def test_a_run_is_one_document_and_its_tables_go_to_standard_error(
    tickets: Path, quick_words: list[str], tmp_path: Path
) -> None:
    run = tmp_path / "run"
    done = run_rstc("--json", "cluster", tickets, "-k", 4, "-o", run, "--truth", "topic", *quick_words)
    assert done.returncode == 0, done.stderr
    document = read_document(done.stdout, "cluster")
    assert "keywords" in done.stderr
    assert f"Written to {run}" in done.stderr
    assert document["n_texts"] == 120
    assert [cluster["cluster"] for cluster in document["clusters"]] == [0, 1, 2, 3]
    assert sum(cluster["size"] for cluster in document["clusters"]) == 120
    assert all(Path(path).exists() for path in document["files"].values())
    summary = json.loads((run / "summary.json").read_text())
    assert document["scores"]["acc"] == summary["truth"]["acc"]
    assert document["seconds"] == summary["seconds"]


def test_commands_on_a_run_write_documents_that_fit_the_schema(run_folder: Path, tmp_path: Path) -> None:
    rows = pd.read_csv(run_folder / "clusters.csv")[["text", "topic"]]
    rows.to_csv(tmp_path / "in.csv", index=False)
    clusters = run_folder / "clusters.csv"
    info = run_json("info", run_folder, command="info")
    assert (info["n_texts"], info["is_run"], info["is_finished"]) == (120, True, True)
    assert len(info["clusters"]) == 4
    model = run_json("info", run_folder / "model", command="info")
    assert (model["is_run"], model["clusters"]) == (False, [])
    assert run_json("names", run_folder, command="names")["clusters"] == info["clusters"]
    prompts = run_json("names", run_folder, "--command", "cat", "--dry-run", command="names")
    assert len(prompts["prompts"]) == 4
    scores = run_json("evaluate", clusters, "--truth", "topic", command="evaluate")
    assert scores["n_texts"] == 120
    assert {item["name"] for item in scores["classes"]} == set(rows["topic"])
    predicted = run_json("predict", run_folder, tmp_path / "in.csv", "-o", tmp_path / "out.csv", command="predict")
    assert (predicted["n_files"], predicted["n_rows"]) == (1, 120)
    shares = run_json("compare", run_folder, "--by", "topic", "-o", tmp_path / "shares.csv", command="compare")
    assert shares["groups"][0]["column"] == "topic"
    assert run_json("report", run_folder, command="report")["files"] == [str(run_folder / "report.html")]
    assert Path(run_json("figures", run_folder, "-o", tmp_path / "figures", command="figures")["files"][0]).exists()
    augmented = run_json(
        "augment", tmp_path / "in.csv", "-o", tmp_path / "views.csv", "--text-column", "text", "-m", "typos",
        command="augment",
    )  # fmt: skip
    assert 0 < augmented["changed_share"] <= 1
    nothing = run_json("update", run_folder, tmp_path / "in.csv", command="update")
    assert (nothing["n_rows"], nothing["drift"]) == (0, None)
    assert run_json("update", run_folder, "--accept", "all", command="update")["n_accepted"] == 0
    merged = run_json("merge", run_folder, "--to", 3, command="merge")
    assert (len(merged["clusters"]), merged["n_edits"]) == (3, 1)
    assert run_json("apply", run_folder, command="apply")["n_edits"] == 1


def test_commands_without_a_run_write_documents_that_fit_the_schema(tmp_path: Path) -> None:
    settings = run_json("settings", "eps2", "--toml", command="settings")
    assert [entry["name"] for entry in settings["settings"]] == ["eps2"]
    assert settings["toml"].endswith('# eps2 = "auto"\n')
    assert run_json("cache", command="cache")["n_bytes"] >= 0
    assert "version" in run_json("--version", command="")
    where = {"cwd": tmp_path}
    words = ("--datasets", "sample", "--methods", "bow,tfidf", "--seeds", 1)
    runs = run_json("benchmark", "run", *words, command="benchmark run", **where)
    assert (runs["n_requested"], len(runs["runs"]), runs["is_complete"]) == (2, 2, True)
    late = run_json(
        "benchmark", "run", *words[:-1], 2, "--time-limit", "0.001s", command="benchmark run", code=1, **where
    )
    assert (late["n_stored"], late["is_complete"], len(late["errors"])) == (2, False, 2)
    table = run_json("benchmark", "table", "--format", "csv", command="benchmark table", **where)
    assert table["table"].count("\n") == 3
    compared = run_json(
        "benchmark", "compare", "tfidf", "bow", "--datasets", "sample", command="benchmark compare", **where
    )
    assert compared["n_pairs"] == 1


@pytest.mark.parametrize(
    ("arguments", "command", "code"),
    [
        (("cluster", "none.csv", "-o", "run"), "cluster", "invalid_input"),
        (("cluster", "none.csv"), "cluster", "usage"),
        (("cluster", "none.csv", "-o", "run", "--sed", "1"), "cluster", "usage"),
        (("benchmark", "run", "--seeds", "no"), "benchmark run", "usage"),
        (("frobnicate",), "", "usage"),
        (("predict", "none", "none.csv", "-o", "-"), "predict", "invalid_input"),
        (("settings", "nois"), "settings", "invalid_input"),
    ],
)
def test_mistakes_are_documents_with_the_exit_code_of_the_process(
    arguments: tuple[str, ...], command: str, code: str, tmp_path: Path
) -> None:
    error = run_json(*arguments, command=command, code=2, cwd=tmp_path)["error"]
    assert (error["code"], error["exit_code"]) == (code, 2)
    assert error["message"]
    assert run_rstc(*arguments, cwd=tmp_path).returncode == 2


def test_too_much_memory_and_a_missing_extra_have_codes_of_their_own(tickets: Path, tiny_encoder: str) -> None:
    words = ["--set", f"encoder={tiny_encoder}", "--set", "memory_gb=0.01"]
    error = run_json("cluster", tickets, "-k", 4, "-o", "run", *words, command="cluster", code=2, cwd=tickets.parent)
    assert error["error"]["code"] == "resource_limit"
    with pytest.raises(MissingExtraError) as missing:
        import_optional("no_package", "more")
    assert classify_error(missing.value).code == "missing_extra"
    with pytest.raises(ResourceLimitError):
        check_memory(MemoryEstimate(10, 10, 10, 10, 10, 10, 10, 10), limit_gb=1e-9)


@pytest.mark.parametrize(
    ("number", "name", "code"), [(signal.SIGINT, "interrupted", 130), (signal.SIGTERM, "terminated", 143)]
)
def test_an_interruption_is_a_document(number: int, name: str, code: int, run_folder: Path, tmp_path: Path) -> None:
    pd.DataFrame({"text": ["late parcel"] * 200_000}).to_csv(tmp_path / "in.csv", index=False)
    process = ForkedProcess("predict", run_folder, tmp_path / "in.csv", "-o", tmp_path / "out.csv", "--json")
    while "predicting" not in process.read("stderr"):
        assert process.poll() is None, process.read("stderr")
        time.sleep(0.02)
    process.send_signal(number)
    done = process.wait()
    assert done.returncode == code, done.stderr
    assert read_document(done.stdout, "predict")["error"]["code"] == name
    assert not (tmp_path / "out.csv").exists()


def test_a_server_writes_its_document_when_it_is_ready(run_folder: Path) -> None:
    process = ForkedProcess("explore", run_folder, "--no-browser", "--json")
    while not process.read("stdout").endswith("}\n"):
        assert process.poll() is None, process.read("stderr")
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    done = process.wait()
    assert done.returncode == 0, done.stderr
    assert read_document(done.stdout, "explore")["address"].startswith("http://127.0.0.1:")


def test_warnings_are_repeated_in_the_document(quick_words: list[str], tmp_path: Path, tickets: Path) -> None:
    table = pd.read_csv(tickets)
    table.loc[:3, "text"] = ""
    table.to_csv(tmp_path / "gaps.csv", index=False)
    document = run_json(
        "cluster", tmp_path / "gaps.csv", "-k", 4, "-o", tmp_path / "run", "--dry-run", *quick_words, command="cluster"
    )
    assert document["warnings"] == ["4 of 120 rows hold no text and get no cluster"]


def test_numbers_that_are_not_finite_are_null() -> None:
    assert to_plain([math.nan, -math.inf, 1.5, 2]) == [None, None, 1.5, 2]


def test_documents_are_utf_8_without_control_characters() -> None:
    raw = io.BytesIO()
    output = JsonOutput(io.TextIOWrapper(raw, encoding="ascii"))
    output.write_error(classify_error(InputError("x")), "no file caf\xe9 \udcff \x9b31m \u202e")
    text = raw.getvalue().decode("utf-8")
    assert "caf\xe9" in text
    assert not set(text) & {"\x9b", "\u202e"}
    assert json.loads(text)["error"]["message"] == "no file caf\xe9 \udcff \x9b31m \u202e"


def test_only_the_first_process_of_several_writes(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    for name, value in {"TORCHELASTIC_RUN_ID": "none", "RANK": "1", "WORLD_SIZE": "2"}.items():
        monkeypatch.setenv(name, value)
    JsonOutput(stream).write_error(classify_error(InputError("x")), "x")
    assert stream.getvalue() == ""


def test_the_option_is_found_before_and_after_the_command_but_not_among_arguments() -> None:
    assert is_json_requested(["--json", "info", "run"])
    assert is_json_requested(["info", "run", "--json"])
    assert not is_json_requested(["info", "--", "--json"])


def test_exit_codes_are_those_of_the_table_and_each_error_has_one() -> None:
    codes = {outcome.code: outcome.exit_code for outcome in OUTCOMES}
    assert len(codes) == len(OUTCOMES)
    errors = (InputError("x"), MissingExtraError("x"), ResourceLimitError("x"), KeyboardInterrupt(), ValueError("x"))
    errors += (MemoryError(), OSError(28, "full"), StopRequested(signal.SIGTERM), StopRequested(signal.SIGINT))
    found = [classify_error(error) for error in errors]
    assert [one.exit_code for one in found] == [2, 2, 2, 130, 1, 2, 2, 143, 130]
    assert {one.code for one in found} <= set(codes)


def test_a_defect_is_a_document_with_a_traceback_on_standard_error(
    run_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    from rstc.cli import main

    def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError("something broke")

    monkeypatch.setattr("rstc.results.run_models.find_model", fail)
    monkeypatch.setattr("sys.argv", ["rstc", "info", str(run_folder), "--json"])
    with pytest.raises(SystemExit) as ended:
        main()
    printed = capfd.readouterr()
    assert ended.value.code == 1
    assert "Traceback" in printed.err
    error = read_document(printed.out, "info")["error"]
    assert (error["code"], error["message"]) == ("internal_error", "RuntimeError: something broke")


def test_the_message_of_an_error_is_the_same_with_and_without_json(tmp_path: Path) -> None:
    arguments = ("--config", tmp_path / "missing.toml", "info", tmp_path)  # the system's own error is the cause
    message = run_json(*arguments, command="", code=2)["error"]["message"]
    assert run_rstc(*arguments).stderr == f"rstc: {message}\n"


def test_a_failed_command_leaves_the_folder_as_it_was(run_folder: Path, tmp_path: Path) -> None:
    shutil.copytree(run_folder, tmp_path / "copy")
    run_json("merge", run_folder, "--to", 20, command="merge", code=2)
    for path in (tmp_path / "copy").iterdir():
        if path.is_file():
            assert path.read_bytes() == (run_folder / path.name).read_bytes()
