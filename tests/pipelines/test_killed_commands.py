"""Commands that are killed before one of their renames: the next one cleans up, and the result is the same bytes."""

from __future__ import annotations

import filecmp
import json
import shutil
import signal
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from fork_server import ForkedProcess, run_rstc
from rstc.results.edits import EditLog, read_log, write_log

pytestmark = pytest.mark.chaos("kill -9 before a rename")

SCRIPT = Path(__file__).parents[1] / "kill_points.py"
VARYING = ("seconds", "made", "date", "checksum", "resumed_at")  # entries of JSON files about the time of the run


def correct(folder: Path) -> None:
    write_log(folder / "run", EditLog(({"do": "merge", "cluster": 1, "into": 0},)))


def make_inputs(folder: Path) -> None:
    (folder / "in").mkdir()
    for name in ("a.csv", "b.csv", "c.csv"):
        shutil.copy(folder / "tickets.csv", folder / "in" / name)


def make_namer(folder: Path) -> None:
    (folder / "namer.py").write_text("def name(cluster):\n    return f'name {cluster[\"cluster\"]}'\n")


@dataclass(frozen=True)
class Case:
    """A command, what it needs beforehand, what it writes, and whether it may say that the work is done already."""

    words: str
    written: str = "run"
    prepare: Callable[[Path], None] = field(default=lambda folder: None)
    is_repeatable: bool = True


CASES = {
    "cluster": Case("cluster tickets.csv -k 4 --text-column text {settings} --out new", "new"),
    "update": Case("update run more.csv"),
    "merge": Case("merge run --to 2", is_repeatable=False),
    "apply": Case("apply run", prepare=correct),
    "names": Case("names run --function namer:name", prepare=make_namer),
    "detail": Case("detail run coarse", is_repeatable=False),
    "predict many": Case("predict run in --out labelled --text-column text", "labelled", make_inputs),
    "export": Case("export run --out onnx", "onnx"),
    "report": Case("report run --truth topic"),
    "compare": Case("compare run --by topic"),
}
N_RENAMES = {  # how many each command makes, but for those of caches; a test says if this has changed
    "cluster": 12, "update": 11, "merge": 7, "apply": 6, "names": 2, "detail": 7, "predict many": 6, "export": 1,
    "report": 2, "compare": 2,
}  # fmt: skip
QUICK = {("update", 9), ("merge", 5), ("predict many", 2), ("export", 0)}


@pytest.fixture(scope="module")
def base(finished_run: Path, tiny_encoder: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run, its file and another file of rows."""
    folder = tmp_path_factory.mktemp("base")
    shutil.copytree(finished_run, folder / "run")
    shutil.copy(finished_run.parent / "tickets.csv", folder)
    header, *rows = (folder / "tickets.csv").read_text().splitlines()
    (folder / "more.csv").write_text("\n".join([header, *(f"again {row}" for row in rows[:30])]) + "\n")
    return folder


@pytest.fixture(scope="module")
def expected(base: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], tuple[Path, int]]:
    """Return what a command writes that is not killed, and how many renames it makes."""
    made: dict[str, tuple[Path, int]] = {}

    def make(name: str, encoder: str) -> tuple[Path, int]:
        if name not in made:
            folder = prepare(name, base, tmp_path_factory.mktemp("expected") / "here")
            done = ForkedProcess("count", "count", *words(name, encoder), script=SCRIPT, cwd=folder).wait()
            assert done.returncode == 0, done.stderr
            made[name] = folder, int((folder / "count").read_text())
        return made[name]

    return make


def prepare(name: str, base: Path, folder: Path) -> Path:
    shutil.copytree(base, folder)
    CASES[name].prepare(folder)
    return folder


def words(name: str, encoder: str) -> list[str]:
    settings = f"--set=encoder={encoder} --set=training=always --set=max_steps=4 --set=batch_size=32 --set=repeats=2"
    return CASES[name].words.format(settings=settings).split()


def list_points() -> list[object]:
    points = [(name, number) for name, n_renames in N_RENAMES.items() for number in range(n_renames)]
    return [pytest.param(*point, marks=() if point in QUICK else pytest.mark.slow) for point in points]


@pytest.mark.parametrize(("name", "number"), list_points())
def test_a_killed_command_can_be_repeated(
    name: str,
    number: int,
    base: Path,
    expected: Callable[[str, str], tuple[Path, int]],
    tiny_encoder: str,
    tmp_path: Path,
) -> None:
    case, (uninterrupted, _) = CASES[name], expected(name, tiny_encoder)
    folder = prepare(name, base, tmp_path / "here")
    killed = ForkedProcess(number, *words(name, tiny_encoder), script=SCRIPT, cwd=folder).wait()
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    if (folder / "run").exists() or name != "cluster":
        follow = run_rstc("info", "run", cwd=folder)  # the next command of any kind restores the run
        assert follow.returncode == 0, follow.stderr
        if case.written == "run":
            assert list_hidden(folder) == []
    repeated = run_rstc(*words(name, tiny_encoder), cwd=folder)
    if repeated.returncode and not case.is_repeatable:  # the work was done before it was killed
        assert repeated.returncode == 2
    else:
        assert repeated.returncode == 0, repeated.stderr
    assert list_hidden(folder) == []
    assert_same(folder / case.written, uninterrupted / case.written)


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_the_renames_of_each_command_are_known(
    name: str, expected: Callable[[str, str], tuple[Path, int]], tiny_encoder: str
) -> None:
    assert expected(name, tiny_encoder)[1] == N_RENAMES[name]


def list_hidden(folder: Path) -> list[str]:
    """Return the hidden files and folders, which are temporary or locks."""
    return [str(path.relative_to(folder)) for path in folder.rglob(".*")]


def assert_same(folder: Path, other: Path) -> None:
    """Assert that two folders hold the same files, up to times."""
    assert list_files(folder) == list_files(other)
    for name in list_files(folder):
        if filecmp.cmp(folder / name, other / name, shallow=False):
            continue
        if name.endswith(".json"):
            assert drop_times(json.loads((folder / name).read_text())) == drop_times(
                json.loads((other / name).read_text())
            ), name
        elif name == "report.html":
            pass  # holds the seconds of each stage
        else:
            raise AssertionError(f"{name} differs")


def list_files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def drop_times(content: object) -> object:
    """Return a JSON value without the entries that hold a time."""
    if isinstance(content, dict):
        return {key: drop_times(value) for key, value in content.items() if key not in VARYING}
    return [drop_times(value) for value in content] if isinstance(content, list) else content


def test_corrections_that_were_confirmed_survive_a_kill(base: Path, tiny_encoder: str, tmp_path: Path) -> None:
    folder = prepare("apply", base, tmp_path / "here")
    log = read_log(folder / "run")
    ForkedProcess(1, "apply", "run", script=SCRIPT, cwd=folder).wait()
    assert run_rstc("info", "run", cwd=folder).returncode == 0
    assert read_log(folder / "run") == log
