"""What a run found, where it is written: the clusters of all rows, and the texts that the result shows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from rstc.estimator import RSTC
from rstc.pipelines.inputs import Given
from rstc.runtime.distributed import Ranks

MOST_SHOWN = 100_000  # of what several processes have: no one of them is to hold all texts
OF_EACH_CLUSTER = 5  # are shown in any case, by each process


@dataclass(frozen=True)
class Found:
    """The clusters of all rows of a file, and the texts that are shown.

    Attributes:
        clusters: of each row, (rows,); -1 where there is none.
        confidence: of each row, (rows,).
        shown: which rows are shown, (N,), in order: all that hold a text, or a sample of them.
        texts: what they say.
        E: their embeddings, (N, D).
    """

    clusters: NDArray[np.int64]
    confidence: NDArray[np.float32]
    shown: NDArray[np.int64]
    texts: list[str]
    E: NDArray[np.float32]


def found_in(given: Given, model: RSTC, ranks: Ranks) -> Found | None:
    """Return what a run found; of several processes, only the first has it, the others get None."""
    confidence = model.probabilities_.max(axis=1)
    present = np.array([i for i, text in enumerate(given.texts) if text is not None], dtype=np.int64)
    if ranks.alone:
        rows = present if len(present) < len(given.texts) else slice(None)  # a slice copies nothing
        there = [text for text in given.texts if text is not None]
        return Found(model.labels_, confidence, present, there, model.embedding_[rows])
    shown = present[_sample(model.labels_[present], model.n_texts_, ranks)]
    local = (model.labels_, confidence, shown + given.rows.start, model.embedding_[shown])
    everything = [ranks.rows_at_first(torch.from_numpy(np.ascontiguousarray(one))) for one in local]
    texts = ranks.things_at_first([str(given.texts[row]) for row in shown])
    if texts is None:
        return None
    clusters, sure, rows_shown, E = (one.numpy() for one in everything if one is not None)
    return Found(clusters, sure, rows_shown, texts, E)


def _sample(labels: NDArray[np.int64], n_texts: int, ranks: Ranks) -> NDArray[np.int64]:
    """Return which of this process's texts are shown: evenly spread ones, and some of each cluster."""
    step = -(-n_texts // MOST_SHOWN)
    before = sum(ranks.every(len(labels))[: ranks.rank])
    chosen = (np.arange(len(labels)) + before) % step == 0
    order = np.argsort(labels, kind="stable")
    place = np.arange(len(labels)) - np.searchsorted(labels[order], labels[order])  # of each among its cluster's
    chosen[order[place < OF_EACH_CLUSTER]] = True
    return np.flatnonzero(chosen)
