"""The file of a checkpoint: a nested state as safetensors with JSON metadata, after a checksum.

A state is nested dictionaries and lists of arrays, tensors and JSON values. Arrays and tensors are stored as
safetensors, and the rest as JSON in the metadata. The file begins with the SHA-256 digest of its content.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save

from rstc.errors import first_line

CHECKPOINT_FORMAT = 2  # version of the file format; that of rstc 0.1.0 is 1
_CHECKSUM_BYTES = 32
_ARRAY, _TENSOR = "$array", "$tensor"  # keys of the JSON objects that refer to an array or tensor by its name

StateDict = dict[str, Any]  # nested dictionaries and lists of arrays, tensors and JSON values


def flatten_state(state: Any) -> tuple[Any, dict[str, NDArray[Any]]]:
    """Split a nested state into JSON values and arrays by name.

    Parameters
    ----------
    state : dict, list, ndarray, Tensor or JSON value
        Keys of dictionaries are strings. Tuples become lists.

    Returns
    -------
    tree : JSON value
        The state with a reference in place of each array and tensor.
    arrays : dict of str to ndarray
        Arrays by their path in the state, such as "optimizer/parameters/bias".

    Examples
    --------
    >>> flatten_state({"step": 3, "labels": np.array([0, 1])})
    ({'step': 3, 'labels': {'$array': 'labels'}}, {'labels': array([0, 1])})
    """
    arrays: dict[str, NDArray[Any]] = {}

    def flatten(value: Any, path: tuple[str, ...]) -> Any:
        if isinstance(value, Mapping):
            return {key: flatten(child, (*path, key)) for key, child in value.items()}
        if isinstance(value, (list, tuple)):
            return [flatten(child, (*path, str(index))) for index, child in enumerate(value)]
        if not isinstance(value, (np.ndarray, torch.Tensor)):
            return value
        name = "/".join(path)
        arrays[name] = np.asarray(value, order="C")
        return {_TENSOR if isinstance(value, torch.Tensor) else _ARRAY: name}

    return flatten(state, ()), arrays


def unflatten_state(tree: Any, arrays: Mapping[str, NDArray[Any]]) -> Any:
    """Restore what `flatten_state` split.

    Examples
    --------
    >>> unflatten_state({"step": 3, "labels": {"$array": "labels"}}, {"labels": np.array([0, 1])})
    {'step': 3, 'labels': array([0, 1])}
    """
    if isinstance(tree, list):
        return [unflatten_state(child, arrays) for child in tree]
    if not isinstance(tree, dict):
        return tree
    if _ARRAY in tree:
        return arrays[tree[_ARRAY]].copy()
    if _TENSOR in tree:
        return torch.from_numpy(arrays[tree[_TENSOR]].copy())
    return {key: unflatten_state(child, arrays) for key, child in tree.items()}


def write_checkpoint(path: Path, state: StateDict, run: Mapping[str, Any]) -> None:
    """Write a checkpoint file and flush it to the disk.

    Parameters
    ----------
    path : Path
        The file.
    state : dict
        The state of the run.
    run : mapping
        The fingerprint of the run, of JSON values.
    """
    tree, arrays = flatten_state(state)
    content = save(arrays, {"run": json.dumps(run), "state": json.dumps(tree)})
    with path.open("wb") as file:
        file.write(hashlib.sha256(content).digest())
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def read_checkpoint(path: Path) -> tuple[StateDict, dict[str, Any]]:
    """Read a checkpoint file.

    Returns
    -------
    state : dict
        The state of the run; empty for a file of an earlier format.
    run : dict
        The fingerprint of the run, with the file's format as "checkpoint format".

    Raises
    ------
    ValueError
        If the checksum does not match the content.
    """
    content = path.read_bytes()
    checksum, content = content[:_CHECKSUM_BYTES], content[_CHECKSUM_BYTES:]
    if hashlib.sha256(content).digest() != checksum:
        raise ValueError("its checksum does not match")
    try:
        header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
        metadata = header["__metadata__"]
        if "facts" in metadata:  # format 1
            run = json.loads(metadata["facts"])["run"]
            return {}, {**run, "checkpoint format": 1}
        state, run = unflatten_state(json.loads(metadata["state"]), load(content)), json.loads(metadata["run"])
    except (SafetensorError, LookupError, TypeError, AttributeError, RecursionError) as problem:
        raise ValueError(f"it does not hold the state of a run: {first_line(problem)}") from problem
    if not isinstance(state, dict) or not isinstance(state.get("step"), int) or not isinstance(run, dict):
        raise ValueError("it does not hold the state of a run")
    return state, run
