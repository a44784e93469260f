"""The model folder: the encoder in Sentence-Transformers layout, the heads in safetensors, the rest as JSON.

    encoder/               opens with SentenceTransformer(folder / "encoder")
    heads.safetensors      G_p (or centroids) and G_z
    strangers.safetensors  the outlier detector, if `noise` was set
    confidence.safetensors the confidence of new texts, unless `repeats` is 0
    model.json             format version, settings, state, and the sha256 of every file (`ModelDescription`)
    README.md              the model card

The folder holds no code, and loading it opens no connection. A folder from an untrusted source is checked before any
library opens it: it can be refused, but it cannot run code or read files outside of the folder.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.numpy import load_file as load_arrays
from safetensors.numpy import save_file as save_arrays
from safetensors.torch import load_file, save_file

from rstc.config import Config
from rstc.errors import ForeignSettingWarning, InputError
from rstc.io.atomic import lock_output, replace_folder, sha256
from rstc.persistence.confidence_file import CONFIDENCE, read_confidence
from rstc.persistence.fitted_model import FittedModel
from rstc.persistence.model_card import render_card
from rstc.persistence.model_description import (
    DESCRIPTION,
    FORMAT_VERSION,
    ModelDescription,
    read_description,
    warn_other_versions,
    write_description,
)
from rstc.persistence.model_files import (
    CARD,
    ENCODER,
    HEADS,
    OUTLIER_DETECTOR,
    check_files,
    list_files,
)
from rstc.pseudo_labels.outliers import OutlierDetector
from rstc.representation.heads import CentroidHead, ClusterHead, ClusteringNetwork, GroupedHead, ProjectingNetwork
from rstc.representation.loading import load_encoder
from rstc.representation.network import Network
from rstc.representation.view_specs import parse_view_specs
from rstc.representation.weight_checks import check_finite
from rstc.runtime.device import choose_device, choose_precision
from rstc.runtime.environment import package_versions


def save_model(folder: Path, model: FittedModel, license: str | None = None) -> None:
    """Write a model to a new folder, or in place of a saved model; the folder appears complete or not at all.

    Parameters
    ----------
    folder : Path
        The folder.
    model : FittedModel
        The model.
    license : str, optional
        The license that the card names; by default that of the encoder, if rstc brought it.
    """
    if folder.exists() and not (folder.is_dir() and _is_replaceable(folder)):
        raise InputError(f"{folder} exists and is not a saved model; choose another folder")
    network, cluster_head = model.network, model.network.cluster_head
    base_head = cluster_head.head if isinstance(cluster_head, GroupedHead) else cluster_head
    model = replace(model, config=replace(model.config, cache_folder=None))  # a path of this machine
    versions = package_versions()
    with lock_output(folder, make_parents=True), replace_folder(folder) as new:
        network.encoder.save(new / ENCODER)
        state = {name: value.contiguous().cpu() for name, value in network.state_dict().items()}
        save_file({name: v for name, v in state.items() if not name.startswith("encoder.")}, new / HEADS)
        if model.outlier_detector:
            save_arrays(model.outlier_detector.to_arrays(), new / OUTLIER_DETECTOR)
        if model.confidence_model:
            save_arrays(model.confidence_model.to_arrays(), new / CONFIDENCE)
        content = {
            "format_version": FORMAT_VERSION,
            "config": model.config.to_dict(),
            "n_clusters": cluster_head.n_clusters,
            "cluster_head": "centroids" if isinstance(base_head, CentroidHead) else "network",
            "merged_from": base_head.n_clusters if isinstance(cluster_head, GroupedHead) else None,
            "versions": versions,
            "facts": model.to_facts(),
        }
        (new / CARD).write_text(render_card(model, versions, license), encoding="utf-8")
        write_description(new, {**content, "files": {name: sha256(new / name) for name in list_files(new)}})
        for name in list_files(new):  # safetensors lets only the owner read its files
            (new / name).chmod((new / DESCRIPTION).stat().st_mode)


def load_model(folder: Path, device: str = "auto") -> FittedModel:
    """Read a model from a folder that `save_model` wrote, after checking every file.

    Parameters
    ----------
    folder : Path
        The model folder.
    device : str
        Where the model computes, which may be another device than it was trained on.
    """
    description = read_description(folder)
    check_files(folder, description)
    warn_other_versions(folder, description)
    config = replace(Config(**description.config), device=device, cache_folder=None)
    config = _drop_named_models(folder, config)
    torch_device = choose_device(device)
    precision = choose_precision(config.precision, torch_device)
    # Folders of versions without the setting hold encoders whose prompts, if any, were not used.
    prompt = "auto" if "prompt" in description.config else ""
    source = folder / ENCODER
    encoder = load_encoder(source, "model", config.max_tokens, torch_device, precision, strict=True, prompt=prompt)
    n_texts = description.facts.get("n_texts")
    encoder.train_layers(config.count_trained_layers(n_texts if isinstance(n_texts, int) else 0))
    _check_head_size(folder, description, encoder.dim, config)
    head = _build_head(description, encoder.dim, config)
    network = Network(encoder, head, ProjectingNetwork(encoder.dim, config.projection_dim))
    _load_heads(folder / HEADS, network, str(torch_device))
    files, n_clusters = description.files, description.n_clusters
    detector = _load_outlier_detector(folder, encoder.dim) if OUTLIER_DETECTOR in files else None
    confidence = read_confidence(folder, encoder.dim, n_clusters) if CONFIDENCE in files else None
    try:
        return FittedModel.from_facts(description.facts, network.eval(), config, detector, confidence)
    except (ValueError, TypeError, KeyError, AttributeError) as problem:
        raise InputError(f"the entries of {folder / DESCRIPTION} do not fit together ({problem!r})") from problem


def _drop_named_models(folder: Path, config: Config) -> Config:
    """Return the settings without a model for views: a folder must not say which other model is opened."""
    default = Config().views
    views = parse_view_specs(config.views) if config.views else ()
    if not any(step.model for view in views for step in view):
        return config
    warnings.warn(ForeignSettingWarning(folder.name, f"views={config.views}", str(default)), stacklevel=3)
    return replace(config, views=default)


def _check_head_size(folder: Path, description: ModelDescription, dim: int, config: Config) -> None:
    """Refuse a description of heads that are far larger than their file, before memory is allocated for them."""
    n_clusters = max(description.n_clusters, description.merged_from or 0)
    described_bytes = 4 * dim * (n_clusters + config.projection_dim)
    if described_bytes > 2 * (folder / HEADS).stat().st_size + 2**20:
        raise InputError(f"{folder / DESCRIPTION} describes larger heads than {HEADS} holds")


def _build_head(description: ModelDescription, dim: int, config: Config) -> ClusterHead:
    """Return a clustering head of the saved form, with weights still to be loaded."""
    n_clusters, merged_from = description.n_clusters, description.merged_from
    n_base = merged_from or n_clusters
    head = (
        CentroidHead(dim, n_base, config.unit_length)
        if description.cluster_head == "centroids"
        else ClusteringNetwork(dim, n_base, config.dropout)
    )
    return GroupedHead(head, torch.zeros(n_base, dtype=torch.int64), n_clusters) if merged_from else head


def _load_heads(path: Path, network: Network, device: str) -> None:
    """Load the weights of both heads."""
    try:
        state = load_file(path, device=device)
        for name, module in (("cluster_head", network.cluster_head), ("projector", network.projector)):
            names = [key for key in state if key.startswith(f"{name}.")]
            module.load_state_dict({key.removeprefix(f"{name}."): state.pop(key) for key in names})
            check_finite(str(path), module)
    except (SafetensorError, RuntimeError) as problem:
        raise InputError(f"the heads in {path} do not fit the model: {problem}") from problem
    if state:
        raise InputError(f"the heads in {path} do not fit the model: {min(state)} is unknown")
    head = network.cluster_head
    if isinstance(head, GroupedHead) and not (int(head.groups.min()) >= 0 and int(head.groups.max()) < head.n_clusters):
        raise InputError(f"the heads in {path} do not fit the model: a group is not among 0 to {head.n_clusters - 1}")


def _load_outlier_detector(folder: Path, dim: int) -> OutlierDetector:
    """Restore the outlier detector from the arrays of its file."""
    try:
        return OutlierDetector.from_arrays(load_arrays(folder / OUTLIER_DETECTOR), dim)
    except (SafetensorError, InputError) as problem:
        raise InputError(f"{folder / OUTLIER_DETECTOR} does not fit the model: {problem}") from problem


def _is_replaceable(folder: Path) -> bool:
    """Return whether a folder is empty or holds a saved model and nothing else."""
    names = {path.name for path in folder.iterdir()}
    if not names:
        return True
    try:
        read_description(folder)
    except InputError:
        return False
    return names <= {DESCRIPTION, CARD, HEADS, OUTLIER_DETECTOR, CONFIDENCE, ENCODER}
