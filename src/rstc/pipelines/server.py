"""A run's page with corrections: a small server for one person at this machine.

Whoever knows the address may correct: it holds a token that is drawn anew each time. A request must
name this very server as its host, so that no other site's name can be made to lead here, must not come from another
site's page, and corrections must carry the token in a header, which no such page can send.
"""

from __future__ import annotations

import json
import secrets
import threading
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rstc.errors import InputError
from rstc.estimator import RSTC
from rstc.pseudo_labels.kmeans import swapped_kmeans
from rstc.results.edits import Edit, read_log
from rstc.results.corrected_run import RunNow
from rstc.report.html.content import shown_clusters
from rstc.report.html.render import page, write_page
from rstc.results.run_folder import MODEL

LOOPBACK = "127.0.0.1"
EVERYWHERE = ("0.0.0.0", "::", "")
HTTP_PORT = 80  # which browsers do not name
LARGEST_BODY = 8 * 2**20  # of a request: the numbers of some hundred thousand texts
SECONDS_TO_WAIT = 30  # for the rest of a request


class Exploration:
    """A run that is being corrected: what is asked of it, one thing at a time."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.run, self.token = folder, RunNow.read(folder), secrets.token_urlsafe(24)
        self._found = RunNow(self.run.summary, self.run.points)
        self._lock = threading.Lock()
        self._model: RSTC | None = None

    def page(self) -> str:
        """Return the page of the run as it was found, which asks for the state itself."""
        return page(self._found, {"token": self.token})

    def state(self) -> dict[str, Any]:
        """Return what corrections have made of the run: texts in other clusters than it found, and all clusters."""
        with self._lock:
            if read_log(self.folder) != self.run.log:  # somebody corrected elsewhere, as `rstc names` does
                self.run = RunNow(self.run.summary, self.run.points, read_log(self.folder))
            return self._state()

    def correct(self, edit: Edit) -> dict[str, Any]:
        """Make a correction, or take the last one back, and keep it; return the state after it."""
        with self._lock:
            after = self.run.copy()
            if edit.get("do") == "undo":
                after.undo()
            else:
                after.correct(self._with_rows(edit))
            after.save(self.folder)
            self.run = after  # only what is kept is shown
            return self._state()

    def close(self) -> None:
        """Write the page as it is now, for those who open it by itself."""
        with self._lock:
            write_page(self.folder, self.run)

    def _state(self) -> dict[str, Any]:
        run = self.run
        changed = np.flatnonzero(run.changed)
        clusters = [None if c < 0 else c for c in run.clusters[changed].tolist()]
        return {
            "rows": list(zip(changed.tolist(), clusters, strict=True)),
            "clusters": shown_clusters(run),
            "edits": len(run.log.edits),
        }

    def _with_rows(self, edit: Edit) -> Edit:
        """Return a split with the texts that leave: those on the smaller side of the cluster, halved by k-means."""
        if edit.get("do") != "split" or "rows" in edit:
            return edit
        cluster = edit.get("cluster")
        if not isinstance(cluster, int) or cluster not in self.run.now.names:
            raise InputError(f"there is no cluster {cluster!r}")
        rows = np.flatnonzero(self.run.clusters == cluster)
        if len(rows) < 2:
            raise InputError("a cluster of one text cannot be split")
        E = self._embedded(rows)
        side = swapped_kmeans(E, 2, np.random.default_rng(0), starts=5).labels
        if len(np.unique(side)) < 2:
            raise InputError("the texts of this cluster are all alike")
        smaller = int(np.bincount(side).argmin())
        leaving = rows[side == smaller]
        return {**edit, "rows": leaving.tolist(), "name": self.run.name_for(leaving)}

    def _embedded(self, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        if self._model is None:
            self._model = RSTC.load(self.folder / MODEL)
        E = self._model.transform([self.run.points.texts[row] for row in rows])
        return np.asarray(E / np.maximum(np.linalg.norm(E, axis=1, keepdims=True), 1e-12), dtype=np.float32)


class ExploreServer(ThreadingHTTPServer):
    """Serves one exploration at an address that holds a token."""

    daemon_threads = True

    def __init__(self, exploration: Exploration, host: str = LOOPBACK, port: int = 0) -> None:
        self.exploration, self.token, self.host = exploration, exploration.token, host.lower()
        if host in EVERYWHERE:
            raise InputError(f"{host} is no address to ask for; name the one under which others will")
        try:
            super().__init__((host, port), _Handler)
        except OSError as problem:
            raise InputError(f"{host}:{port} cannot be listened at: {problem.strerror}") from problem

    @property
    def hosts(self) -> set[str]:
        """The names under which requests may ask for this server."""
        port = self.server_address[1]
        names = {self.host, LOOPBACK, "localhost"}
        return {f"{name}:{port}" for name in names} | (names if port == HTTP_PORT else set())

    @property
    def address(self) -> str:
        """Where the page is."""
        return f"http://{self.host}:{self.server_address[1]}/{self.token}/"


class _Handler(BaseHTTPRequestHandler):
    server: ExploreServer
    timeout = SECONDS_TO_WAIT
    server_version, sys_version = "rstc", ""
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        what = self._asked_for()
        if what == "":
            self._answer(HTTPStatus.OK, self.server.exploration.page(), "text/html; charset=utf-8")
        elif what == "edits" and self._carries_token():
            self._say(HTTPStatus.OK, self.server.exploration.state())
        else:
            self._say(HTTPStatus.NOT_FOUND, {"problem": "there is nothing here"})

    def do_POST(self) -> None:
        self.close_connection = True  # what is left of a refused body is nobody's next request
        if self._asked_for() != "edits" or not self._carries_token():
            return self._say(HTTPStatus.NOT_FOUND, {"problem": "there is nothing here"})
        length = self.headers.get("Content-Length", "")
        if not length.isdigit() or int(length) > LARGEST_BODY:
            return self._say(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, {"problem": "the request is too large"})
        try:
            edit = json.loads(self.rfile.read(int(length)))
        except (ValueError, RecursionError):
            return self._say(HTTPStatus.BAD_REQUEST, {"problem": "the request is not JSON"})
        if not isinstance(edit, dict):
            return self._say(HTTPStatus.BAD_REQUEST, {"problem": "a correction is an object"})
        try:
            said = self.server.exploration.correct(edit)
        except InputError as mistake:
            return self._say(HTTPStatus.BAD_REQUEST, {"problem": str(mistake)})
        self._say(HTTPStatus.OK, said)

    def _asked_for(self) -> str | None:
        """Return what is asked for below the token; None where the token or the host is not ours."""
        parts = self.path.partition("?")[0].split("/")
        if self.headers.get("Host", "").lower() not in self.server.hosts or len(parts) != 3:
            return None
        origin = self.headers.get("Origin")
        if origin is not None and origin.lower().removeprefix("http://") not in self.server.hosts:
            return None
        return parts[2] if secrets.compare_digest(parts[1].encode(), self.server.token.encode()) else None

    def _carries_token(self) -> bool:
        return secrets.compare_digest(self.headers.get("X-Token", "").encode(), self.server.token.encode())

    def _say(self, status: HTTPStatus, content: dict[str, Any]) -> None:
        self._answer(status, json.dumps(content), "application/json")

    def _answer(self, status: HTTPStatus, content: str, kind: str) -> None:
        body = content.encode()
        self.send_response(status)
        headers = {
            "Content-Type": kind,
            "Content-Length": str(len(body)),
            "Cache-Control": "no-store",
            "X-Content-Type-Options": "nosniff",
            "X-Frame-Options": "DENY",
            "Referrer-Policy": "no-referrer",
            "Cross-Origin-Resource-Policy": "same-origin",
        }
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: the address with its token has no place in a log."""
