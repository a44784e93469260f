"""What is wrong with a command is said before torch is imported, and the first sign of work comes before it, too."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from rstc.io.columns import CLUSTER_COLUMNS

# Runs commands one after the other in one process; says of each what it printed and which heavy modules it imported.
DRIVER = """
import contextlib, io, json, sys
from rstc.cli import main

HEAVY = ("torch", "sklearn", "transformers", "sentence_transformers")
results = {}
for name, command in json.load(open(sys.argv[1])).items():
    sys.argv, errors, code = ["rstc", *command], io.StringIO(), 0
    with contextlib.redirect_stderr(errors), contextlib.redirect_stdout(io.StringIO()):
        import rstc.cli.display as display

        display.notes.file = errors
        try:
            main()
        except SystemExit as end:
            code = end.code
    results[name] = [code, errors.getvalue(), [module for module in HEAVY if module in sys.modules]]
print(json.dumps(results))
"""

# Runs one command until it imports torch; standard error then tells what was printed before.
UNTIL_TORCH = """
import importlib.abc, importlib.machinery, os, sys


class StopAtTorch(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path=None, target=None):  # whether torch is installed may be asked before
        return importlib.machinery.ModuleSpec(name, self) if name == "torch" else None

    def create_module(self, spec):
        sys.stderr.write("torch is imported\\n")
        sys.stderr.flush()
        os._exit(0)

    def exec_module(self, module):
        raise AssertionError("not reached")


sys.meta_path.insert(0, StopAtTorch())
from rstc.cli import main

main()
"""

# The words of each command, with the names of files that the fixture makes, and what the message has to hold.
REFUSED = {
    "a setting that does not exist": (
        "cluster tickets.csv -k 4 -o out --set bacth_size=3",
        "did you mean 'batch_size'",
    ),
    "a setting that is no assignment": ("cluster tickets.csv -k 4 -o out --set batch_size", "NAME=VALUE"),
    "a value out of range": ("cluster tickets.csv -k 4 -o out --set batch_size=-1", "batch_size=-1"),
    "an unknown preset": ("cluster tickets.csv -k 4 -o out --preset fast", "preset='fast'"),
    "a number of clusters that is no number": ("cluster tickets.csv -k many -o out", "n_clusters='many'"),
    "a range in the wrong order": ("cluster tickets.csv -k 9-3 -o out", "n_clusters=9-3"),
    "one cluster": ("cluster tickets.csv -k 1 -o out", "n_clusters=1"),
    "more clusters than texts": ("cluster few.csv -k 4 -o out", "needs at least 4 distinct texts, got 3"),
    "one view column": ("cluster tickets.csv -k 4 -o out --views text", "two columns"),
    "a missing view column": ("cluster tickets.csv -k 4 -o out --views text,other --set training=always", "'other'"),
    "views without training": ("cluster tickets.csv -k 4 -o out --views text,other", "--set training=always"),
    "a view specification": ("cluster tickets.csv -k 4 -o out --set views=typo", "did you mean 'typos'"),
    "a share of noise out of range": ("cluster tickets.csv -k 4 -o out --noise 2", "noise=2"),
    "an encoder that is no folder": ("cluster tickets.csv -k 4 -o out --set encoder=./none", "encoder='./none'"),
    "a folder that holds something else": ("cluster tickets.csv -k 4 -o other", "not a run of rstc"),
    "a folder that holds a run": ("cluster tickets.csv -k 4 -o run", "holds an earlier run"),
    "a folder in a file": ("cluster tickets.csv -k 4 -o tickets.csv/out", "cannot be written"),
    "a missing file": ("cluster none.csv -k 4 -o out", "there is no file none.csv"),
    "a folder where no file can be": ("cluster tickets.csv -k 4 -o /proc/run", "not a folder that can be written to"),
    "an unknown format": ("cluster tickets.docx -k 4 -o out", "tickets.docx"),
    "a workbook that is none": ("cluster tickets.xlsx -k 4 -o out", "tickets.xlsx cannot be read as xlsx"),
    "a sheet that does not exist": ("cluster book.xlsx -k 4 -o out --sheet Notes", "no sheet 'Notes'"),
    "a sheet of another file": ("cluster tickets.csv -k 4 -o out --sheet 2", "--sheet=2 is for Excel workbooks"),
    "a damaged gzip file": ("cluster tickets.csv.gz -k 4 -o out", "is not a gzip file"),
    "a file that is not UTF-8": ("cluster latin.csv -k 4 -o out", "byte 0xE9"),
    "an unknown encoding": ("cluster tickets.csv -k 4 -o out --encoding utf-99", "utf-99"),
    "a missing text column": ("cluster tickets.csv -k 4 -o out --text-column body", "'body'"),
    "one of two text columns is missing": (
        "cluster two.csv -k 4 -o out --text-column title --text-column text",
        "there is no column 'text'",
    ),
    "several columns of texts": ("cluster two.csv -k 4 -o out", "title"),
    "reserved columns": ("cluster reserved.csv -k 4 -o out --text-column text", "cluster"),
    "an empty file": ("cluster empty.csv -k 4 -o out", "empty.csv"),
    "a missing column of labels": ("cluster tickets.csv -k 4 -o out --labels known", "'known'"),
    "more classes than clusters": ("cluster tickets.csv -k 2 -o out --labels topic --text-column text", "4 classes"),
    "a missing column of classes": ("cluster tickets.csv -k 4 -o out --truth known", "'known'"),
    "a column of dates that holds none": (
        "cluster tickets.csv -k 4 -o out --time topic",
        "column 'topic' does not hold dates: 100 % of its values are none, such as",
    ),
    "a missing column of groups": ("cluster tickets.csv -k 4 -o out --by known", "there is no column 'known'"),
    "a column of groups without groups": (
        "cluster dated.csv -k 4 -o out --text-column text --by id",
        "column 'id' holds 120 different values in 120 rows",
    ),
    "an unknown period": ("cluster dated.csv -k 4 -o out --time day --every fortnight", "every='fortnight'"),
    "periods that are too many": (
        "cluster dated.csv -k 4 -o out --text-column text --time day --every day",
        "makes 1,191 periods",
    ),
    "compare: no run": ("compare other --by topic", "there is no run in other"),
    "compare: no column": ("compare run --by known", "there is no column 'known'"),
    "compare: nothing": ("compare run", "--time or a column of groups with --by"),
    "compare: no dates": ("compare run --time topic", "does not hold dates"),
    "compare: no format": ("compare run --by topic --out shares.doc", "shares.doc"),
    "predict: no model": ("predict other tickets.csv -o out.csv", "there is no model in other"),
    "predict: no folder": ("predict none tickets.csv -o out.csv", "there is no model in none"),
    "predict: no file": ("predict run none.csv -o out.csv", "there is no file none.csv"),
    "predict: no such column": ("predict run tickets.csv -o out.csv --text-column body", "'body'"),
    "predict: output is the input": ("predict run tickets.csv -o tickets.csv", "the same file"),
    "predict: output in a file": ("predict run tickets.csv -o few.csv/out.csv", "cannot be written"),
    "predict: output is a folder": ("predict run tickets.csv -o other", "other is a folder"),
    "predict: output in no folder": ("predict run tickets.csv -o none/out.csv", "there is no folder none"),
    "predict: output of an unknown format": ("predict run tickets.csv -o out.docx", "out.docx"),
    "predict: output where no file can be": ("predict run tickets.csv -o /proc/out.csv", "cannot be written"),
    "predict: many files to standard output": ("predict run other/*.csv -o -", "--out - takes a single input file"),
    "predict: many files into a file": ("predict run *.csv -o few.csv", "few.csv"),
    "predict: many files and no model": ("predict none *.csv -o labelled", "there is no model in none"),
    "predict: many files without one": ("predict run other/*.csv -o labelled", "there is no file"),
    "update: no run": ("update other tickets.csv", "there is no run in other"),
    "update: no file": ("update run none.csv", "there is no file none.csv"),
    "update: another column": ("update run two.csv", "'text'"),
    "update: no text": ("update run blank.csv", "at least one new text"),
    "merge: no run": ("merge other --to 2", "there is no run in other"),
    "merge: as many clusters as there are": ("merge run --to 4", "n_clusters=4 must be between 1 and 3"),
    "merge: more clusters than there are": ("merge run --to 20", "n_clusters=20 must be between 1 and 3"),
    "apply: no run": ("apply other", "there is no run in other"),
    "apply: no model": ("apply run-without-model", "there is no model"),
    "evaluate: no file": ("evaluate none.csv --truth topic", "there is no file none.csv"),
    "evaluate: no column": ("evaluate tickets.csv --truth known", "'known'"),
    "export: no model": ("export other -o exported", "there is no model in other"),
    "export: a file": ("export run -o few.csv", "few.csv exists"),
    "export: a folder where no file can be": ("export run -o /proc/exported", "cannot be written"),
    "figures: no run": ("figures other -o pictures", "there is no run in other"),
    "figures: a file": ("figures run -o few.csv", "few.csv cannot be written"),
    "figures: a folder where no file can be": ("figures run -o /proc/pictures", "cannot be written"),
    "export: a folder of something else": ("export run -o other", "not an exported model"),
    "explore: no run": ("explore other --no-browser", "there is no run in other"),
    "names: no run": ("names other", "there is no run in other"),
    "names: a function that does not exist": ("names run --function nowhere:name", "nowhere:name"),
    "serve: no model": ("serve other", "there is no model in other"),
    "serve: nothing to serve": ("serve", "needs the folder of a model"),
    "serve: no token": ("serve run --host 0.0.0.0", "needs a token"),
    "serve: no token file": ("serve run --token-file none", "none cannot be read"),
    "serve: no root": ("serve --mcp --root none", "there is no folder none"),
    "report: no run": ("report other", "there is no run in other"),
    "report: no column": ("report run --truth known", "'known'"),
    "info: no model": ("info other", "there is no model in other"),
    "augment: an unknown method": ("augment tickets.csv -o views.csv -m typo", "did you mean 'typos'"),
    "augment: nothing to write": ("augment tickets.csv -o views.csv -m cutoff", "inside the encoder"),
    "augment: output is a folder": ("augment tickets.csv -o other --text-column text", "other is a folder"),
    "augment: output in no folder": (
        "augment tickets.csv -o none/out.csv --text-column text",
        "there is no folder none",
    ),
    "augment: output where no file can be": ("augment tickets.csv -o /proc/out.csv", "cannot be written"),
    "augment: no file": ("augment none.csv -o views.csv", "there is no file none.csv"),
    "augment: no column": ("augment tickets.csv -o views.csv --text-column body", "'body'"),
    "augment: no text": ("augment blank.csv -o views.csv --text-column text", "no texts to augment"),
}
# Commands that are carried out without torch.
DONE = {
    "info": "info run",
    "compare": "compare run --by topic",
    "names": "names run",
    "report": "report run",
    "settings": "settings",
}


def run_python(script: str, *arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a script in a new process, which has imported nothing yet."""
    command = [sys.executable, "-c", script, *map(str, arguments)]
    return subprocess.run(
        command, cwd=cwd, capture_output=True, text=True, timeout=240, check=False, env={**os.environ}
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, finished_run: Path) -> Path:
    """Return a folder with the files that the commands name."""
    import shutil

    folder = tmp_path_factory.mktemp("startup")
    shutil.copytree(finished_run, folder / "run")
    shutil.copytree(finished_run, folder / "run-without-model", ignore=shutil.ignore_patterns("model"))
    rows = pd.read_csv(finished_run / "clusters.csv").drop(columns=list(CLUSTER_COLUMNS))
    rows.to_csv(folder / "tickets.csv", index=False)
    days = pd.date_range("2015-01-01", periods=len(rows), freq="10D").strftime("%d.%m.%Y")
    rows.assign(day=days, id=[f"id {row}" for row in range(len(rows))]).to_csv(folder / "dated.csv", index=False)
    rows.assign(cluster=1).to_csv(folder / "reserved.csv", index=False)
    rows.head(3)[["text"]].to_csv(folder / "few.csv", index=False)
    pd.DataFrame({"title": rows["text"], "body": rows["text"]}).to_csv(folder / "two.csv", index=False)
    pd.DataFrame({"text": ["", " "], "topic": ["a", "b"]}).to_csv(folder / "blank.csv", index=False)
    (folder / "latin.csv").write_bytes("text\ncafé\n".encode("latin-1"))
    (folder / "empty.csv").write_text("")
    (folder / "tickets.xlsx").write_bytes(b"PK")
    (folder / "tickets.csv.gz").write_bytes(b"text\nlate\n")
    rows.to_excel(folder / "book.xlsx", index=False)
    (folder / "other").mkdir()
    (folder / "other" / "notes.md").write_text("mine")
    return folder


@pytest.fixture(scope="module")
def results(folder: Path) -> dict[str, tuple[int, str, list[str]]]:
    """Run all commands; return exit code, standard error and heavy modules of each."""
    commands = {name: words for name, (words, _) in REFUSED.items()} | DONE
    (folder / "commands.json").write_text(json.dumps({name: words.split() for name, words in commands.items()}))
    done = run_python(DRIVER, folder / "commands.json", cwd=folder)
    assert done.returncode == 0, done.stderr
    results: dict[str, tuple[int, str, list[str]]] = json.loads(done.stdout)
    return results


@pytest.mark.parametrize("name", REFUSED)
def test_a_wrong_command_is_refused_before_torch_is_imported(
    results: dict[str, tuple[int, str, list[str]]], name: str
) -> None:
    code, errors, heavy = results[name]
    assert heavy == []
    assert code == 2, errors
    assert REFUSED[name][1] in errors.splitlines()[-1]


@pytest.mark.parametrize("name", DONE)
def test_a_finished_run_is_shown_without_torch(results: dict[str, tuple[int, str, list[str]]], name: str) -> None:
    assert results[name][::2] == [0, []], results[name][1]


@pytest.mark.parametrize(
    ("command", "source"),
    [
        ("cluster tickets.csv -k 4 -o new", "tickets.csv"),
        ("predict run tickets.csv -o labelled.csv", "tickets.csv"),
        ("update run tickets.csv --again", "tickets.csv"),
        ("merge run --to 2", "run"),
        ("augment tickets.csv -o views.csv --text-column text", "tickets.csv"),
        ("export run -o exported", "run"),
    ],
)
def test_the_first_sign_of_work_comes_before_torch(folder: Path, command: str, source: str) -> None:
    done = run_python(UNTIL_TORCH, *command.split(), cwd=folder)
    assert done.stderr.splitlines() == [f"reading {source}", "loading the model", "torch is imported"]


def test_waiting_threads_sleep_unless_the_user_sets_it_otherwise(folder: Path) -> None:
    script = (
        "import os\nfrom rstc.cli import main\ntry:\n    main()\nfinally:\n    print(os.environ['OMP_WAIT_POLICY'])"
    )
    environment = {name: value for name, value in os.environ.items() if name != "OMP_WAIT_POLICY"}
    for given, expected in (({}, "PASSIVE"), ({"OMP_WAIT_POLICY": "ACTIVE"}, "ACTIVE")):
        command = [sys.executable, "-c", script, "--version"]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env={**environment, **given})
        assert done.stdout.splitlines()[-1] == expected, done.stderr
