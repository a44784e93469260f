"""Security checks of an encoder's folder: it may hold data but no code, and imply no more parameters than it stores.

The files of such a folder can make the libraries that open it import a class, unpickle weights, run custom code, read
other files or download from a hub. So the files are inspected before any library opens them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open

from rstc.errors import InputError, first_line
from rstc.io.atomic import MAX_SETTINGS_BYTES, read_json
from rstc.io.plain_folder import is_inside_folder
from rstc.representation.encoder_choice import BUNDLED_NAME
from rstc.representation.multilingual_files import MULTILINGUAL_NAME, check_multilingual_installed
from rstc.representation.tokenizer_checks import check_tokenizer
from rstc.runtime.hub import find_hub_name

MODULES_FILE = "modules.json"
TOKENIZER_FILE = "tokenizer.json"
MAX_VOCABULARY_BYTES = 2**27  # of a file that lists a tokenizer's vocabulary
PICKLE_SUFFIXES = (".bin", ".pt", ".pth", ".pkl", ".pickle", ".ckpt")
MAX_LAYERS = 1000
MAX_INTEGER = 2**24  # largest other integer in config.json
PARAMETER_TOLERANCE = 2**22  # parameters that config.json implies but weights may lack, such as poolers

_MODULE_PACKAGE = "sentence_transformers."
_VOCABULARY_FILES = (TOKENIZER_FILE, "vocab.json", "added_tokens.json", "special_tokens_map.json")
# Files and modules of a saved model. Other encoders may have more files, which are not opened.
_ALLOWED_SUFFIXES = (".json", ".safetensors", ".txt", ".md", ".model")
_NGRAM_MODULE = "rstc.representation.ngram_encoder"
OWN_MODULES = (f"{_NGRAM_MODULE}.NgramEncoder", f"{_NGRAM_MODULE}.NgramPooling")
_ALLOWED_MODULES = ("Transformer", "Pooling", "Normalize", "Dense", "LayerNorm", "Dropout")
# Architectures of text encoders; those of other kinds can name further models, which are then looked for on the hub.
# fmt: off
_TEXT_ARCHITECTURES = frozenset({
    "albert", "bert", "big_bird", "camembert", "deberta", "deberta-v2", "distilbert", "electra", "ernie", "eurobert",
    "flaubert", "gemma", "gemma2", "gemma3_text", "gpt2", "longformer", "llama", "mistral", "mobilebert",
    "modernbert", "mpnet", "nomic_bert", "qwen2", "qwen3", "rembert", "roberta", "roberta-prelayernorm", "roformer",
    "squeezebert", "t5", "t5gemma", "xlm", "xlm-roberta", "xlm-roberta-xl", "xlnet", "xmod",
})
# fmt: on
_BACKBONE_KEYS = ("backbone", "backbone_config", "use_pretrained_backbone", "use_timm_backbone")
_CODE_KEYS = ("auto_map", "trust_remote_code")
# Settings that make a library read other files, or download and run code.
_LOADING_KEYS = (
    "tokenizer_name_or_path",
    "attn_implementation",
    "_attn_implementation",
    "allow_all_kernels",
    "use_kernels",
)


def check_encoder_source(source: str | None) -> None:
    """Raise InputError if an encoder can be told to be unusable without loading it.

    Parameters
    ----------
    source : str or None
        The setting `encoder`: a folder or a hub name; None: the bundled encoder.
    """
    if source is None or source == BUNDLED_NAME:
        return
    if source == MULTILINGUAL_NAME:
        check_multilingual_installed()
    elif Path(source).is_dir():
        check_encoder_folder(Path(source))
    elif find_hub_name(source) is None:
        raise InputError(f"encoder={source!r} is neither a folder nor the name of a model on the hub")


def is_ngram_folder(folder: Path) -> bool:
    """Whether a folder that was checked holds an encoder of n-grams (`rstc.representation.ngram_encoder`)."""
    path = folder / MODULES_FILE
    return path.is_file() and read_json(path)[0]["type"] in OWN_MODULES


def check_encoder_folder(folder: Path, strict: bool = False) -> None:
    """Raise an error if an encoder's folder holds more than data.

    Parameters
    ----------
    folder : Path
        A folder in Sentence-Transformers layout, or of a transformer alone.
    strict : bool
        Whether the folder is part of a saved model, which holds files and settings of known kinds only.

    Raises
    ------
    InputError
        If the folder is refused.
    """
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        if strict and path.is_symlink() and not is_inside_folder(path, folder):
            raise InputError(f"{folder} holds a link that leads out of it: {name}")
        if strict and path.is_file() and path.suffix not in _ALLOWED_SUFFIXES:
            raise InputError(f"{folder} holds a file that is not part of a saved model: {name}")
        if path.suffix == ".json" and path.is_file():
            _check_json(folder, path, strict)
    for module, module_type in _list_modules(folder, strict):
        suffixes = {path.suffix for path in module.glob("*") if path.is_file()}
        if ".safetensors" not in suffixes and suffixes & set(PICKLE_SUFFIXES):
            raise InputError(
                f"{module} holds its weights as a pickle, which can run code when it is opened; "
                "save the model again in safetensors"
            )
        if strict:
            _check_architecture(module, module_type)
            _check_size(module, module_type)


def _list_modules(folder: Path, strict: bool) -> Iterator[tuple[Path, str]]:
    """Yield the folder and the type of each module, the transformer first."""
    path = folder / MODULES_FILE
    if not path.is_file():
        yield folder, "Transformer"
        return
    modules = read_json(path)
    if not isinstance(modules, list) or not modules:
        raise InputError(f"{path} does not list the modules of an encoder")
    for module in modules:
        full_type, subfolder = (
            (module.get("type"), module.get("path", "")) if isinstance(module, dict) else (None, None)
        )
        is_own = full_type in OWN_MODULES
        if not isinstance(full_type, str) or not (is_own or full_type.startswith(_MODULE_PACKAGE)):
            raise InputError(f"{path} asks for code that is not Sentence-Transformers' own: {full_type}")
        module_type = full_type.rpartition(".")[2]
        if strict and not is_own and module_type not in _ALLOWED_MODULES:
            raise InputError(f"{path} asks for a module that no saved model has: {full_type}")
        if not isinstance(subfolder, str) or _leads_outside(subfolder):
            raise InputError(f"{path} names a path outside of its folder: {subfolder}")
        if (folder / subfolder).is_dir():
            yield folder / subfolder, module_type


def _check_json(folder: Path, path: Path, strict: bool) -> None:
    """Raise an error if a JSON file refers to code, or to a file outside of the folder."""
    content = read_json(path, MAX_VOCABULARY_BYTES if path.name in _VOCABULARY_FILES else MAX_SETTINGS_BYTES)
    if path.name in _VOCABULARY_FILES:  # any string may be a word
        if strict and path.name == TOKENIZER_FILE:
            check_tokenizer(path, content)
        return
    if path.name == "adapter_config.json":
        raise InputError(f"{folder} holds an adapter without its encoder; merge them and save the result")
    for key, value in _iter_entries(content):
        if key in _CODE_KEYS and value:
            raise InputError(f"{path} asks to run code of its own ({key})")
        if value and key in _BACKBONE_KEYS:
            raise InputError(f"{path} names a further model ({key}), which a text encoder does not have")
        if strict and value and key == "chat_template":
            raise InputError(f"{path} holds a chat template, which a text encoder does not have")
        if strict and value and (key in _LOADING_KEYS or key.endswith(("_kwargs", "_args"))):
            raise InputError(f"{path} has a setting that no saved model has ({key})")
        if key.endswith("_file") and isinstance(value, str) and _leads_outside(value):
            raise InputError(f"{path} names a file outside of its folder: {value}")


def _leads_outside(path: str) -> bool:
    """Whether a path that a file names can lead out of its folder."""
    return Path(path).is_absolute() or ".." in Path(path).parts


def _iter_entries(content: Any) -> Iterator[tuple[str, Any]]:
    """Yield every key of nested JSON objects with its value."""
    stack = [content]
    while stack:
        value = stack.pop()
        if isinstance(value, dict):
            yield from value.items()
            stack += value.values()
        elif isinstance(value, list):
            stack += value


def _check_architecture(module: Path, module_type: str) -> None:
    """Raise an error if config.json asks for anything but a text encoder."""
    path = module / "config.json"
    if module_type != "Transformer" or not path.is_file():
        return
    config = read_json(path)
    architecture = config.get("model_type") if isinstance(config, dict) else None
    if architecture not in _TEXT_ARCHITECTURES:
        raise InputError(f"{path} asks for {str(architecture)[:40]!r}, which is not the architecture of a text encoder")


def _check_size(module: Path, module_type: str) -> None:
    """Raise an error if config.json implies far more parameters than the weights hold, which could fill the memory."""
    weights = sorted(module.glob("*.safetensors"))
    path = module / "config.json"
    if not path.is_file() or not weights:
        return
    config = read_json(path)
    if not isinstance(config, dict):
        raise InputError(f"{path} does not hold settings")
    for key, value in _iter_entries(config):
        limit = MAX_LAYERS if "layer" in key else MAX_INTEGER
        if isinstance(value, int) and not -limit <= value <= limit:
            raise InputError(f"{path} has {key}={value}, which no encoder has")
    if module_type == "Transformer":
        n_implied = _count_implied_parameters(module)
    elif f"{_NGRAM_MODULE}.{module_type}" in OWN_MODULES:
        n_implied = _count_ngram_parameters(module_type, config)
    else:  # the sides of its matrices are among the integers
        sides = sorted((value for value in config.values() if isinstance(value, int)), reverse=True)
        n_implied = math.prod(sides[:2])
    n_stored = sum(map(_count_stored_parameters, weights))
    if n_implied > 2 * n_stored + PARAMETER_TOLERANCE:
        raise InputError(f"{path} implies {n_implied:,} parameters, but the weights hold {n_stored:,}")


def _count_implied_parameters(module: Path) -> int:
    """Count the parameters that config.json implies, without allocating them."""
    import torch
    from transformers import AutoConfig, AutoModel

    try:
        with torch.device("meta"):
            model = AutoModel.from_config(AutoConfig.from_pretrained(module, local_files_only=True))
    except Exception as error:  # each architecture raises exceptions of its own
        raise InputError(f"{module} does not hold a transformer ({first_line(error)})") from error
    return sum(weights.numel() for weights in model.parameters())


def _count_ngram_parameters(module_type: str, config: dict[str, Any]) -> int:
    """Count the weights of a module of an encoder of n-grams, without allocating them."""
    import torch

    from rstc.representation.ngram_encoder import NgramEncoder, NgramPooling

    try:
        with torch.device("meta"):
            module = NgramPooling(**config) if module_type == "NgramPooling" else NgramEncoder(None, **config)
    except Exception as error:  # torch raises exceptions of many types for settings that are no sizes
        raise InputError(f"the settings of {module_type} are not those of an encoder ({first_line(error)})") from error
    return sum(weights.numel() for weights in module.state_dict().values())


def _count_stored_parameters(path: Path) -> int:
    """Count the parameters in a safetensors file."""
    try:
        with safe_open(path, "pt") as file:
            return sum(math.prod(file.get_slice(name).get_shape()) for name in file.keys())  # noqa: SIM118
    except SafetensorError as error:
        raise InputError(f"{path} does not hold weights: {error}") from error
