"""A service that runs in processes of its own, and a client for it."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

TOKEN = "a-token-for-the-tests"


class Answer(NamedTuple):
    status: int
    content: Any
    headers: dict[str, str]


class Service:
    """A running service."""

    def __init__(self, process: subprocess.Popen[str], port: int, log: Path) -> None:
        self.process, self.port, self.log = process, port, log

    def send(
        self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None, timeout: float = 60
    ) -> Answer:
        """Send a request on a connection of its own; strings and bytes are sent as they are."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        data = body if body is None or isinstance(body, (str, bytes)) else json.dumps(body)
        given = {"Content-Type": "application/json"} if body is not None else {}
        try:
            connection.request(method, path, data, given | (headers or {}))
            response = connection.getresponse()
            content = response.read().decode()
            is_json = response.headers.get_content_type() == "application/json"
            found = {name.lower(): value for name, value in response.headers.items()}
            return Answer(response.status, json.loads(content) if is_json else content, found)
        finally:
            connection.close()

    def predict(self, texts: list[str | None], **headers: str) -> Answer:
        return self.send("POST", "/v1/predict", {"texts": texts}, {n.replace("_", "-"): v for n, v in headers.items()})

    def workers(self) -> list[int]:
        """Return the worker processes."""
        pid = self.process.pid
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return [int(child) for child in children if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes()]

    def metric(self, start: str) -> float:
        """Return the sum of the metrics that begin like this."""
        lines = self.send("GET", "/metrics").content.splitlines()
        return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith(start))


@contextmanager
def run_service(model: Path, folder: Path, *options: str, **environment: str) -> Iterator[Service]:
    """Start `rstc serve`; stop it at the end, if it is still running."""
    log = folder / "service.log"
    with log.open("w") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", "rstc", "serve", str(model), *options],
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env=os.environ | {"OMP_NUM_THREADS": "1"} | environment,
        )
    timer = threading.Timer(120, process.kill)  # so that a service that never gets ready ends the wait
    timer.start()
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert "http://" in line, log.read_text()
        timer.cancel()
        yield Service(process, int(line.partition("http://")[2].partition(" ")[0].rpartition(":")[2]), log)
    finally:
        timer.cancel()
        process.terminate()
        try:
            process.wait(60)
        finally:
            process.kill()
