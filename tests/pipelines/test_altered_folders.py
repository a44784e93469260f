"""Altered files of a run, a model and its checkpoints: each command answers in one sentence, and no result is wrong.

A file is altered, one command after the other reads it. A command may refuse with exit code 2, or work; it never ends
in a traceback, waits or writes elsewhere. Damage that a checksum shows is always refused.
"""

from __future__ import annotations

import json
import math
import os
import random
import shutil
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from rstc.cli import main
from rstc.io.atomic import compute_checksum, sha256
from rstc.pipelines.cluster import cluster_file
from rstc.pipelines.compare import compare_run
from rstc.pipelines.edit_session import EditSession
from rstc.pipelines.request import RunRequest
from rstc.pipelines.update import update_run
from rstc.results.corrected_run import CorrectedRun
from rstc.results.run_files import SUMMED_FILES

pytestmark = [pytest.mark.chaos("altered folders"), pytest.mark.usefixtures("socket_disabled", "few_head_steps")]

N_QUICK, N_ALL = 6, 120  # alterations of each JSON file: in `make test`, and in all


@pytest.fixture(scope="module")
def made(
    texts_and_topics: tuple[list[str], list[str]], tiny_encoder: str, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A folder with a run that was corrected, updated and compared, its input and new rows."""
    folder = tmp_path_factory.mktemp("altered")
    texts, topics = texts_and_topics
    pd.DataFrame({"text": texts, "topic": topics}).to_csv(folder / "tickets.csv", index=False)
    new = pd.DataFrame({"text": [f"{text} again" for text in texts[:20]], "topic": topics[:20]})
    new.to_csv(folder / "new.csv", index=False)
    settings = {"encoder": tiny_encoder, "training": "always", "max_steps": 4, "batch_size": 32, "kmeans_starts": 1}
    settings |= {"repeats": 2}
    cluster_file(RunRequest(str(folder / "tickets.csv"), folder / "run", 4, truth_column="topic", settings=settings))
    correct(folder / "run", {"do": "merge", "cluster": 1, "into": 0})
    update_run(folder / "run", str(folder / "new.csv"))
    compare_run(folder / "run", by=["topic"])
    correct(folder / "run", {"do": "rename", "cluster": 0, "name": "mine"})
    proposal = {"id": 1, "name": "p", "size": 2, "stability": 0.5, "keywords": ["a"], "typical": [1], "rows": [1, 2]}
    proposals = {"format_version": 1, "proposals": [proposal | {"near": 0, "status": "open"}]}
    (folder / "run" / "proposals.json").write_text(json.dumps(proposals))
    return folder


def correct(folder: Path, edit: dict[str, Any]) -> None:
    run = CorrectedRun.read(folder)
    run.correct(edit)
    run.save(folder)


def sign(run: Path) -> None:
    """Compute the checksums of a run and its model again, as an attacker would."""
    path = run / "summary.json"
    try:
        content = json.loads(path.read_text())
        if isinstance(content, dict):
            content["files"] = {name: sha256(run / name) for name in SUMMED_FILES if (run / name).is_file()}
            content["checksum"] = compute_checksum(content)
            path.write_text(json.dumps(content))
    except (OSError, ValueError):
        pass
    path = run / "model" / "model.json"
    try:
        content = json.loads(path.read_text())
        if isinstance(content.get("files"), dict):
            for name in content["files"]:
                if (run / "model" / name).is_file():
                    content["files"][name] = sha256(run / "model" / name)
        path.write_text(json.dumps(content | {"checksum": compute_checksum(content)}))
    except (OSError, ValueError, AttributeError, TypeError):
        pass


# Alterations

BYTES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda content: b"",
    "first half": lambda content: content[: len(content) // 2],
    "all but one byte": lambda content: content[:-1],
    "more at the end": lambda content: content + b"\0" * 100,
    "zeros": lambda content: b"\0" * len(content),
    "noise": lambda content: random.Random(0).randbytes(len(content)),
    **{f"bit {i}": lambda content, i=i: flip(content, i) for i in range(3)},
}


def flip(content: bytes, seed: int) -> bytes:
    """Flip a bit."""
    position = random.Random(seed).randrange(len(content) * 8)
    changed = bytearray(content)
    changed[position // 8] ^= 1 << position % 8
    return bytes(changed)


def remove(path: Path) -> None:
    path.unlink()


def replace_by_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def replace_by_link(path: Path) -> None:
    elsewhere = path.parents[2] / "elsewhere"
    shutil.move(path, elsewhere)
    path.symlink_to(elsewhere)


def replace_by_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


PATHS = {
    "missing": remove,
    "folder": replace_by_folder,
    "link": replace_by_link,
    "link to zeros": lambda path: (path.unlink(), path.symlink_to("/dev/zero")),
    "pipe": replace_by_pipe,
}
LEADING_OUT = ("link", "link to zeros", "pipe")
VALUES = [
    None,
    "x",
    [],
    {},
    -1,
    10**30,
    math.nan,
    math.inf,
    1e308,
    True,
    2**31,
    [[]],
    [None],
    {"a": 1},
    "../../x",
    0,
    "",
]


def alter_json(path: Path, seed: int) -> None:
    """Replace or remove a value of a JSON file."""
    rng = random.Random(seed)
    content = json.loads(path.read_text())
    parent, key = content, None
    for _ in range(1 + seed % 5):  # from the outside in, so that entries of long lists do not dominate
        keys = list(parent) if isinstance(parent, dict) else list(range(len(parent)))
        if not keys:
            break
        key = rng.choice(keys)
        if not isinstance(parent[key], (dict, list)) or not parent[key] or rng.random() < 0.2:
            break
        holder, parent = parent, parent[key]
    if isinstance(parent, (dict, list)) and (not parent or key is None or key not in list_keys(parent)):
        parent, key = holder, key
    if rng.random() < 0.2:
        del parent[key]
    else:
        parent[key] = rng.choice(VALUES)
    path.write_text(json.dumps(content))


def list_keys(value: Any) -> list[Any]:
    return list(value) if isinstance(value, dict) else list(range(len(value)))


def alter_table(path: Path, **changes: Any) -> None:
    table = pd.read_parquet(path)
    for name, value in changes.items():
        table[name] = value(table) if callable(value) else value
    table.to_parquet(path, index=False)


TABLES: dict[str, Callable[[Path], Any]] = {
    "fewer rows": lambda path: pd.read_parquet(path).head(3).to_parquet(path, index=False),
    "no rows": lambda path: pd.read_parquet(path).head(0).to_parquet(path, index=False),
    "without clusters": lambda path: pd.read_parquet(path).drop(columns="cluster").to_parquet(path, index=False),
    "texts are numbers": lambda path: alter_table(path, text=5),
    "texts are missing": lambda path: alter_table(path, text=None),
    "clusters are texts": lambda path: alter_table(path, cluster="x"),
    "unknown clusters": lambda path: alter_table(path, cluster=10**6),
    "negative clusters": lambda path: alter_table(path, cluster=-7),
    "clusters are not finite": lambda path: alter_table(path, cluster=math.nan),
    "confidence is not finite": lambda path: alter_table(path, confidence=math.inf),
    "confidence is large": lambda path: alter_table(path, confidence=7.0),
    "rows outside": lambda path: alter_table(path, row=10**9),
    "rows twice": lambda path: alter_table(path, row=0),
    "other texts": lambda path: alter_table(path, text=lambda table: table["text"][::-1].to_numpy()),
    "neighbours outside": lambda path: alter_table(path, neighbours=lambda t: [np.array([10**6])] * len(t)),
    "neighbours of any length": lambda path: alter_table(
        path, neighbours=lambda t: [np.arange(i % 3) for i in t.index]
    ),
    "neighbours are texts": lambda path: alter_table(path, neighbours="x"),
    "places are texts": lambda path: alter_table(path, x="x"),
    "a text of its own": lambda path: path.write_text("text\na\n"),
}


def save(path: Path, array: Any) -> None:
    with path.open("wb") as file:
        np.save(file, array, allow_pickle=True)


def describe_more(path: Path) -> None:
    """Describe an array that is far larger than the file."""
    with path.open("wb") as file:
        header = {"descr": "<f2", "fortran_order": False, "shape": (2**40, 4)}
        np.lib.format.write_array_header_1_0(file, header)


ARRAYS: dict[str, Callable[[Path], Any]] = {
    "fewer": lambda path: save(path, np.load(path)[:3]),
    "double": lambda path: save(path, np.load(path).astype(np.float64)),
    "one dimension": lambda path: save(path, np.load(path)[:, 0]),
    "not finite": lambda path: save(path, np.load(path) * np.float16(np.nan)),
    "objects": lambda path: save(path, np.array([{}, []], dtype=object)),
    "more than there is": describe_more,
}

JSON_FILES = [
    *("summary.json", "edits.json", "edits-earlier.json", "proposals.json", "comparisons.json"),
    *("model/model.json", "model/encoder/config.json", "model/encoder/tokenizer.json", "model/encoder/modules.json"),
]
OTHER_FILES = ["points.parquet", "embeddings.npy", "clusters.csv", "model/heads.safetensors", "report.html"]
CHECKED = ("summary.json", "points.parquet", "embeddings.npy", "model/")  # files whose damage a checksum shows

# Commands

READ = {
    "info": ["info", "{run}", "--all"],
    "names": ["names", "{run}"],
    "report": ["report", "{run}"],
    "detail": ["detail", "{run}", "coarse"],
    "explore": [],
    "compare": ["compare", "{run}"],
    "merge": ["merge", "{run}", "--to", "2"],
    "apply": ["apply", "{run}"],
}
MODEL = {
    "predict": ["predict", "{run}", "{made}/new.csv", "--text-column", "text", "--out", "{folder}/out.csv"],
    "apply": ["apply", "{run}"],
}
SLOW = {
    "update": ["update", "{run}", "{made}/new.csv", "--again"],
    "export": ["export", "{run}", "--out", "{folder}/onnx"],
}


def list_commands(file: str, is_all: bool) -> dict[str, list[str]]:
    commands = MODEL if file.startswith("model/") else READ
    return {"info": READ["info"], **commands, **(SLOW if is_all else {})}


def list_cases() -> Iterator[Any]:
    """Yield file, kind of alteration and its function, whether checksums are computed again, and all commands."""
    for file in [*JSON_FILES, *OTHER_FILES]:
        for i, (name, change) in enumerate(BYTES.items()):
            quick = i % 4 == len(file) % 4
            yield make_case(file, name, lambda path, c=change: path.write_bytes(c(path.read_bytes())), False, quick)
        for name, alter in PATHS.items():
            yield make_case(
                file, name, alter, False, quick=name in LEADING_OUT and file in (*CHECKED, "edits.json", "report.html")
            )
    for file in JSON_FILES:
        for seed in range(N_ALL if file in ("summary.json", "model/model.json") else N_ALL // 4):
            yield make_case(file, f"value {seed}", lambda path, s=seed: alter_json(path, s), True, seed < N_QUICK)
    for name, alter in TABLES.items():
        yield make_case("points.parquet", name, alter, True, quick=True)
    for name, alter in ARRAYS.items():
        yield make_case("embeddings.npy", name, alter, True, quick=True)


def make_case(file: str, name: str, alter: Callable[[Path], Any], signs: bool, quick: bool) -> Any:
    marks = () if quick else (pytest.mark.slow,)
    return pytest.param(file, name, alter, signs, not quick, id=f"{file}: {name}", marks=marks)


@pytest.mark.parametrize(("file", "name", "alter", "signs", "is_all"), list(list_cases()))
def test_altered_files_are_answered_in_a_sentence(
    file: str,
    name: str,
    alter: Callable[[Path], Any],
    signs: bool,
    is_all: bool,
    made: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    altered = tmp_path / "altered" / "run"
    shutil.copytree(made / "run", altered)
    if not (altered / file).exists():
        pytest.skip(f"a run of this kind has no {file}")
    before = (altered / file).read_bytes()
    alter(altered / file)
    if signs:
        sign(altered)
    is_damaged = not signs and file.startswith(CHECKED) and name not in ("missing",)
    for command, words in list_commands(file, is_all).items():
        folder = tmp_path / command
        shutil.copytree(altered.parent, folder, symlinks=True, copy_function=copy_any)
        arguments = [w.replace("{run}", str(folder / "run")).replace("{folder}", str(folder)) for w in words]
        arguments = [word.replace("{made}", str(made)) for word in arguments]
        code, said = run_command(command, arguments, folder / "run", monkeypatch, capsys)
        assert code in (0, 2), (command, code, said)
        if code == 2:
            assert "Traceback" not in said
            assert said.count("rstc: ") == 1, said
        assert code == 2 or name not in LEADING_OUT, f"{command} followed a link"
        reads_model = file.startswith("model/")
        is_read = command in MODEL or command in SLOW if reads_model else command != "export"
        if is_damaged and is_read and (altered / file).is_file() and (altered / file).read_bytes() != before:
            semantically_equal = file.endswith(".json") and parse(altered / file) == parse_bytes(before)
            assert code == 2 or semantically_equal, f"{command} used a damaged {file}"


def copy_any(source: str, target: str) -> None:
    """Copy a file, or make a named pipe like it."""
    if Path(source).is_fifo():
        os.mkfifo(target)
    else:
        shutil.copy2(source, target, follow_symlinks=False)


def parse(path: Path) -> Any:
    return parse_bytes(path.read_bytes())


def parse_bytes(content: bytes) -> Any:
    try:
        return json.loads(content)
    except ValueError:
        return object()


def run_command(
    command: str, arguments: list[str], run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> tuple[int, str]:
    """Run a command in this process; return its exit code and what it said."""
    monkeypatch.setattr(sys, "argv", ["rstc", *arguments])
    capsys.readouterr()
    code: Any = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            if command == "explore":
                explore(run)
            else:
                main()
        except SystemExit as ended:
            code = ended.code or 0
    return int(code), capsys.readouterr().err


def explore(run: Path) -> None:
    """Do what the server does: read the run, make the page and its state, correct it and write the page."""
    from rstc.errors import InputError

    try:
        session = EditSession(run)
        session.page()
        session.state()
        session.correct({"do": "rename", "cluster": 0, "name": "other"})
        session.close()
    except InputError as problem:
        sys.stderr.write(f"rstc: {problem}\n")
        sys.exit(2)


def test_an_unaltered_folder_works(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for command, words in {**READ, **MODEL, **SLOW}.items():
        folder = tmp_path / command
        shutil.copytree(made / "run", folder / "run")
        arguments = [w.replace("{run}", str(folder / "run")).replace("{folder}", str(folder)) for w in words]
        code, said = run_command(
            command, [w.replace("{made}", str(made)) for w in arguments], folder / "run", monkeypatch, capsys
        )
        assert code == 0 or command == "detail", (command, said)


def test_added_files_do_no_harm(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(made / "run", tmp_path / "run")
    for name in ("notes.txt", "model/conftest.py", "sitecustomize.py", "checkpoints/000001.checkpoint"):
        (tmp_path / "run" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "run" / name).write_text("raise SystemExit(5)")
    for words in (READ["info"], READ["report"], READ["merge"]):
        arguments = [word.replace("{run}", str(tmp_path / "run")) for word in words]
        code, said = run_command("", arguments, tmp_path / "run", monkeypatch, capsys)
        assert code == 0 or (words[0] == "merge" and "is not a saved model" in said), said
