"""Latency, endurance and recovery of `rstc serve` under load from real clients on loopback.

    python benchmarks/serve.py [--parts onnx,torch,kill,endurance] [--requests 100000] [--clients 64] [--keep DIR]

A model of the bundled sample is fitted and exported. Then, in real processes:

1. onnx, torch: 1, 8 and 64 clients, each with one connection, send one text a request to the exported and to the
   saved model; p50 and p99 of the seconds; and texts a second of the model alone, one by one and 64 together;
2. endurance: --clients clients send --requests requests to --workers workers; every answer is compared with what
   `OnnxModel` predicts for the text alone, and the memory of the workers is read every second. So many requests take
   hours with the bundled encoder on two cores, so this model has the tests' encoder of two layers;
3. kill: a worker is killed by SIGKILL under the load of 8 clients; what failed, and when there were as many workers
   again (the same model as for the endurance).

Each part is written to results/serve.json when it is done, with the load of the machine during it.
"""

from __future__ import annotations

import http.client
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from measuring import RESULTS, describe_run, make_parser
from rstc.service.model_store import ServedModel

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from tiny_encoder import build_tiny_encoder, make_texts

N_TEXTS = 100  # different ones
SECONDS_TO_START = 180
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")

Answer = tuple[float, str | None]  # seconds, and what went wrong


@contextmanager
def serve(model: Path, workers: int) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """Start the service; yield its process and its port."""
    command = [sys.executable, "-m", "rstc", "serve", str(model), "--workers", str(workers), "--max-requests", "256"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()  # ends when the process does
        if "http://" not in line:
            sys.exit("the service did not start")
        yield process, int(line.partition("http://")[2].partition(" ")[0].rpartition(":")[2])
    finally:
        process.terminate()
        if process.wait(SECONDS_TO_START):
            sys.exit("the service did not stop with exit code 0")


def list_workers(process: int) -> list[int]:
    """Return the worker processes, whose command line names the function of multiprocessing that they run."""
    children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    return [int(pid) for pid in children if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()]


def read_memory(process: int) -> float:
    """Read the resident memory of all workers in megabytes."""
    pages = sum(int(Path(f"/proc/{pid}/statm").read_text().split()[1]) for pid in list_workers(process))
    return pages * PAGE_BYTES / 1e6


class Load:
    """Clients that send texts, each on a connection of its own, and compare the answers with the expected ones."""

    def __init__(self, port: int, expected: dict[str, Any], n_clients: int, n_requests: int) -> None:
        self._port, self._expected, self._left = port, expected, n_requests
        self._texts, self._lock = list(expected), threading.Lock()
        self.answers: list[Answer] = []
        self._threads = [threading.Thread(target=self._send, args=(i,), daemon=True) for i in range(n_clients)]
        self.start = time.perf_counter()
        for thread in self._threads:
            thread.start()

    def join(self) -> dict[str, Any]:
        """Wait for the last answer; return what was measured."""
        for thread in self._threads:
            thread.join()
        seconds = time.perf_counter() - self.start
        spent = [taken for taken, problem in self.answers if problem is None]
        problems = [problem for _, problem in self.answers if problem is not None]
        return {
            "requests": len(self.answers),
            "errors": len(problems),
            "kinds_of_errors": sorted(set(problems)),
            "p50_ms": round(1000 * float(np.quantile(spent, 0.5)), 1),
            "p99_ms": round(1000 * float(np.quantile(spent, 0.99)), 1),
            "requests_a_second": round(len(self.answers) / seconds, 1),
            "seconds": round(seconds, 1),
        }

    def _send(self, number: int) -> None:
        rng, connection = random.Random(number), None
        while True:
            with self._lock:
                if self._left <= 0:
                    return
                self._left -= 1
            text, begin, problem = rng.choice(self._texts), time.perf_counter(), None
            try:
                connection = connection or http.client.HTTPConnection("127.0.0.1", self._port, timeout=120)
                body = json.dumps({"texts": [text]})
                connection.request("POST", "/v1/predict", body, {"Content-Type": "application/json"})
                response = connection.getresponse()
                content = json.loads(response.read())
                if response.status != 200:
                    problem = f"status {response.status}"
                elif content["predictions"] != [self._expected[text]]:
                    problem = "another prediction"
            except (OSError, http.client.HTTPException, ValueError) as failure:
                problem, connection = type(failure).__name__, None
            self.answers.append((time.perf_counter() - begin, problem))


def measure_latency(model: Path, expected: dict[str, Any], workers: int, n_requests: int) -> list[dict[str, Any]]:
    """Measure latency by the number of clients."""
    rows = []
    with serve(model, workers) as (_, port):
        Load(port, expected, 8, 50).join()  # what is computed for the first time takes longer
        for clients in (1, 8, 64):
            measured = Load(port, expected, clients, n_requests if clients > 1 else n_requests // 4).join()
            rows.append({"clients": clients} | measured)
            print(json.dumps(rows[-1]), flush=True)
    return rows


def measure_endurance(
    model: Path, expected: dict[str, Any], workers: int, clients: int, n_requests: int
) -> dict[str, Any]:
    """Send many requests; return errors, latencies and the memory of the workers by quarters."""
    with serve(model, workers) as (process, port):
        Load(port, expected, clients, 20 * clients).join()
        samples: list[float] = []
        stop = threading.Event()

        def watch() -> None:
            while not stop.wait(1.0):
                samples.append(read_memory(process.pid))

        watcher = threading.Thread(target=watch, daemon=True)
        watcher.start()
        measured = Load(port, expected, clients, n_requests).join()
        stop.set()
        watcher.join()
    quarters = [round(float(np.mean(part)), 1) for part in np.array_split(samples, 4)]
    return {"workers": workers, "clients": clients, "megabytes_by_quarter": quarters} | measured


def measure_kill(model: Path, expected: dict[str, Any], workers: int) -> dict[str, Any]:
    """Kill a worker under load; return the failed requests, and the seconds until there are as many workers again."""
    clients = 8
    with serve(model, workers) as (process, port):
        load = Load(port, expected, clients, 5000)
        wait_until(lambda: len(load.answers) > 100)
        victim = list_workers(process.pid)[0]
        os.kill(victim, signal.SIGKILL)
        killed = time.perf_counter()
        wait_until(lambda: len(set(list_workers(process.pid)) - {victim}) == workers)
        seconds = round(time.perf_counter() - killed, 1)
        during = load.join()
        after = Load(port, expected, clients, 200).join()
    return {
        "clients": clients,
        "requests": during["requests"],
        "failed": during["errors"],
        "kinds_of_errors": during["kinds_of_errors"],
        "seconds_until_replaced": seconds,
        "failed_of_200_after": after["errors"],
    }


def wait_until(condition: Callable[[], bool]) -> None:
    """Wait until a condition holds, at most `SECONDS_TO_START` seconds."""
    deadline = time.monotonic() + SECONDS_TO_START
    while not condition():
        if time.monotonic() > deadline:
            sys.exit("waited in vain")
        time.sleep(0.01)


def measure_batching(model: ServedModel, texts: list[str]) -> dict[str, float]:
    """Measure the model alone: texts a second one by one, and 64 together."""
    rates = {}
    for name, size in (("alone", 1), ("64 together", 64)):
        parts = [texts[start : start + size] for start in range(0, 192, size)]
        start = time.perf_counter()
        for part in parts:
            model.predict(part)
        rates[name] = round(192 / (time.perf_counter() - start), 1)
    return rates


def fit(folder: Path, texts: list[str], *options: str) -> tuple[Path, Path]:
    """Cluster texts and export the model; return the run and the exported model."""
    folder.mkdir()
    pd.DataFrame({"text": texts}).to_csv(folder / "texts.csv", index=False)
    run, exported = folder / "run", folder / "onnx"
    rstc = [sys.executable, "-m", "rstc"]
    command = [*rstc, "cluster", str(folder / "texts.csv"), "--out", str(run), *options]
    subprocess.run(command, check=True, capture_output=True)
    subprocess.run([*rstc, "export", str(run), "-o", str(exported)], check=True, capture_output=True)
    return run, exported


def measure_sample(folder: Path, kind: str, workers: int) -> dict[str, Any]:
    """Measure latency and batching with the bundled encoder and the bundled sample."""
    sample = pd.read_csv(str(files("rstc.samples") / "customer_messages.csv"))["text"].dropna().drop_duplicates()
    if not (folder / "sample").exists():
        fit(folder / "sample", sample.tolist(), "-k", "10")
    model_folder = folder / "sample" / ("onnx" if kind == "onnx" else "run")
    model = ServedModel.load(model_folder, "cpu")
    texts = sample.head(N_TEXTS).tolist()
    expected = {text: model.predict([text])[0] for text in texts}
    measured = {"texts_a_second": measure_batching(model, (2 * texts)[:192])}
    return measured | {"clients": measure_latency(model_folder, expected, workers, 400 if kind == "onnx" else 200)}


def fit_small(folder: Path) -> tuple[Path, dict[str, Any]]:
    """Fit and export a model with a small encoder; return it and what it predicts for each text alone."""
    texts = make_texts({"parcel": 200, "password": 150, "refund": 100, "recipe": 50})[0]
    if not (folder / "small").exists():
        settings = ["--set", f"encoder={build_tiny_encoder(folder)}", "--set", "training=never"]
        fit(folder / "small", texts, "-k", "4", *settings)
    exported = folder / "small" / "onnx"
    model = ServedModel.load(exported, "cpu")
    return exported, {text: model.predict([text])[0] for text in dict.fromkeys(texts)}


def main() -> None:
    parser = make_parser(__doc__, data=False)
    parser.add_argument("--parts", default="onnx,torch,kill,endurance", help="what is measured")
    parser.add_argument("--requests", type=int, default=100_000, help="requests of the endurance test")
    parser.add_argument("--clients", type=int, default=64, help="clients of the endurance test")
    parser.add_argument("--workers", type=int, default=2, help="worker processes")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep the fitted models for another call")
    options = parser.parse_args()
    path, workers = RESULTS / "serve.json", options.workers
    result = json.loads(path.read_text()) if path.exists() else {}
    with tempfile.TemporaryDirectory() as name:
        folder = options.keep or Path(name)
        folder.mkdir(exist_ok=True)
        parts: dict[str, Callable[[], dict[str, Any]]] = {
            "onnx": lambda: measure_sample(folder, "onnx", workers),
            "torch": lambda: measure_sample(folder, "torch", workers),
            "kill": lambda: measure_kill(*fit_small(folder), workers),
            "endurance": lambda: measure_endurance(*fit_small(folder), workers, options.clients, options.requests),
        }
        for part in options.parts.split(","):
            measured = parts[part]()
            print(part, json.dumps(measured), flush=True)
            load = [round(average, 1) for average in os.getloadavg()]
            result[part] = describe_run("starlette", "uvicorn") | {"load_average": load, "nice": os.nice(0)} | measured
            path.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
