"""Phi, G_p and G_z as one network, and its predictions for whole sets of texts: log P (N, C) and E (N, D)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from rstc.representation.encoder import Encoder, TokenIds
from rstc.representation.heads import ClusterHead, ProjectingNetwork

# Two clusters closer than this in log P are a close call: above what the order of sums, and a frozen state that falls
# to the other side of a rounding, can move; below any difference that means something. Coarser arithmetic moves more.
CLOSE_CALL = 1e-3
CLOSE_CALL_IN_LOWER_PRECISION = 5e-2


@dataclass(frozen=True)
class Prediction:
    """What the network says of N texts: log P (N, C) and embeddings E (N, D), on the CPU."""

    log_p: Tensor
    E: Tensor

    @property
    def clusters(self) -> Tensor:
        """The most probable cluster of each text, (N,)."""
        return self.log_p.argmax(1)


class Network(nn.Module):
    """The encoder Phi with the clustering head G_p and the projecting head G_z."""

    def __init__(self, encoder: Encoder, cluster_head: ClusterHead, projector: ProjectingNetwork) -> None:
        super().__init__()
        self.encoder = encoder
        self.cluster_head = cluster_head
        self.projector = projector
        self.to(encoder.device)

    def predict(self, tokens: Sequence[TokenIds], progress: Callable[[int, int], None] | None = None) -> Prediction:
        """Predict tokenised texts in evaluation mode."""
        return self.judge(self.encoder.embed(tokens, progress))

    @torch.inference_mode()
    def judge(self, E: Tensor) -> Prediction:
        """Predict texts that are embedded already, a few thousand at a time."""
        self.eval()
        device = self.encoder.device
        log_p = torch.empty(len(E), self.cluster_head.n_clusters)
        for rows in torch.arange(len(E)).split(8192):
            log_p[rows] = self.cluster_head(E[rows].to(device)).log_softmax(1).cpu()
        return Prediction(log_p, E)

    @torch.inference_mode()
    def settle(self, tokens: Sequence[TokenIds], prediction: Prediction) -> Prediction:
        """Decide close calls by encoding the text alone; the prediction is changed in place and returned.

        How a text is rounded depends a little on the texts it shares a batch with. Settled, a text's cluster
        depends on that text and nothing else. What was computed in a lower precision is first looked at in float32.
        """
        precision = self.encoder.precision
        if precision != torch.float32:
            doubtful = _closer_than(CLOSE_CALL_IN_LOWER_PRECISION, prediction)
            try:
                self.encoder.precision = torch.float32
                if doubtful:
                    self._replace(prediction, doubtful, self.predict([tokens[i] for i in doubtful]))
                return self._settle_alone(tokens, prediction)
            finally:
                self.encoder.precision = precision
        return self._settle_alone(tokens, prediction)

    def _settle_alone(self, tokens: Sequence[TokenIds], prediction: Prediction) -> Prediction:
        """Decide close calls by encoding each text alone, equal ones once."""
        alone: dict[bytes, Prediction] = {}
        for i in _closer_than(CLOSE_CALL, prediction):
            key = tokens[i].tobytes()
            if key not in alone:
                alone[key] = self.predict([tokens[i]])
            self._replace(prediction, [i], alone[key])
        return prediction

    def _replace(self, prediction: Prediction, rows: list[int], better: Prediction) -> None:
        """Write a better prediction of some texts over the old one."""
        prediction.log_p[rows], prediction.E[rows] = better.log_p, better.E


def _closer_than(margin: float, prediction: Prediction) -> list[int]:
    """Return the texts whose two best clusters are closer than this in log P."""
    if prediction.log_p.shape[1] < 2:
        return []
    best = prediction.log_p.topk(2, dim=1).values
    rows: list[int] = (best[:, 0] - best[:, 1] < margin).nonzero().flatten().tolist()
    return rows
