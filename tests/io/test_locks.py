"""One process at a time writes a folder or a file; real processes compete."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from rstc.errors import InputError
from rstc.io.locks import LockedError, is_locked, lock

HOLD = """
import sys
from pathlib import Path
from rstc.io.locks import lock
with lock(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""
COUNT = """
import sys
from pathlib import Path
from rstc.io.locks import lock

path = Path(sys.argv[1])
for _ in range(50):
    with lock(path, wait=60):
        path.write_text(str(int(path.read_text()) + 1))
"""


def start_holder(path: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout
    assert process.stdout.readline() == "held\n"
    return process


def test_another_process_is_refused_and_told_who_holds_the_lock(tmp_path: Path) -> None:
    holder = start_holder(tmp_path / "run")
    with (
        pytest.raises(LockedError, match=rf"run is being written by process {holder.pid} since '20"),
        lock(tmp_path / "run"),
    ):
        pass
    holder.communicate("")
    with lock(tmp_path / "run"):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_killed_process_holds_no_lock_and_its_lock_file_goes_with_the_next(tmp_path: Path) -> None:
    holder = start_holder(tmp_path / "run")
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    assert [path.name for path in tmp_path.iterdir()] == [".run.lock"]
    with lock(tmp_path / "run"):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_process_waits_for_the_lock_if_asked_to(tmp_path: Path) -> None:
    holder = start_holder(tmp_path / "run")
    is_ending = threading.Event()

    def end() -> None:
        is_ending.set()
        holder.communicate("")

    timer = threading.Timer(0.3, end)
    timer.start()
    with lock(tmp_path / "run", wait=30):
        assert is_ending.is_set()
    timer.join()


def test_no_increment_of_four_processes_is_lost(tmp_path: Path) -> None:
    path = tmp_path / "counter"
    path.write_text("0")
    processes = [subprocess.Popen([sys.executable, "-c", COUNT, str(path)]) for _ in range(4)]
    assert [process.wait() for process in processes] == [0] * 4
    assert path.read_text() == "200"


def test_a_thread_can_take_its_lock_again_and_another_thread_cannot(tmp_path: Path) -> None:
    with lock(tmp_path / "run"):
        with lock(tmp_path / "run"):
            pass
        with ThreadPoolExecutor() as pool:
            assert pool.submit(is_locked, tmp_path / "run").result()
    assert not is_locked(tmp_path / "run")


def test_locks_of_links_are_those_of_their_targets(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "run")
    with lock(tmp_path / "link"), ThreadPoolExecutor() as pool:
        assert pool.submit(is_locked, tmp_path / "run").result()


def test_a_lock_file_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    (tmp_path / ".run.lock").symlink_to(tmp_path / "secret")
    with pytest.raises(InputError, match="cannot be written"), lock(tmp_path / "run"):
        pass
    assert (tmp_path / "secret").read_text() == "secret"


@pytest.mark.skipif(os.name != "posix", reason="flock")
def test_writing_goes_on_where_the_file_system_has_no_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import errno
    import fcntl

    def refuse(descriptor: int, operation: int) -> None:
        raise OSError(errno.ENOLCK, "no locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with lock(tmp_path / "run"), lock(tmp_path / "run"):
        assert list(tmp_path.iterdir()) == []
