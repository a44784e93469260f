"""Metrics of the service for Prometheus, summed over its worker processes, which write them to files of one folder."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from rstc.runtime.optional import import_optional

FOLDER_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"  # read by prometheus_client when it is imported
SECONDS_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
TEXTS_BUCKETS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)


class Metrics:
    """The metrics of a worker; each is documented where it is created."""

    def __init__(self) -> None:
        self._client = client = import_optional("prometheus_client", "serve")
        self.requests = client.Counter("rstc_requests", "Requests by path and status.", ["path", "status"])
        self.seconds = client.Histogram(
            "rstc_request_seconds", "Seconds of a request.", ["path"], buckets=SECONDS_BUCKETS
        )
        self.texts = client.Counter("rstc_texts", "Texts that were predicted.")
        self.batch_texts = client.Histogram(
            "rstc_batch_texts", "Texts that were predicted together.", buckets=TEXTS_BUCKETS
        )
        self.rejected = client.Counter("rstc_rejected", "Requests that were refused, by reason.", ["reason"])
        self.reloads = client.Counter("rstc_model_reloads", "New model folders, loaded or refused.", ["result"])
        self.in_flight = client.Gauge(
            "rstc_requests_in_flight", "Requests that are being answered.", multiprocess_mode="livesum"
        )
        self.memory = client.Gauge(
            "rstc_resident_memory_bytes", "Resident memory of a worker.", multiprocess_mode="liveall"
        )
        self.model = client.Gauge(
            "rstc_model_info",
            "1 for the model that a worker has, by checksum.",
            ["checksum"],
            multiprocess_mode="liveall",
        )
        self.n_clusters = client.Gauge("rstc_model_clusters", "Clusters of the model.", multiprocess_mode="livemax")
        self._checksum: str | None = None

    def set_model(self, checksum: str, n_clusters: int) -> None:
        """Record which model the worker has."""
        if self._checksum is not None:
            self.model.labels(self._checksum).set(0)
        self.model.labels(checksum).set(1)
        self.n_clusters.set(n_clusters)
        self._checksum = checksum

    def observe_memory(self) -> None:
        """Record the memory of the worker."""
        self.memory.set(read_resident_memory())

    def render(self) -> tuple[bytes, str]:
        """Return the metrics of all workers in Prometheus' text format, and its content type."""
        multiprocess: Any = import_optional("prometheus_client.multiprocess", "serve")
        registry = self._client.CollectorRegistry()
        multiprocess.MultiProcessCollector(registry)
        return self._client.generate_latest(registry), self._client.CONTENT_TYPE_LATEST


def forget_process(process: int, folder: Path) -> None:
    """Remove the gauges of a worker that has ended; its counters stay in the sums."""
    for path in folder.glob(f"gauge_live*_{process}.db"):
        path.unlink(missing_ok=True)


def read_resident_memory() -> int:
    """Return the resident memory of this process in bytes; where it is not known, the most that it had."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        import resource  # not where there is no such module, such as Windows

        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most if sys.platform == "darwin" else 1024 * most
