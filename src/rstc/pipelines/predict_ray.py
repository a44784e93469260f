"""Files labelled by Ray: as many workers as there are processors, on one machine or on all of a cluster.

Ray Data carries the names of files, not their rows: a worker reads its file, labels it and writes it, so partitions
and the order of their rows stay as they are, and memory is that of one piece of a file a worker. When a worker dies,
Ray gives its file to another, which begins it anew; nobody ever sees half of one.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from rstc.runtime.optional import from_extra
from rstc.pipelines.predict import Labelled, Labeller, Part


def ray_engine(workers: int | None = None) -> Any:
    """Return an engine for `predict_files`: Ray with so many workers, by default one for each processor.

    It joins the cluster that Ray is connected to, or that RAY_ADDRESS names; else it starts one on this machine. The
    files and the model must have the same names on all machines.
    """
    ray = from_extra("ray", "ray")

    def label(labeller: Labeller, parts: list[Part]) -> Iterator[Labelled]:
        if not parts:
            return
        if not ray.is_initialized():
            with warnings.catch_warnings(action="ignore"):  # what Ray will do differently one day
                ray.init(logging_level=logging.ERROR, log_to_driver=False, include_dashboard=False)
        context = ray.data.DataContext.get_current()
        context.enable_progress_bars = False
        context.print_on_execution_start = False
        for handler in logging.getLogger("ray.data").handlers:  # the files that Ray logs to have it all
            if type(handler).__name__ == "PlainRayHandler":
                handler.setLevel(logging.ERROR)
        most = workers or max(int(ray.cluster_resources().get("CPU", 1)), 1)
        names = ray.data.from_items(
            [{"source": part.source, "target": part.target} for part in parts], override_num_blocks=len(parts)
        )
        found = names.map_batches(
            _Worker,
            fn_constructor_args=(labeller,),
            batch_size=1,
            num_cpus=1,
            compute=ray.data.ActorPoolStrategy(min_size=1, max_size=min(most, len(parts))),
        )
        for row in found.iter_rows():
            part = Part(str(row["source"]), str(row["target"]))
            yield Labelled(part, int(row["rows"]), int(row["texts"]), str(row["problem"]) or None)

    return label


class _Worker:
    """A process with a model at hand."""

    def __init__(self, labeller: Labeller) -> None:
        self.label = labeller.opened()

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        found = [self.label(Part(str(a), str(b))) for a, b in zip(batch["source"], batch["target"], strict=True)]
        return {
            **batch,
            "rows": np.array([one.rows for one in found]),
            "texts": np.array([one.texts for one in found]),
            "problem": np.array([one.problem or "" for one in found]),
        }
