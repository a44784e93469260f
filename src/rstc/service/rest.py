"""The HTTP interface of the service: predictions, clusters, the model, health, metrics and the OpenAPI document."""

from __future__ import annotations

import asyncio
import json
import logging
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from rstc.io.columns import clean_text
from rstc.service.access import Application, Guard
from rstc.service.batching import Batcher
from rstc.service.metrics import Metrics
from rstc.service.model_store import ModelStore
from rstc.service.openapi import build_document
from rstc.service.options import ServiceOptions

logger = logging.getLogger("rstc")

RETRY_SECONDS = 1
JSON = "application/json"
FAILURE = "the request could not be answered; the server's log says what failed"


class RequestError(Exception):
    """Ends a request with an answer that says what is wrong with it.

    Parameters
    ----------
    status : int
        The HTTP status.
    reason : str
        The reason, as the metrics count it.
    message : str
        One sentence, which never quotes a text.
    """

    def __init__(self, status: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.status, self.reason = status, reason


class RestService:
    """The service of one worker process.

    Parameters
    ----------
    options : ServiceOptions
        What is served, and the limits.
    store : ModelStore
        The model.
    metrics : Metrics
        Where requests are counted.
    """

    def __init__(self, options: ServiceOptions, store: ModelStore, metrics: Metrics) -> None:
        self._options, self._store, self._metrics = options, store, metrics
        self._batcher = Batcher(store, metrics.batch_texts.observe)
        self._n_predictions = 0
        self.is_stopping = False
        metrics.observe_memory()
        metrics.set_model(store.current.checksum, store.current.model.n_clusters_)

    def build(self) -> Application:
        """Return the ASGI application."""
        routes = [
            Route("/v1/predict", self._predict, methods=["POST"]),
            Route("/v1/clusters", self._list_clusters, methods=["GET"]),
            Route("/v1/model", self._describe_model, methods=["GET"]),
            Route("/health/live", self._live, methods=["GET"]),
            Route("/health/ready", self._ready, methods=["GET"]),
            Route("/metrics", self._render_metrics, methods=["GET"]),
            Route("/openapi.json", self._document, methods=["GET"]),
        ]
        handlers = {HTTPException: _answer_http_error, RequestError: self._answer_refusal, Exception: _answer_failure}
        app = Starlette(routes=routes, exception_handlers=handlers, lifespan=self._run)
        app.router.redirect_slashes = False
        return Guard(app, frozenset(route.path for route in routes), self._options, self._metrics)

    @asynccontextmanager
    async def _run(self, app: Starlette) -> AsyncIterator[None]:
        """Run the batches and the watch of the model folder as long as the application."""
        tasks = [asyncio.create_task(self._batcher.run()), asyncio.create_task(self._watch())]
        yield
        for task in tasks:
            task.cancel()
        for task in tasks:
            with suppress(asyncio.CancelledError):
                await task

    async def _watch(self) -> None:
        """Look for a new model, and how much memory is in use, again and again."""
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(self._options.poll_seconds)
            self._metrics.observe_memory()
            try:
                result = await loop.run_in_executor(None, self._store.refresh)
            except Exception as problem:  # the disk, say; the model in memory goes on
                logger.warning("the model folder cannot be read: %s", type(problem).__name__)
                continue
            if result:
                self._metrics.reloads.labels(result).inc()
            if result == "loaded":
                current = self._store.current
                self._metrics.set_model(current.checksum, current.model.n_clusters_)

    async def _predict(self, request: Request) -> Response:
        """Answer POST /v1/predict."""
        options = self._options
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != JSON:
            raise RequestError(415, "content type", f"the body must be {JSON}")
        if self._n_predictions >= options.max_requests:
            raise RequestError(503, "busy", f"{options.max_requests} requests are being answered; try again later")
        self._n_predictions += 1
        try:
            texts = self._parse_texts(await self._read_body(request))
            try:
                predicted = await asyncio.wait_for(self._batcher.predict(texts), options.answer_seconds)
            except asyncio.TimeoutError:
                raise RequestError(
                    503, "timeout", f"there was no answer in {options.answer_seconds:g} seconds"
                ) from None
            except Exception:  # the batcher has logged what it was, without texts, which a traceback might quote
                raise RequestError(500, "failure", FAILURE) from None
        finally:
            self._n_predictions -= 1
        self._metrics.texts.inc(len(texts))
        return JSONResponse({"model": predicted.model.checksum, "predictions": predicted.rows})

    async def _read_body(self, request: Request) -> bytes:
        """Read the body of a request, which may neither be too long nor take too long."""
        limit = self._options.max_body_bytes
        too_large = RequestError(413, "body", f"the body may have at most {limit} bytes")
        length = request.headers.get("content-length", "")
        if length.isdecimal() and (len(length) > len(str(limit)) or int(length) > limit):
            raise too_large

        async def read() -> bytes:
            body = bytearray()
            async for part in request.stream():
                body += part
                if len(body) > limit:
                    raise too_large
            return bytes(body)

        try:
            return await asyncio.wait_for(read(), self._options.client_seconds)
        except asyncio.TimeoutError:
            seconds = self._options.client_seconds
            raise RequestError(408, "slow client", f"the body did not arrive in {seconds:g} seconds") from None
        except ClientDisconnect:
            raise RequestError(400, "disconnect", "the connection was closed before the body was complete") from None

    def _parse_texts(self, body: bytes) -> list[str | None]:
        """Return the cleaned texts of a request's body."""
        try:
            content = json.loads(body)
        except (ValueError, RecursionError):
            raise RequestError(400, "json", "the body is not JSON") from None
        texts = content.get("texts") if isinstance(content, dict) else None
        if not isinstance(texts, list) or not all(text is None or isinstance(text, str) for text in texts):
            raise RequestError(422, "texts", 'the body must be an object with "texts", a list of strings')
        if set(content) != {"texts"}:
            raise RequestError(422, "texts", 'the body may have no entry but "texts"')
        if len(texts) > self._options.max_texts:
            raise RequestError(422, "too many texts", f"a request may have at most {self._options.max_texts} texts")
        if any(len(text or "") > self._options.max_chars for text in texts):
            raise RequestError(422, "long text", f"a text may have at most {self._options.max_chars} characters")
        return [clean_text(text) for text in texts]

    async def _list_clusters(self, request: Request) -> Response:
        model = self._store.current
        return JSONResponse({"model": model.checksum, "clusters": model.list_clusters()})

    async def _describe_model(self, request: Request) -> Response:
        return JSONResponse(self._store.current.describe())

    async def _live(self, request: Request) -> Response:
        return JSONResponse({"status": "live"})

    async def _ready(self, request: Request) -> Response:
        if self.is_stopping:
            return JSONResponse({"status": "stopping"}, 503, {"Retry-After": str(RETRY_SECONDS)})
        return JSONResponse({"status": "ready", "process": os.getpid()})

    async def _render_metrics(self, request: Request) -> Response:
        content, media_type = self._metrics.render()
        return Response(content, media_type=media_type)

    async def _document(self, request: Request) -> Response:
        return JSONResponse(build_document(self._options))

    async def _answer_refusal(self, request: Request, problem: Exception) -> Response:
        assert isinstance(problem, RequestError)
        self._metrics.rejected.labels(problem.reason).inc()
        headers = {"Retry-After": str(RETRY_SECONDS)} if problem.status == 503 else {}
        if problem.status in (408, 413):  # what is left of the body is not read
            headers["Connection"] = "close"
        return JSONResponse({"error": str(problem)}, problem.status, headers)


async def _answer_http_error(request: Request, problem: Exception) -> Response:
    """Answer a request for an unknown path, or with a method that a path does not have."""
    assert isinstance(problem, HTTPException)
    message = {404: "there is no such path", 405: "this path does not have this method"}
    return JSONResponse(
        {"error": message.get(problem.status_code, problem.detail)}, problem.status_code, problem.headers
    )


async def _answer_failure(request: Request, problem: Exception) -> Response:
    """Answer a request that failed for a reason that is not the client's."""
    return JSONResponse({"error": FAILURE}, 500)
