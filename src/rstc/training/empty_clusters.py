"""Training that leaves out empty clusters, such as merged ones, so that their numbers stay empty."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray

from rstc.representation.heads import NEVER_PREDICTED_LOGIT, merge_head
from rstc.representation.network import Network, Prediction
from rstc.training.inputs import WarmStart
from rstc.training.reliability import Reliability
from rstc.training.trainer import TrainResult

Ints = NDArray[np.int64]


def leave_out_empty(warm_start: WarmStart, used: Ints) -> WarmStart:
    """Return a warm start whose clusters are the used ones (U,), numbered from 0; a new head is fitted to them."""
    network, n_used = warm_start.network, len(used)
    numbers = np.zeros(network.cluster_head.n_clusters, dtype=np.int64)  # of an empty cluster: it does not matter
    numbers[used] = np.arange(n_used)
    head = merge_head(network.cluster_head, torch.from_numpy(numbers).to(network.encoder.device), n_used)
    network = Network(network.encoder, head, network.projector)
    return WarmStart(network, numbers[warm_start.labels], warm_start.start)


def restore_numbers(result: TrainResult, used: Ints, n_clusters: int) -> TrainResult:
    """Return the result of training on the used clusters (U,) with their numbers among C clusters."""
    network, prediction = result.network, result.prediction
    head = merge_head(network.cluster_head, torch.from_numpy(used).to(network.encoder.device), n_clusters)
    log_p = torch.full((len(prediction.log_p), n_clusters), NEVER_PREDICTED_LOGIT, dtype=prediction.log_p.dtype)
    log_p[:, torch.from_numpy(used)] = prediction.log_p
    b = np.zeros(n_clusters)
    b[used] = result.b
    return replace(
        result,
        network=Network(network.encoder, head, network.projector).eval(),
        prediction=Prediction(log_p, prediction.E),
        b=b,
        order=np.arange(n_clusters),
        reliability=result.reliability and _renumber(result.reliability, used, n_clusters),
    )


def _renumber(reliability: Reliability, used: Ints, n_clusters: int) -> Reliability:
    """Return a reliability with the numbers of the used clusters."""
    repeats = reliability.repeats
    repeats = replace(
        repeats,
        run_labels=used[repeats.run_labels],
        labels=used[repeats.labels],
        nearest=used[repeats.nearest],
    )
    model = reliability.confidence_model.merge_clusters(used)
    return replace(reliability, confidence_model=model, repeats=repeats, n_clusters=n_clusters)
