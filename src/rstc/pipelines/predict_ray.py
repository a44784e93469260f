"""Prediction of many files by Ray: one worker per processor, on one machine or on all machines of a cluster.

Ray Data carries the names of the files, not their rows: a worker reads its file, predicts it and writes it. Partitions
and the order of rows stay as they are, and a worker holds one chunk of a file at a time. When a worker dies, Ray gives
its file to another worker, which starts it again; an incomplete file never appears.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import numpy as np

from rstc.pipelines.predict import Engine, FilePredictor, FileResult, FileTask
from rstc.runtime.optional import import_optional


def ray_engine(n_workers: int | None = None) -> Engine:
    """Return an engine for `predict_files` that runs on Ray.

    It uses the cluster that Ray is connected to or that RAY_ADDRESS names; otherwise it starts Ray on this machine. The
    files and the model must have the same paths on all machines.

    Parameters
    ----------
    n_workers : int, optional
        Maximum number of workers; by default one per processor of the cluster.
    """
    ray = import_optional("ray", "ray")

    def run(predictor: FilePredictor, tasks: list[FileTask]) -> Iterator[FileResult]:
        if not tasks:
            return
        if not ray.is_initialized():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # it warns of changes in its future versions
                ray.init(logging_level=logging.ERROR, log_to_driver=False, include_dashboard=False)
        _silence_ray_data(ray)
        limit = n_workers or max(int(ray.cluster_resources().get("CPU", 1)), 1)
        items = [asdict(task) for task in tasks]
        results = ray.data.from_items(items, override_num_blocks=len(tasks)).map_batches(
            _Worker,
            fn_constructor_args=(predictor,),
            batch_size=1,
            num_cpus=1,
            compute=ray.data.ActorPoolStrategy(min_size=1, max_size=min(limit, len(tasks))),
        )
        for row in results.iter_rows():
            task = FileTask(str(row["source"]), str(row["target"]), str(row["record"]))
            yield FileResult(task, int(row["n_rows"]), int(row["n_texts"]), str(row["error"]) or None)

    return run


def _silence_ray_data(ray: Any) -> None:
    """Keep Ray Data from printing progress and logs; its log files hold them as well."""
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    context.print_on_execution_start = False
    for handler in logging.getLogger("ray.data").handlers:
        if type(handler).__name__ == "PlainRayHandler":
            handler.setLevel(logging.ERROR)


class _Worker:
    """An actor of Ray that has loaded the model."""

    def __init__(self, predictor: FilePredictor) -> None:
        self.run = predictor.load()

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        paths = zip(batch["source"], batch["target"], batch["record"], strict=True)
        results = [self.run(FileTask(*map(str, task))) for task in paths]
        return {
            **batch,
            "n_rows": np.array([result.n_rows for result in results]),
            "n_texts": np.array([result.n_texts for result in results]),
            "error": np.array([result.error or "" for result in results]),
        }
