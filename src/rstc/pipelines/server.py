"""The HTTP server of `rstc explore`: the page of a run and its corrections, for one user at this machine.

The address contains a random token, and whoever knows it can edit. Three checks keep other sites out:

- The Host header must name this server, so that a foreign domain name that resolves to this machine is refused.
- The Origin header, if there is one, must be this server's own.
- A correction must carry the token in the header X-Token, which a page of another site cannot send.
"""

from __future__ import annotations

import json
import logging
import secrets
import sys
from dataclasses import asdict
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from rstc.errors import InputError
from rstc.pipelines.edit_session import EditSession

logger = logging.getLogger("rstc")

LOOPBACK = "127.0.0.1"
WILDCARD_HOSTS = ("0.0.0.0", "::", "")
HTTP_PORT = 80  # browsers leave it out of the Host header
MAX_LENGTH_DIGITS = 20  # of the header Content-Length
MAX_BODY_BYTES = 8 * 2**20  # enough for the row numbers of some hundred thousand texts
REQUEST_TIMEOUT = 30  # seconds


class ExploreServer(ThreadingHTTPServer):
    """Serves an editing session at an address that contains its token.

    Parameters
    ----------
    session : EditSession
        The run to correct.
    host : str
        The address to listen on.
    port : int
        The port to listen on; 0 chooses a free one.
    """

    daemon_threads = True

    def __init__(self, session: EditSession, host: str = LOOPBACK, port: int = 0) -> None:
        self.session, self.token, self.host = session, session.token, host.lower()
        if host in WILDCARD_HOSTS:
            raise InputError(f"host {host!r} means every address of this machine; name the one that browsers will use")
        try:
            super().__init__((host, port), _Handler)
        except OSError as problem:
            raise InputError(f"the server cannot listen on {host}:{port}: {problem.strerror}") from problem

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore that a browser closed its connection, for example because a tab was closed; show other errors."""
        if not isinstance(sys.exc_info()[1], (ConnectionError, TimeoutError)):
            logger.exception("a request failed")

    @property
    def hosts(self) -> set[str]:
        """The Host headers that requests to this server may have."""
        port = self.server_address[1]
        names = {self.host, LOOPBACK, "localhost"}
        return {f"{name}:{port}" for name in names} | (names if port == HTTP_PORT else set())

    @property
    def address(self) -> str:
        """The address of the page."""
        return f"http://{self.host}:{self.server_address[1]}/{self.token}/"


class _Handler(BaseHTTPRequestHandler):
    server: ExploreServer
    timeout = REQUEST_TIMEOUT
    server_version, sys_version = "rstc", ""
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        resource = self._requested_resource()
        if resource == "":
            self._send(HTTPStatus.OK, self.server.session.page(), "text/html; charset=utf-8")
        elif resource == "edits" and self._has_token():
            self._send_json(HTTPStatus.OK, self.server.session.state())
        elif resource == "apply" and self._has_token():
            self._send_json(HTTPStatus.OK, asdict(self.server.session.apply_progress))
        else:
            self._send_problem(HTTPStatus.NOT_FOUND, "there is no such page")

    def do_POST(self) -> None:
        self.close_connection = True  # the unread body of a refused request must not be read as the next request
        resource = self._requested_resource()
        if resource not in ("edits", "apply") or not self._has_token():
            return self._send_problem(HTTPStatus.NOT_FOUND, "there is no such page")
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdecimal()):
            return self._send_problem(HTTPStatus.BAD_REQUEST, "the request does not say how long it is")
        if len(length) > MAX_LENGTH_DIGITS or int(length) > MAX_BODY_BYTES:
            return self._send_problem(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "the request is too large")
        try:
            edit = json.loads(self.rfile.read(int(length)))  # of "apply" an empty object
        except (ValueError, RecursionError):
            return self._send_problem(HTTPStatus.BAD_REQUEST, "the request is not JSON")
        if not isinstance(edit, dict):
            return self._send_problem(HTTPStatus.BAD_REQUEST, "a correction must be a JSON object")
        try:
            if resource == "apply":
                return self._send_json(HTTPStatus.ACCEPTED, asdict(self.server.session.apply()))
            self._send_json(HTTPStatus.OK, self.server.session.correct(edit))
        except InputError as problem:
            self._send_problem(HTTPStatus.BAD_REQUEST, str(problem))

    def _requested_resource(self) -> str | None:
        """Return the path below the token; None if the token, the host or the origin is wrong."""
        parts = self.path.partition("?")[0].split("/")
        if self.headers.get("Host", "").lower() not in self.server.hosts or len(parts) != 3:
            return None
        origin = self.headers.get("Origin")
        if origin is not None and origin.lower().removeprefix("http://") not in self.server.hosts:
            return None
        return parts[2] if secrets.compare_digest(parts[1].encode(), self.server.token.encode()) else None

    def _has_token(self) -> bool:
        return secrets.compare_digest(self.headers.get("X-Token", "").encode(), self.server.token.encode())

    def _send_problem(self, status: HTTPStatus, message: str) -> None:
        self._send_json(status, {"problem": message})

    def _send_json(self, status: HTTPStatus, content: dict[str, Any]) -> None:
        self._send(status, json.dumps(content), "application/json")

    def _send(self, status: HTTPStatus, content: str, content_type: str) -> None:
        body = content.encode()
        self.send_response(status)
        headers = {
            "Content-Type": content_type,
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
        """Log nothing: the path of a request contains the token."""
