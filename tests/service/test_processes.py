"""The processes of the service: workers that die, models that are replaced, and the end."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from rstc import RSTC
from running_service import Answer, Service, run_service

SECONDS = 60  # that anything may take


@pytest.fixture(scope="module")
def other(finished_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Export a coarser model of the same run."""
    folder = tmp_path_factory.mktemp("other") / "exported"
    RSTC.load(finished_run / "model").merge_to(2).export_onnx(folder)
    return folder


@pytest.fixture(scope="module")
def model(exported: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the exported model, which tests replace."""
    folder = tmp_path_factory.mktemp("replaced") / "model"
    shutil.copytree(exported, folder)
    return folder


@pytest.fixture(scope="module")
def service(model: Path) -> Iterator[Service]:
    """Start a service for the tests of this file in their order; the last one that uses it stops it."""
    with run_service(model, model.parent, "--workers", "2", "--max-requests", "4") as service:
        yield service


class Client:
    """A client that predicts a text again and again until it is stopped, each time on the same connection."""

    def __init__(self, port: int) -> None:
        self.answers: list[Any] = []  # the model that answered, or what went wrong
        self._port, self._stop = port, threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(SECONDS)

    def _run(self) -> None:
        connection = None
        while not self._stop.is_set() and len(self.answers) < 100_000:
            connection = connection or http.client.HTTPConnection("127.0.0.1", self._port, timeout=SECONDS)
            try:
                headers = {"Content-Type": "application/json"}
                connection.request("POST", "/v1/predict", json.dumps({"texts": ["late parcel"]}), headers)
                response = connection.getresponse()
                content = json.loads(response.read())
                self.answers.append(content["model"] if response.status == 200 else response.status)
            except (OSError, http.client.HTTPException) as failure:
                self.answers.append(failure)
                connection = None


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.05)


def send_large_requests(service: Service, n_requests: int) -> list[Future[Answer]]:
    """Send requests that take a while, all at once."""
    texts = ["soup onion garlic pepper " * 10 + str(number) for number in range(1000)]
    clients = ThreadPoolExecutor(n_requests)
    return [clients.submit(service.predict, texts) for _ in range(n_requests)]


def replace_model(model: Path, new: Path) -> None:
    """Put a model in the place of another one, as `replace_folder` does."""
    shutil.copytree(new, model.with_name("new"))
    model.rename(model.with_name("old"))
    model.with_name("new").rename(model)
    shutil.rmtree(model.with_name("old"))


def test_a_killed_worker_is_replaced_and_costs_its_own_requests_only(service: Service) -> None:
    before = service.workers()
    assert len(before) == 2
    clients = [Client(service.port) for _ in range(4)]
    wait_until(lambda: all(len(client.answers) >= 5 for client in clients))
    os.kill(before[0], signal.SIGKILL)
    wait_until(lambda: len(set(service.workers()) - {before[0]}) == 2)
    counts = [len(client.answers) for client in clients]
    wait_until(lambda: all(len(client.answers) >= n + 5 for client, n in zip(clients, counts, strict=True)))
    for client in clients:
        with client:
            pass
    failures = [sum(not isinstance(answer, str) for answer in client.answers) for client in clients]
    assert max(failures) <= 1  # the request that the worker was answering
    assert "another one is started" in service.log.read_text()


def test_a_new_model_is_exchanged_without_a_failed_request(service: Service, model: Path, other: Path) -> None:
    with Client(service.port) as first, Client(service.port) as second:
        old = service.send("GET", "/v1/model").content["checksum"]
        wait_until(lambda: len(first.answers) > 5 and len(second.answers) > 5)
        replace_model(model, other)
        wait_until(lambda: first.answers[-1] != old and second.answers[-1] != old)
    assert all(isinstance(answer, str) for client in (first, second) for answer in client.answers)
    for client in (first, second):
        changes = sum(one != next_one for one, next_one in zip(client.answers, client.answers[1:], strict=False))
        assert changes == 1  # each connection stays with its worker
    wait_until(lambda: service.metric('rstc_model_reloads_total{result="loaded"}') == 2)
    assert service.send("GET", "/v1/model").content["n_clusters"] == 2


def test_a_broken_model_is_refused_and_the_old_one_goes_on(
    service: Service, model: Path, exported: Path, tmp_path: Path
) -> None:
    old = service.send("GET", "/v1/model").content["checksum"]
    shutil.copytree(exported, tmp_path / "broken")
    content = (tmp_path / "broken" / "model.onnx").read_bytes()
    (tmp_path / "broken" / "model.onnx").write_bytes(content[:-1] + b"?")
    with Client(service.port) as client:
        replace_model(model, tmp_path / "broken")
        wait_until(lambda: service.metric('rstc_model_reloads_total{result="refused"}') == 2)
    assert set(client.answers) == {old}
    assert "was refused, the old one goes on" in service.log.read_text()
    replace_model(model, exported)
    wait_until(lambda: service.metric('rstc_model_reloads_total{result="loaded"}') == 4)


def test_more_requests_than_are_allowed_are_told_to_try_again(service: Service) -> None:
    answers = [thread.result() for thread in send_large_requests(service, 16)]
    assert {answer.status for answer in answers} == {200, 503}
    assert all(answer.headers["retry-after"] == "1" for answer in answers if answer.status == 503)
    assert service.metric('rstc_rejected_total{reason="busy"}') >= 1


def test_a_stop_finishes_what_was_accepted_and_refuses_the_rest(service: Service) -> None:
    pending = send_large_requests(service, 4)
    wait_until(lambda: service.metric("rstc_requests_in_flight") >= 3)  # one of them is the one for the metrics
    service.process.send_signal(signal.SIGTERM)
    assert service.process.wait(SECONDS) == 0
    accepted = [request.result() for request in pending if request.exception() is None]
    assert len(accepted) >= 2
    assert all((answer.status, len(answer.content["predictions"])) == (200, 1000) for answer in accepted)
    with pytest.raises(ConnectionRefusedError):
        service.predict(["late"])


def test_a_run_is_served_by_its_model_until_the_supervising_process_is_killed(
    finished_run: Path, tmp_path: Path
) -> None:
    with run_service(finished_run, tmp_path) as service:
        assert service.send("GET", "/v1/model").content["kind"] == "torch"
        texts = ["late parcel", "garlic soup"]
        assignment = RSTC.load(finished_run / "model").assign(texts)
        predictions = service.predict(texts).content["predictions"]
        assert [row["cluster"] for row in predictions] == assignment.clusters.tolist()
        assert [row["confidence"] for row in predictions] == [round(p, 4) for p in assignment.confidence.tolist()]
        workers = service.workers()
        service.process.kill()
        service.process.wait(SECONDS)
        wait_until(lambda: not any(Path(f"/proc/{worker}/cmdline").exists() for worker in workers))


def test_what_cannot_be_served_is_said_in_one_sentence(tmp_path: Path, exported: Path) -> None:
    for options, message in (
        ([str(tmp_path)], "there is no model in"),
        ([], "needs the folder of a model"),
        ([str(exported), "--host", "0.0.0.0"], "needs a token"),
        ([str(exported), "--mcp"], "leave"),
    ):
        command = [sys.executable, "-m", "rstc", "serve", *options]
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
        assert (done.returncode, message in done.stderr) == (2, True), done.stderr
        assert len(done.stderr.splitlines()) == 1
