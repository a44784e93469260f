"""model.json of a model folder: its folder, its typed content, its checksum, and the checks when it is read."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from rstc.config import Config
from rstc.errors import InputError, ModelVersionWarning, first_line
from rstc.io.atomic import compute_checksum, read_json
from rstc.io.plain_folder import check_plain_folder
from rstc.io.predictions import MAX_STORED_CLUSTERS
from rstc.runtime import hub
from rstc.runtime.environment import package_versions

DESCRIPTION = "model.json"
FORMAT_VERSION = 2
MAX_BYTES = 2**26  # the history and the tree of many clusters are in the file
COMPUTING_PACKAGES = ("torch", "transformers", "sentence-transformers")
CLUSTER_HEADS = ("centroids", "network")
REQUIRED_FACTS = {"class_distribution", "history", "n_iter", "n_texts", "settled", "preset", "random_state"}


@dataclass(frozen=True)
class ModelDescription:
    """The content of model.json.

    Attributes
    ----------
    config : dict
        The settings of the run, by the names of `Config`.
    n_clusters : int
        The number of clusters that the model predicts.
    cluster_head : {"network", "centroids"}
        The kind of clustering head in heads.safetensors.
    merged_from : int or None
        The number of clusters of the head that the clusters were merged from; None if they were not merged.
    versions : dict
        The versions of Python and of the libraries that the model was trained with.
    facts : dict
        The rest of the model's state (`FittedModel.to_facts`).
    files : dict
        The sha256 of each other file in the folder, by its relative path.
    checksum : str
        The sha256 of all other entries.
    format_version : int
        The version of the folder's layout.
    """

    config: dict[str, Any]
    n_clusters: int
    cluster_head: str
    merged_from: int | None
    versions: dict[str, str]
    facts: dict[str, Any]
    files: dict[str, str]
    checksum: str
    format_version: int = FORMAT_VERSION


def resolve_folder(name: str | Path) -> Path:
    """Return a model's folder: the folder of that name, or the local copy of a model on the hub (hub:OWNER/MODEL)."""
    source = str(name)
    hub_name = hub.find_hub_name(source) if source.startswith(hub.PREFIX) else None
    if hub_name is None:
        return Path(name)
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(hub_name, local_files_only=not hub.is_hub_reachable()))
    except Exception as problem:  # the hub's client raises many types for a model that it cannot provide
        raise InputError(f"{name} is not a model that the hub could provide ({first_line(problem)})") from problem


def write_description(folder: Path, content: Mapping[str, Any]) -> None:
    """Write model.json with a checksum over its content."""
    content = {**content, "checksum": compute_checksum(content)}
    (folder / DESCRIPTION).write_text(json.dumps(content, indent=1), encoding="utf-8")


def read_description(folder: Path) -> ModelDescription:
    """Read and check model.json, without opening the network."""
    path = folder / DESCRIPTION
    check_plain_folder(folder, is_hub_snapshot=True)
    if not path.is_file():
        hint = (
            "" if folder.exists() or not hub.find_hub_name(str(folder)) else f"; a model on the hub is {hub.PREFIX}NAME"
        )
        raise InputError(f"there is no model in {folder}: {DESCRIPTION} is missing{hint}")
    content = read_json(path, MAX_BYTES)
    if not isinstance(content, dict) or "format_version" not in content:
        raise InputError(f"{path} is not the description of a model")
    if content["format_version"] != FORMAT_VERSION:
        version = content["format_version"]
        raise InputError(f"{path} has format version {version}; this rstc reads version {FORMAT_VERSION}")
    if content.get("checksum") != compute_checksum(content):
        raise InputError(f"the model in {folder} was altered: {DESCRIPTION} is not the file that was saved")
    _check_types(path, content)
    entries: dict[str, Any] = {field.name: content.get(field.name) for field in fields(ModelDescription)}
    return ModelDescription(**entries)


def warn_other_versions(folder: Path, description: ModelDescription) -> None:
    """Warn if a model was made with other versions of what computes embeddings and predictions."""
    versions = package_versions()
    made_with = {name: description.versions.get(name) for name in COMPUTING_PACKAGES}
    changed = {name: made for name, made in made_with.items() if made and _release(made) != _release(versions[name])}
    if changed:
        warnings.warn(ModelVersionWarning(folder.name, changed, versions), stacklevel=3)


def _release(version: Any) -> str:
    """Return a version without its build, such as +cpu."""
    return str(version).partition("+")[0]


def _check_types(path: Path, content: Mapping[str, Any]) -> None:
    """Refuse entries of other types than `write_description` writes; a checksum alone proves no origin."""
    config, facts, files = (content.get(name) for name in ("config", "facts", "files"))
    n_clusters, merged_from = content.get("n_clusters"), content.get("merged_from")
    unknown = sorted(set(config) - {field.name for field in fields(Config)}) if isinstance(config, dict) else []
    if unknown:
        raise InputError(f"{path} has settings that this rstc does not know: {', '.join(unknown)[:200]}")
    valid = (
        isinstance(config, dict)
        and isinstance(facts, dict)
        and set(facts) >= REQUIRED_FACTS
        and isinstance(files, dict)
        and all(isinstance(name, str) and isinstance(checksum, str) for name, checksum in files.items())
        and isinstance(content.get("versions"), dict)
        and _is_cluster_count(n_clusters)
        and (merged_from is None or _is_cluster_count(merged_from))
        and content.get("cluster_head") in CLUSTER_HEADS
        and _is_number_list(facts["class_distribution"], n_clusters)
    )
    if not valid:
        raise InputError(f"{path} is not the description of a model")


def _is_cluster_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value <= MAX_STORED_CLUSTERS


def _is_number_list(values: Any, length: Any) -> bool:
    return isinstance(values, list) and len(values) == length and all(isinstance(v, (int, float)) for v in values)
