"""Who may use the service, and what every answer carries: an ASGI application around the service's own.

- With a token, a request needs the header `Authorization: Bearer TOKEN`; only /health/live and /health/ready do not.
- Without one, which loopback addresses allow, the Host header must name this machine: a page of another site cannot
  use a domain name that resolves to it.
- A request of a web page of another site, which has its Origin header, is refused.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import urlsplit

from starlette.responses import JSONResponse

from rstc.service.metrics import Metrics
from rstc.service.options import ServiceOptions, is_loopback

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

OPEN_PATHS = ("/health/live", "/health/ready")
HEADERS = [
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"content-security-policy", b"default-src 'none'"),
]


class Guard:
    """Refuses requests that may not be answered, counts and times all of them, and adds headers to the answers.

    Parameters
    ----------
    app : ASGI application
        The service.
    paths : collection of str
        The paths that it has; others are counted together.
    options : ServiceOptions
        Its host and its token.
    metrics : Metrics
        Where requests are counted.
    """

    def __init__(self, app: Application, paths: frozenset[str], options: ServiceOptions, metrics: Metrics) -> None:
        self._app, self._paths, self._options, self._metrics = app, paths, options, metrics
        self._token = options.token.encode() if options.token else None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        path = scope["path"] if scope["path"] in self._paths else "other"
        start, status = time.perf_counter(), 500

        async def send_with_headers(message: MutableMapping[str, Any]) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", []), *HEADERS]
            await send(message)

        self._metrics.in_flight.inc()
        try:
            refusal = self._find_refusal(scope)
            await (refusal or self._app)(scope, receive, send_with_headers)
        finally:
            self._metrics.in_flight.dec()
            self._metrics.requests.labels(path, status).inc()
            self._metrics.seconds.labels(path).observe(time.perf_counter() - start)

    def _find_refusal(self, scope: Scope) -> JSONResponse | None:
        """Return the answer to a request that is refused; None if it is not."""
        headers = dict(scope["headers"])
        host, origin = (headers.get(name, b"").decode("latin-1") for name in (b"host", b"origin"))
        if origin and _host_of(origin) != host.lower():
            return self._refuse(403, "origin", "requests of other sites are not answered")
        if self._token is None:
            name = _name_of(host)
            if name is None or not is_loopback(name):
                return self._refuse(403, "host", "the Host header does not name this machine")
            return None
        if scope["path"] in OPEN_PATHS:
            return None
        scheme, _, given = headers.get(b"authorization", b"").partition(b" ")
        if scheme.lower() == b"bearer" and secrets.compare_digest(given.strip(), self._token):
            return None
        refusal = self._refuse(401, "token", "this needs the header Authorization: Bearer TOKEN with the right token")
        refusal.headers["WWW-Authenticate"] = "Bearer"
        return refusal

    def _refuse(self, status: int, reason: str, message: str) -> JSONResponse:
        self._metrics.rejected.labels(reason).inc()
        return JSONResponse({"error": message}, status)


def _host_of(origin: str) -> str:
    return origin.lower().partition("://")[2]


def _name_of(host: str) -> str | None:
    """Return the host name of a Host header without its port."""
    try:
        return urlsplit(f"//{host}").hostname
    except ValueError:
        return None
