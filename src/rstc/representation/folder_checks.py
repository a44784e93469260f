"""What an encoder's folder may hold: data and never code, no more of it than its weights are worth.

The libraries that open such a folder can be told by its files to import a class, to unpickle weights, to run code of
the folder's own, to read a file elsewhere or to ask a hub. We look at the files first and refuse what asks for that.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open

from rstc.errors import InputError, first_line
from rstc.io.atomic import LARGEST_SETTINGS, read_json

MODULES = "modules.json"
LARGEST_VOCABULARY = 2**27  # bytes of a file that lists what a tokenizer knows
PICKLES = (".bin", ".pt", ".pth", ".pkl", ".pickle", ".ckpt")
_PACKAGE = "sentence_transformers."
_VOCABULARIES = ("tokenizer.json", "vocab.json", "added_tokens.json", "special_tokens_map.json")
# What a saved model consists of; an encoder that somebody chose may have more beside it, which is not opened.
_KNOWN_SUFFIXES = (".json", ".safetensors", ".txt", ".md", ".model")
_KNOWN_MODULES = ("Transformer", "Pooling", "Normalize", "Dense", "LayerNorm", "Dropout")
_CODE = ("auto_map", "trust_remote_code")
# Settings by which a folder can have something else read, or code fetched and run.
_ASKING = ("tokenizer_name_or_path", "attn_implementation", "_attn_implementation", "allow_all_kernels", "use_kernels")
MOST_LAYERS = 1000
MOST_OF_ANYTHING = 2**24
_ROOM = 2**22  # numbers that weights may fall short of what the settings promise: poolers, positions


def check_encoder(folder: Path, saved_by_us: bool = False) -> None:
    """Refuse an encoder's folder that asks for more than to be read.

    Args:
        folder: in Sentence-Transformers layout, or a transformer alone.
        saved_by_us: whether it is part of a saved model, which holds known kinds of files only.
    """
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        if path.is_symlink() and not stays_within(path, folder) and saved_by_us:
            raise InputError(f"{folder} holds a link that leads out of it: {name}")
        if saved_by_us and path.is_file() and path.suffix not in _KNOWN_SUFFIXES:
            raise InputError(f"{folder} holds a file that no model of ours has: {name}")
        if path.suffix == ".json" and path.is_file():
            _check_settings(folder, path, saved_by_us)
    for module, kind in _modules(folder, saved_by_us):
        held = {path.suffix for path in module.glob("*") if path.is_file()}
        if ".safetensors" not in held and held & set(PICKLES):
            raise InputError(
                f"{module} holds its weights as a pickle, which can run code when it is opened; "
                "save the model anew in safetensors"
            )
        if saved_by_us:
            _check_promise(module, kind)


def stays_within(path: Path, folder: Path) -> bool:
    """Tell whether what a path leads to is in a folder, or in the hub's store of the model whose copy the folder is.

    The hub's client keeps files in MODEL/blobs, and in MODEL/snapshots/VERSION links to them.
    """
    home = next((above for above in folder.absolute().parents if above.name.startswith("models--")), folder)
    return path.resolve().is_relative_to(home.resolve())


def _modules(folder: Path, known_only: bool) -> Iterator[tuple[Path, str]]:
    """Yield the folders of the modules and what they are, the transformer's first."""
    if not (folder / MODULES).is_file():
        yield folder, "Transformer"
        return
    modules = read_json(folder / MODULES)
    if not isinstance(modules, list) or not modules:
        raise InputError(f"{folder / MODULES} does not list the parts of an encoder")
    for module in modules:
        kind, place = (module.get("type"), module.get("path", "")) if isinstance(module, dict) else (None, None)
        if not isinstance(kind, str) or not kind.startswith(_PACKAGE):
            raise InputError(f"{folder / MODULES} asks for code that is not Sentence-Transformers' own: {kind}")
        name = kind.rpartition(".")[2]
        if known_only and name not in _KNOWN_MODULES:
            raise InputError(f"{folder / MODULES} asks for a part that no model of ours has: {kind}")
        if not isinstance(place, str) or Path(place).is_absolute() or ".." in Path(place).parts:
            raise InputError(f"{folder / MODULES} names a place outside of its folder: {place}")
        if (folder / place).is_dir():
            yield folder / place, name


def _check_settings(folder: Path, path: Path, saved_by_us: bool) -> None:
    """Refuse settings that ask for code, or for a file elsewhere."""
    content = read_json(path, LARGEST_VOCABULARY if path.name in _VOCABULARIES else LARGEST_SETTINGS)
    if path.name in _VOCABULARIES:
        return  # words may be any
    name = path.relative_to(folder)
    if path.name == "adapter_config.json":
        raise InputError(f"{folder} holds an adapter, whose encoder is elsewhere; merge them and save the result")
    for key, value in _entries(content):
        if key in _CODE and value:
            raise InputError(f"{folder / name} asks to run code of its own ({key})")
        if saved_by_us and value and (key in _ASKING or key.endswith(("_kwargs", "_args"))):
            raise InputError(f"{folder / name} asks for something that no model of ours does ({key})")
        if (
            key.endswith("_file")
            and isinstance(value, str)
            and (Path(value).is_absolute() or ".." in Path(value).parts)
        ):
            raise InputError(f"{folder / name} names a file outside of its folder: {value}")


def _entries(content: Any) -> Iterator[tuple[str, Any]]:
    """Yield every key of nested objects with its value."""
    rest = [content]
    while rest:
        one = rest.pop()
        if isinstance(one, dict):
            yield from one.items()
            rest += one.values()
        elif isinstance(one, list):
            rest += one


def _check_promise(module: Path, kind: str) -> None:
    """Refuse a part whose settings promise far more than its weights hold: to build it would take the memory."""
    weights = sorted(module.glob("*.safetensors"))
    if not (module / "config.json").is_file() or not weights:
        return
    config = read_json(module / "config.json")
    if not isinstance(config, dict):
        raise InputError(f"{module / 'config.json'} does not hold settings")
    for key, value in _entries(config):
        most = MOST_LAYERS if "layer" in key else MOST_OF_ANYTHING
        if isinstance(value, int) and not -most <= value <= most:
            raise InputError(f"{module / 'config.json'} says {key}={value}, which no encoder has")
    if kind == "Transformer":
        promised = _promised(module)
    else:  # a few of its numbers are the sides of its matrices
        sides = sorted((value for value in config.values() if isinstance(value, int)), reverse=True)
        promised = math.prod(sides[:2])
    held = sum(map(_held, weights))
    if promised > 2 * held + _ROOM:
        raise InputError(f"{module / 'config.json'} promises {promised:,} numbers, and its weights hold {held:,}")


def _promised(module: Path) -> int:
    """Return how many numbers the transformer would have, without making any."""
    import torch
    from transformers import AutoConfig, AutoModel

    try:
        with torch.device("meta"):
            model = AutoModel.from_config(AutoConfig.from_pretrained(module, local_files_only=True))
    except Exception as problem:  # every architecture has its own way to refuse its settings
        raise InputError(f"{module} does not hold a transformer ({first_line(problem)})") from problem
    return sum(weights.numel() for weights in model.parameters())


def _held(path: Path) -> int:
    """Return how many numbers a file of tensors holds."""
    try:
        with safe_open(path, "pt") as file:
            return sum(math.prod(file.get_slice(name).get_shape()) for name in file.keys())  # noqa: SIM118
    except SafetensorError as problem:
        raise InputError(f"{path} does not hold weights: {problem}") from problem
