"""Limits of the machine: a full disk, and limits on memory, file sizes and descriptors, in real processes.

Each run either works or ends with one sentence and exit code 2, and what was there before is there after.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from fork_server import run_rstc
from rstc.errors import describe_system_error, find_system_error

pytestmark = [
    pytest.mark.chaos("limits"),
    pytest.mark.skipif(sys.platform != "linux", reason="limits are those of Linux"),
]

# Runs the command after the first two words, which are the name of a limit and its value.
LIMITED = """
import os, resource, sys
name, value = sys.argv[1:3]
if name == "STDOUT":
    os.dup2(os.open(value, os.O_WRONLY), 1)
elif name != "NONE":
    extra = 0
    if name == "AS":  # beyond what the forked process has mapped
        extra = int(open("/proc/self/statm").read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    elif name == "NOFILE":
        extra = len(os.listdir("/proc/self/fd"))
    resource.setrlimit(getattr(resource, "RLIMIT_" + name), (int(value) + extra,) * 2)
sys.argv[1:] = sys.argv[3:]
from rstc.cli import main
main()
"""

COMMANDS = {
    "info": ["info", "run"],
    "evaluate": ["evaluate", "run/clusters.csv", "--truth", "topic"],
    "report": ["report", "run"],
    "figures": ["figures", "run", "--out", "figures"],
    "compare": ["compare", "run", "--by", "topic"],
    "names": ["names", "run", "--command", "echo a name"],
    "merge": ["merge", "run", "--to", "3"],
    "apply": ["apply", "run"],
    "predict": ["predict", "run", "tickets.csv", "--out", "new.csv", "--text-column", "text"],
    "augment": ["augment", "tickets.csv", "--out", "views.csv", "--text-column", "text"],
    "export": ["export", "run", "--out", "exported"],
    "update": ["update", "run", "new_tickets.csv"],
    "cluster": ["cluster", "tickets.csv", "-k", "4", "--text-column", "text", "--out", "another", "--no-cache"],
}
# What a command writes before the part that fails: a record of what was asked for, which the next one completes.
WRITTEN_FIRST = {"compare": {"comparisons.json"}, "names": {"edits.json", "comparisons.json"}}
LOADER_EXIT_CODE = 127
LIMITS = [
    *(("FSIZE", value) for value in ("1000", "60000")),  # with 0, standard error, a file, would hold no message
    *(("NOFILE", value) for value in ("1", "3", "8", "24")),
    *(("AS", str(value * 10**6)) for value in (1, 50, 200)),
    ("STDOUT", "/dev/full"),
    ("NONE", ""),
]
QUICK = [
    ("merge", "FSIZE", "1000"),
    ("figures", "FSIZE", "1000"),
    ("export", "FSIZE", "1000"),
    ("predict", "NOFILE", "1"),
    ("info", "STDOUT", "/dev/full"),
    ("compare", "STDOUT", "/dev/full"),
    ("evaluate", "AS", "1000000"),
]


@pytest.fixture
def folder(finished_run: Path, tiny_encoder: str, tmp_path: Path) -> Path:
    """Return a folder with a run and the files that the commands read."""
    shutil.copytree(finished_run, tmp_path / "run")
    shutil.copy(finished_run.parent / "tickets.csv", tmp_path / "tickets.csv")
    (tmp_path / "new_tickets.csv").write_text("text,topic\nthe courier lost my parcel again,parcel\n")
    return tmp_path


def read_all(run: Path) -> dict[str, bytes]:
    return {str(path.relative_to(run)): path.read_bytes() for path in run.rglob("*") if path.is_file()}


def check(command: str, done: subprocess.CompletedProcess[str], before: dict[str, bytes], folder: Path) -> None:
    """Check that a command worked, or failed in a sentence and left everything as it was.

    A library in C++ that can start no thread, and the dynamic loader, end the process before Python learns of it; then,
    too, nothing is lost.
    """
    was_aborted = (done.returncode == -signal.SIGABRT and "terminate called" in done.stderr) or (
        done.returncode == LOADER_EXIT_CODE and "cannot allocate memory for thread-local data" in done.stderr
    )
    assert done.returncode in (0, 2) or was_aborted, done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
    if done.returncode == 0:
        return
    assert was_aborted or re.search(r"^rstc: .", done.stderr, re.MULTILINE), "there is a message"
    assert not list(folder.rglob(".*.tmp")), "no temporary files are left"
    if "standard output cannot be written" in done.stderr:
        return  # the work was done before
    after = read_all(folder / "run")
    changed = {name for name in {*before, *after} if after.get(name) != before.get(name)}
    assert changed <= WRITTEN_FIRST.get(command, set())


def run_limited(command: str, limit: str, value: str, folder: Path) -> subprocess.CompletedProcess[str]:
    script = folder / "limited.py"
    script.write_text(LIMITED)
    return run_rstc(limit, value, *COMMANDS[command], script=script, cwd=folder)


@pytest.mark.parametrize(("command", "limit", "value"), QUICK)
def test_limit_ends_a_command_in_a_sentence(command: str, limit: str, value: str, folder: Path) -> None:
    before = read_all(folder / "run")
    done = run_limited(command, limit, value, folder)
    check(command, done, before, folder)
    assert done.returncode == 2, "the limit is too low for this command"
    assert limit != "STDOUT" or "standard output cannot be written" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(("limit", "value"), LIMITS)
def test_any_command_under_any_limit_works_or_ends_in_a_sentence(
    command: str, limit: str, value: str, folder: Path
) -> None:
    before = read_all(folder / "run")
    done = run_limited(command, limit, value, folder)
    check(command, done, before, folder)
    assert limit != "NONE" or done.returncode == 0, done.stderr


@pytest.fixture
def full_disk(tmp_path: Path) -> Iterator[Path]:
    """Mount a small disk; the test fills it."""
    disk = tmp_path / "disk"
    disk.mkdir()
    if os.geteuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=12m", "tmpfs", str(disk)]).returncode:
        pytest.skip("only root can mount a disk")
    yield disk
    subprocess.run(["umount", "--lazy", str(disk)], check=True)


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_full_disk_leaves_what_was_there(command: str, full_disk: Path, finished_run: Path) -> None:
    shutil.copytree(finished_run, full_disk / "run")
    shutil.copy(finished_run.parent / "tickets.csv", full_disk / "tickets.csv")
    (full_disk / "new_tickets.csv").write_text("text,topic\nthe courier lost my parcel again,parcel\n")
    with (full_disk / "filler").open("wb", buffering=0) as file, suppress(OSError):
        while file.write(bytes(4096)):
            pass
    before = read_all(full_disk / "run")
    check(command, run_rstc(*COMMANDS[command], cwd=full_disk), before, full_disk)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (
            OSError(28, "No space left on device", "/data/a.csv"),
            "/data/a.csv: No space left on device; free some space",
        ),
        (
            RuntimeError("I/O error: File too large (os error 27)"),
            "File too large; raise the limit on the size of files",
        ),
        (
            RuntimeError("[enforce fail at alloc_cpu.cpp] DefaultCPUAllocator: can't allocate memory"),
            "not enough memory",
        ),
        (ImportError("libtorch_cpu.so: failed to map segment from shared object"), "there is not enough memory"),
        (RuntimeError("can't start new thread"), "there is not enough memory"),
        (OSError(24, "Too many open files"), "Too many open files; raise the limit on open files"),
        (MemoryError(), "there is not enough memory; close other programs"),
    ],
)
def test_what_the_system_refuses_is_one_sentence(error: Exception, words: str) -> None:
    assert words in (describe_system_error(error) or "")
    wrapped = ValueError("something else")
    wrapped.__cause__ = error
    assert words in (describe_system_error(wrapped) or "")
    assert find_system_error(ValueError("something else")) is None
