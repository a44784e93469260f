"""Run `rstc`, or a script, in processes that are forked from a server which has imported the libraries.

A forked process is as real as any other, but spends no time on importing torch. Run as a program, this file is the
server: it reads requests as lines of JSON and answers each with a line of JSON.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import pkgutil
import runpy
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from importlib import import_module
from pathlib import Path
from typing import Any

TIMEOUT = 240  # seconds for one command, below pytest's limit for a test
NOT_PRELOADED = ("__main__", "mteb", "figures")  # programs, and modules that need an optional library
STREAMS = ("stdin", "stdout", "stderr")


# The server


def serve() -> None:
    """Answer requests until standard input ends."""
    answers = os.fdopen(os.dup(1), "w")
    load_libraries()
    requests = {"start": start_process, "wait": wait_for}
    for line in sys.stdin:
        name, arguments = json.loads(line)
        answers.write(json.dumps(requests[name](**arguments)) + "\n")
        answers.flush()


def load_libraries() -> None:
    """Import what commands need; nothing is computed, so that no thread pool is started before a fork."""
    import sentence_transformers  # noqa: F401

    import rstc

    for module in pkgutil.walk_packages(rstc.__path__, "rstc."):
        if not module.name.endswith(NOT_PRELOADED):
            import_module(module.name)
    gc.collect()
    gc.freeze()  # a collection in a forked process would copy every page


def start_process(
    command: list[str], script: str, cwd: str, streams: list[str], environment: dict[str, str], ignore_sigint: bool
) -> int:
    """Run `rstc`, or a script, in a forked process whose standard streams are files; return the process id."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            os.chdir(cwd)
            os.environ.update(environment)
            signal.signal(signal.SIGINT, signal.SIG_IGN if ignore_sigint else signal.default_int_handler)
            for stream, path in enumerate(streams):
                flags = os.O_RDONLY if stream == 0 else os.O_WRONLY | os.O_CREAT | os.O_TRUNC
                os.dup2(os.open(path, flags), stream)
            sys.argv = [script or "rstc", *command]
            if script:
                sys.path.insert(0, str(Path(script).parent))  # as Python does
                runpy.run_path(script, run_name="__main__")
            else:
                import_module("rstc.cli").main()
            code = 0
        except SystemExit as error:
            code = error.code if isinstance(error.code, int) else int(bool(error.code))
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    return pid


def wait_for(pid: int, timeout: float) -> int | None:
    """Return the exit code of a process, negative if a signal ended it, or None if it runs on for `timeout` seconds."""
    deadline = time.monotonic() + timeout
    while True:
        ended_pid, status = os.waitpid(pid, os.WNOHANG)
        if ended_pid:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() >= deadline:
            return None
        time.sleep(0.002)


# The client

_servers: list[subprocess.Popen[str]] = []


def _request(name: str, **arguments: Any) -> Any:
    """Send a request to the server, which is started by the first one; return the answer."""
    if not _servers:
        variables = {**os.environ, "COLUMNS": "120", "OMP_NUM_THREADS": "1"}
        pipe = subprocess.PIPE
        _servers.append(subprocess.Popen([sys.executable, __file__], stdin=pipe, stdout=pipe, text=True, env=variables))
        atexit.register(_servers[0].kill)
    server = _servers[0]
    assert server.stdin is not None
    assert server.stdout is not None
    server.stdin.write(json.dumps([name, arguments]) + "\n")
    server.stdin.flush()
    answer = server.stdout.readline()  # comes within TIMEOUT, and is empty if the server has died
    assert answer, "the fork server has died"
    return json.loads(answer)


class ForkedProcess:
    """A process that runs `rstc`, or a script.

    Parameters
    ----------
    *arguments : the words after `rstc` or the script
    script : a Python file to run instead of `rstc`
    stdin : what it reads from standard input
    cwd : its working directory, that of the test by default
    environment : variables to set
    ignore_sigint : whether it is started with SIGINT ignored, as a shell starts its background jobs
    """

    def __init__(
        self,
        *arguments: object,
        script: Path | None = None,
        stdin: str = "",
        cwd: Path | None = None,
        environment: dict[str, str] | None = None,
        ignore_sigint: bool = False,
    ) -> None:
        self.command = [str(argument) for argument in arguments]
        self._folder = tempfile.TemporaryDirectory()
        self._streams = {name: Path(self._folder.name) / name for name in STREAMS}
        self._streams["stdin"].write_text(stdin)
        self.pid: int = _request(
            "start",
            command=self.command,
            script=str(script or ""),
            cwd=str(cwd or Path.cwd()),
            streams=[str(path) for path in self._streams.values()],
            environment=environment or {},
            ignore_sigint=ignore_sigint,
        )
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """Return the exit code, or None while the process runs."""
        if self.returncode is None:
            self.returncode = _request("wait", pid=self.pid, timeout=0)
        return self.returncode

    def read(self, stream: str) -> str:
        """Return what the process has written to "stdout" or "stderr" so far."""
        return self._streams[stream].read_text(errors="replace") if self._streams[stream].exists() else ""

    def send_signal(self, number: int) -> None:
        """Send a signal to the process, if it has not ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def wait(self, timeout: float = TIMEOUT) -> subprocess.CompletedProcess[str]:
        """Wait until the process ends, and kill it after `timeout` seconds; return what `subprocess.run` would."""
        if self.returncode is None:
            self.returncode = _request("wait", pid=self.pid, timeout=timeout)
        if self.returncode is None:
            os.kill(self.pid, signal.SIGKILL)
            self.returncode = _request("wait", pid=self.pid, timeout=TIMEOUT)
            raise TimeoutError(f"{' '.join(self.command)} was killed after {timeout} s: {self.read('stderr')}")
        return subprocess.CompletedProcess(self.command, self.returncode, self.read("stdout"), self.read("stderr"))


def run_rstc(*arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run `rstc` in a process of its own, see ForkedProcess, and wait for it."""
    return ForkedProcess(*arguments, **options).wait()


if __name__ == "__main__":
    serve()
