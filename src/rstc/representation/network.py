"""Phi, G_p and G_z as one network, and its predictions for whole sets of texts: log P (N, C) and E (N, D)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from rstc.numerics.fixed_blocks import map_blocks
from rstc.representation.encoder import Encoder, TokenIds
from rstc.representation.heads import ClusterHead, ProjectingNetwork

# Two clusters are tied if their log P differ by less. The margin exceeds the effect of summation order and of rounded
# hidden states, which is larger in lower precision.
TIE_MARGIN = 1e-3
LOW_PRECISION_TIE_MARGIN = 5e-2
BLOCK_ROWS = 8192  # embeddings predicted at a time


@dataclass(frozen=True)
class Prediction:
    """The network's predictions for N texts, on the CPU.

    Attributes
    ----------
    log_p : Tensor (N, C)
        The log probability of each cluster.
    E : Tensor (N, D)
        The embeddings.
    """

    log_p: Tensor
    E: Tensor

    @property
    def clusters(self) -> Tensor:
        """The most probable cluster of each text, (N,)."""
        return self.log_p.argmax(1)


class Network(nn.Module):
    """The encoder Phi with the clustering head G_p and the projection G_z.

    Parameters
    ----------
    encoder : Encoder
        Phi.
    cluster_head : ClusterHead
        G_p, or a head in its place.
    projector : ProjectingNetwork
        G_z.
    """

    def __init__(self, encoder: Encoder, cluster_head: ClusterHead, projector: ProjectingNetwork) -> None:
        super().__init__()
        self.encoder = encoder
        self.cluster_head = cluster_head
        self.projector = projector
        self.to(encoder.device)

    def predict(
        self,
        tokens: Sequence[TokenIds],
        progress: Callable[[int, int], None] | None = None,
        by_length: bool = False,
    ) -> Prediction:
        """Predict tokenised texts in evaluation mode; `by_length` as in `Encoder.embed`."""
        E = self.encoder.embed(tokens, progress, by_length=by_length)
        if not (by_length and len(E)):
            return self.predict_embeddings(E)
        log_p = map_blocks(lambda rows: self.predict_embeddings(E[rows]).log_p.numpy(), len(E), filled=True)
        return Prediction(torch.from_numpy(log_p), E)

    @torch.inference_mode()
    def predict_embeddings(self, E: Tensor) -> Prediction:
        """Predict texts by their embeddings (N, D) in evaluation mode."""
        self.eval()
        device = self.encoder.device
        log_p = torch.empty(len(E), self.cluster_head.n_clusters)
        for rows in torch.arange(len(E)).split(BLOCK_ROWS):
            log_p[rows] = self.cluster_head(E[rows].to(device)).log_softmax(1).cpu()
        return Prediction(log_p, E)

    @torch.inference_mode()
    def break_ties(self, tokens: Sequence[TokenIds], prediction: Prediction) -> Prediction:
        """Predict texts whose two best clusters are tied again, each in a batch of its own.

        The last bits of an embedding depend on the other texts in the batch. After the tie-break, a text's cluster
        depends on the text alone. In lower precision, tied texts are first predicted again in float32.

        Parameters
        ----------
        tokens : sequence of arrays
            The token ids of the texts, (L,) each.
        prediction : Prediction
            Their prediction, which is changed in place.

        Returns
        -------
        Prediction
            The same object.
        """
        precision = self.encoder.precision
        if precision == torch.float32:
            return self._predict_ties_alone(tokens, prediction)
        try:
            self.encoder.precision = torch.float32
            tied = _find_ties(prediction, LOW_PRECISION_TIE_MARGIN)
            if tied:
                _update_rows(prediction, tied, self.predict([tokens[i] for i in tied], by_length=True))
            return self._predict_ties_alone(tokens, prediction)
        finally:
            self.encoder.precision = precision

    def _predict_ties_alone(self, tokens: Sequence[TokenIds], prediction: Prediction) -> Prediction:
        """Predict each tied text in a batch of its own; equal texts are predicted once."""
        predictions: dict[bytes, Prediction] = {}
        for i in _find_ties(prediction, TIE_MARGIN):
            key = tokens[i].tobytes()
            if key not in predictions:
                predictions[key] = self.predict([tokens[i]], by_length=True)
            _update_rows(prediction, [i], predictions[key])
        return prediction


def _find_ties(prediction: Prediction, margin: float) -> list[int]:
    """Return the texts whose two best clusters differ by less than `margin` in log P."""
    if prediction.log_p.shape[1] < 2:
        return []
    best = prediction.log_p.topk(2, dim=1).values  # (N, 2)
    rows: list[int] = (best[:, 0] - best[:, 1] < margin).nonzero().flatten().tolist()
    return rows


def _update_rows(prediction: Prediction, rows: list[int], update: Prediction) -> None:
    """Replace the prediction of some texts."""
    prediction.log_p[rows], prediction.E[rows] = update.log_p, update.E
