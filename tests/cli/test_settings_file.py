"""`rstc.toml` and environment variables: what counts before what, what is refused, and what is recorded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import typer

from fork_server import run_rstc
from rstc.cli.app import app
from rstc.cli.commands import Given, list_commands, list_options
from rstc.cli.settings_file import (
    NOT_IN_FILES,
    ONCE,
    PATH_OPTIONS,
    SETTINGS_FILE,
    list_file_options,
    name_variable,
    nest_options,
    read_given,
    tomllib,
)
from rstc.errors import InputError

ROOT = typer.main.get_command(app)


def read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str = "", config: bool = False, **environment: str
) -> tuple[Given, list[str]]:
    """Read a settings file in the working directory, or one that is named, and variables."""
    monkeypatch.chdir(tmp_path)
    path = Path("named.toml" if config else SETTINGS_FILE)
    if content:
        path.write_text(content)
    return read_given(ROOT, path if config else None, environment)


def test_a_file_gives_options_and_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = '[cluster]\nclusters = 12\ntext-column = ["a", "b"]\ncolumns = false\n[benchmark.run]\nseeds = 3\n'
    given, notes = read(tmp_path, monkeypatch, content + "[settings]\nbatch_size = 64\n")
    assert given.options == {
        "cluster": {"clusters": 12, "text_column": ["a", "b"], "keep_columns": False},
        "benchmark run": {"seeds": 3},
    }
    assert given.settings == {"batch_size": 64}
    assert set(given.sources.values()) == {SETTINGS_FILE}
    assert notes == [f"options are read from {SETTINGS_FILE}"]
    assert nest_options(given.options)["benchmark"] == {"run": {"seeds": 3}}


def test_without_a_file_and_variables_nothing_is_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert read(tmp_path, monkeypatch, RSTC_CACHE_DIR="/tmp") == (Given(), [])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[clutser]\nclusters = 3", "no table 'clutser'; did you mean 'cluster'?"),
        ("[cluster]\nclutsers = 3", "no option 'clutsers'; did you mean 'clusters'?"),
        ("[settings]\nbacth_size = 3", "there is no setting 'bacth_size'; did you mean 'batch_size'?"),
        ("[settings]\nbatch_size = 1", "batch_size=1 must be an integer >= 2"),
        ("[settings]\nbatch_size = [1]", "batch_size=[1] must be an integer >= 2"),
        ("[benchmark.rum]\nseeds = 3", "no table 'rum'; did you mean 'run'?"),
        ("[benchmark]\nseeds = 3", "no table 'seeds'"),
        ("clusters = 3", "no table 'clusters'; did you mean 'cluster'?"),
        ("cluster = 3", "cluster must be a table, written [cluster]"),
        ("[cluster]\ncache = 1", "cache must be true or false, got 1"),
        ("[cluster]\ntext-column = 'a'", "text-column must be a list, such as ['a']"),
        ("[cluster]\nclusters = [1]", "clusters must be a text or a number, got [1]"),
        ("[cluster]\ntime = 2020-01-01", "time must be a text or a number"),
        ("[cluster", "is not TOML"),
        ("\xff", "is not TOML"),
        ("[cluster]\nset = ['a=1']", "set is not read from a file; it is for the table [settings]"),
        ("[cluster]\noverwrite = true", "overwrite is not read from a file; it is for the command line only"),
        ("[names]\ncommand = 'rm -r /'", "command is not read from a file"),
        ("[names]\nfunction = 'evil:run'", "function is not read from a file"),
        ("[names]\nurl = 'http://collector'", "url is not read from a file"),
        ("[explore]\nhost = '0.0.0.0'", "host is not read from a file"),
        ("[cache]\nclear = true", "clear is not read from a file"),
    ],
)
@pytest.mark.parametrize("config", [False, True])
def test_what_a_file_cannot_give_is_named(
    content: str, message: str, config: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ("named.toml" if config else SETTINGS_FILE)).write_bytes(content.encode("latin-1"))
    with pytest.raises(InputError) as refused:
        read(tmp_path, monkeypatch, config=config)
    assert message in str(refused.value)


@pytest.mark.parametrize(
    "content",
    [
        "[cluster]\nout = '/somewhere'",
        "[cluster]\nout = '../run'",
        "[cluster]\nout = 'link/run'",
        "[predict]\nout = 's3://bucket/out'",
        "[settings]\nencoder = '/somewhere'",
        "[settings]\nencoder = 'hub:someone/model'",
        "[settings]\ncache_folder = '../cache'",
        "[settings]\nviews = 'contextual:someone/model'",
        "[augment]\nmethod = 'contextual:someone/model'",
        "[benchmark.run]\nstore = '/somewhere'",
    ],
)
def test_a_file_that_was_found_does_not_leave_its_folder_but_one_that_is_named_may(
    content: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "stranger"
    folder.mkdir()
    (folder / "link").symlink_to(tmp_path)
    with pytest.raises(InputError, match="is not in this folder"):
        read(folder, monkeypatch, content)
    (folder / SETTINGS_FILE).unlink()
    read(folder, monkeypatch, content, config=True)


def test_paths_inside_the_folder_are_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given, _ = read(tmp_path, monkeypatch, "[cluster]\nout = 'runs/a'\n[settings]\nencoder = 'model'")
    assert given.options["cluster"]["out"] == "runs/a"


def test_a_file_that_is_named_has_to_exist(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match=r"there is no file named\.toml"):
        read(tmp_path, monkeypatch, config=True)


def test_every_path_and_every_option_that_files_must_not_give_exists() -> None:
    commands = list_commands(ROOT)
    options = {name for command in commands.values() for name in list_options(command)}
    assert ONCE - {"config"} <= options
    assert options >= PATH_OPTIONS
    assert all(names <= set(list_options(commands[command])) for command, names in NOT_IN_FILES.items())


def test_variables_give_options_and_count_before_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    variables = {
        "RSTC_CLUSTER_CLUSTERS": "5",
        "RSTC_CLUSTER_TEXT_COLUMN": "a title;body",
        "RSTC_CLUSTER_CACHE": "false",
        "RSTC_BENCHMARK_RUN_TIME_LIMIT": "2h",
        "RSTC_CLUSTER_SEED": "",
    }
    given, notes = read(tmp_path, monkeypatch, "[cluster]\nclusters = 12\nseed = 3", **variables)
    assert given.options["cluster"] == {
        "clusters": "5", "seed": 3, "text_column": ["a title", "body"], "cache": False,
    }  # fmt: skip
    assert given.options["benchmark run"] == {"time_limit": "2h"}
    assert given.sources["cluster", "clusters"] == "environment"
    assert given.sources["cluster", "seed"] == SETTINGS_FILE
    assert len(notes) == 1


def test_variables_that_no_option_has_are_noted_and_flags_are_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, notes = read(tmp_path, monkeypatch, RSTC_CLUSTER_CLUSTRS="5")
    assert notes == ["RSTC_CLUSTER_CLUSTRS is not the variable of an option; did you mean RSTC_CLUSTER_CLUSTERS?"]
    given, _ = read(tmp_path, monkeypatch, RSTC_CLUSTER_OVERWRITE="1", RSTC_CACHE_CLEAR="1")
    assert given.options == {}, "what removes something is typed"
    with pytest.raises(InputError, match="RSTC_CLUSTER_CACHE='maybe' must be true or false"):
        read(tmp_path, monkeypatch, RSTC_CLUSTER_CACHE="maybe")


def test_no_two_options_have_the_same_variable() -> None:
    names = [
        name_variable(path, name) for path, command in list_commands(ROOT).items() for name in list_options(command)
    ]
    assert len(names) == len(set(names))


def test_the_template_is_toml_that_gives_every_option_once_uncommented(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    template = run_rstc("settings", "--toml").stdout
    assert read(tmp_path, monkeypatch, template)[0] == Given(), "everything in it is a comment"
    lines = [line.removeprefix("# ") if " = " in line else line for line in template.splitlines()]
    assigned = [line for line in lines if not line.startswith("#") and not (" = " in line and line[0].isupper())]
    tables = tomllib.loads("\n".join(line for line in assigned if line.startswith("[") or " = " in line))
    assert set(tables["cluster"]) == set(list_file_options("cluster", list_commands(ROOT)["cluster"]))
    assert "run" in tables["benchmark"]
    assert tables["settings"]["batch_size"] == 200


@pytest.fixture
def folder(tickets: Path, tiny_encoder: str, tmp_path: Path) -> Path:
    (tmp_path / SETTINGS_FILE).write_text(
        '[cluster]\nout = "run"\nclusters = 3\nseed = 7\nnoise = 0.2\n'
        "[settings]\nkmeans_starts = 1\nrepeats = 2\nnoise = 0.1\nbatch_size = 32\n"
    )
    return tmp_path


def plan(folder: Path, encoder: str, *words: str, **environment: str) -> dict[str, Any]:
    done = run_rstc(
        "cluster", "tickets.csv", "--dry-run", "--json", "--set", f"encoder={encoder}", *words,
        cwd=folder, environment=environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def test_the_command_line_counts_before_the_environment_before_the_file(folder: Path, tiny_encoder: str) -> None:
    assert plan(folder, tiny_encoder)["n_clusters"] == 3
    assert plan(folder, tiny_encoder, RSTC_CLUSTER_CLUSTERS="4")["n_clusters"] == 4
    document = plan(folder, tiny_encoder, "-k", "5", RSTC_CLUSTER_CLUSTERS="4")
    assert document["n_clusters"] == 5
    given = document["given"]
    assert given["--clusters"] == {"value": "5", "source": "command line"}
    assert given["--seed"] == {"value": 7, "source": SETTINGS_FILE}
    assert given["batch_size"] == {"value": 32, "source": SETTINGS_FILE}


def test_what_a_run_was_given_is_recorded(folder: Path, tiny_encoder: str) -> None:
    words = ("--set", f"encoder={tiny_encoder}", "--set", "batch_size=16")
    done = run_rstc("cluster", "tickets.csv", *words, cwd=folder, environment={"RSTC_CLUSTER_SEED": "8"})
    assert done.returncode == 0, done.stderr
    assert f"note: options are read from {SETTINGS_FILE}" in done.stderr
    summary = json.loads((folder / "run" / "summary.json").read_text())
    assert (summary["seed"], len(summary["clusters"])) == (8, 3)
    settings = summary["settings"]
    assert (settings["kmeans_starts"], settings["batch_size"]) == (1, 16)
    assert settings["noise"] == 0.2, "an option counts before the setting of its name"
    assert summary["sources"]["--seed"] == "environment"
    assert summary["sources"]["--clusters"] == summary["sources"]["kmeans_starts"] == SETTINGS_FILE
    told = run_rstc("info", folder / "run", "--all").stdout
    assert "--seed by environment" in told


def test_set_on_the_command_line_counts_before_an_option_of_the_file(folder: Path, tiny_encoder: str) -> None:
    done = run_rstc(
        "cluster", "tickets.csv", "--set", f"encoder={tiny_encoder}", "--set", "noise=0.3", "--seed", "1", cwd=folder
    )
    assert done.returncode == 0, done.stderr
    assert json.loads((folder / "run" / "summary.json").read_text())["settings"]["noise"] == 0.3


def test_a_wrong_file_ends_a_command_with_code_2(tmp_path: Path) -> None:
    (tmp_path / SETTINGS_FILE).write_text("[cluster]\nclustres = 3\n")
    done = run_rstc("settings", "eps2", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "rstc: rstc.toml: [cluster] has no option 'clustres'; did you mean 'clusters'?\n"
