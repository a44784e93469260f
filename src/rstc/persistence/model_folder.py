"""A trained network on disk: the encoder in Sentence-Transformers layout, the heads in safetensors, the rest JSON.

    encoder/            opens with SentenceTransformer(folder / "encoder")
    heads.safetensors   G_p (or centroids) and G_z
    strangers.safetensors  what tells texts that belong nowhere, where it was asked for
    model.json          format version, settings, facts, and the sha256 of every file
    README.md           the model's card

Nothing in it is code, loading it asks no network, and a folder that a stranger made is looked through before it is
opened: it can be refused, and do nothing else.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.numpy import load_file as load_arrays
from safetensors.numpy import save_file as save_arrays
from safetensors.torch import load_file, save_file

from rstc.config import Config
from rstc.errors import InputError, first_line
from rstc.io.atomic import read_json, replaced_folder, sha256
from rstc.runtime.device import choose_device, choose_precision
from rstc.persistence.model_card import card
from rstc.representation.heads import Centroids, ClusterHead, ClusteringNetwork, Grouped, ProjectingNetwork
from rstc.representation.loading import load_encoder
from rstc.representation.network import Network
from rstc.representation.folder_checks import stays_within
from rstc.pseudo_labels.outliers import Strangers
from rstc.runtime.environment import versions

FORMAT_VERSION = 2
DESCRIPTION = "model.json"
LARGEST_DESCRIPTION = 2**26  # bytes; the history and the tree of many clusters are in it
MOST_CLUSTERS = 10**6
CARD = "README.md"
HEADS = "heads.safetensors"
STRANGERS = "strangers.safetensors"
ENCODER = "encoder"


@dataclass(frozen=True)
class SavedModel:
    """A network read from a folder, the settings it was trained with, and what else was written beside it."""

    network: Network
    config: Config
    facts: dict[str, Any]
    strangers: Strangers | None


def save_model(
    folder: Path, network: Network, config: Config, facts: dict[str, Any], strangers: Strangers | None = None
) -> None:
    """Write a network to a new folder, or in place of a saved model; it appears complete or not at all."""
    if folder.exists() and not (folder.is_dir() and _ours(folder)):
        raise InputError(f"{folder} exists and is not a saved model; choose another folder")
    with replaced_folder(folder) as new:
        network.encoder.save(new / ENCODER)
        state = {name: value.contiguous().cpu() for name, value in network.state_dict().items()}
        save_file({name: v for name, v in state.items() if not name.startswith("encoder.")}, new / HEADS)
        if strangers:
            save_arrays(strangers.to_arrays(), new / STRANGERS)
        description = {
            "format_version": FORMAT_VERSION,
            "config": config.to_dict(),
            "n_clusters": network.cluster_head.n_clusters,
            "cluster_head": "centroids" if isinstance(_ungrouped(network.cluster_head), Centroids) else "network",
            "merged_from": _ungrouped(network.cluster_head).n_clusters if _is_merged(network) else None,
            "versions": versions(),
            "facts": facts,
        }
        (new / CARD).write_text(card(description), encoding="utf-8")
        description["files"] = {name: sha256(new / name) for name in _files(new)}
        description["checksum"] = _checksum(description)
        (new / DESCRIPTION).write_text(json.dumps(description, indent=1), encoding="utf-8")
        for name in _files(new):  # safetensors makes its files for the owner's eyes only
            (new / name).chmod((new / DESCRIPTION).stat().st_mode)


def find_folder(name: str | Path) -> Path:
    """Return a model's folder: the one of that name, or for a name on the hub (OWNER/MODEL) its copy here."""
    folder = Path(name)
    if folder.exists() or not re.fullmatch(r"[\w.-]+/[\w.-]+", str(name)):
        return folder
    from huggingface_hub import snapshot_download

    from rstc.representation.loading import hub_in_reach

    try:
        return Path(snapshot_download(str(name), local_files_only=not hub_in_reach()))
    except Exception as problem:  # the hub's client has many ways to say that there is no such thing
        raise InputError(
            f"{name} is neither a folder nor a model that the hub could give ({first_line(problem)})"
        ) from problem


def load_model(folder: Path, device: str = "auto") -> SavedModel:
    """Read a network from a folder that `save_model` wrote, after checking every file.

    It computes on `device`: where it was trained is another matter.
    """
    description = read_description(folder)
    for name, expected in description["files"].items():
        path = folder / name
        if Path(name).is_absolute() or ".." in Path(name).parts:
            raise InputError(f"{folder / DESCRIPTION} names a file outside of its folder: {name}")
        if not path.is_file():
            raise InputError(f"the model in {folder} is incomplete: {name} is missing")
        if not stays_within(path, folder):
            raise InputError(f"the model in {folder} holds a link that leads out of it: {name}")
        if sha256(path) != expected:
            raise InputError(f"the model in {folder} was altered: {name} is not the file that was saved")
    if HEADS not in description["files"]:
        raise InputError(f"the model in {folder} is incomplete: {HEADS} is missing")
    # Libraries open whatever they find there; what a hub puts beside it, they do not.
    unlisted = {name for name in _files(folder) if name.startswith(f"{ENCODER}/")} - set(description["files"])
    if unlisted or not stays_within(folder / ENCODER, folder):
        raise InputError(f"the model in {folder} holds what was not saved with it: {min(unlisted, default=ENCODER)}")
    config = replace(Config(**description["config"]), device=device)
    place = choose_device(device)
    precision = choose_precision(config.precision, place)
    encoder = load_encoder(folder / ENCODER, "model", config.max_tokens, place, precision, saved_by_us=True)
    encoder.train_layers(config.trainable_layers)
    _check_promise(folder, description, encoder.dim, config)
    head = _empty_head(description, encoder.dim, config)
    network = Network(encoder, head, ProjectingNetwork(encoder.dim, config.projection_dim))
    try:
        state = load_file(folder / HEADS, device=str(place))
        for name, module in (("cluster_head", network.cluster_head), ("projector", network.projector)):
            own = {key.removeprefix(f"{name}."): value for key, value in state.items() if key.startswith(f"{name}.")}
            module.load_state_dict(own)
        if isinstance(head, Grouped) and not (int(head.groups.min()) >= 0 and int(head.groups.max()) < head.n_clusters):
            raise RuntimeError("a merged cluster has a number that there is not")
    except (SafetensorError, RuntimeError) as problem:
        raise InputError(f"the heads in {folder / HEADS} do not fit the model: {problem}") from problem
    return SavedModel(network.eval(), config, description["facts"], _strangers(folder, description, encoder.dim))


def _check_promise(folder: Path, description: dict[str, Any], dim: int, config: Config) -> None:
    """Refuse heads that are described as far larger than they are: to build them would take the memory."""
    promised = 4 * dim * (max(description["n_clusters"], description.get("merged_from") or 0) + config.projection_dim)
    if promised > 2 * (folder / HEADS).stat().st_size + 2**20:
        raise InputError(f"{folder / DESCRIPTION} promises more than {HEADS} holds")


def _strangers(folder: Path, description: dict[str, Any], dim: int) -> Strangers | None:
    """Read what tells strangers, where it was saved."""
    if STRANGERS not in description["files"]:
        return None
    try:
        return Strangers.of_arrays(load_arrays(folder / STRANGERS), dim)
    except (SafetensorError, InputError) as problem:
        raise InputError(f"{folder / STRANGERS} does not fit the model: {problem}") from problem


def _ungrouped(head: ClusterHead) -> ClusteringNetwork | Centroids:
    """Return the head below merged clusters."""
    return head.head if isinstance(head, Grouped) else head


def _is_merged(network: Network) -> bool:
    return isinstance(network.cluster_head, Grouped)


def _empty_head(description: dict[str, Any], dim: int, config: Config) -> ClusterHead:
    """Return a head of the form that was saved, its numbers to be filled in."""
    n_clusters, merged_from = description["n_clusters"], description.get("merged_from")
    below = merged_from or n_clusters
    head = (
        Centroids(dim, below, config.unit_length)
        if description["cluster_head"] == "centroids"
        else ClusteringNetwork(dim, below, config.dropout)
    )
    return Grouped(head, torch.zeros(below, dtype=torch.int64), n_clusters) if merged_from else head


def read_description(folder: Path) -> dict[str, Any]:
    """Read and check model.json without opening the network."""
    path = folder / DESCRIPTION
    if not path.is_file():
        raise InputError(f"there is no model in {folder}: {DESCRIPTION} is missing")
    description = read_json(path, LARGEST_DESCRIPTION)
    if not isinstance(description, dict) or "format_version" not in description:
        raise InputError(f"{path} is not the description of a model")
    if description["format_version"] != FORMAT_VERSION:
        version = description["format_version"]
        raise InputError(f"{path} has format version {version}; this rstc reads version {FORMAT_VERSION}")
    if description.get("checksum") != _checksum(description):
        raise InputError(f"the model in {folder} was altered: {DESCRIPTION} is not the file that was saved")
    _check_form(path, description)
    return description


def _check_form(path: Path, description: dict[str, Any]) -> None:
    """Refuse a description whose parts are not of the kinds that we write; a checksum anybody can compute."""
    config, facts, files = (description.get(name) for name in ("config", "facts", "files"))
    n_clusters, merged_from = description.get("n_clusters"), description.get("merged_from")
    unknown = sorted(set(config) - {field.name for field in fields(Config)}) if isinstance(config, dict) else []
    if unknown:
        raise InputError(f"{path} has settings that this rstc does not know: {', '.join(unknown)[:200]}")
    fits = (
        isinstance(config, dict)
        and isinstance(facts, dict)
        and {"class_distribution", "history", "n_iter", "n_texts", "settled", "preset", "random_state"} <= set(facts)
        and isinstance(files, dict)
        and all(isinstance(name, str) and isinstance(checksum, str) for name, checksum in files.items())
        and _is_count(n_clusters)
        and (merged_from is None or _is_count(merged_from))
        and description.get("cluster_head") in ("centroids", "network")
        and _is_numbers(facts["class_distribution"], n_clusters)
    )
    if not fits:
        raise InputError(f"{path} is not the description of a model")


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value <= MOST_CLUSTERS


def _is_numbers(values: Any, n: Any) -> bool:
    return isinstance(values, list) and len(values) == n and all(isinstance(value, (int, float)) for value in values)


def _ours(folder: Path) -> bool:
    """Tell whether a folder is empty or holds nothing but a saved model."""
    names = {path.name for path in folder.iterdir()}
    if not names:
        return True
    try:
        read_description(folder)
    except InputError:
        return False
    return names <= {DESCRIPTION, CARD, HEADS, STRANGERS, ENCODER}


def _files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder).as_posix()) for path in folder.rglob("*") if path.is_file())


def _checksum(description: dict[str, Any]) -> str:
    """Return the sha256 of everything in the description but the checksum itself."""
    content = {key: value for key, value in description.items() if key != "checksum"}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
