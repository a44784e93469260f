"""Predict the texts of several requests together: while one batch is computed, the next one collects."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from rstc.service.model_store import ModelStore, ServedModel

logger = logging.getLogger("rstc")

MAX_BATCH_TEXTS = 1024  # a longer batch would let short requests wait


@dataclass
class Predicted:
    """The predictions of a request, all by one model."""

    model: ServedModel
    rows: list[dict[str, Any]]


@dataclass
class _Job:
    texts: list[str | None]
    result: asyncio.Future[Predicted]


class Batcher:
    """Collects the texts of requests into batches, which one thread predicts.

    All bits of a prediction depend on its text alone, so a request's result does not depend on its batch.

    Parameters
    ----------
    store : ModelStore
        Where the model is taken from, once for each batch.
    observe : callable, optional
        Called with the number of texts of each batch.
    """

    def __init__(self, store: ModelStore, observe: Callable[[int], None] | None = None) -> None:
        self._store, self._observe = store, observe
        self._jobs: deque[_Job] = deque()
        self._has_jobs = asyncio.Event()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="predict")

    async def predict(self, texts: list[str | None]) -> Predicted:
        """Predict the texts of a request; if the caller is cancelled before they are computed, they are left out."""
        job = _Job(texts, asyncio.get_running_loop().create_future())
        self._jobs.append(job)
        self._has_jobs.set()
        return await job.result

    async def run(self) -> None:
        """Compute batches until this is cancelled."""
        while True:
            await self._has_jobs.wait()
            jobs = self._take_jobs()
            if not self._jobs:
                self._has_jobs.clear()
            if jobs:
                await self._compute(jobs)

    def _take_jobs(self) -> list[_Job]:
        jobs: list[_Job] = []
        n_texts = 0
        while self._jobs and (not jobs or n_texts + len(self._jobs[0].texts) <= MAX_BATCH_TEXTS):
            job = self._jobs.popleft()
            if not job.result.done():  # its client did not wait
                jobs.append(job)
                n_texts += len(job.texts)
        return jobs

    async def _compute(self, jobs: list[_Job]) -> None:
        model, texts = self._store.current, [text for job in jobs for text in job.texts]
        if self._observe:
            self._observe(len(texts))
        try:
            rows = await asyncio.get_running_loop().run_in_executor(self._thread, model.predict, texts)
        except Exception as problem:
            # A message of the problem may quote a text, so only its type is logged.
            logger.error("a batch of %d texts could not be predicted: %s", len(texts), type(problem).__name__)
            if len(jobs) > 1:  # the other requests have nothing to do with it
                for job in jobs:
                    await self._compute([job])
            elif not jobs[0].result.done():
                jobs[0].result.set_exception(problem)
            return
        start = 0
        for job in jobs:
            if not job.result.done():
                job.result.set_result(Predicted(model, rows[start : start + len(job.texts)]))
            start += len(job.texts)
