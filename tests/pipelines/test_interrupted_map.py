"""The clusters are written before the map: a run that is stopped while it is drawn loses nothing and is completed."""

from __future__ import annotations

import json
import re
import shutil
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from fork_server import TIMEOUT, ForkedProcess, run_rstc

pytestmark = pytest.mark.chaos("kill -9 at any moment")

MAX_ATTEMPTS = 10  # to stop a run before its map is drawn


def stop_in_the_map(command: list[str], out: Path, number: int) -> str:
    """Run `rstc` and send it a signal when its clusters are written; return what it printed on standard error."""
    for _ in range(MAX_ATTEMPTS):
        process, start = ForkedProcess(*command, "--out", out), time.monotonic()
        while not (out / "unfinished.safetensors").exists() and time.monotonic() < start + TIMEOUT:
            assert (out / "summary.json").exists() or process.poll() in (None, 0), process.read("stderr")
            time.sleep(0.0005)
        process.send_signal(number)
        if process.wait().returncode:
            return process.read("stderr")
        shutil.rmtree(out)
    raise AssertionError(f"the run ended before it was stopped, {MAX_ATTEMPTS} times")


def read_files(folder: Path) -> dict[str, str]:
    """Return the content of a run folder without times: the hexadecimal bytes of each file, by its name."""
    contents = {}
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        content = path.read_bytes()
        if path.name in ("summary.json", "report.html"):
            content = re.sub(rb'"seconds": ?\{[^}]*\}|"(created|made|checksum)": ?"[^"]*"', b"", content)
        contents[path.relative_to(folder).as_posix()] = content.hex()
    return contents


@pytest.fixture(scope="module")
def command(
    texts_and_topics: tuple[list[str], list[str]], tiny_encoder: str, tmp_path_factory: pytest.TempPathFactory
) -> list[str]:
    texts = tmp_path_factory.mktemp("texts") / "texts.txt"
    texts.write_text("\n".join(texts_and_topics[0]))
    settings = {"encoder": tiny_encoder, "training": "always", "max_steps": 4, "batch_size": 16, "kmeans_starts": 1}
    return ["cluster", str(texts), "-k", "4", *(f"--set={name}={value}" for name, value in settings.items())]


@pytest.fixture(scope="module")
def uninterrupted(command: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("uninterrupted") / "run"
    done = run_rstc(*command, "--out", out)
    assert done.returncode == 0, done.stderr
    lines = done.stderr.splitlines()
    assert lines[-1] == "clusters.txt written; drawing the map"
    return out


@pytest.fixture(scope="module")
def killed(command: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a run that was killed while its map was drawn; it is not to be changed."""
    out = tmp_path_factory.mktemp("killed") / "run"
    stop_in_the_map(command, out, signal.SIGKILL)
    return out


@pytest.fixture
def own_killed(killed: Path, tmp_path: Path) -> Path:
    shutil.copytree(killed, tmp_path / "run")
    return tmp_path / "run"


def test_a_run_killed_in_the_map_has_its_clusters_and_its_model(killed: Path, uninterrupted: Path) -> None:
    expected, found = read_files(uninterrupted), read_files(killed)
    assert set(expected) - set(found) <= {"points.parquet", "embeddings.npy", "report.html"}
    names = [name for name in found if name.startswith(("clusters.", "model/"))]
    assert {name: found[name] for name in names} == {name: expected[name] for name in names}
    assert json.loads((killed / "summary.json").read_text())["clusters"]


def test_the_same_command_completes_it_without_fitting(
    own_killed: Path, uninterrupted: Path, command: list[str]
) -> None:
    model_was = (own_killed / "model").stat().st_ino
    done = run_rstc(*command, "--out", own_killed)
    assert done.returncode == 0, done.stderr
    assert "encoding" not in done.stderr
    assert (own_killed / "model").stat().st_ino == model_was
    assert read_files(own_killed) == read_files(uninterrupted)
    again = run_rstc(*command, "--out", own_killed)
    assert "holds an earlier run" in again.stderr


def test_rstc_report_completes_it(own_killed: Path, uninterrupted: Path) -> None:
    done = run_rstc("report", own_killed)
    assert done.returncode == 0, done.stderr
    assert read_files(own_killed) == read_files(uninterrupted)


def test_it_predicts_and_describes_itself_without_a_map(own_killed: Path, command: list[str], tmp_path: Path) -> None:
    predicted = run_rstc("predict", own_killed, command[1], "--out", tmp_path / "labelled.txt")
    assert predicted.returncode == 0, predicted.stderr
    described = run_rstc("info", own_killed)
    assert described.returncode == 0
    assert "`rstc report" in described.stdout


@pytest.mark.parametrize("words", ["merge --to 2", "apply", "names", "figures --out figures"])
def test_commands_that_need_the_map_say_how_to_make_it(own_killed: Path, words: str, tmp_path: Path) -> None:
    name, *options = words.split()
    done = run_rstc(name, own_killed, *options, cwd=tmp_path)
    assert done.returncode == 2
    assert f"`rstc report {own_killed}` makes them" in done.stderr.splitlines()[-1]


def test_another_command_does_not_complete_it(own_killed: Path, command: list[str]) -> None:
    found = read_files(own_killed)
    done = run_rstc(*command, "--seed", 1, "--out", own_killed)
    assert done.returncode == 2
    assert "holds an earlier run" in done.stderr
    assert read_files(own_killed) == found
    assert run_rstc(*command, "--seed", 1, "--overwrite", "--out", own_killed).returncode == 0
    assert json.loads((own_killed / "summary.json").read_text())["seed"] == 1


def test_from_scratch_fits_again(own_killed: Path, command: list[str], uninterrupted: Path) -> None:
    done = run_rstc(*command, "--from-scratch", "--out", own_killed)
    assert done.returncode == 0, done.stderr
    assert "training" in done.stderr
    assert read_files(own_killed) == read_files(uninterrupted)


def test_leftovers_of_a_killed_write_do_not_keep_it_from_being_completed(
    own_killed: Path, command: list[str], uninterrupted: Path
) -> None:
    (own_killed / ".report.html.0123abcd.tmp").write_text("half a page")
    assert run_rstc(*command, "--out", own_killed).returncode == 0
    assert read_files(own_killed) == read_files(uninterrupted)


def test_a_stop_in_the_map_is_said_in_one_sentence(command: list[str], tmp_path: Path, uninterrupted: Path) -> None:
    out = tmp_path / "run"
    said = stop_in_the_map(command, out, signal.SIGINT).splitlines()[-1]
    assert said == f"rstc: stopped; the clusters are in {out}, and `rstc report {out}` makes the map and the page"
    assert run_rstc("report", out).returncode == 0
    assert read_files(out) == read_files(uninterrupted)


def test_a_damaged_file_of_an_unfinished_run_is_named(own_killed: Path) -> None:
    (own_killed / "unfinished.safetensors").write_bytes(b"damaged")
    done = run_rstc("report", own_killed)
    assert done.returncode == 2
    assert "altered or damaged: unfinished.safetensors" in done.stderr


def test_an_update_killed_in_the_map_is_completed_by_the_next_one(
    uninterrupted: Path, command: list[str], tmp_path: Path, quick: dict[str, Any]
) -> None:
    for _ in range(MAX_ATTEMPTS):
        folder = Path(shutil.copytree(uninterrupted, tmp_path / "run", dirs_exist_ok=False))
        process = ForkedProcess("update", folder, command[1], "--again")
        while not (folder / "unfinished.safetensors").exists() and process.poll() is None:
            time.sleep(0.0005)
        process.send_signal(signal.SIGKILL)
        if process.wait().returncode:
            break
        shutil.rmtree(folder)
    again = run_rstc("update", folder, command[1])
    assert again.returncode == 0, again.stderr
    assert "holds all rows" in again.stdout
    assert (folder / "report.html").exists()
    assert json.loads((folder / "summary.json").read_text())["update"]["rows"] == 120
