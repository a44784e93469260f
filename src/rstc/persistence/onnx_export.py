"""A trained network written as ONNX, to be used where there is no torch (onnx_model.py reads it)."""

from __future__ import annotations

import json
import logging
import warnings
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from rstc.errors import InputError
from rstc.runtime.optional import from_extra
from rstc.io.atomic import replaced_folder, sha256
from rstc.persistence.onnx_model import DESCRIPTION, FORMAT_VERSION, MODEL, TOKENIZER, is_exported
from rstc.representation.encoder import Encoder, quiet
from rstc.representation.heads import Centroids, ClusterHead, Grouped
from rstc.representation.network import Network
from rstc.representation.padding import padded_ids
from rstc.runtime.environment import versions

MOST_TEXTS = 2**20  # in a batch; any number up to it will do
EXAMPLES = ["a text", "and another one that is longer"]


def export_onnx(network: Network, folder: Path, facts: dict[str, Any]) -> None:
    """Write a network to a new folder, or in place of one that was exported before.

    Args:
        network: in evaluation mode.
        folder: that appears complete or not at all.
        facts: what is to stand beside it: class_distribution and text_column.
    """
    from_extra("onnxscript", "onnx")
    if folder.exists() and not (folder.is_dir() and _ours(folder)):
        raise InputError(f"{folder} exists and is not an exported model; choose another folder")
    encoder = network.encoder
    tokenizer = getattr(encoder.model.tokenizer, "backend_tokenizer", None)
    if tokenizer is None:
        raise InputError("this encoder's tokenizer is written in Python and cannot be exported")
    with replaced_folder(folder) as new:
        _write_graph(_Whole(encoder, network.cluster_head).eval(), encoder, new / MODEL)
        tokenizer.save(str(new / TOKENIZER))
        description = {
            "format_version": FORMAT_VERSION,
            "n_clusters": network.cluster_head.n_clusters,
            "dim": encoder.dim,
            "max_tokens": encoder.max_tokens,
            "pad": encoder.model.tokenizer.pad_token_id or 0,
            **facts,
            "versions": versions(),
            "files": {name: sha256(new / name) for name in (MODEL, TOKENIZER)},
        }
        (new / DESCRIPTION).write_text(json.dumps(description, indent=1), encoding="utf-8")


class _Whole(nn.Module):
    """Token ids and their mask (B, L) to log P (B, C) and E (B, D), through the whole encoder at once."""

    def __init__(self, encoder: Encoder, head: ClusterHead) -> None:
        super().__init__()
        self.model, self.head = encoder.model, _exportable(head)

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> tuple[Tensor, Tensor]:
        """Return log P and E."""
        E = self.model({"input_ids": input_ids, "attention_mask": attention_mask})["sentence_embedding"]
        return self.head(E).log_softmax(1), E


class _Distances(nn.Module):
    """`Centroids` in words that ONNX has: squared distances by products."""

    centroids: Tensor

    def __init__(self, head: Centroids) -> None:
        super().__init__()
        self.n_clusters, self.unit_length = head.n_clusters, head.unit_length
        self.register_buffer("centroids", head.centroids)

    def forward(self, E: Tensor) -> Tensor:
        """Return the logits of embeddings (B, D)."""
        points, C = F.normalize(E, dim=1) if self.unit_length else E, self.centroids
        return 2 * points @ C.T - points.pow(2).sum(1, keepdim=True) - C.pow(2).sum(1)


def _exportable(head: nn.Module) -> nn.Module:
    """Return a head that computes the same in words that ONNX has."""
    if isinstance(head, Grouped):
        return Grouped(_exportable(head.head), head.groups, head.n_clusters)  # type: ignore[arg-type]
    return _Distances(head) if isinstance(head, Centroids) else head


def _write_graph(whole: _Whole, encoder: Encoder, path: Path) -> None:
    """Trace the network for any number of texts of any length that it reads."""
    ids, mask = padded_ids(encoder.tokenize(EXAMPLES), encoder.model.tokenizer.pad_token_id or 0)
    inputs = tuple(torch.from_numpy(one).to(encoder.device) for one in (ids, mask))
    texts = torch.export.Dim("texts", min=1, max=MOST_TEXTS)
    tokens = torch.export.Dim("tokens", min=2, max=encoder.max_tokens)
    exporter = logging.getLogger("torch.onnx")
    level = exporter.level
    with warnings.catch_warnings(), quiet(), torch.no_grad():
        warnings.simplefilter("ignore")  # of the exporter about itself
        exporter.setLevel(logging.ERROR)
        try:
            torch.onnx.export(
                whole,
                inputs,
                str(path),
                dynamo=True,
                input_names=["input_ids", "attention_mask"],
                output_names=["log_p", "E"],
                dynamic_shapes=({0: texts, 1: tokens}, {0: texts, 1: tokens}),
                external_data=False,
                verbose=False,
            )
        except Exception as problem:  # an encoder may compute what ONNX has no word for
            raise InputError(f"this encoder cannot be exported ({type(problem).__name__})") from problem
        finally:
            exporter.setLevel(level)


def _ours(folder: Path) -> bool:
    names = {path.name for path in folder.iterdir()}
    return not names or (is_exported(folder) and names <= {MODEL, TOKENIZER, DESCRIPTION})
