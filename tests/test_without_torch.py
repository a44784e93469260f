"""What works in processes that have no torch, transformers and sentence-transformers, and what they say otherwise."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest

from rstc import RSTC, InputError
from rstc.persistence.model_description import read_description
from rstc.pipelines.apply_edits import apply_edits, merge_to
from rstc.pipelines.edit_session import EditSession
from rstc.pipelines.update import update_run
from rstc.results.run_models import find_model

# Python runs it before anything else.
HIDE_TORCH = """
import importlib.abc, importlib.metadata, sys
HIDDEN = {"torch", "transformers", "sentence_transformers"}

class Hider(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in HIDDEN:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Hider())
find = importlib.metadata.Distribution.from_name.__func__

def from_name(cls, name):
    if name.replace("-", "_") in HIDDEN:
        raise importlib.metadata.PackageNotFoundError(name)
    return find(cls, name)

importlib.metadata.Distribution.from_name = classmethod(from_name)
"""
# One process for several commands: most of a command's time goes into imports.
RUN_ALL = """
import json, sys
from rstc.cli.entry import main
for arguments in json.loads(sys.argv[1]):
    sys.argv = ["rstc", *arguments]
    code = 0
    try:
        main()
    except SystemExit as end:
        code = end.code or 0
    for stream in (sys.stdout, sys.stderr):
        print(f"--- {arguments[0]} {code}", file=stream, flush=True)
"""
NEW_TEXTS = "text\nparcel late courier\npassword login reset\n"


class Place(NamedTuple):
    """A folder with a run, an exported model, new texts, and the module that hides torch."""

    folder: Path

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run Python without torch in the folder."""
        paths = [str(self.folder / "hook"), *filter(None, [os.environ.get("PYTHONPATH")])]
        return subprocess.run(
            [sys.executable, *arguments],
            capture_output=True,
            text=True,
            timeout=200,
            cwd=self.folder,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
        )

    def run_commands(self, commands: list[str]) -> dict[str, tuple[int, str]]:
        """Run commands in one process; return exit code and standard error of each, by its name."""
        done = self.run("-c", RUN_ALL, json.dumps([command.split() for command in commands]))
        assert done.returncode == 0, done.stderr
        results, lines = {}, []
        for line in done.stderr.splitlines():
            if line.startswith("--- "):
                _, name, code = line.split()
                results[name] = int(code), "\n".join(lines)
                lines = []
            else:
                lines.append(line)
        return results


@pytest.fixture(scope="module")
def place(finished_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Place:
    pytest.importorskip("onnxruntime")
    folder = tmp_path_factory.mktemp("without-torch")
    shutil.copytree(finished_run, folder / "run")
    shutil.copy(finished_run.parent / "tickets.csv", folder)  # the run's input
    RSTC.load(finished_run / "model").export_onnx(folder / "exported")
    (folder / "new.csv").write_text(NEW_TEXTS)
    (folder / "hook").mkdir()
    (folder / "hook" / "sitecustomize.py").write_text(HIDE_TORCH)
    return Place(folder)


def test_torch_is_missing_in_these_processes(place: Place) -> None:
    for name in ("torch", "transformers", "sentence_transformers"):
        assert f"ModuleNotFoundError: No module named '{name}'" in place.run("-c", f"import {name}").stderr


def test_commands_that_need_no_torch_work(place: Place) -> None:
    commands = [
        "predict exported new.csv --out labelled.csv",
        "info run",
        "report run",
        "names run",
        "compare run --by topic",
        "evaluate run/clusters.csv --truth topic",
        "figures run --out figures",
        "settings",
    ]
    results = place.run_commands(commands)
    assert {name: code for name, (code, _) in results.items()} == dict.fromkeys(
        (command.split()[0] for command in commands), 0
    ), results
    assert (place.folder / "labelled.csv").read_text().startswith("text,cluster,")
    assert list((place.folder / "figures").iterdir())


def test_public_names_that_need_no_torch_are_imported(place: Place, finished_run: Path) -> None:
    code = """
import rstc, rstc.io.formats
model = rstc.OnnxModel("exported")
print(model.predict(["parcel late courier", "password login reset"]).tolist(), rstc.Config().batch_size > 0)
frame = rstc.io.formats.read_table("new.csv", "csv")
print(len(frame), rstc.SavedModel("exported").text_column, rstc.InputError.__name__)
"""
    done = place.run("-c", code)
    clusters = RSTC.load(finished_run / "model").predict(["parcel late courier", "password login reset"]).tolist()
    assert done.stdout == f"{clusters} True\n2 text InputError\n", done.stderr


def test_commands_that_need_torch_say_so_in_a_sentence_and_change_nothing(place: Place) -> None:
    before = {path: path.read_bytes() for path in (place.folder / "run").rglob("*") if path.is_file()}
    commands = [
        "cluster tickets.csv --clusters 4 --out another",
        "update run new.csv",
        "export run --out also-exported",
        "predict run new.csv --out by-a-folder.csv",
    ]
    for name, (code, message) in place.run_commands(commands).items():
        assert code == 2, (name, message)
        sentence = "torch is not installed, and this needs it: pip install torch sentence-transformers"
        assert message.splitlines()[-1] == f"rstc: {sentence}", message
        assert "Traceback" not in message
    assert {path: path.read_bytes() for path in (place.folder / "run").rglob("*") if path.is_file()} == before
    assert not (place.folder / "another").exists()


def read_clusters(run: Path) -> pd.DataFrame:
    return pd.read_csv(run / "clusters.csv")[["cluster", "cluster_name", "confidence"]]


def test_corrections_without_torch_change_all_but_the_model_which_apply_changes_later(place: Place) -> None:
    """The same corrections with torch give the same clusters, names and, up to rounding, confidence."""
    run, expected = place.folder / "corrected", place.folder / "corrected-with-torch"
    for folder in (run, expected):
        shutil.copytree(place.folder / "run", folder)
    moves: list[dict[str, Any]] = [
        {"do": "move", "rows": [0, 1, 2], "into": 1},
        {"do": "noise", "rows": [3]},
        {"do": "rename", "cluster": 1, "name": "access"},
    ]
    for folder in (run, expected):
        session = EditSession(folder)
        for move in moves:
            session.correct(move)
    results = place.run_commands(["apply corrected", "merge corrected --to 2", "info corrected"])
    assert [code for code, _ in results.values()] == [0, 0, 0], results
    assert "note: torch is not installed, so the model was not changed" in results["apply"][1]
    apply_edits(expected)
    merge_to(expected, 2)

    found, wanted = read_clusters(run), read_clusters(expected)
    pd.testing.assert_frame_equal(found, wanted, rtol=0, atol=2e-3)
    assert not found.equals(read_clusters(place.folder / "run"))
    assert (run / "report.html").read_text().count("access")

    with pytest.raises(InputError, match=r"`rstc apply .*` where torch is installed changes it"):
        find_model(run)
    code, message = place.run_commands(["predict corrected new.csv --out late.csv"])["predict"]
    assert code == 2
    assert "where torch is installed" in message

    apply_edits(run)  # with torch
    assert read_clusters(run).equals(wanted)
    texts = pd.read_csv(run / "clusters.csv")["text"].tolist()
    np.testing.assert_array_equal(
        RSTC.load(find_model(run)).predict(texts), RSTC.load(find_model(expected)).predict(texts)
    )


def test_an_update_changes_the_model_first(place: Place) -> None:
    run = place.folder / "updated"
    shutil.copytree(place.folder / "run", run)
    assert place.run_commands(["merge updated --to 3"])["merge"][0] == 0
    update_run(run, str(place.folder / "new.csv"))
    assert read_description(find_model(run)).n_clusters >= 3


def test_the_failure_is_a_document_with_a_code(place: Place) -> None:
    done = place.run("-m", "rstc", "predict", "run", "new.csv", "--out", "x.csv", "--json")
    document: dict[str, Any] = json.loads(done.stdout)
    assert (done.returncode, document["error"]["code"]) == (2, "missing_extra")
    assert document["error"]["message"].startswith("torch is not installed")
