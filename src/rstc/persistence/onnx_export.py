"""Export of a fitted model to ONNX, for use without torch (`rstc.persistence.onnx_model` reads it)."""

from __future__ import annotations

import json
import logging
import warnings
from dataclasses import asdict
from pathlib import Path

import torch
from safetensors.numpy import save_file as save_arrays
from torch import Tensor, nn
from torch.nn import functional as F

from rstc.errors import InputError, find_system_error
from rstc.io.atomic import lock_output, replace_folder, sha256
from rstc.persistence.confidence_file import CONFIDENCE
from rstc.persistence.fitted_model import FittedModel
from rstc.persistence.onnx_model import (
    DESCRIPTION,
    FORMAT_VERSION,
    MODEL,
    PROMPT_VERSION,
    TOKENIZER,
    OnnxDescription,
    check_export_target,
)
from rstc.representation.encoder import Encoder, silence_transformers
from rstc.representation.heads import CentroidHead, ClusterHead, GroupedHead
from rstc.representation.padding import pad_ids
from rstc.runtime.environment import package_versions
from rstc.runtime.optional import import_optional

MAX_BATCH_TEXTS = 2**20  # the exported graph takes any number of texts up to this
EXAMPLE_TEXTS = ["a text", "and another one that is longer"]


def export_onnx(model: FittedModel, folder: Path) -> None:
    """Write a model to a new folder, or in place of a model exported before; it appears complete or not at all."""
    import_optional("onnxscript", "onnx")
    check_export_target(folder)
    network = model.network.eval()
    encoder = network.encoder
    tokenizer = getattr(encoder.model.tokenizer, "backend_tokenizer", None)
    if tokenizer is None:
        raise InputError("this encoder's tokenizer is written in Python and cannot be exported")
    with lock_output(folder, make_parents=True), replace_folder(folder) as new:
        _write_graph(_ExportedNetwork(encoder, network.cluster_head).eval(), encoder, new / MODEL)
        tokenizer.save(str(new / TOKENIZER))
        names = [MODEL, TOKENIZER]
        if model.confidence_model:
            save_arrays(model.confidence_model.to_arrays(), new / CONFIDENCE)
            names.append(CONFIDENCE)
        description = OnnxDescription(
            n_clusters=model.n_clusters,
            dim=encoder.dim,
            max_tokens=encoder.max_tokens,
            pad=encoder.model.tokenizer.pad_token_id or 0,
            class_distribution=model.class_distribution.tolist(),
            text_column=model.text_column,
            names=model.list_names(),
            versions=package_versions(),
            files={name: sha256(new / name) for name in names},
            format_version=PROMPT_VERSION if encoder.prompt else FORMAT_VERSION,
            prompt=encoder.prompt,
        )
        (new / DESCRIPTION).write_text(json.dumps(asdict(description), indent=1), encoding="utf-8")


class _ExportedNetwork(nn.Module):
    """Token ids and attention mask (B, L) to log P (B, C) and E (B, D), through all layers of the encoder."""

    def __init__(self, encoder: Encoder, head: ClusterHead) -> None:
        super().__init__()
        self.model, self.head, self.further_features = encoder.model, _convert_head(head), encoder.further_features

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> tuple[Tensor, Tensor]:
        """Return log P and E."""
        features = {"input_ids": input_ids, "attention_mask": attention_mask, **self.further_features}
        E = self.model(features)["sentence_embedding"]
        return self.head(E).log_softmax(1), E


class _ExportedCentroidHead(nn.Module):
    """`CentroidHead` in operators that ONNX has: squared distances expanded into products."""

    centroids: Tensor

    def __init__(self, head: CentroidHead) -> None:
        super().__init__()
        self.n_clusters, self.unit_length = head.n_clusters, head.unit_length
        self.register_buffer("centroids", head.centroids)

    def forward(self, E: Tensor) -> Tensor:
        """Return the logits of embeddings (B, D)."""
        points, C = F.normalize(E, dim=1) if self.unit_length else E, self.centroids
        return 2 * points @ C.T - points.pow(2).sum(1, keepdim=True) - C.pow(2).sum(1)


def _convert_head(head: nn.Module) -> nn.Module:
    """Return a head that computes the same in operators that ONNX has."""
    if isinstance(head, GroupedHead):
        return GroupedHead(_convert_head(head.head), head.groups, head.n_clusters)  # type: ignore[arg-type]
    return _ExportedCentroidHead(head) if isinstance(head, CentroidHead) else head


def _write_graph(network: _ExportedNetwork, encoder: Encoder, path: Path) -> None:
    """Trace the network for any number of texts of any length up to the encoder's limit."""
    batch = pad_ids(encoder.tokenize(EXAMPLE_TEXTS), encoder.model.tokenizer.pad_token_id or 0)
    inputs = tuple(torch.from_numpy(array).to(encoder.device) for array in batch)
    texts = torch.export.Dim("texts", min=1, max=MAX_BATCH_TEXTS)
    tokens = torch.export.Dim("tokens", min=2, max=encoder.max_tokens)
    exporter_logger = logging.getLogger("torch.onnx")
    level = exporter_logger.level
    with warnings.catch_warnings(), silence_transformers(), torch.no_grad():
        warnings.simplefilter("ignore")  # the exporter warns about its own internals
        exporter_logger.setLevel(logging.ERROR)
        try:
            torch.onnx.export(
                network,
                inputs,
                str(path),
                dynamo=True,
                input_names=["input_ids", "attention_mask"],
                output_names=["log_p", "E"],
                dynamic_shapes=({0: texts, 1: tokens}, {0: texts, 1: tokens}),
                external_data=False,
                verbose=False,
            )
        except Exception as problem:  # an encoder may use operations that ONNX does not have
            if find_system_error(problem):
                raise
            raise InputError(f"this encoder cannot be exported ({type(problem).__name__})") from problem
        finally:
            exporter_logger.setLevel(level)
