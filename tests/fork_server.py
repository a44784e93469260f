"""Runs `rstc` in processes that are forked from one that has the libraries loaded but has computed nothing.

They are processes as real as others; to start each anew would take longer than all that they do. Run as a program,
this is that one process: it takes commands as lines of JSON and tells how each ended.
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any


def started(command: list[str], folder: str = ".", files: tuple[str, str, str] | None = None) -> int:
    """Run a command in a process of its own, its three streams in files; return its number."""
    process = os.fork()
    if process == 0:
        code = 1
        try:
            os.chdir(folder)
            for stream, name in enumerate(files or (os.devnull, os.devnull, "")):
                if name:
                    os.dup2(
                        os.open(name, os.O_RDONLY if stream == 0 else os.O_WRONLY | os.O_CREAT | os.O_TRUNC), stream
                    )
            sys.argv = ["rstc", *command]
            import rstc.cli

            rstc.cli.main()
            code = 0
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(bool(end.code))
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    return process


def ended(process: int) -> int:
    """Wait for a process; return its exit code, below 0 where a signal ended it."""
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def load_libraries() -> None:
    """Load what commands need; nothing is computed, so that no thread is started."""
    import sentence_transformers  # noqa: F401

    import rstc.cli
    import rstc.pipelines.apply_edits
    import rstc.pipelines.predict
    import rstc.pipelines.cluster  # noqa: F401


_server: list[subprocess.Popen[str]] = []


def rstc(*arguments: Any, stdin: str | None = None, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run `rstc` in a process of its own, as `subprocess.run` would."""
    if not _server:
        environment = {**os.environ, "COLUMNS": "120", "OMP_NUM_THREADS": "1"}
        command = [sys.executable, __file__]
        pipe = subprocess.PIPE
        _server.append(subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=environment))
        atexit.register(_server[0].terminate)
    server, words = _server[0], [str(argument) for argument in arguments]
    assert server.stdin is not None
    assert server.stdout is not None
    with tempfile.TemporaryDirectory() as folder:
        files = [str(Path(folder) / name) for name in ("in", "out", "err")]
        Path(files[0]).write_text(stdin or "")
        server.stdin.write(json.dumps({"command": words, "folder": str(cwd or os.getcwd()), "files": files}) + "\n")
        server.stdin.flush()
        code = json.loads(server.stdout.readline())
        return subprocess.CompletedProcess(words, code, Path(files[1]).read_text(), Path(files[2]).read_text())


def serve() -> None:
    """Take commands until there are no more."""
    told = os.fdopen(os.dup(1), "w")
    load_libraries()
    for line in sys.stdin:
        asked = json.loads(line)
        told.write(f"{ended(started(asked['command'], asked['folder'], tuple(asked['files'])))}\n")
        told.flush()


if __name__ == "__main__":
    serve()
