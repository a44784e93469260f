"""Checks of an encoder's weights: every one comes from its files, and every one is a finite number.

The libraries that open an encoder draw weights that its files lack at random and only log it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor, nn

from rstc.errors import InputError

MAX_NAMED = 3  # weights that a message names
UNUSED_PARTS = ("pooler.",)  # of a transformer, whose hidden states do not depend on them


def check_weights(folder: Path, modules: Iterable[nn.Module], strict: bool) -> None:
    """Raise InputError unless the weights of an encoder are those of its files.

    Parameters
    ----------
    folder : Path
        The folder that the encoder was opened from.
    modules : iterable of Module
        The modules of the encoder, the transformer first.
    strict : bool
        Whether the files may hold nothing else; weights for another task are common in encoders from elsewhere.
    """
    modules = list(modules)
    for module in modules:
        check_finite(str(folder), module)
    files = _find_weight_files(folder)
    if not files:  # weights in a format that the libraries read and this check does not
        return
    stored = read_names(files)
    transformer = getattr(modules[0], "auto_model", modules[0])
    missing, additional = compare_names(transformer, stored)
    missing = [name for name in missing if not name.startswith(UNUSED_PARTS) and f".{UNUSED_PARTS[0]}" not in name]
    if missing:
        raise InputError(f"the weights in {folder} are incomplete: {_list(missing)} missing")
    if strict and additional:
        raise InputError(f"the weights in {folder} hold more than the encoder: {_list(additional)} unknown")


def compare_names(module: nn.Module, stored: Collection[str]) -> tuple[list[str], list[str]]:
    """Return the weights of a module that are not stored, and the stored ones that it does not have.

    A stored name may have a prefix, as `bert.` where the encoder is a part of a larger model. Weights that share memory
    are stored once.

    Examples
    --------
    >>> compare_names(nn.Linear(2, 1), ["bert.weight", "head.weight"])
    (['bias'], ['head.weight'])
    """
    state: dict[str, Tensor] = module.state_dict()
    prefix = find_prefix(list(state), stored)
    found = {name.removeprefix(prefix) for name in stored if name.startswith(prefix)}
    memory = {_memory(state[name]) for name in found if name in state}
    missing = [name for name in state if name not in found and _memory(state[name]) not in memory]
    buffers = {name for name, _ in module.named_buffers()}  # of earlier versions, such as position_ids
    additional = [
        name
        for name in stored
        if name.removeprefix(prefix) not in state.keys() | buffers or not name.startswith(prefix)
    ]
    return missing, additional


def find_prefix(names: Collection[str], stored: Collection[str]) -> str:
    """Return the prefix of stored names under which most of a module's names are found.

    >>> find_prefix(["layer.weight"], ["bert.layer.weight", "cls.bias"]), find_prefix(["weight"], ["weight"])
    ('bert.', '')
    """
    prefixes = {
        full.removesuffix(name) for name in names for full in stored if full == name or full.endswith(f".{name}")
    }
    return max(sorted(prefixes), key=lambda prefix: sum(prefix + name in stored for name in names), default="")


def check_finite(source: str, module: nn.Module) -> None:
    """Raise InputError if a weight of a module is not a finite number."""
    for name, weights in module.state_dict().items():
        if weights.is_floating_point() and not bool(torch.isfinite(weights).all()):
            raise InputError(f"the weights in {source} are damaged: {name} holds values that are not finite")


def read_names(files: Iterable[Path]) -> set[str]:
    """Return the names of all tensors in safetensors files."""
    names: set[str] = set()
    for path in files:
        try:
            with safe_open(path, "pt") as file:
                names.update(file.keys())
        except (SafetensorError, OSError) as problem:
            raise InputError(f"{path} does not hold weights: {problem}") from problem
    return names


def _find_weight_files(folder: Path) -> list[Path]:
    """Return the weight files of a transformer: of its folder, or of the first module's folder below it."""
    return sorted(folder.glob("*.safetensors")) or sorted(folder.glob("0_*/*.safetensors"))


def _memory(weights: Tensor) -> Any:
    return weights.data_ptr() if weights.numel() else object()


def _list(names: list[str]) -> str:
    """Return some of the names, as the subject of a sentence."""
    shown, n_more = ", ".join(sorted(names)[:MAX_NAMED]), len(names) - MAX_NAMED
    return f"{shown} and {n_more} more are" if n_more > 0 else f"{shown} {'is' if len(names) == 1 else 'are'}"
